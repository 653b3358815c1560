// What Candle's kernels need of CUDA's headers beyond emulation.hpp: numbers of 16 bits with arithmetic, conversions,
// atomic operations (fibers are never interrupted within one), and functions of <math.h> by CUDA's names.
#pragma once
#include "emulation.hpp"
#include <assert.h>
#include <cmath>
#include <limits>
#include <type_traits>

using std::isnan;
using std::signbit;

// A number that is rounded after each operation, as a GPU does.
template <class BITS> struct Half {
  BITS held;
  Half() = default;
  template <class N, class = std::enable_if_t<std::is_arithmetic_v<N>>> Half(N x) : held(narrow<BITS>((float)x)) {}
  operator float() const { return widen(held); }
};
typedef Half<f16> __half;
typedef Half<bf16> __nv_bfloat16;
typedef __half half;

#define OPERATION(OP)                                                                                                 \
  template <class B> inline Half<B> operator OP(Half<B> a, Half<B> b) { return (float)a OP (float)b; }                \
  template <class B, class N> inline Half<B> &operator OP##=(Half<B> &a, N b) { return a = a OP Half<B>(b); }
OPERATION(+)
OPERATION(-)
OPERATION(*)
OPERATION(/)
#undef OPERATION
template <class B> inline Half<B> operator-(Half<B> a) { return -(float)a; }
#define COMPARISON(OP)                                                                                                \
  template <class B> inline bool operator OP(Half<B> a, Half<B> b) { return (float)a OP (float)b; }
COMPARISON(<)
COMPARISON(>)
COMPARISON(<=)
COMPARISON(>=)
COMPARISON(==)
COMPARISON(!=)
#undef COMPARISON

inline float __half2float(__half x) { return x; }
inline __half __float2half(float x) { return x; }
inline __half __float2half_rn(float x) { return x; }
inline float __bfloat162float(__nv_bfloat16 x) { return x; }
inline __nv_bfloat16 __float2bfloat16(float x) { return x; }
inline __nv_bfloat16 __float2bfloat16_rn(float x) { return x; }
template <class B> inline bool __hisnan(Half<B> x) { return isnan((float)x); }
template <class B> inline Half<B> __hmax_nan(Half<B> a, Half<B> b) { return __hisnan(a) || a > b ? a : b; }
template <class B> inline Half<B> __hmin_nan(Half<B> a, Half<B> b) { return __hisnan(a) || a < b ? a : b; }
template <class B> inline Half<B> __habs(Half<B> x) { return fabsf(x); }
template <class B> inline Half<B> hsqrt(Half<B> x) { return sqrtf(x); }
template <class B> inline Half<B> hcos(Half<B> x) { return cosf(x); }
template <class B> inline Half<B> hsin(Half<B> x) { return sinf(x); }
template <class B> inline Half<B> hlog(Half<B> x) { return logf(x); }
template <class B> inline Half<B> hexp(Half<B> x) { return expf(x); }

template <class B> struct Pair { Half<B> x, y; };
typedef Pair<f16> __half2;
typedef Pair<bf16> __nv_bfloat162;
template <class B> inline Pair<B> __hadd2(Pair<B> a, Pair<B> b) { return {a.x + b.x, a.y + b.y}; }
template <class B> inline Pair<B> __hsub2(Pair<B> a, Pair<B> b) { return {a.x - b.x, a.y - b.y}; }
template <class B> inline Pair<B> __hmul2(Pair<B> a, Pair<B> b) { return {a.x * b.x, a.y * b.y}; }
template <class B> inline Pair<B> __h2div(Pair<B> a, Pair<B> b) { return {a.x / b.x, a.y / b.y}; }
template <class B> inline Pair<B> __hmax2(Pair<B> a, Pair<B> b) { return {fmaxf(a.x, b.x), fmaxf(a.y, b.y)}; }
template <class B> inline Pair<B> __hmin2(Pair<B> a, Pair<B> b) { return {fminf(a.x, b.x), fminf(a.y, b.y)}; }

// Eight bits a number: nothing of moot's uses it.
struct __nv_fp8_e4m3 {
  uint8_t __x;
  __nv_fp8_e4m3() = default;
  template <class N, class = std::enable_if_t<std::is_arithmetic_v<N>>> __nv_fp8_e4m3(N) { refuse(); }
  template <class B> __nv_fp8_e4m3(Half<B>) { refuse(); }
  static void refuse() {
    fprintf(stderr, "emulation: numbers of eight bits are not emulated\n");
    exit(3);
  }
};
enum { __NV_E4M3 };
inline __half __nv_cvt_fp8_to_halfraw(uint8_t, int) {
  __nv_fp8_e4m3::refuse();
  return 0;
}

struct alignas(8) float2 { float x, y; };
struct alignas(16) float4 { float x, y, z, w; };
inline float2 make_float2(float x, float y) { return {x, y}; }

inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
inline float normcdff(float x) { return 0.5f * erfcf(-x * 0.70710678f); }
inline double normcdf(double x) { return 0.5 * erfc(-x * 0.7071067811865476); }
inline int __float_as_int(float x) { return (int)__float_as_uint(x); }
inline float __uint_as_float(unsigned x) { return of_bits(x); }
inline float __int_as_float(int x) { return of_bits((unsigned)x); }
inline long long __double_as_longlong(double x) {
  long long bits;
  memcpy(&bits, &x, 8);
  return bits;
}
inline double __longlong_as_double(long long bits) {
  double x;
  memcpy(&x, &bits, 8);
  return x;
}
template <class B> inline unsigned short __half_as_ushort(Half<B> x) { return x.held.bits; }
inline __half __ushort_as_half(unsigned short bits) {
  __half x;
  x.held.bits = bits;
  return x;
}

template <class A, class B> inline std::common_type_t<A, B> min(A a, B b) {
  return (std::common_type_t<A, B>)a < (std::common_type_t<A, B>)b ? a : b;
}
template <class A, class B> inline std::common_type_t<A, B> max(A a, B b) {
  return (std::common_type_t<A, B>)a > (std::common_type_t<A, B>)b ? a : b;
}
template <class V> inline V atomicMin(V *at, std::common_type_t<V> by) {
  const V before = *at;
  *at = std::min(before, by);
  return before;
}
template <class V> inline V atomicMax(V *at, std::common_type_t<V> by) {
  const V before = *at;
  *at = std::max(before, by);
  return before;
}
template <class V> inline V atomicCAS(V *at, V expected, V next) {
  const V before = *at;
  if (before == expected) *at = next;
  return before;
}
template <class V> inline V __shfl_xor_sync(unsigned mask, V value, int lanes, int) {
  return __shfl_xor_sync(mask, value, lanes);
}
