// Rotary embedding in halves, alone and together with the store of new keys and values into their pages. One block a
// token. Cosines and sines are f32 whatever the numbers are: half a bf16 is an angle off by a third of a degree.
#include "device.cuh"

constexpr unsigned PAGE = 16;

// Numbers d and d + dim / 2 of a head, turned.
template <class T> __device__ __forceinline__ void turn(const T *head, unsigned d, unsigned half, float c, float s, T &low, T &high) {
  const float a = widen(head[d]), b = widen(head[d + half]);
  low = narrow<T>(a * c - b * s);
  high = narrow<T>(b * c + a * s);
}

// `x` and `out` are `[tokens, heads, dim]`, `cosine` and `sine` `[tokens, dim / 2]`.
template <class T>
__device__ void rotate(const T *x, const float *cosine, const float *sine, T *out, unsigned heads, unsigned dim) {
  const unsigned token = blockIdx.x, half = dim / 2;
  for (unsigned i = threadIdx.x; i < heads * half; i += blockDim.x) {
    const unsigned head = i / half, d = i % half;
    const size_t at = ((size_t)token * heads + head) * dim;
    turn<T>(x + at, d, half, cosine[token * half + d], sine[token * half + d], out[at + d], out[at + d + half]);
  }
}

// Turns queries into `q_out` and keys into their pages `[pages, kv_heads, dim, PAGE]`, and copies values into theirs
// `[pages, kv_heads, PAGE, dim]`. `slots[token]` is page * PAGE + the place in the page.
template <class T>
__device__ void rotate_store(const T *q, const T *k, const T *v, const float *cosine, const float *sine,
                             const unsigned *slots, T *q_out, T *k_cache, T *v_cache, unsigned heads, unsigned kv_heads,
                             unsigned dim) {
  const unsigned token = blockIdx.x, half = dim / 2;
  const unsigned page = slots[token] / PAGE, place = slots[token] % PAGE;
  rotate<T>(q, cosine, sine, q_out, heads, dim);
  for (unsigned i = threadIdx.x; i < kv_heads * half; i += blockDim.x) {
    const unsigned head = i / half, d = i % half;
    const T *key = k + ((size_t)token * kv_heads + head) * dim;
    T *plane = k_cache + ((size_t)page * kv_heads + head) * dim * PAGE;
    turn<T>(key, d, half, cosine[token * half + d], sine[token * half + d], plane[d * PAGE + place],
            plane[(d + half) * PAGE + place]);
  }
  for (unsigned i = threadIdx.x; i < kv_heads * dim; i += blockDim.x) {
    const unsigned head = i / dim, d = i % dim;
    v_cache[(((size_t)page * kv_heads + head) * PAGE + place) * dim + d] = v[((size_t)token * kv_heads + head) * dim + d];
  }
}

#define ROTARY(T)                                                                                                     \
  extern "C" __global__ void rope_##T(const T *x, const float *cosine, const float *sine, T *out, unsigned heads,     \
                                      unsigned dim) {                                                                 \
    rotate<T>(x, cosine, sine, out, heads, dim);                                                                      \
  }                                                                                                                   \
  extern "C" __global__ void rotate_store_##T(const T *q, const T *k, const T *v, const float *cosine,                \
                                              const float *sine, const unsigned *slots, T *q_out, T *k_cache,         \
                                              T *v_cache, unsigned heads, unsigned kv_heads, unsigned dim) {          \
    rotate_store<T>(q, k, v, cosine, sine, slots, q_out, k_cache, v_cache, heads, kv_heads, dim);                     \
  }

typedef float f32;
ROTARY(f32)
ROTARY(f16)
ROTARY(bf16)
