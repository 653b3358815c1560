// gate / (1 + exp(-gate)) * up, number by number, rounded once at the end.
#include "device.cuh"

template <class T> __device__ __forceinline__ T gated(T gate, T up) {
  const float x = widen(gate);
  return narrow<T>(x / (1.0f + expf(-x)) * widen(up));
}

// All of `count` numbers; a thread takes sixteen bytes at a time where the addresses allow it.
template <class T> __device__ void swiglu(const T *gate, const T *up, T *out, unsigned count) {
  constexpr unsigned N = 16 / sizeof(T);
  const unsigned first = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  const unsigned vectors = aligned(gate) && aligned(up) && aligned(out) ? count / N : 0;
  for (unsigned i = first; i < vectors; i += stride) {
    Vector<T> a = ((const Vector<T> *)gate)[i];
    const Vector<T> b = ((const Vector<T> *)up)[i];
    for (unsigned n = 0; n < N; n++) a.x[n] = gated<T>(a.x[n], b.x[n]);
    ((Vector<T> *)out)[i] = a;
  }
  for (unsigned i = vectors * N + first; i < count; i += stride) out[i] = gated<T>(gate[i], up[i]);
}

#define SWIGLU(T)                                                                                                     \
  extern "C" __global__ void swiglu_##T(const T *gate, const T *up, T *out, unsigned count) {                         \
    swiglu<T>(gate, up, out, count);                                                                                  \
  }

typedef float f32;
SWIGLU(f32)
SWIGLU(f16)
SWIGLU(bf16)
