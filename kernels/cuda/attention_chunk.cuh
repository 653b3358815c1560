// Attention of long chunks: a block goes through all spans of a tile of one sequence's rows, sixteen queries a warp. The
// pages pass through shared memory, several of them in flight.
#pragma once
#include "attention.cuh"

// Offset of sixteen bytes of a page's plane in shared memory, permuted so that the eight rows of a matrix meet eight
// different sets of banks. Keys are rows of two such pieces, values of `DIM / 8`.
__device__ __forceinline__ unsigned key_offset(unsigned d, unsigned piece) { return d * 2 + (piece ^ (d >> 2 & 1)); }
template <int DIM> __device__ __forceinline__ unsigned value_offset(unsigned key, unsigned piece) {
  const unsigned turned = DIM % 64 == 0 ? key & 7 : key >> 1 & 3;
  return key * (DIM / 8) + (piece ^ turned);
}

// A tile of one sequence's rows, through all its spans.
template <class T, int DIM> struct Chunk {
  static constexpr int PLANE = DIM * PAGE;
  // Pages in flight, as many as fit into shared memory.
  static constexpr int STAGES = DIM > 128 ? 3 : 4;
  // Warps that share sixteen queries, and the numbers of their values that each adds up: registers do not hold twice 256
  // numbers of a query.
  static constexpr int PARTS = DIM > 128 ? 2 : 1, OWN = DIM / PARTS;
  static constexpr int THREADS = 4 * PARTS * 32;

  const T *k, *v;
  unsigned kv_heads, kv_head, group, heads;
  // Of the lane: its queries are those from `first_query` on, its values those of `part`.
  unsigned thread, first_query, part, t;
  unsigned window;
  Work work;
  // Of the lane's two queries: row, head and position.
  unsigned row[2], head[2], position[2];
  bool real[2];
  // The first and the last position that this warp attends to.
  unsigned first, last;

  uint32_t q[DIM / 16][4];
  float values[OWN / 8][4];
  Running running;

  // Begins to load the page of `visit` into a stage.
  __device__ void load(const Visit &visit, T *keys, T *page_values) const {
    const size_t plane = ((size_t)visit.page * kv_heads + kv_head) * PLANE;
    constexpr unsigned PIECES = PLANE / 8;
    for (unsigned i = thread; i < PIECES; i += THREADS) {
      copy_async(keys + key_offset(i / 2, i % 2) * 8, k + plane + i * 8, true);
      const unsigned key = i / (DIM / 8), piece = i % (DIM / 8);
      // Unwritten memory may hold NaN, which a weight of zero does not remove.
      copy_async(page_values + value_offset<DIM>(key, piece) * 8, v + plane + i * 8, key < visit.keys);
    }
  }

  __device__ void load_queries(const T *from) {
    for (int i = 0; i < 2; i++) {
      const uint32_t *numbers = (const uint32_t *)(from + ((size_t)row[i] * heads + head[i]) * DIM);
      for (int step = 0; step < DIM / 16; step++) {
        q[step][i] = real[i] ? numbers[step * 8 + t] : 0;
        q[step][i + 2] = real[i] ? numbers[step * 8 + t + 4] : 0;
      }
    }
  }

  __device__ void clear() {
    for (int n = 0; n < OWN / 8; n++)
      for (int i = 0; i < 4; i++) values[n][i] = 0.0f;
    for (int i = 0; i < 2; i++) running.max[i] = negative_infinity(), running.sum[i] = 0.0f;
  }

  // The scores of a page's sixteen keys, for the two halves of the page.
  __device__ void score(const T *keys, float (&scores)[2][4]) const {
    const unsigned lane = thread % 32;
    for (int half = 0; half < 2; half++)
      for (int i = 0; i < 4; i++) scores[half][i] = 0.0f;
    for (int step = 0; step < DIM / 16; step++) {
      uint32_t b[4];
      load_matrices_transposed(b, keys + key_offset(step * 16 + lane % 16, lane / 16) * 8);
      mma<T>(scores[0], q[step], b[0], b[1]);
      mma<T>(scores[1], q[step], b[2], b[3]);
    }
  }

  // Scores to weights; takes them into the running softmax.
  __device__ void update_softmax(const Visit &visit, float scale, float (&scores)[2][4]) {
    float shrink[2];
    for (int i = 0; i < 2; i++) {
      const float highest = mask(scores, i, real[i], visit.index, position[i], window, scale, running.max[i]);
      shrink[i] = running.take(i, highest, weigh(scores, i, highest));
    }
    shrink_values(values, shrink);
  }

  __device__ void add_values(const T *page_values, const float (&weights)[2][4]) {
    const unsigned lane = thread % 32;
    const Fragment a = fragment<T>(weights);
    for (int pair = 0; pair < OWN / 16; pair++) {
      uint32_t b[4];
      const unsigned piece = part * (OWN / 8) + pair * 2 + lane / 16;
      load_matrices_transposed(b, page_values + value_offset<DIM>(lane % 16, piece) * 8);
      mma<T>(values[2 * pair], a.x, b[0], b[1]);
      mma<T>(values[2 * pair + 1], a.x, b[2], b[3]);
    }
  }

  // Whether this warp has a query that attends to the page: no other effect of `visit` on it could be seen.
  __device__ bool concerns(const Visit &visit) const {
    const bool reached = visit.index * PAGE <= last && (visit.index + 1) * PAGE > first;
    return first_query < work.rows * group && reached;
  }
};

// `q` and `out` are `[rows, heads, DIM]`; `k` is `[pages, kv_heads, DIM, PAGE]`, `v` `[pages, kv_heads, PAGE, DIM]`.
// `scale` is that of the scores times log2(e). Rows attend to `window` positions at most; `sinks` as `normaliser` has
// them. Block (w, h) does work `w` for KV head `h`.
template <class T, int DIM>
__device__ void attend_chunk(const T *q, const T *k, const T *v, T *out, const float *sinks, const unsigned *positions,
                             const Work *works, const Visit *visits, unsigned heads, unsigned kv_heads, unsigned window,
                             float scale) {
  typedef Chunk<T, DIM> A;
  constexpr int STAGES = A::STAGES;
  alignas(128) __shared__ T keys[STAGES][A::PLANE];
  alignas(128) __shared__ T page_values[STAGES][A::PLANE];
  A a;
  a.k = k, a.v = v, a.heads = heads, a.kv_heads = kv_heads, a.kv_head = blockIdx.y, a.group = heads / kv_heads;
  a.thread = threadIdx.x, a.t = a.thread % 4, a.window = window;
  a.first_query = a.thread / 32 / A::PARTS * 16, a.part = a.thread / 32 % A::PARTS;
  a.work = works[blockIdx.x];
  for (int i = 0; i < 2; i++) {
    const unsigned query = a.first_query + a.thread % 32 / 4 + 8 * i;
    a.real[i] = query < a.work.rows * a.group;
    a.row[i] = a.work.row + (a.real[i] ? query / a.group : 0);
    a.head[i] = a.kv_head * a.group + query % a.group;
    a.position[i] = positions[a.row[i]];
  }
  const unsigned end = a.work.rows * a.group;
  a.first = first_key(positions[a.work.row + (min(a.first_query, end - 1)) / a.group], window);
  a.last = positions[a.work.row + (min(a.first_query + 16, end) - 1) / a.group];
  visits += a.work.visit;
  for (int stage = 0; stage < STAGES - 1; stage++) {
    if (stage < (int)a.work.visits) a.load(visits[stage], keys[stage], page_values[stage]);
    copies_end();
  }
  a.load_queries(q);
  a.clear();
  // What the spans before gave.
  float total[A::OWN / 8][4];
  float total_max[2] = {negative_infinity(), negative_infinity()}, total_sum[2] = {0.0f, 0.0f};
  for (auto &n : total)
    for (float &x : n) x = 0.0f;

  unsigned span = visits[0].index / SPAN;
  for (unsigned i = 0; i <= a.work.visits; i++) {
    const bool over = i == a.work.visits;
    if (over || visits[i].index / SPAN != span) {
      a.running.sum_lanes();
      for (int r = 0; r < 2; r++) {
        const Shares s = shares(total_max[r], a.running.max[r]);
        for (int n = 0; n < A::OWN / 8; n++)
          for (int j = 2 * r; j < 2 * r + 2; j++) total[n][j] = fold(total[n][j], a.values[n][j], s);
        total_sum[r] = fold(total_sum[r], a.running.sum[r], s);
        total_max[r] = s.max;
      }
      if (over) break;
      a.clear();
      span = visits[i].index / SPAN;
    }
    copies_done<STAGES - 2>();
    __syncthreads();
    const unsigned next = i + STAGES - 1;
    if (next < a.work.visits) a.load(visits[next], keys[next % STAGES], page_values[next % STAGES]);
    copies_end();
    const Visit visit = visits[i];
    if (a.concerns(visit)) {
      float scores[2][4];
      a.score(keys[i % STAGES], scores);
      a.update_softmax(visit, scale, scores);
      a.add_values(page_values[i % STAGES], scores);
    }
  }
  for (int r = 0; r < 2; r++) {
    if (!a.real[r]) continue;
    const float one = normaliser(total_max[r], total_sum[r], sinks, a.head[r]);
    uint32_t *to = (uint32_t *)(out + ((size_t)a.row[r] * heads + a.head[r]) * DIM + a.part * A::OWN);
    for (int n = 0; n < A::OWN / 8; n++) to[n * 4 + a.t] = pack<T>(total[n][2 * r] * one, total[n][2 * r + 1] * one);
  }
}
