// What the kernels need of the device, under names that mean the same where a C++ compiler stands in for nvcc: element
// types, and the instructions that a warp executes together. tests/cuda_host/emulation.hpp has the other half.
#pragma once
#include <stdint.h>

#ifdef __CUDACC__

#include <cuda_bf16.h>
#include <cuda_fp16.h>

typedef __half f16;
typedef __nv_bfloat16 bf16;

template <class T> constexpr bool IS_F16 = false;
template <> constexpr bool IS_F16<f16> = true;

__device__ __forceinline__ float widen(float x) { return x; }
__device__ __forceinline__ float widen(f16 x) { return __half2float(x); }
__device__ __forceinline__ float widen(bf16 x) { return __bfloat162float(x); }

// To the nearest, ties to even.
template <class T> __device__ __forceinline__ T narrow(float x);
template <> __device__ __forceinline__ float narrow<float>(float x) { return x; }
template <> __device__ __forceinline__ f16 narrow<f16>(float x) { return __float2half_rn(x); }
template <> __device__ __forceinline__ bf16 narrow<bf16>(float x) { return __float2bfloat16_rn(x); }

// 2^x to about two units in the last place; 0 for minus infinity.
__device__ __forceinline__ float exp2_fast(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// d += a * b over 16 x 8 x 16 numbers of type T, by a whole warp. Lane l with g = l / 4 and t = l % 4 holds
//   a[0] = A[g][2t, 2t+1]  a[1] = A[g+8][2t, 2t+1]  a[2] = A[g][2t+8, 2t+9]  a[3] = A[g+8][2t+8, 2t+9]
//   b[0] = B[2t, 2t+1][g]  b[1] = B[2t+8, 2t+9][g]
//   d[0], d[1] = D[g][2t, 2t+1]  d[2], d[3] = D[g+8][2t, 2t+1]
template <class T> __device__ __forceinline__ void mma(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1);
template <> __device__ __forceinline__ void mma<f16>(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
template <> __device__ __forceinline__ void mma<bf16>(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// The four bytes of `codes`, each less OFFSET, as numbers: the first two, the last two. Bytes are at most 127, or 255
// where WIDE. A code behind the upper byte of a power of two is the sum of both.
template <class T, int OFFSET, bool WIDE> __device__ __forceinline__ void codes_to_pairs(uint32_t codes, uint32_t (&pairs)[2]) {
  constexpr bool HALF = IS_F16<T>;
  if constexpr (HALF || !WIDE) {
    // 1024 in f16, 128 in bf16.
    constexpr uint32_t base = HALF ? 0x64 : 0x43, minus = (HALF ? 0xe400 : 0xc300) + OFFSET;
    for (int i = 0; i < 2; i++) {
      const uint32_t pair = __byte_perm(codes, base, i == 0 ? 0x4140 : 0x4342);
      if constexpr (HALF) asm("add.rn.f16x2 %0, %1, %2;" : "=r"(pairs[i]) : "r"(pair), "r"(minus * 0x10001));
      else asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(pairs[i]) : "r"(pair), "r"(0x3f803f80), "r"(minus * 0x10001));
    }
  } else {
    // 2^23 in f32.
    float x[4];
    for (int i = 0; i < 4; i++)
      x[i] = __uint_as_float(__byte_perm(codes, 0x4b000000, 0x7650 | i)) - (8388608.0f + OFFSET);
    for (int i = 0; i < 2; i++) asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pairs[i]) : "f"(x[2 * i + 1]), "f"(x[2 * i]));
  }
}

// A number that no thread of the launch writes. Loads stay in the order of the source, so several can be in flight.
__device__ __forceinline__ float load(const float *at) {
  float x;
  asm volatile("ld.global.nc.f32 %0, [%1];" : "=f"(x) : "l"(at));
  return x;
}
__device__ __forceinline__ uint32_t load(const uint32_t *at) {
  uint32_t x;
  asm volatile("ld.global.nc.b32 %0, [%1];" : "=r"(x) : "l"(at));
  return x;
}
// A number that another block of the launch has written.
__device__ __forceinline__ float load_written(const float *at) { return __ldcg(at); }

// An 8 x 8 matrix of 16-bit numbers, of which lane l has row l / 4, columns 2 (l % 4) and the next: gives column l / 4
// of these rows.
__device__ __forceinline__ uint32_t transposed(uint32_t x) {
  uint32_t y;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(y) : "r"(x));
  return y;
}

__device__ __forceinline__ uint32_t shared_address(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }

// Four 8 x 8 matrices of 16-bit numbers out of shared memory: lane l points to row l % 8 (16 bytes) of matrix l / 8, and
// gets numbers 2t and 2t+1 of row g of each.
__device__ __forceinline__ void load_matrices(uint32_t (&r)[4], const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(shared_address(row)) : "memory");
}
// The same, but each lane gets number g of rows 2t and 2t+1.
__device__ __forceinline__ void load_matrices_transposed(uint32_t (&r)[4], const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(shared_address(row)) : "memory");
}

// Begins to copy 16 bytes to shared memory, or zeros where `real` is false. They are there for this thread after
// `copies_done`, for the others after a barrier behind that.
__device__ __forceinline__ void copy_async(void *to, const void *from, bool real) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from), "r"(real ? 16 : 0)
               : "memory");
}
// Ends a group of copies.
__device__ __forceinline__ void copies_end() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits for all groups but the last `LATER`.
template <int LATER> __device__ __forceinline__ void copies_done() {
  asm volatile("cp.async.wait_group %0;" ::"n"(LATER) : "memory");
}

#else
#include "emulation.hpp"
#endif

// Two numbers in one register, the first in the low half.
template <class T> __device__ __forceinline__ uint32_t pack(float low, float high) {
  union { T half[2]; uint32_t both; } pair;
  pair.half[0] = narrow<T>(low);
  pair.half[1] = narrow<T>(high);
  return pair.both;
}

// The sum over a warp: the same tree, whatever the numbers, and the same result in every lane.
__device__ __forceinline__ float warp_sum(float x) {
  for (int step = 16; step > 0; step /= 2) x = x + __shfl_xor_sync(0xffffffffu, x, step);
  return x;
}

// Sixteen bytes as numbers.
template <class T> struct alignas(16) Vector { T x[16 / sizeof(T)]; };
// Four numbers of 16 bits.
struct alignas(8) Pairs { uint32_t x[2]; };

__device__ __forceinline__ bool aligned(const void *p) { return ((uintptr_t)p & 15) == 0; }
