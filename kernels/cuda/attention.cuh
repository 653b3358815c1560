// Shared by the two kernels of attention.cu: pages as the plan names them, the running softmax over a span's pages, and
// the fold of two spans.
#pragma once
#include "device.cuh"

// Positions of a page, and pages of a span.
constexpr unsigned PAGE = 16;
constexpr unsigned SPAN = 8;

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

// The first position that the row at `position` attends to: of the last `window` up to its own.
__device__ __forceinline__ unsigned first_key(unsigned position, unsigned window) {
  return position >= window ? position - window + 1 : 0;
}

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

// The factor of a query's summed values once all keys are in, of which the highest score was `max`. `sinks`, `[heads]`
// or null, has for each head a logit whose weight is in the sum too, and which has no value.
__device__ __forceinline__ float normaliser(float max, float sum, const float *sinks, unsigned head) {
  if (!sinks) return 1.0f / sum;
  constexpr float LOG2_E = 1.44269504f;
  const Shares s = shares(max, load(sinks + head) * LOG2_E);
  return s.before / fold(sum, 1.0f, s);
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
// attend: outside of `window` positions up to its own. `index` counts the page among its sequence's. Returns the
// highest, or `highest`.
__device__ __forceinline__ float mask(float (&scores)[2][4], int i, bool attends, unsigned index, unsigned position,
                                      unsigned window, float scale, float highest) {
  for (int half = 0; half < 2; half++)
    for (int j = 0; j < 2; j++) {
      float &score = scores[half][2 * i + j];
      const unsigned key = index * PAGE + half * 8 + 2 * (threadIdx.x % 4) + j;
      score = attends && key <= position && position - key < window ? score * scale : negative_infinity();
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
