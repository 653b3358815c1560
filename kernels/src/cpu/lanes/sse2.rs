//! Four registers of 128 bits, with the instructions of every x86-64 processor.

use super::fma::{fma, quarters};
use super::traits::{Bytes, Ints, Lanes, Outlined};
use std::arch::x86_64::*;
use std::mem::transmute;

#[derive(Clone, Copy)]
pub(in crate::cpu) struct Sse2([__m128; 4]);

#[derive(Clone, Copy)]
pub(in crate::cpu) struct Sse2Ints([__m128i; 4]);

#[derive(Clone, Copy)]
pub(in crate::cpu) struct Sse2Bytes([__m128i; 4]);

/// Sixteen bytes as int32, each in the uppermost bits of its lane.
#[inline(always)]
fn uppermost(bytes: __m128i) -> [__m128i; 4] {
    // SAFETY: every x86-64 processor has SSE2.
    unsafe {
        let zero = _mm_setzero_si128();
        let (low, high) = (_mm_unpacklo_epi8(zero, bytes), _mm_unpackhi_epi8(zero, bytes));
        [
            _mm_unpacklo_epi16(zero, low),
            _mm_unpackhi_epi16(zero, low),
            _mm_unpacklo_epi16(zero, high),
            _mm_unpackhi_epi16(zero, high),
        ]
    }
}

/// Sixteen int16, each in the lower half of a lane whose upper half is 0.
///
/// # Safety
/// `from` is valid for sixteen values.
#[inline(always)]
unsafe fn lower_halves(from: *const u16) -> [__m128i; 4] {
    // SAFETY: the caller's; every x86-64 processor has SSE2.
    unsafe {
        let (low, high) = (_mm_loadu_si128(from.cast()), _mm_loadu_si128(from.add(8).cast()));
        let zero = _mm_setzero_si128();
        [
            _mm_unpacklo_epi16(low, zero),
            _mm_unpackhi_epi16(low, zero),
            _mm_unpacklo_epi16(high, zero),
            _mm_unpackhi_epi16(high, zero),
        ]
    }
}

/// Four f16, in the lower halves of their lanes, as f32.
#[inline(always)]
fn widen_f16(half: __m128i) -> __m128 {
    // SAFETY: every x86-64 processor has SSE2.
    unsafe {
        // The difference of the exponents' biases (127 - 15 = 112), and f16's exponent of infinity, both shifted to the
        // exponent's bits of an f32.
        let (bias, infinite) = (_mm_set1_epi32(112 << 23), _mm_set1_epi32(31 << 23));
        let magnitude = _mm_slli_epi32::<13>(_mm_and_si128(half, _mm_set1_epi32(0x7fff)));
        let sign = _mm_slli_epi32::<16>(_mm_and_si128(half, _mm_set1_epi32(0x8000)));
        let exponent = _mm_and_si128(magnitude, infinite);
        let normal = _mm_add_epi32(magnitude, bias);
        // Infinity and NaN: the difference once more, which gives the largest exponent of f32.
        let largest = _mm_and_si128(_mm_cmpeq_epi32(exponent, infinite), bias);
        let normal = _mm_add_epi32(normal, largest);
        // Subnormal numbers, with the exponent of the least normal one, less that one.
        let subnormal = _mm_cmpeq_epi32(exponent, _mm_setzero_si128());
        let one = _mm_and_si128(subnormal, _mm_set1_epi32(1 << 23));
        let least = _mm_and_si128(subnormal, _mm_set1_epi32(113 << 23));
        // Elsewhere 0 is subtracted, which also makes NaN quiet.
        let wide = _mm_sub_ps(_mm_castsi128_ps(_mm_add_epi32(normal, one)), _mm_castsi128_ps(least));
        _mm_or_ps(wide, _mm_castsi128_ps(sign))
    }
}

// SAFETY (all methods): every x86-64 processor has SSE2; the trait's contract gives the pointers.
#[allow(clippy::undocumented_unsafe_blocks)]
impl Lanes for Sse2 {
    type Ints = Sse2Ints;
    type Bytes = Sse2Bytes;

    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        unsafe { Self([_mm_set1_ps(x); 4]) }
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        unsafe { Self(quarters(|i| _mm_loadu_ps(from.add(4 * i)))) }
    }
    #[inline(always)]
    unsafe fn load_f16(from: *const u16) -> Self {
        unsafe { Self(lower_halves(from).map(widen_f16)) }
    }
    #[inline(always)]
    unsafe fn load_bf16(from: *const u16) -> Self {
        unsafe { Self(lower_halves(from).map(|bits| _mm_castsi128_ps(_mm_slli_epi32::<16>(bits)))) }
    }
    #[inline(always)]
    unsafe fn load_u8(from: *const u8) -> Self {
        unsafe {
            let bytes = _mm_loadu_si128(from.cast());
            Self(uppermost(bytes).map(|x| _mm_cvtepi32_ps(_mm_srli_epi32::<24>(x))))
        }
    }
    #[inline(always)]
    unsafe fn load_i8(from: *const i8) -> Self {
        unsafe {
            let bytes = _mm_loadu_si128(from.cast());
            Self(uppermost(bytes).map(|x| _mm_cvtepi32_ps(_mm_srai_epi32::<24>(x))))
        }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        unsafe {
            for (i, four) in self.0.into_iter().enumerate() {
                _mm_storeu_ps(to.add(4 * i), four);
            }
        }
    }
    #[inline(always)]
    unsafe fn fma(self, b: Self, c: Self) -> Self {
        unsafe {
            if cfg!(target_feature = "fma") {
                return Self(quarters(|i| _mm_fmadd_ps(self.0[i], b.0[i], c.0[i])));
            }
            Self(fma(self.0, b.0, c.0))
        }
    }
    #[inline(always)]
    unsafe fn sub(self, b: Self) -> Self {
        unsafe { Self(quarters(|i| _mm_sub_ps(self.0[i], b.0[i]))) }
    }
    #[inline(always)]
    unsafe fn mul(self, b: Self) -> Self {
        unsafe { Self(quarters(|i| _mm_mul_ps(self.0[i], b.0[i]))) }
    }
    #[inline(always)]
    unsafe fn max(self, b: Self) -> Self {
        unsafe { Self(quarters(|i| _mm_max_ps(self.0[i], b.0[i]))) }
    }
    #[inline(always)]
    unsafe fn min(self, b: Self) -> Self {
        unsafe { Self(quarters(|i| _mm_min_ps(self.0[i], b.0[i]))) }
    }
    #[inline(always)]
    unsafe fn div(self, b: Self) -> Self {
        unsafe { Self(quarters(|i| _mm_div_ps(self.0[i], b.0[i]))) }
    }
    #[inline(always)]
    unsafe fn exp2_whole(self) -> Self {
        unsafe {
            let power = |i| {
                let biased = _mm_add_epi32(_mm_cvtps_epi32(self.0[i]), _mm_set1_epi32(127));
                _mm_castsi128_ps(_mm_slli_epi32::<23>(biased))
            };
            Self(quarters(power))
        }
    }
    #[inline(always)]
    unsafe fn largest(self) -> f32 {
        unsafe {
            let four = _mm_max_ps(_mm_max_ps(self.0[0], self.0[1]), _mm_max_ps(self.0[2], self.0[3]));
            let two = _mm_max_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_max_ss(two, _mm_shuffle_ps::<1>(two, two)))
        }
    }
    #[inline(always)]
    unsafe fn sum_of_zeros(self) -> f32 {
        unsafe {
            let four = _mm_add_ps(_mm_add_ps(self.0[0], self.0[1]), _mm_add_ps(self.0[2], self.0[3]));
            let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps::<1>(two, two)))
        }
    }
    #[inline(always)]
    unsafe fn prefetch(at: *const u8) {
        unsafe { _mm_prefetch::<_MM_HINT_T1>(at.cast()) }
    }
    #[inline(always)]
    unsafe fn rounded_i8(self) -> [i8; 16] {
        unsafe {
            let [low, high] = self.rounded();
            transmute(_mm_packs_epi16(low, high))
        }
    }
    #[inline(always)]
    unsafe fn store_rounded_i16(self, to: *mut i16) {
        unsafe {
            let [low, high] = self.rounded();
            _mm_storeu_si128(to.cast(), low);
            _mm_storeu_si128(to.add(8).cast(), high);
        }
    }
}

impl Sse2 {
    /// The nearest whole numbers, ties to even, eight int16 a register.
    #[inline(always)]
    fn rounded(self) -> [__m128i; 2] {
        // SAFETY: every x86-64 processor has SSE2.
        unsafe {
            let eight = |i| _mm_packs_epi32(_mm_cvtps_epi32(self.0[i]), _mm_cvtps_epi32(self.0[i + 1]));
            [eight(0), eight(2)]
        }
    }
}

// SAFETY (all methods): every x86-64 processor has SSE2; the trait's contract gives the pointers.
#[allow(clippy::undocumented_unsafe_blocks)]
impl Ints for Sse2Ints {
    type Floats = Sse2;
    // Bytes are widened to int16 before they are multiplied.
    const EIGHT_IS_SIGNED: bool = false;
    type Products = Self;
    const NARROW: bool = false;

    #[inline(never)]
    unsafe fn outlined<O: Outlined>(of: O) {
        unsafe { of.run::<Self::Floats>() }
    }
    #[inline(always)]
    unsafe fn splat(x: i32) -> Self {
        unsafe { Self([_mm_set1_epi32(x); 4]) }
    }
    #[inline(always)]
    unsafe fn load(from: *const i32) -> Self {
        unsafe { Self(quarters(|i| _mm_loadu_si128(from.add(4 * i).cast()))) }
    }
    #[inline(always)]
    unsafe fn products<const N: usize>(self, _: i16, _: [i32; N]) -> Self {
        self
    }
    #[inline(always)]
    unsafe fn add(self, products: Self) -> Self {
        products
    }
    // Inputs 0 and 2 of every four are multiplied together, and inputs 1 and 3: so the sums of two come to their lane.
    #[inline(always)]
    unsafe fn multiply<const EIGHT: bool>(products: Self, codes: Sse2Bytes, x: i32) -> Self {
        unsafe {
            let x = _mm_set1_epi32(x);
            let (even, odd) = (_mm_srai_epi16::<8>(_mm_slli_epi16::<8>(x)), _mm_srai_epi16::<8>(x));
            let add = |i: usize| {
                let even = _mm_madd_epi16(_mm_and_si128(codes.0[i], _mm_set1_epi16(0xff)), even);
                let odd = _mm_madd_epi16(_mm_srli_epi16::<8>(codes.0[i]), odd);
                _mm_add_epi32(products.0[i], _mm_add_epi32(even, odd))
            };
            Self(quarters(add))
        }
    }
    #[inline(always)]
    unsafe fn dot_i16(self, int16: Sse2Bytes, x: i32) -> Self {
        unsafe {
            let x = _mm_set1_epi32(x);
            Self(quarters(|i| _mm_add_epi32(self.0[i], _mm_madd_epi16(int16.0[i], x))))
        }
    }
    #[inline(always)]
    unsafe fn to_floats(self) -> Sse2 {
        unsafe { Sse2(quarters(|i| _mm_cvtepi32_ps(self.0[i]))) }
    }
}

// SAFETY (all methods): every x86-64 processor has SSE2; the trait's contract gives the pointers.
#[allow(clippy::undocumented_unsafe_blocks)]
impl Bytes for Sse2Bytes {
    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        unsafe { Self(quarters(|i| _mm_loadu_si128(from.add(16 * i).cast()))) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        unsafe {
            for (i, bytes) in self.0.into_iter().enumerate() {
                _mm_storeu_si128(to.add(16 * i).cast(), bytes);
            }
        }
    }
    #[inline(always)]
    unsafe fn or(self, b: Self) -> Self {
        unsafe { Self(quarters(|i| _mm_or_si128(self.0[i], b.0[i]))) }
    }
    #[inline(always)]
    unsafe fn sub(self, b: u8) -> Self {
        unsafe { Self(self.0.map(|bytes| _mm_sub_epi8(bytes, _mm_set1_epi8(b as i8)))) }
    }
    #[inline(always)]
    unsafe fn right(self, n: u32, mask: u8) -> Self {
        unsafe {
            let (n, mask) = (_mm_cvtsi32_si128(n as i32), _mm_set1_epi8(mask as i8));
            Self(self.0.map(|bytes| _mm_and_si128(_mm_srl_epi16(bytes, n), mask)))
        }
    }
    #[inline(always)]
    unsafe fn left(self, n: u32, mask: u8) -> Self {
        unsafe {
            let (n, mask) = (_mm_cvtsi32_si128(n as i32), _mm_set1_epi8(mask as i8));
            Self(self.0.map(|bytes| _mm_and_si128(_mm_sll_epi16(bytes, n), mask)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::lanes::Portable;

    /// Sixteen results as bits; a NaN is a NaN.
    fn bits<L: Lanes>(x: L) -> [u32; 16] {
        let mut out = [0.0_f32; 16];
        // SAFETY: `out` holds sixteen values; every x86-64 processor has SSE2.
        unsafe { x.store(out.as_mut_ptr()) };
        out.map(|x| if x.is_nan() { f32::NAN.to_bits() } else { x.to_bits() })
    }

    #[test]
    fn halves_and_bytes_are_widened_as_plain_rust_does() {
        for first in (0..=u16::MAX).step_by(16) {
            let from: [u16; 16] = std::array::from_fn(|i| first + i as u16);
            let bytes: [u8; 16] = std::array::from_fn(|i| (first >> 4) as u8 ^ (i as u8) << 4);
            let (halves, unsigned, signed) = (from.as_ptr(), bytes.as_ptr(), bytes.as_ptr().cast::<i8>());
            // SAFETY: all hold sixteen values; every x86-64 processor has SSE2.
            unsafe {
                assert_eq!(bits(Sse2::load_f16(halves)), bits(Portable::load_f16(halves)), "f16 from {first:x}");
                assert_eq!(bits(Sse2::load_bf16(halves)), bits(Portable::load_bf16(halves)), "bf16 from {first:x}");
                assert_eq!(bits(Sse2::load_u8(unsigned)), bits(Portable::load_u8(unsigned)), "{bytes:?}");
                assert_eq!(bits(Sse2::load_i8(signed)), bits(Portable::load_i8(signed)), "{bytes:?}");
            }
        }
    }
}
