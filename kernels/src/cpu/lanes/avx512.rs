//! One register of 512 bits.

use super::traits::{Bytes, Ints, Lanes, OFFSET, Outlined, bias_of};
use std::arch::{asm, x86_64::*};
use std::mem::transmute;

#[derive(Clone, Copy)]
pub(in crate::cpu) struct Avx512(__m512);

#[derive(Clone, Copy)]
pub(in crate::cpu) struct Avx512Ints(__m512i);

#[derive(Clone, Copy)]
pub(in crate::cpu) struct Avx512Bytes(__m512i);

// SAFETY (all methods): the trait's contract gives the instructions and the pointers.
#[allow(clippy::undocumented_unsafe_blocks)]
impl Lanes for Avx512 {
    type Ints = Avx512Ints;
    type Bytes = Avx512Bytes;

    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        unsafe { Self(_mm512_set1_ps(x)) }
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        unsafe { Self(_mm512_loadu_ps(from)) }
    }
    #[inline(always)]
    unsafe fn load_f16(from: *const u16) -> Self {
        unsafe { Self(_mm512_cvtph_ps(_mm256_loadu_si256(from.cast()))) }
    }
    #[inline(always)]
    unsafe fn load_bf16(from: *const u16) -> Self {
        unsafe {
            let wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(from.cast()));
            Self(_mm512_castsi512_ps(_mm512_slli_epi32::<16>(wide)))
        }
    }
    #[inline(always)]
    unsafe fn load_u8(from: *const u8) -> Self {
        unsafe { Self(_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128(from.cast())))) }
    }
    #[inline(always)]
    unsafe fn load_i8(from: *const i8) -> Self {
        unsafe { Self(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(from.cast())))) }
    }
    #[inline(always)]
    unsafe fn load_powers(from: *const u8) -> Self {
        unsafe {
            let wide = _mm512_cvtepu8_epi32(_mm_loadu_si128(from.cast()));
            Self(_mm512_castsi512_ps(_mm512_slli_epi32::<23>(wide)))
        }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        unsafe { _mm512_storeu_ps(to, self.0) }
    }
    #[inline(always)]
    unsafe fn fma(self, b: Self, c: Self) -> Self {
        unsafe { Self(_mm512_fmadd_ps(self.0, b.0, c.0)) }
    }
    #[inline(always)]
    unsafe fn sub(self, b: Self) -> Self {
        unsafe { Self(_mm512_sub_ps(self.0, b.0)) }
    }
    #[inline(always)]
    unsafe fn mul(self, b: Self) -> Self {
        unsafe { Self(_mm512_mul_ps(self.0, b.0)) }
    }
    #[inline(always)]
    unsafe fn max(self, b: Self) -> Self {
        unsafe { Self(_mm512_max_ps(self.0, b.0)) }
    }
    #[inline(always)]
    unsafe fn min(self, b: Self) -> Self {
        unsafe { Self(_mm512_min_ps(self.0, b.0)) }
    }
    #[inline(always)]
    unsafe fn div(self, b: Self) -> Self {
        unsafe { Self(_mm512_div_ps(self.0, b.0)) }
    }
    #[inline(always)]
    unsafe fn exp2_whole(self) -> Self {
        unsafe {
            let biased = _mm512_add_epi32(_mm512_cvtps_epi32(self.0), _mm512_set1_epi32(127));
            Self(_mm512_castsi512_ps(_mm512_slli_epi32::<23>(biased)))
        }
    }
    #[inline(always)]
    unsafe fn largest(self) -> f32 {
        unsafe { _mm512_reduce_max_ps(self.0) }
    }
    #[inline(always)]
    unsafe fn sum_of_zeros(self) -> f32 {
        unsafe { _mm512_reduce_add_ps(self.0) }
    }
    #[inline(always)]
    unsafe fn prefetch(at: *const u8) {
        unsafe { _mm_prefetch::<_MM_HINT_T1>(at.cast()) }
    }
    #[inline(always)]
    unsafe fn rounded_i8(self) -> [i8; 16] {
        unsafe { transmute(_mm512_cvtepi32_epi8(_mm512_cvtps_epi32(self.0))) }
    }
    #[inline(always)]
    unsafe fn store_rounded_i16(self, to: *mut i16) {
        unsafe { _mm256_storeu_si256(to.cast(), _mm512_cvtepi32_epi16(_mm512_cvtps_epi32(self.0))) }
    }
    #[inline(always)]
    unsafe fn store_bf16<const PAIRS: bool>(self, next: Self, to: *mut u16) {
        /// `a & c | b & !c` of the operands in this order.
        const CHOOSE: i32 = 0b1110_0100;
        unsafe {
            let half = _mm512_set1_epi32(0x8000);
            let a = _mm512_add_epi32(_mm512_castps_si512(self.0), half);
            let b = _mm512_add_epi32(_mm512_castps_si512(next.0), half);
            if PAIRS {
                let low = _mm512_srli_epi32::<16>(a);
                let both = _mm512_ternarylogic_epi32::<CHOOSE>(b, low, _mm512_set1_epi32(0xffff_0000_u32 as i32));
                _mm512_storeu_si512(to.cast(), both);
            } else {
                for (number, x) in [a, b].into_iter().enumerate() {
                    let narrow = _mm512_cvtepi32_epi16(_mm512_srli_epi32::<16>(x));
                    _mm256_storeu_si256(to.add(16 * number).cast(), narrow);
                }
            }
        }
    }
    #[inline(always)]
    unsafe fn mul_power_of_two(self, whole: Self) -> Self {
        unsafe { Self(_mm512_scalef_ps(self.0, whole.0)) }
    }
    #[inline(always)]
    unsafe fn rounded_bf16(self) -> Self {
        unsafe {
            let up = _mm512_add_epi32(_mm512_castps_si512(self.0), _mm512_set1_epi32(0x8000));
            Self(_mm512_castsi512_ps(_mm512_and_si512(up, _mm512_set1_epi32(0xffff_0000_u32 as i32))))
        }
    }
    #[inline(always)]
    unsafe fn store_bf16_pairs(self, next: Self, to: *mut u16) {
        unsafe {
            let low = _mm512_srli_epi32::<16>(_mm512_castps_si512(self.0));
            _mm512_storeu_si512(to.cast(), _mm512_or_si512(_mm512_castps_si512(next.0), low));
        }
    }
    #[inline(always)]
    unsafe fn load_bf16_pairs(from: *const u16) -> [Self; 2] {
        unsafe {
            let both = _mm512_loadu_si512(from.cast());
            let odd = _mm512_and_si512(both, _mm512_set1_epi32(0xffff_0000_u32 as i32));
            [Self(_mm512_castsi512_ps(_mm512_slli_epi32::<16>(both))), Self(_mm512_castsi512_ps(odd))]
        }
    }
    #[inline(always)]
    unsafe fn transpose(vectors: [Self; 16]) -> [Self; 16] {
        unsafe {
            // No closures: they would not be compiled for these instructions.
            let mut of = [_mm512_setzero_pd(); 16];
            // In each quarter of a register a lane of four vectors.
            for (four, of) in vectors.as_chunks::<4>().0.iter().zip(of.as_chunks_mut::<4>().0) {
                let [Self(a), Self(b), Self(c), Self(d)] = *four;
                let low = _mm512_castps_pd(_mm512_unpacklo_ps(a, b));
                let high = _mm512_castps_pd(_mm512_unpackhi_ps(a, b));
                let next_low = _mm512_castps_pd(_mm512_unpacklo_ps(c, d));
                let next_high = _mm512_castps_pd(_mm512_unpackhi_ps(c, d));
                *of = [
                    _mm512_unpacklo_pd(low, next_low),
                    _mm512_unpackhi_pd(low, next_low),
                    _mm512_unpacklo_pd(high, next_high),
                    _mm512_unpackhi_pd(high, next_high),
                ];
            }
            let mut rows = vectors;
            for column in 0..4 {
                let (a, b, c, d) = (of[column], of[4 + column], of[8 + column], of[12 + column]);
                // Quarters 0 and 1 of both, then 2 and 3.
                let (ab, cd) = (_mm512_shuffle_f64x2::<0x44>(a, b), _mm512_shuffle_f64x2::<0x44>(c, d));
                let (ab_high, cd_high) = (_mm512_shuffle_f64x2::<0xee>(a, b), _mm512_shuffle_f64x2::<0xee>(c, d));
                // The first quarter of each half, then the second.
                rows[column] = Self(_mm512_castpd_ps(_mm512_shuffle_f64x2::<0x88>(ab, cd)));
                rows[4 + column] = Self(_mm512_castpd_ps(_mm512_shuffle_f64x2::<0xdd>(ab, cd)));
                rows[8 + column] = Self(_mm512_castpd_ps(_mm512_shuffle_f64x2::<0x88>(ab_high, cd_high)));
                rows[12 + column] = Self(_mm512_castpd_ps(_mm512_shuffle_f64x2::<0xdd>(ab_high, cd_high)));
            }
            rows
        }
    }
    #[inline(always)]
    unsafe fn at_least(self, least: Self) -> Self {
        unsafe {
            // A NaN is not less.
            let keep = _mm512_cmp_ps_mask::<_CMP_NLT_UQ>(_mm512_abs_ps(self.0), least.0);
            Self(_mm512_maskz_mov_ps(keep, self.0))
        }
    }
    #[inline(always)]
    unsafe fn biased_codes<const INPUT: usize, const EIGHT: bool>(codes: Avx512Bytes) -> Self {
        /// `a & c | b` of the operands in this order.
        const PUT: i32 = 0b1110_1100;
        unsafe {
            // The code's byte goes to where the last bit of the bias's float is that of a whole number.
            let to = if EIGHT { 1 } else { 2 };
            let mask = _mm512_set1_epi32(0xff << (8 * to));
            let bias = _mm512_set1_epi32(bias_of(EIGHT).to_bits() as i32);
            let moved = if INPUT == to {
                codes.0
            } else {
                // Bytes of each lane of 128 bits; those that are masked may be any.
                let from = |lane: i32| (4 * lane + INPUT as i32) << (8 * to);
                _mm512_shuffle_epi8(codes.0, _mm512_broadcast_i32x4(_mm_setr_epi32(from(0), from(1), from(2), from(3))))
            };
            Self(_mm512_castsi512_ps(_mm512_ternarylogic_epi32::<PUT>(moved, bias, mask)))
        }
    }
}

// SAFETY (all methods): the trait's contract gives the instructions.
#[allow(clippy::undocumented_unsafe_blocks)]
impl Ints for Avx512Ints {
    type Floats = Avx512;
    const EIGHT_IS_SIGNED: bool = false;
    type Products = Self;
    const NARROW: bool = false;

    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    #[inline(never)]
    unsafe fn outlined<O: Outlined>(of: O) {
        unsafe { of.run::<Self::Floats>() }
    }
    #[inline(always)]
    unsafe fn splat(x: i32) -> Self {
        unsafe { Self(_mm512_set1_epi32(x)) }
    }
    #[inline(always)]
    unsafe fn load(from: *const i32) -> Self {
        unsafe { Self(_mm512_loadu_si512(from.cast())) }
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
    unsafe fn multiply<const EIGHT: bool>(products: Self, codes: Avx512Bytes, x: i32) -> Self {
        unsafe { Self(_mm512_dpbusd_epi32(products.0, codes.0, _mm512_set1_epi32(x))) }
    }
    #[inline(always)]
    unsafe fn dot_i16(self, int16: Avx512Bytes, x: i32) -> Self {
        unsafe { Self(dot_i16(self.0, int16.0, _mm512_set1_epi32(x))) }
    }
    #[inline(always)]
    unsafe fn to_floats(self) -> Avx512 {
        unsafe { Avx512(_mm512_cvtepi32_ps(self.0)) }
    }
    #[inline(always)]
    unsafe fn to_offset_floats(self) -> Avx512 {
        unsafe { Avx512(_mm512_castsi512_ps(_mm512_add_epi32(self.0, _mm512_set1_epi32(OFFSET.to_bits() as i32)))) }
    }
}

/// `vpdpwssd`, in assembly because LLVM splits the intrinsic into a product and a sum, which takes half as long again.
///
/// # Safety
/// The processor has AVX-512 VNNI.
#[target_feature(enable = "avx512f,avx512vnni")]
#[inline]
unsafe fn dot_i16(mut sums: __m512i, int16: __m512i, x: __m512i) -> __m512i {
    // SAFETY: registers in, a register out.
    unsafe {
        asm!(
            "vpdpwssd {sums}, {int16}, {x}",
            sums = inout(zmm_reg) sums, int16 = in(zmm_reg) int16, x = in(zmm_reg) x,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    sums
}

// SAFETY (all methods): the trait's contract gives the instructions and the pointers.
#[allow(clippy::undocumented_unsafe_blocks)]
impl Bytes for Avx512Bytes {
    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        unsafe { Self(_mm512_loadu_si512(from.cast())) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        unsafe { _mm512_storeu_si512(to.cast(), self.0) }
    }
    #[inline(always)]
    unsafe fn or(self, b: Self) -> Self {
        unsafe { Self(_mm512_or_si512(self.0, b.0)) }
    }
    #[inline(always)]
    unsafe fn sub(self, b: u8) -> Self {
        unsafe { Self(_mm512_sub_epi8(self.0, _mm512_set1_epi8(b as i8))) }
    }
    #[inline(always)]
    unsafe fn right(self, n: u32, mask: u8) -> Self {
        unsafe {
            let shifted = _mm512_srl_epi16(self.0, _mm_cvtsi32_si128(n as i32));
            Self(_mm512_and_si512(shifted, _mm512_set1_epi8(mask as i8)))
        }
    }
    #[inline(always)]
    unsafe fn left(self, n: u32, mask: u8) -> Self {
        unsafe {
            let shifted = _mm512_sll_epi16(self.0, _mm_cvtsi32_si128(n as i32));
            Self(_mm512_and_si512(shifted, _mm512_set1_epi8(mask as i8)))
        }
    }
    #[inline(always)]
    unsafe fn select(self, table: &[u8; 16]) -> Self {
        unsafe {
            let table = _mm512_broadcast_i32x4(_mm_loadu_si128(table.as_ptr().cast()));
            Self(_mm512_shuffle_epi8(table, self.0))
        }
    }
}
