//! AVX2's lanes with AVX-VNNI's products of bytes: four products and their sum in one instruction.

use super::avx2::{Avx2Bytes, Ymm};
use super::traits::{Ints, Outlined};
use std::arch::x86_64::*;

/// AVX-VNNI: products of bytes are added up as i32 at once.
pub(in crate::cpu) type AvxVnni = Ymm<AvxVnniInts>;

#[derive(Clone, Copy)]
pub(in crate::cpu) struct AvxVnniInts(__m256i, __m256i);

// SAFETY (all methods): the trait's contract gives the instructions.
#[allow(clippy::undocumented_unsafe_blocks)]
impl Ints for AvxVnniInts {
    type Floats = AvxVnni;
    const EIGHT_IS_SIGNED: bool = false;
    type Products = Self;
    const NARROW: bool = false;

    #[target_feature(enable = "avx2,fma,f16c,avxvnni")]
    #[inline(never)]
    unsafe fn outlined<O: Outlined>(of: O) {
        unsafe { of.run::<Self::Floats>() }
    }
    #[inline(always)]
    unsafe fn splat(x: i32) -> Self {
        unsafe { Self(_mm256_set1_epi32(x), _mm256_set1_epi32(x)) }
    }
    #[inline(always)]
    unsafe fn load(from: *const i32) -> Self {
        unsafe { Self(_mm256_loadu_si256(from.cast()), _mm256_loadu_si256(from.add(8).cast())) }
    }
    #[inline(always)]
    unsafe fn products<const N: usize>(self, _: i16, _: [i32; N]) -> Self {
        self
    }
    #[inline(always)]
    unsafe fn add(self, products: Self) -> Self {
        products
    }
    #[inline(always)]
    unsafe fn multiply<const EIGHT: bool>(products: Self, codes: Avx2Bytes, x: i32) -> Self {
        unsafe {
            let x = _mm256_set1_epi32(x);
            Self(_mm256_dpbusd_avx_epi32(products.0, codes.0, x), _mm256_dpbusd_avx_epi32(products.1, codes.1, x))
        }
    }
    #[inline(always)]
    unsafe fn dot_i16(self, int16: Avx2Bytes, x: i32) -> Self {
        unsafe {
            let x = _mm256_set1_epi32(x);
            Self(_mm256_dpwssd_avx_epi32(self.0, int16.0, x), _mm256_dpwssd_avx_epi32(self.1, int16.1, x))
        }
    }
    #[inline(always)]
    unsafe fn to_floats(self) -> AvxVnni {
        unsafe { AvxVnni::two(_mm256_cvtepi32_ps(self.0), _mm256_cvtepi32_ps(self.1)) }
    }
}
