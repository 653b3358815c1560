// Causal attention over pages, on tensor cores, for prefill and decoding alike. Positions are cut into spans of eight
// pages. Within a span a query's softmax runs page by page, in the order of positions; what the spans gave is folded in
// ascending order. So a query's bits depend on its own keys alone: not on the rows that share its pages, not on which
// block had which span, not on whether a block goes through all spans of a tile (`attend_chunk`, long chunks) or has one
// (`attend_span`, decoding), whose pages are then read once for sixteen queries that share them, and for more where they
// have no other pages.
#include "device.cuh"

constexpr unsigned PAGE = 16;
constexpr unsigned SPAN = 8;
// Of `attend_chunk`: pages in flight, and warps of a block.
constexpr int STAGES = 4;
constexpr int CHUNK_WARPS = 4;
// Of `attend_span`: visits that are worked on together, a warp each; and most queries, as ops/cascade plans them.
constexpr int TOGETHER = 8;
constexpr int QUERIES = 64;

// One page and the rows of the batch that attend to it. `index` counts the page among its sequence's; keys of it beyond
// `keys` have not been written.
struct Visit {
  unsigned page, index, row, rows, keys;
};
// Rows of the batch that are worked on together, and where their visits begin.
struct Work {
  unsigned row, rows, visit, visits;
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

// The running softmax of a lane's two queries, in base two.
struct Running {
  float max[2], sum[2];

  // Takes the keys of a page: their highest score, and the sum of their weights as `weigh` gives it. Returns the factor
  // of what came before.
  __device__ __forceinline__ float take(int i, float highest, float page) {
    const float now = fmaxf(max[i], highest);
    const float shrink = now == negative_infinity() ? 1.0f : exp2_fast(max[i] - now);
    sum[i] = fmaf(sum[i], shrink, page);
    max[i] = now;
    return shrink;
  }

  // A span's sums over the four lanes that share a query.
  __device__ __forceinline__ void sum_lanes() {
    for (int i = 0; i < 2; i++) {
      sum[i] = sum[i] + __shfl_xor_sync(0xffffffffu, sum[i], 1);
      sum[i] = sum[i] + __shfl_xor_sync(0xffffffffu, sum[i], 2);
    }
  }
};

// Of a page's sixteen keys, in two halves, D of `mma`: the scores of query `i`, scaled; minus infinity where it does not
// attend. `index` counts the page among its sequence's. Returns the highest, or `highest`.
__device__ __forceinline__ float mask(float (&scores)[2][4], int i, bool attends, unsigned index, unsigned position,
                                      float scale, float highest) {
  for (int half = 0; half < 2; half++)
    for (int j = 0; j < 2; j++) {
      float &score = scores[half][2 * i + j];
      const unsigned key = index * PAGE + half * 8 + 2 * (threadIdx.x % 4) + j;
      score = attends && key <= position ? score * scale : negative_infinity();
      highest = fmaxf(highest, score);
    }
  highest = fmaxf(highest, __shfl_xor_sync(0xffffffffu, highest, 1));
  return fmaxf(highest, __shfl_xor_sync(0xffffffffu, highest, 2));
}

// Scores of query `i` to weights, `max` being the highest score up to this page. Returns the sum of this lane's.
__device__ __forceinline__ float weigh(float (&scores)[2][4], int i, float max) {
  for (int half = 0; half < 2; half++)
    for (int j = 0; j < 2; j++) {
      float &score = scores[half][2 * i + j];
      score = max == negative_infinity() ? 0.0f : exp2_fast(score - max);
    }
  return (scores[0][2 * i] + scores[0][2 * i + 1]) + (scores[1][2 * i] + scores[1][2 * i + 1]);
}

// A of `mma`, in one load.
struct alignas(16) Fragment { uint32_t x[4]; };
template <class T> __device__ __forceinline__ Fragment fragment(const float (&weights)[2][4]) {
  return {{pack<T>(weights[0][0], weights[0][1]), pack<T>(weights[0][2], weights[0][3]),
           pack<T>(weights[1][0], weights[1][1]), pack<T>(weights[1][2], weights[1][3])}};
}

template <int N> __device__ __forceinline__ void shrink_values(float (&values)[N][4], const float (&shrink)[2]) {
  // Multiplying by one changes no bits, so it is left out.
  if (__any_sync(0xffffffffu, shrink[0] != 1.0f || shrink[1] != 1.0f))
    for (int n = 0; n < N; n++)
      for (int i = 0; i < 4; i++) values[n][i] = values[n][i] * shrink[i / 2];
}

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
  static constexpr int THREADS = CHUNK_WARPS * 32;

  const T *k, *v;
  unsigned kv_heads, kv_head, group, heads;
  unsigned thread, warp, t;
  Work work;
  // Of the lane's two queries: row, head and position.
  unsigned row[2], head[2], position[2];
  bool real[2];
  // The last position that this warp attends to.
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

  // Scores to weights; takes them into the running softmax.
  __device__ void update_softmax(const Visit &visit, float scale, float (&scores)[2][4]) {
    float shrink[2];
    for (int i = 0; i < 2; i++) {
      const float highest = mask(scores, i, real[i], visit.index, position[i], scale, running.max[i]);
      shrink[i] = running.take(i, highest, weigh(scores, i, highest));
    }
    shrink_values(values, shrink);
  }

  __device__ void add_values(const T *page_values, const float (&weights)[2][4]) {
    const unsigned lane = thread % 32;
    const Fragment a = fragment<T>(weights);
    for (int pair = 0; pair < DIM / 16; pair++) {
      uint32_t b[4];
      load_matrices_transposed(b, page_values + value_offset<DIM>(lane % 16, pair * 2 + lane / 16) * 8);
      mma<T>(values[2 * pair], a.x, b[0], b[1]);
      mma<T>(values[2 * pair + 1], a.x, b[2], b[3]);
    }
  }

  // Whether this warp has a query that attends to the page: no other effect of `visit` on it could be seen.
  __device__ bool concerns(const Visit &visit) const {
    return warp * 16 < work.rows * group && visit.index * PAGE <= last;
  }
};

// `q` and `out` are `[rows, heads, DIM]`; `k` is `[pages, kv_heads, DIM, PAGE]`, `v` `[pages, kv_heads, PAGE, DIM]`.
// `scale` is that of the scores times log2(e). Block (w, h) does work `w` for KV head `h`.
template <class T, int DIM>
__device__ void attend_chunk(const T *q, const T *k, const T *v, T *out, const unsigned *positions, const Work *works,
                             const Visit *visits, unsigned heads, unsigned kv_heads, float scale) {
  typedef Chunk<T, DIM> A;
  alignas(128) __shared__ T keys[STAGES][A::PLANE];
  alignas(128) __shared__ T page_values[STAGES][A::PLANE];
  A a;
  a.k = k, a.v = v, a.heads = heads, a.kv_heads = kv_heads, a.kv_head = blockIdx.y, a.group = heads / kv_heads;
  a.thread = threadIdx.x, a.warp = a.thread / 32, a.t = a.thread % 4;
  a.work = works[blockIdx.x];
  for (int i = 0; i < 2; i++) {
    const unsigned query = a.warp * 16 + a.thread % 32 / 4 + 8 * i;
    a.real[i] = query < a.work.rows * a.group;
    a.row[i] = a.work.row + (a.real[i] ? query / a.group : 0);
    a.head[i] = a.kv_head * a.group + query % a.group;
    a.position[i] = positions[a.row[i]];
  }
  const unsigned end = a.work.rows * a.group, warp_end = a.warp * 16 + 16;
  a.last = positions[a.work.row + ((warp_end < end ? warp_end : end) - 1) / a.group];
  visits += a.work.visit;
  for (int stage = 0; stage < STAGES - 1; stage++) {
    if (stage < (int)a.work.visits) a.load(visits[stage], keys[stage], page_values[stage]);
    copies_end();
  }
  a.load_queries(q);
  a.clear();
  // What the spans before gave.
  float total[DIM / 8][4];
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
        for (int n = 0; n < DIM / 8; n++)
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
    const float one = 1.0f / total_sum[r];
    uint32_t *to = (uint32_t *)(out + ((size_t)a.row[r] * heads + a.head[r]) * DIM);
    for (int n = 0; n < DIM / 8; n++) to[n * 4 + a.t] = pack<T>(total[n][2 * r] * one, total[n][2 * r + 1] * one);
  }
}

// Folds the spans of a row's head in ascending order, by one warp. Other blocks of this launch have written them.
template <class T, int DIM>
__device__ void fold_spans(const float *partial, const float *sums, T *out, unsigned slot, unsigned spans, unsigned heads,
                           unsigned head) {
  constexpr int N = DIM / 32;
  const unsigned lane = threadIdx.x % 32;
  float total[N], max = negative_infinity(), sum = 0.0f;
  for (float &x : total) x = 0.0f;
#pragma unroll 4
  for (unsigned span = 0; span < spans; span++) {
    const size_t at = (size_t)(slot + span) * heads + head;
    const Shares s = shares(max, load_written(sums + at * 2));
    for (int n = 0; n < N; n++) total[n] = fold(total[n], load_written(partial + at * DIM + n * 32 + lane), s);
    sum = fold(sum, load_written(sums + at * 2 + 1), s);
    max = s.max;
  }
  const float one = 1.0f / sum;
  for (int n = 0; n < N; n++) out[n * 32 + lane] = narrow<T>(total[n] * one);
}

// As `attend_chunk`, for a work that is one span of up to QUERIES queries, sixteen at a time. Each warp scores the keys
// of one visit, and then adds up the weighted values of all visits for sixteen of the DIM numbers. Between the two, the
// visits' maxima and weights meet in shared memory, so that every warp goes through the running softmax in the order of
// positions. Keys and values go from memory to registers, all at once.
//
// `partial` is `[slots, heads, DIM]`, `sums` `[slots, heads, 2]`, and `slots[row] + span` says which slot. The block that
// stores a row's last missing span folds all of them; `stored`, `[rows, kv_heads]`, counts those that are there, and is
// zero before and after the launch.
template <class T, int DIM>
__device__ void attend_span(const T *q, const T *k, const T *v, T *out, float *partial, float *sums, unsigned *stored,
                            const unsigned *positions, const unsigned *slots, const Work *works, const Visit *visits,
                            unsigned heads, unsigned kv_heads, float scale) {
  constexpr int STEPS = DIM / 16, PLANE = DIM * PAGE;
  __shared__ float highest[2][TOGETHER][16];
  __shared__ float page_sums[TOGETHER][2][32];
  __shared__ Fragment weights[TOGETHER][32];
  __shared__ bool complete[QUERIES];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
  const unsigned kv_head = blockIdx.y, group = heads / kv_heads;
  const Work work = works[blockIdx.x];
  const unsigned queries = work.rows * group;
  if (queries == 0) return;
  visits += work.visit;
  const unsigned span = visits[0].index / SPAN;
  // Of the keys that this warp scores, and of all visits' values that it adds up: B of `mma`.
  uint32_t key[STEPS][4], value[TOGETHER][4];
  // The visits that they are of.
  unsigned loaded_from = ~0u, loaded = 0;
  unsigned turn = 0;

  for (unsigned first = 0; first < queries; first += 16) {
    unsigned row[2], head[2], position[2];
    bool real[2];
    uint32_t a[STEPS][4];
    for (int i = 0; i < 2; i++) {
      const unsigned query = first + g + 8 * i;
      real[i] = query < queries;
      row[i] = work.row + (real[i] ? query / group : 0);
      head[i] = kv_head * group + query % group;
      position[i] = positions[row[i]];
      const uint32_t *numbers = (const uint32_t *)(q + ((size_t)row[i] * heads + head[i]) * DIM);
      for (int step = 0; step < STEPS; step++) {
        a[step][i] = real[i] ? load(numbers + step * 8 + t) : 0;
        a[step][i + 2] = real[i] ? load(numbers + step * 8 + t + 4) : 0;
      }
    }
    const unsigned first_row = first / group, last_row = (min(first + 16, queries) - 1) / group;
    float values[2][4] = {};
    Running running = {{negative_infinity(), negative_infinity()}, {0.0f, 0.0f}};

    for (unsigned from = 0; from < work.visits; from += 32) {
      const Visit own = visits[min(from + lane, work.visits - 1)];
      const unsigned begins = own.row - work.row;
      unsigned concerned = __ballot_sync(
          0xffffffffu, from + lane < work.visits && begins <= last_row && begins + own.rows > first_row);
      while (concerned != 0) {
        // The next visits of these queries, a bit each; a warp without one loads another's page and uses nothing of it.
        unsigned taken = 0, lanes[TOGETHER];
#pragma unroll
        for (int i = 0; i < TOGETHER; i++) {
          lanes[i] = concerned != 0 ? __ffs(concerned) - 1 : 0;
          taken |= concerned & -concerned;
          concerned &= concerned - 1;
        }
        const unsigned count = __popc(taken);
        unsigned lane_of_mine = lanes[0];
#pragma unroll
        for (int i = 1; i < TOGETHER; i++) lane_of_mine = warp == i ? lanes[i] : lane_of_mine;
        const bool fresh = loaded_from != from || loaded != taken;
        loaded_from = from, loaded = taken;
        if (fresh) {
          const unsigned page = __shfl_sync(0xffffffffu, own.page, lane_of_mine);
          const T *plane = k + ((size_t)page * kv_heads + kv_head) * PLANE;
          for (int step = 0; step < STEPS; step++)
            for (int i = 0; i < 4; i++)
              key[step][i] = load((const uint32_t *)(plane + (step * 16 + i % 2 * 8 + g) * PAGE + i / 2 * 8) + t);
#pragma unroll
          for (int visit = 0; visit < TOGETHER; visit++) {
            const unsigned page = __shfl_sync(0xffffffffu, own.page, lanes[visit]);
            const unsigned keys = __shfl_sync(0xffffffffu, own.keys, lanes[visit]);
            const T *plane = v + ((size_t)page * kv_heads + kv_head) * PLANE + warp % STEPS * 16;
            for (int i = 0; i < 4; i++) {
              const unsigned at = i % 2 * 8 + g;
              // Unwritten memory may hold NaN, which a weight of zero does not remove.
              value[visit][i] = visit < count && at < keys ? load((const uint32_t *)(plane + at * DIM + i / 2 * 8) + t) : 0;
            }
          }
          for (auto &step : key)
            for (uint32_t &matrix : step) matrix = transposed(matrix);
        }

        float scores[2][4] = {};
        for (int step = 0; step < STEPS; step++) {
          mma<T>(scores[0], a[step], key[step][0], key[step][1]);
          mma<T>(scores[1], a[step], key[step][2], key[step][3]);
        }
        const unsigned index = __shfl_sync(0xffffffffu, own.index, lane_of_mine);
        const unsigned visit_row = __shfl_sync(0xffffffffu, own.row, lane_of_mine);
        const unsigned visit_rows = __shfl_sync(0xffffffffu, own.rows, lane_of_mine);
        for (int i = 0; i < 2; i++) {
          const bool attends = warp < count && real[i] && row[i] >= visit_row && row[i] < visit_row + visit_rows;
          const float top = mask(scores, i, attends, index, position[i], scale, negative_infinity());
          if (t == 0) highest[turn][warp][g + 8 * i] = top;
        }
        __syncthreads();
        for (int i = 0; i < 2; i++) {
          float max = running.max[i];
          for (unsigned visit = 0; visit <= warp; visit++) max = fmaxf(max, highest[turn][visit][g + 8 * i]);
          page_sums[warp][i][lane] = weigh(scores, i, max);
        }
        weights[warp][lane] = fragment<T>(scores);
        __syncthreads();
        if (fresh)
          for (auto &visit : value)
            for (uint32_t &matrix : visit) matrix = transposed(matrix);
#pragma unroll
        for (int visit = 0; visit < TOGETHER; visit++) {
          if (visit >= count) break;
          float shrink[2];
          for (int i = 0; i < 2; i++)
            shrink[i] = running.take(i, highest[turn][visit][g + 8 * i], page_sums[visit][i][lane]);
          shrink_values(values, shrink);
          const Fragment of_visit = weights[visit][lane];
          mma<T>(values[0], of_visit.x, value[visit][0], value[visit][1]);
          mma<T>(values[1], of_visit.x, value[visit][2], value[visit][3]);
        }
        turn = 1 - turn;
      }
    }

    running.sum_lanes();
    for (int i = 0; i < 2; i++) {
      if (!real[i] || position[i] / (SPAN * PAGE) < span) continue;
      const size_t at = (size_t)(slots[row[i]] + span) * heads + head[i];
      if (warp < STEPS)
        for (int n = 0; n < 2; n++)
          for (int j = 0; j < 2; j++) partial[at * DIM + warp * 16 + n * 8 + 2 * t + j] = values[n][2 * i + j];
      if (warp == 0 && t == 0) sums[at * 2] = running.max[i], sums[at * 2 + 1] = running.sum[i];
    }
  }

  __threadfence();
  __syncthreads();
  if (threadIdx.x < work.rows) {
    const unsigned row = work.row + threadIdx.x, last = positions[row] / (SPAN * PAGE);
    unsigned *count = stored + (size_t)row * kv_heads + kv_head;
    complete[threadIdx.x] = last >= span && atomicAdd(count, 1u) == last;
    if (complete[threadIdx.x]) *count = 0;
    __threadfence();
  }
  __syncthreads();
  for (unsigned query = warp; query < queries; query += TOGETHER) {
    if (!complete[query / group]) continue;
    const unsigned row = work.row + query / group, head = kv_head * group + query % group;
    fold_spans<T, DIM>(partial, sums, out + ((size_t)row * heads + head) * DIM, slots[row],
                       positions[row] / (SPAN * PAGE) + 1, heads, head);
  }
}

#define ATTENTION(T, DIM)                                                                                             \
  extern "C" __global__ void __launch_bounds__(CHUNK_WARPS * 32)                                                      \
      attend_chunk_##DIM##_##T(const T *q, const T *k, const T *v, T *out, const unsigned *positions,                 \
                               const Work *works, const Visit *visits, unsigned heads, unsigned kv_heads,             \
                               float scale) {                                                                         \
    attend_chunk<T, DIM>(q, k, v, out, positions, works, visits, heads, kv_heads, scale);                             \
  }                                                                                                                   \
  extern "C" __global__ void __launch_bounds__(TOGETHER * 32, 2)                                                       \
      attend_span_##DIM##_##T(const T *q, const T *k, const T *v, T *out, float *partial, float *sums,                \
                              unsigned *stored, const unsigned *positions, const unsigned *slots, const Work *works,  \
                              const Visit *visits, unsigned heads, unsigned kv_heads, float scale) {                  \
    attend_span<T, DIM>(q, k, v, out, partial, sums, stored, positions, slots, works, visits, heads, kv_heads,        \
                        scale);                                                                                       \
  }
ATTENTION(f16, 64)
ATTENTION(f16, 96)
ATTENTION(f16, 128)
ATTENTION(bf16, 64)
ATTENTION(bf16, 96)
ATTENTION(bf16, 128)
