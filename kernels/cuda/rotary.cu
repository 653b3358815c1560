// Rotary embedding in halves: alone, and together with all operations between a decoder's projections and its
// attention, which is biases, the norms of heads, and the store of keys and values into their pages. One block a token,
// one warp a head. Cosines and sines are f32 whatever the numbers are: half a bf16 is an angle off by a third of a
// degree.
#include "device.cuh"

constexpr unsigned PAGE = 16;

// A head of a token as its projection gave it, and what is to be done to it; `bias` and `weight` may be null. Numbers
// are rounded after each step, as they are where each step is an op of its own.
template <class T> struct Head {
  const T *x, *bias, *weight;
  float factor;

  __device__ __forceinline__ float biased(unsigned d) const {
    return bias ? widen(narrow<T>(widen(x[d]) + widen(bias[d]))) : widen(x[d]);
  }
  // Before `at`, by a whole warp: the factor of the root-mean-square norm.
  __device__ void measure(unsigned dim, float eps) {
    if (!weight) return;
    float squares = 0.0f;
    for (unsigned d = threadIdx.x % 32; d < dim; d += 32) squares = fmaf(biased(d), biased(d), squares);
    factor = 1.0f / sqrtf(warp_sum(squares) / (float)dim + eps);
  }
  __device__ __forceinline__ float at(unsigned d) const {
    return weight ? widen(narrow<T>(biased(d) * factor * widen(weight[d]))) : biased(d);
  }
  // Numbers d and d + half, rotated.
  __device__ __forceinline__ void turn(unsigned d, unsigned half, float c, float s, T &low, T &high) const {
    const float a = at(d), b = at(d + half);
    low = narrow<T>(a * c - b * s);
    high = narrow<T>(b * c + a * s);
  }
};

// What a projection gives: a row a token, each `stride` numbers behind the one before.
template <class T> struct Projected {
  const T *x, *bias, *norm;
  unsigned stride;
  __device__ Head<T> head(unsigned token, unsigned index, unsigned dim) const {
    return {x + (size_t)token * stride + index * dim, bias ? bias + index * dim : nullptr, norm, 0.0f};
  }
};

// `x` and `out` are `[tokens, heads, dim]`, `cosine` and `sine` `[tokens, dim / 2]`.
template <class T>
__device__ void rotate(const T *x, const float *cosine, const float *sine, T *out, unsigned heads, unsigned dim) {
  const unsigned half = dim / 2, lane = threadIdx.x % 32;
  const size_t token = blockIdx.x, angles = token * half;
  const Projected<T> rows = {x, nullptr, nullptr, heads * dim};
  for (unsigned i = threadIdx.x / 32; i < heads; i += blockDim.x / 32) {
    const Head<T> head = rows.head(token, i, dim);
    T *to = out + (token * heads + i) * dim;
    for (unsigned d = lane; d < half; d += 32) head.turn(d, half, cosine[angles + d], sine[angles + d], to[d], to[d + half]);
  }
}

// Rotates queries into `q_out` and keys into their pages `[pages, kv_heads, dim, PAGE]`, and puts values into theirs
// `[pages, kv_heads, PAGE, dim]`. `slots[token]` is page * PAGE + the offset in the page.
template <class T>
__device__ void rotate_store(const Projected<T> &q, const Projected<T> &k, const Projected<T> &v, const float *cosine,
                             const float *sine, const unsigned *slots, T *q_out, T *k_cache, T *v_cache, unsigned heads,
                             unsigned kv_heads, unsigned dim, float eps) {
  const unsigned half = dim / 2, lane = threadIdx.x % 32;
  const size_t token = blockIdx.x, angles = token * half;
  const unsigned page = slots[token] / PAGE, offset = slots[token] % PAGE;
  for (unsigned i = threadIdx.x / 32; i < heads + 2 * kv_heads; i += blockDim.x / 32) {
    if (i < heads) {
      Head<T> head = q.head(token, i, dim);
      head.measure(dim, eps);
      T *to = q_out + (token * heads + i) * dim;
      for (unsigned d = lane; d < half; d += 32) head.turn(d, half, cosine[angles + d], sine[angles + d], to[d], to[d + half]);
      continue;
    }
    const unsigned index = (i - heads) % kv_heads;
    const size_t plane = ((size_t)page * kv_heads + index) * dim * PAGE;
    if (i < heads + kv_heads) {
      Head<T> head = k.head(token, index, dim);
      head.measure(dim, eps);
      T *to = k_cache + plane + offset;
      for (unsigned d = lane; d < half; d += 32)
        head.turn(d, half, cosine[angles + d], sine[angles + d], to[d * PAGE], to[(d + half) * PAGE]);
    } else {
      const Head<T> head = v.head(token, index, dim);
      for (unsigned d = lane; d < dim; d += 32) v_cache[plane + offset * dim + d] = narrow<T>(head.biased(d));
    }
  }
}

#define ROTARY(T)                                                                                                     \
  extern "C" __global__ void rope_##T(const T *x, const float *cosine, const float *sine, T *out, unsigned heads,     \
                                      unsigned dim) {                                                                 \
    rotate<T>(x, cosine, sine, out, heads, dim);                                                                      \
  }                                                                                                                   \
  extern "C" __global__ void rotate_store_##T(                                                                        \
      const T *q, const T *k, const T *v, const T *q_bias, const T *k_bias, const T *v_bias, const T *q_norm,         \
      const T *k_norm, const float *cosine, const float *sine, const unsigned *slots, T *q_out, T *k_cache,           \
      T *v_cache, unsigned q_stride, unsigned k_stride, unsigned v_stride, unsigned heads, unsigned kv_heads,         \
      unsigned dim, float eps) {                                                                                      \
    rotate_store<T>({q, q_bias, q_norm, q_stride}, {k, k_bias, k_norm, k_stride}, {v, v_bias, nullptr, v_stride},     \
                    cosine, sine, slots, q_out, k_cache, v_cache, heads, kv_heads, dim, eps);                         \
  }

typedef float f32;
ROTARY(f32)
ROTARY(f16)
ROTARY(bf16)
