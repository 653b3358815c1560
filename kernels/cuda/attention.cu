// Causal attention over pages, on tensor cores, for prefill and decoding alike. Positions are cut into spans of eight
// pages. Within a span a query's softmax runs page by page, in the order of positions; what the spans gave is folded in
// ascending order. So a query's bits depend on its own keys alone: not on the rows that share its pages, not on which
// block had which span, not on whether spans were folded in registers (long chunks) or by `merge` (decoding, where
// spans run side by side and a page that rows share is read once for them).
#include "device.cuh"

constexpr unsigned PAGE = 16;
constexpr unsigned SPAN = 8;
constexpr int STAGES = 4;

// One page and the rows of the batch that attend to it. `index` counts the page among its sequence's; keys of it beyond
// `keys` have not been written.
struct Visit {
  unsigned page, index, row, rows, keys;
};
// Rows of the batch that are worked on together, and where their visits begin.
struct Work {
  unsigned row, rows, visit, visits;
};

// The running softmax of a lane's two queries.
struct Running {
  float max[2], sum[2];
};

__device__ __forceinline__ float negative_infinity() { return -INFINITY; }

// The factors of both sides of a fold. The factor of a side without keys is zero.
struct Shares {
  float max, before, after;
};
__device__ __forceinline__ Shares shares(float before, float after) {
  Shares s;
  s.max = fmaxf(before, after);
  s.before = before == negative_infinity() ? 0.0f : exp2_fast(before - s.max);
  s.after = after == negative_infinity() ? 0.0f : exp2_fast(after - s.max);
  return s;
}
__device__ __forceinline__ float fold(float before, float after, const Shares &s) {
  return fmaf(after, s.after, before * s.before);
}

// Offset of sixteen bytes of a page's plane in shared memory, permuted so that the eight rows of a matrix meet eight
// different sets of banks. Keys are rows of two such pieces, values of `DIM / 8`.
__device__ __forceinline__ unsigned key_offset(unsigned d, unsigned piece) { return d * 2 + (piece ^ (d >> 2 & 1)); }
template <int DIM> __device__ __forceinline__ unsigned value_offset(unsigned key, unsigned piece) {
  const unsigned turned = DIM % 64 == 0 ? key & 7 : key >> 1 & 3;
  return key * (DIM / 8) + (piece ^ turned);
}

template <class T, int DIM, int WARPS, bool PARTIAL> struct Attention {
  static constexpr int PLANE = DIM * PAGE;
  static constexpr int THREADS = WARPS * 32;

  const T *k, *v;
  unsigned kv_heads, kv_head, group, heads;
  unsigned thread, warp, g, t;
  Work work;
  // Of the lane's two queries: their number in the work, row, head and position.
  unsigned query[2], row[2], head[2], position[2];
  bool real[2];
  // The last position that this warp attends to. Only within one sequence do positions ascend with rows.
  unsigned last;

  uint32_t q[DIM / 16][4];
  float values[DIM / 8][4];
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
    for (int n = 0; n < DIM / 8; n++)
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

  // Scores to weights, in base two; takes them into the running softmax.
  __device__ void update_softmax(const Visit &visit, float scale, float (&scores)[2][4]) {
    const unsigned first = (visit.row - work.row) * group, end = first + visit.rows * group;
    float shrink[2];
    for (int i = 0; i < 2; i++) {
      const bool attends = real[i] && query[i] >= first && query[i] < end;
      float highest = running.max[i];
      for (int half = 0; half < 2; half++)
        for (int j = 0; j < 2; j++) {
          float &score = scores[half][2 * i + j];
          const unsigned key = visit.index * PAGE + half * 8 + 2 * t + j;
          score = attends && key <= position[i] ? score * scale : negative_infinity();
          highest = fmaxf(highest, score);
        }
      highest = fmaxf(highest, __shfl_xor_sync(0xffffffffu, highest, 1));
      highest = fmaxf(highest, __shfl_xor_sync(0xffffffffu, highest, 2));
      const bool empty = highest == negative_infinity();
      shrink[i] = empty ? 1.0f : exp2_fast(running.max[i] - highest);
      for (int half = 0; half < 2; half++)
        for (int j = 0; j < 2; j++) {
          float &score = scores[half][2 * i + j];
          score = empty ? 0.0f : exp2_fast(score - highest);
        }
      const float page = (scores[0][2 * i] + scores[0][2 * i + 1]) + (scores[1][2 * i] + scores[1][2 * i + 1]);
      running.sum[i] = fmaf(running.sum[i], shrink[i], page);
      running.max[i] = highest;
    }
    // Multiplying by one changes no bits, so it is left out.
    if (__any_sync(0xffffffffu, shrink[0] != 1.0f || shrink[1] != 1.0f))
      for (int n = 0; n < DIM / 8; n++)
        for (int i = 0; i < 4; i++) values[n][i] = values[n][i] * shrink[i / 2];
  }

  __device__ void add_values(const T *page_values, const float (&weights)[2][4]) {
    const unsigned lane = thread % 32;
    const uint32_t a[4] = {pack<T>(weights[0][0], weights[0][1]), pack<T>(weights[0][2], weights[0][3]),
                           pack<T>(weights[1][0], weights[1][1]), pack<T>(weights[1][2], weights[1][3])};
    for (int pair = 0; pair < DIM / 16; pair++) {
      uint32_t b[4];
      load_matrices_transposed(b, page_values + value_offset<DIM>(lane % 16, pair * 2 + lane / 16) * 8);
      mma<T>(values[2 * pair], a, b[0], b[1]);
      mma<T>(values[2 * pair + 1], a, b[2], b[3]);
    }
  }

  // Whether this warp has a query that attends to the page: no other effect of `visit` on it could be seen.
  __device__ bool concerns(const Visit &visit) const {
    const unsigned first = (visit.row - work.row) * group, end = first + visit.rows * group, mine = warp * 16;
    return first < mine + 16 && end > mine && mine < work.rows * group && visit.index * PAGE <= last;
  }

  // A span's sums over the four lanes that share a query.
  __device__ void sum_lanes() {
    for (int i = 0; i < 2; i++) {
      running.sum[i] = running.sum[i] + __shfl_xor_sync(0xffffffffu, running.sum[i], 1);
      running.sum[i] = running.sum[i] + __shfl_xor_sync(0xffffffffu, running.sum[i], 2);
    }
  }

  // Stores a span's result: values not yet divided, their maximum and their sum.
  __device__ void store_span(unsigned span, const unsigned *slots, float *partial, float *sums) const {
    for (int i = 0; i < 2; i++) {
      if (!real[i] || position[i] / (SPAN * PAGE) < span) continue;
      const size_t at = (size_t)(slots[row[i]] + span) * heads + head[i];
      for (int n = 0; n < DIM / 8; n++) {
        partial[at * DIM + n * 8 + 2 * t] = values[n][2 * i];
        partial[at * DIM + n * 8 + 2 * t + 1] = values[n][2 * i + 1];
      }
      if (t == 0) sums[at * 2] = running.max[i], sums[at * 2 + 1] = running.sum[i];
    }
  }
};

// `q` and `out` are `[rows, heads, DIM]`; `k` is `[pages, kv_heads, DIM, PAGE]`, `v` `[pages, kv_heads, PAGE, DIM]`;
// `partial` is `[slots, heads, DIM]`, `sums` `[slots, heads, 2]`, and `slots[row] + span` says which slot. `scale` is
// that of the scores times log2(e). Block (w, h) does work `w` for KV head `h`.
template <class T, int DIM, int WARPS, bool PARTIAL>
__device__ void attend(const T *q, const T *k, const T *v, T *out, float *partial, float *sums, const unsigned *positions,
                       const unsigned *slots, const Work *works, const Visit *visits, unsigned heads, unsigned kv_heads,
                       float scale) {
  typedef Attention<T, DIM, WARPS, PARTIAL> A;
  alignas(128) __shared__ T keys[STAGES][A::PLANE];
  alignas(128) __shared__ T page_values[STAGES][A::PLANE];
  A a;
  a.k = k, a.v = v, a.heads = heads, a.kv_heads = kv_heads, a.kv_head = blockIdx.y, a.group = heads / kv_heads;
  a.thread = threadIdx.x, a.warp = a.thread / 32, a.g = a.thread % 32 / 4, a.t = a.thread % 4;
  a.work = works[blockIdx.x];
  for (int i = 0; i < 2; i++) {
    a.query[i] = a.warp * 16 + a.g + 8 * i;
    a.real[i] = a.query[i] < a.work.rows * a.group;
    a.row[i] = a.work.row + (a.real[i] ? a.query[i] / a.group : 0);
    a.head[i] = a.kv_head * a.group + a.query[i] % a.group;
    a.position[i] = positions[a.row[i]];
  }
  const unsigned end = a.work.rows * a.group, warp_end = a.warp * 16 + 16;
  a.last = PARTIAL ? ~0u : positions[a.work.row + ((warp_end < end ? warp_end : end) - 1) / a.group];
  visits += a.work.visit;
  for (int stage = 0; stage < STAGES - 1; stage++) {
    if (stage < (int)a.work.visits) a.load(visits[stage], keys[stage], page_values[stage]);
    copies_end();
  }
  a.load_queries(q);
  a.clear();
  // What the spans before gave; unused where spans are handed on.
  float total[PARTIAL ? 1 : DIM / 8][4];
  float total_max[2] = {negative_infinity(), negative_infinity()}, total_sum[2] = {0.0f, 0.0f};
  for (auto &n : total)
    for (float &x : n) x = 0.0f;

  unsigned span = visits[0].index / SPAN;
  for (unsigned i = 0; i <= a.work.visits; i++) {
    const bool over = i == a.work.visits;
    if (over || visits[i].index / SPAN != span) {
      a.sum_lanes();
      if constexpr (PARTIAL) {
        a.store_span(span, slots, partial, sums);
      } else {
        for (int r = 0; r < 2; r++) {
          const Shares s = shares(total_max[r], a.running.max[r]);
          for (int n = 0; n < DIM / 8; n++)
            for (int j = 2 * r; j < 2 * r + 2; j++) total[n][j] = fold(total[n][j], a.values[n][j], s);
          total_sum[r] = fold(total_sum[r], a.running.sum[r], s);
          total_max[r] = s.max;
        }
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
  if constexpr (!PARTIAL) {
    for (int r = 0; r < 2; r++) {
      if (!a.real[r]) continue;
      const float one = 1.0f / total_sum[r];
      uint32_t *to = (uint32_t *)(out + ((size_t)a.row[r] * heads + a.head[r]) * DIM);
      for (int n = 0; n < DIM / 8; n++) to[n * 4 + a.t] = pack<T>(total[n][2 * r] * one, total[n][2 * r + 1] * one);
    }
  }
}

// Folds the spans of `rows[blockIdx.x]` in ascending order, a warp a head.
template <class T, int DIM>
__device__ void merge(const float *partial, const float *sums, T *out, const unsigned *positions, const unsigned *slots,
                      const unsigned *rows, unsigned heads) {
  constexpr int N = DIM / 32;
  const unsigned row = rows[blockIdx.x], lane = threadIdx.x % 32;
  const unsigned spans = positions[row] / (SPAN * PAGE) + 1;
  for (unsigned head = threadIdx.x / 32; head < heads; head += blockDim.x / 32) {
    float total[N], max = negative_infinity(), sum = 0.0f;
    for (float &x : total) x = 0.0f;
    for (unsigned span = 0; span < spans; span++) {
      const size_t at = (size_t)(slots[row] + span) * heads + head;
      const Shares s = shares(max, sums[at * 2]);
      for (int n = 0; n < N; n++) total[n] = fold(total[n], partial[at * DIM + n * 32 + lane], s);
      sum = fold(sum, sums[at * 2 + 1], s);
      max = s.max;
    }
    const float one = 1.0f / sum;
    for (int n = 0; n < N; n++) out[((size_t)row * heads + head) * DIM + n * 32 + lane] = narrow<T>(total[n] * one);
  }
}

#define ATTEND(NAME, T, DIM, WARPS, PARTIAL)                                                                          \
  extern "C" __global__ void __launch_bounds__(WARPS * 32)                                                            \
      NAME##_##DIM##_##T(const T *q, const T *k, const T *v, T *out, float *partial, float *sums,                     \
                         const unsigned *positions, const unsigned *slots, const Work *works, const Visit *visits,    \
                         unsigned heads, unsigned kv_heads, float scale) {                                            \
    attend<T, DIM, WARPS, PARTIAL>(q, k, v, out, partial, sums, positions, slots, works, visits, heads, kv_heads,     \
                                   scale);                                                                            \
  }
#define ATTENTION(T, DIM)                                                                                             \
  ATTEND(attend_few, T, DIM, 1, true)                                                                                 \
  ATTEND(attend_many, T, DIM, 4, true)                                                                                \
  ATTEND(attend_chunk, T, DIM, 4, false)                                                                              \
  extern "C" __global__ void merge_##DIM##_##T(const float *partial, const float *sums, T *out,                       \
                                               const unsigned *positions, const unsigned *slots,                      \
                                               const unsigned *rows, unsigned heads) {                                \
    merge<T, DIM>(partial, sums, out, positions, slots, rows, heads);                                                 \
  }
ATTENTION(f16, 64)
ATTENTION(f16, 96)
ATTENTION(f16, 128)
ATTENTION(bf16, 64)
ATTENTION(bf16, 96)
ATTENTION(bf16, 128)
