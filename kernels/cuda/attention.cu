// Causal attention over pages, within a window where there is one, on tensor cores, for prefill and decoding alike.
// Positions are cut into spans of eight pages. Within a span a query's softmax runs page by page, in the order of
// positions; what the spans gave is folded in ascending order. So a query's bits depend on its own keys alone: not on
// the rows that share its pages, not on which block had which span, not on whether a block goes through all spans of a
// tile (`attend_chunk`, long chunks) or has one (`attend_span`, decoding), whose pages are then read once for sixteen
// queries that share them, and for more where they have no other pages. `attend_chunk` is in attention_chunk.cuh,
// `attend_span` is here.
#include "attention.cuh"
#include "attention_chunk.cuh"

// Of `attend_span`: visits that are worked on together, a warp each; and most queries, as ops/cascade plans them.
constexpr int TOGETHER = 8;
constexpr int QUERIES = 64;

// The first span that the row at `position` attends to, and the last.
struct Spans {
  unsigned first, last;
  __device__ __forceinline__ Spans(unsigned position, unsigned window)
      : first(first_key(position, window) / (SPAN * PAGE)), last(position / (SPAN * PAGE)) {}
  __device__ __forceinline__ bool has(unsigned span) const { return first <= span && span <= last; }
};

// Folds the spans of a row's head in ascending order, by one warp. Other blocks of this launch have written them.
template <class T, int DIM>
__device__ void fold_spans(const float *partial, const float *sums, T *out, const float *sinks, unsigned slot,
                           unsigned spans, unsigned heads, unsigned head) {
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
  const float one = normaliser(max, sum, sinks, head);
  for (int n = 0; n < N; n++) out[n * 32 + lane] = narrow<T>(total[n] * one);
}

// As `attend_chunk`, for a work that is one span of up to QUERIES queries, sixteen at a time. Each warp scores the keys
// of one visit, and then adds up the weighted values of all visits for sixteen of the DIM numbers, of 256 for twice
// sixteen. Between the two, the visits' maxima and weights meet in shared memory, so that every warp goes through the running softmax in the order of
// positions. Keys and values go from memory to registers, all at once.
//
// `partial` is `[slots, heads, DIM]`, `sums` `[slots, heads, 2]`; a row's first span is in slot `slots[row]`, the next
// ones behind it. The block that stores a row's last missing span folds all of them; `stored`, `[rows, kv_heads]`, counts
// those that are there, and is zero before and after the launch.
template <class T, int DIM>
__device__ void attend_span(const T *q, const T *k, const T *v, T *out, const float *sinks, float *partial, float *sums,
                            unsigned *stored, const unsigned *positions, const unsigned *slots, const Work *works,
                            const Visit *visits, unsigned heads, unsigned kv_heads, unsigned window, float scale) {
  constexpr int STEPS = DIM / 16, PLANE = DIM * PAGE;
  // Sixteens of values that a warp adds up: those from `warp * 16` on, and then the ones TOGETHER sixteens further.
  constexpr int SHARES = (STEPS + TOGETHER - 1) / TOGETHER;
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
  uint32_t key[STEPS][4], value[SHARES][TOGETHER][4];
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
    float values[SHARES][2][4] = {};
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
            for (int share = 0; share < SHARES; share++)
              for (int i = 0; i < 4; i++) {
                const unsigned at = i % 2 * 8 + g;
                const T *from = plane + share * TOGETHER * 16 + at * DIM + i / 2 * 8;
                // Unwritten memory may hold NaN, which a weight of zero does not remove.
                value[share][visit][i] = visit < count && at < keys ? load((const uint32_t *)from + t) : 0;
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
          const float top = mask(scores, i, attends, index, position[i], window, scale, negative_infinity());
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
          for (auto &share : value)
            for (auto &visit : share)
              for (uint32_t &matrix : visit) matrix = transposed(matrix);
#pragma unroll
        for (int visit = 0; visit < TOGETHER; visit++) {
          if (visit >= count) break;
          float shrink[2];
          for (int i = 0; i < 2; i++)
            shrink[i] = running.take(i, highest[turn][visit][g + 8 * i], page_sums[visit][i][lane]);
          const Fragment of_visit = weights[visit][lane];
          for (int share = 0; share < SHARES; share++) {
            shrink_values(values[share], shrink);
            mma<T>(values[share][0], of_visit.x, value[share][visit][0], value[share][visit][1]);
            mma<T>(values[share][1], of_visit.x, value[share][visit][2], value[share][visit][3]);
          }
        }
        turn = 1 - turn;
      }
    }

    running.sum_lanes();
    for (int i = 0; i < 2; i++) {
      const Spans spans(position[i], window);
      if (!real[i] || !spans.has(span)) continue;
      const size_t at = (size_t)(slots[row[i]] + span - spans.first) * heads + head[i];
      if (warp < STEPS)
        for (int share = 0; share < SHARES; share++)
          for (int n = 0; n < 2; n++)
            for (int j = 0; j < 2; j++) {
              const unsigned d = (warp + share * TOGETHER) * 16 + n * 8 + 2 * t + j;
              partial[at * DIM + d] = values[share][n][2 * i + j];
            }
      if (warp == 0 && t == 0) sums[at * 2] = running.max[i], sums[at * 2 + 1] = running.sum[i];
    }
  }

  __threadfence();
  __syncthreads();
  if (threadIdx.x < work.rows) {
    const unsigned row = work.row + threadIdx.x;
    const Spans spans(positions[row], window);
    unsigned *count = stored + (size_t)row * kv_heads + kv_head;
    complete[threadIdx.x] = spans.has(span) && atomicAdd(count, 1u) == spans.last - spans.first;
    if (complete[threadIdx.x]) *count = 0;
    __threadfence();
  }
  __syncthreads();
  for (unsigned query = warp; query < queries; query += TOGETHER) {
    if (!complete[query / group]) continue;
    const unsigned row = work.row + query / group, head = kv_head * group + query % group;
    const Spans spans(positions[row], window);
    fold_spans<T, DIM>(partial, sums, out + ((size_t)row * heads + head) * DIM, sinks, slots[row],
                       spans.last - spans.first + 1, heads, head);
  }
}

#define ATTENTION(T, DIM)                                                                                             \
  extern "C" __global__ void __launch_bounds__(Chunk<T, DIM>::THREADS)                                                \
      attend_chunk_##DIM##_##T(const T *q, const T *k, const T *v, T *out, const float *sinks,                        \
                               const unsigned *positions, const Work *works, const Visit *visits, unsigned heads,     \
                               unsigned kv_heads, unsigned window, float scale) {                                     \
    attend_chunk<T, DIM>(q, k, v, out, sinks, positions, works, visits, heads, kv_heads, window, scale);              \
  }                                                                                                                   \
  extern "C" __global__ void __launch_bounds__(TOGETHER * 32, DIM > 128 ? 1 : 2)                                      \
      attend_span_##DIM##_##T(const T *q, const T *k, const T *v, T *out, const float *sinks, float *partial,         \
                              float *sums, unsigned *stored, const unsigned *positions, const unsigned *slots,        \
                              const Work *works, const Visit *visits, unsigned heads, unsigned kv_heads,              \
                              unsigned window, float scale) {                                                         \
    attend_span<T, DIM>(q, k, v, out, sinks, partial, sums, stored, positions, slots, works, visits, heads, kv_heads, \
                        window, scale);                                                                               \
  }
ATTENTION(f16, 64)
ATTENTION(f16, 96)
ATTENTION(f16, 128)
ATTENTION(f16, 256)
ATTENTION(bf16, 64)
ATTENTION(bf16, 96)
ATTENTION(bf16, 128)
ATTENTION(bf16, 256)
