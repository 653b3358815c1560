//! Two registers of 256 bits.

use super::traits::{Bytes, Ints, Lanes, Outlined};
use std::arch::x86_64::*;
use std::marker::PhantomData;
use std::mem::transmute;

/// Sixteen floats beside integers that are multiplied as `I` does it.
#[derive(Clone, Copy)]
pub(in crate::cpu) struct Ymm<I>(__m256, __m256, PhantomData<I>);

/// AVX2: products of bytes are int16 before they are added up.
pub(in crate::cpu) type Avx2 = Ymm<Avx2Ints>;

#[derive(Clone, Copy)]
pub(in crate::cpu) struct Avx2Ints(__m256i, __m256i);

#[derive(Clone, Copy)]
pub(in crate::cpu) struct Avx2Bytes(pub(super) __m256i, pub(super) __m256i);

impl<I> Ymm<I> {
    #[inline(always)]
    pub(super) fn two(low: __m256, high: __m256) -> Self {
        Self(low, high, PhantomData)
    }
}

// SAFETY (all methods): the trait's contract gives the instructions and the pointers.
#[allow(clippy::undocumented_unsafe_blocks)]
impl<I: Ints<Floats = Self>> Lanes for Ymm<I> {
    type Ints = I;
    type Bytes = Avx2Bytes;

    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        unsafe { Self::two(_mm256_set1_ps(x), _mm256_set1_ps(x)) }
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        unsafe { Self::two(_mm256_loadu_ps(from), _mm256_loadu_ps(from.add(8))) }
    }
    #[inline(always)]
    unsafe fn load_f16(from: *const u16) -> Self {
        unsafe {
            let eight = |at: *const u16| _mm256_cvtph_ps(_mm_loadu_si128(at.cast()));
            Self::two(eight(from), eight(from.add(8)))
        }
    }
    #[inline(always)]
    unsafe fn load_bf16(from: *const u16) -> Self {
        unsafe {
            let eight = |at: *const u16| {
                let wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(at.cast()));
                _mm256_castsi256_ps(_mm256_slli_epi32::<16>(wide))
            };
            Self::two(eight(from), eight(from.add(8)))
        }
    }
    #[inline(always)]
    unsafe fn load_u8(from: *const u8) -> Self {
        unsafe {
            let eight = |at: *const u8| _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64(at.cast())));
            Self::two(eight(from), eight(from.add(8)))
        }
    }
    #[inline(always)]
    unsafe fn load_i8(from: *const i8) -> Self {
        unsafe {
            let eight = |at: *const i8| _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(at.cast())));
            Self::two(eight(from), eight(from.add(8)))
        }
    }
    #[inline(always)]
    unsafe fn load_powers(from: *const u8) -> Self {
        unsafe {
            let eight = |at: *const u8| {
                let wide = _mm256_cvtepu8_epi32(_mm_loadl_epi64(at.cast()));
                _mm256_castsi256_ps(_mm256_slli_epi32::<23>(wide))
            };
            Self::two(eight(from), eight(from.add(8)))
        }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        unsafe {
            _mm256_storeu_ps(to, self.0);
            _mm256_storeu_ps(to.add(8), self.1);
        }
    }
    #[inline(always)]
    unsafe fn fma(self, b: Self, c: Self) -> Self {
        unsafe { Self::two(_mm256_fmadd_ps(self.0, b.0, c.0), _mm256_fmadd_ps(self.1, b.1, c.1)) }
    }
    #[inline(always)]
    unsafe fn sub(self, b: Self) -> Self {
        unsafe { Self::two(_mm256_sub_ps(self.0, b.0), _mm256_sub_ps(self.1, b.1)) }
    }
    #[inline(always)]
    unsafe fn mul(self, b: Self) -> Self {
        unsafe { Self::two(_mm256_mul_ps(self.0, b.0), _mm256_mul_ps(self.1, b.1)) }
    }
    #[inline(always)]
    unsafe fn max(self, b: Self) -> Self {
        unsafe { Self::two(_mm256_max_ps(self.0, b.0), _mm256_max_ps(self.1, b.1)) }
    }
    #[inline(always)]
    unsafe fn min(self, b: Self) -> Self {
        unsafe { Self::two(_mm256_min_ps(self.0, b.0), _mm256_min_ps(self.1, b.1)) }
    }
    #[inline(always)]
    unsafe fn div(self, b: Self) -> Self {
        unsafe { Self::two(_mm256_div_ps(self.0, b.0), _mm256_div_ps(self.1, b.1)) }
    }
    #[inline(always)]
    unsafe fn exp2_whole(self) -> Self {
        unsafe {
            let power = |v| {
                let biased = _mm256_add_epi32(_mm256_cvtps_epi32(v), _mm256_set1_epi32(127));
                _mm256_castsi256_ps(_mm256_slli_epi32::<23>(biased))
            };
            Self::two(power(self.0), power(self.1))
        }
    }
    #[inline(always)]
    unsafe fn largest(self) -> f32 {
        unsafe {
            let eight = _mm256_max_ps(self.0, self.1);
            let four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps::<1>(eight));
            let two = _mm_max_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_max_ss(two, _mm_shuffle_ps::<1>(two, two)))
        }
    }
    #[inline(always)]
    unsafe fn sum_of_zeros(self) -> f32 {
        unsafe {
            let eight = _mm256_add_ps(self.0, self.1);
            let four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps::<1>(eight));
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
            let int16 = _mm256_packs_epi32(_mm256_cvtps_epi32(self.0), _mm256_cvtps_epi32(self.1));
            // Packing works within halves: the quarters come out as 0, 2, 1, 3.
            let int16 = _mm256_permute4x64_epi64::<0b11_01_10_00>(int16);
            transmute(_mm_packs_epi16(_mm256_castsi256_si128(int16), _mm256_extracti128_si256::<1>(int16)))
        }
    }
    #[inline(always)]
    unsafe fn store_rounded_i16(self, to: *mut i16) {
        unsafe {
            let int16 = _mm256_packs_epi32(_mm256_cvtps_epi32(self.0), _mm256_cvtps_epi32(self.1));
            // As above.
            _mm256_storeu_si256(to.cast(), _mm256_permute4x64_epi64::<0b11_01_10_00>(int16));
        }
    }
}

/// 32 int16: two for each lane.
#[derive(Clone, Copy)]
pub(in crate::cpu) struct Avx2Products(__m256i, __m256i);

/// Sums of two neighbouring products.
///
/// # Safety
/// The processor has AVX2.
#[inline(always)]
unsafe fn pairs<const EIGHT: bool>(codes: __m256i, x: __m256i) -> __m256i {
    // SAFETY: the caller's.
    unsafe {
        if EIGHT {
            let signed = _mm256_xor_si256(codes, _mm256_set1_epi8(-128));
            _mm256_maddubs_epi16(_mm256_abs_epi8(signed), _mm256_sign_epi8(x, signed))
        } else {
            _mm256_maddubs_epi16(codes, x)
        }
    }
}

// SAFETY (all methods): the trait's contract gives the instructions.
#[allow(clippy::undocumented_unsafe_blocks)]
impl Ints for Avx2Ints {
    type Floats = Avx2;
    // Two products of full bytes, 255 * 127 * 2, would not fit sixteen bits; 128 * 127 * 2 do.
    const EIGHT_IS_SIGNED: bool = true;
    type Products = Avx2Products;
    const NARROW: bool = true;

    #[target_feature(enable = "avx2,fma,f16c")]
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
    unsafe fn products<const N: usize>(self, zero: i16, pairs: [i32; N]) -> Avx2Products {
        unsafe {
            let mut sum = _mm256_setzero_si256();
            for pair in pairs {
                sum = _mm256_add_epi16(sum, _mm256_set1_epi32(pair));
            }
            let start = _mm256_mullo_epi16(sum, _mm256_set1_epi16(-zero));
            Avx2Products(start, start)
        }
    }
    #[inline(always)]
    unsafe fn multiply<const EIGHT: bool>(products: Avx2Products, codes: Avx2Bytes, x: i32) -> Avx2Products {
        unsafe {
            let x = _mm256_set1_epi32(x);
            Avx2Products(
                _mm256_add_epi16(products.0, pairs::<EIGHT>(codes.0, x)),
                _mm256_add_epi16(products.1, pairs::<EIGHT>(codes.1, x)),
            )
        }
    }
    #[inline(always)]
    unsafe fn add(self, products: Avx2Products) -> Self {
        unsafe {
            let ones = _mm256_set1_epi16(1);
            Self(
                _mm256_add_epi32(self.0, _mm256_madd_epi16(products.0, ones)),
                _mm256_add_epi32(self.1, _mm256_madd_epi16(products.1, ones)),
            )
        }
    }
    #[inline(always)]
    unsafe fn dot_i16(self, int16: Avx2Bytes, x: i32) -> Self {
        unsafe {
            let x = _mm256_set1_epi32(x);
            let add = |sum, int16| _mm256_add_epi32(sum, _mm256_madd_epi16(int16, x));
            Self(add(self.0, int16.0), add(self.1, int16.1))
        }
    }
    #[inline(always)]
    unsafe fn to_floats(self) -> Avx2 {
        unsafe { Avx2::two(_mm256_cvtepi32_ps(self.0), _mm256_cvtepi32_ps(self.1)) }
    }
}

// SAFETY (all methods): the trait's contract gives the instructions and the pointers.
#[allow(clippy::undocumented_unsafe_blocks)]
impl Bytes for Avx2Bytes {
    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        unsafe { Self(_mm256_loadu_si256(from.cast()), _mm256_loadu_si256(from.add(32).cast())) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        unsafe {
            _mm256_storeu_si256(to.cast(), self.0);
            _mm256_storeu_si256(to.add(32).cast(), self.1);
        }
    }
    #[inline(always)]
    unsafe fn or(self, b: Self) -> Self {
        unsafe { Self(_mm256_or_si256(self.0, b.0), _mm256_or_si256(self.1, b.1)) }
    }
    #[inline(always)]
    unsafe fn sub(self, b: u8) -> Self {
        unsafe {
            let b = _mm256_set1_epi8(b as i8);
            Self(_mm256_sub_epi8(self.0, b), _mm256_sub_epi8(self.1, b))
        }
    }
    #[inline(always)]
    unsafe fn right(self, n: u32, mask: u8) -> Self {
        unsafe {
            let (n, mask) = (_mm_cvtsi32_si128(n as i32), _mm256_set1_epi8(mask as i8));
            let shift = |v| _mm256_and_si256(_mm256_srl_epi16(v, n), mask);
            Self(shift(self.0), shift(self.1))
        }
    }
    #[inline(always)]
    unsafe fn left(self, n: u32, mask: u8) -> Self {
        unsafe {
            let (n, mask) = (_mm_cvtsi32_si128(n as i32), _mm256_set1_epi8(mask as i8));
            let shift = |v| _mm256_and_si256(_mm256_sll_epi16(v, n), mask);
            Self(shift(self.0), shift(self.1))
        }
    }
    #[inline(always)]
    unsafe fn select(self, table: &[u8; 16]) -> Self {
        unsafe {
            let table = _mm256_broadcastsi128_si256(_mm_loadu_si128(table.as_ptr().cast()));
            Self(_mm256_shuffle_epi8(table, self.0), _mm256_shuffle_epi8(table, self.1))
        }
    }
}
