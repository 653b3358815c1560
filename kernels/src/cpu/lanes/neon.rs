//! Four registers of 128 bits, with the dot product of bytes.
//!
//! Instructions that had no stable intrinsic in the oldest Rust that this is built with are in assembly: `fcvtl`,
//! `sdot`, `prfm`.

use super::traits::{Bytes, Ints, Lanes, Outlined};
use std::arch::aarch64::*;
use std::arch::asm;
use std::mem::transmute;

#[derive(Clone, Copy)]
pub(in crate::cpu) struct Neon([float32x4_t; 4]);

#[derive(Clone, Copy)]
pub(in crate::cpu) struct NeonInts([int32x4_t; 4]);

#[derive(Clone, Copy)]
pub(in crate::cpu) struct NeonBytes([uint8x16_t; 4]);

/// The results of `f` for each of the four registers. Closures are inlined here, since NEON is enabled in every function
/// of an AArch64 target; `sdot`, which is not, is enabled where it is used.
#[inline(always)]
fn quarters<T>(f: impl Fn(usize) -> T) -> [T; 4] {
    [f(0), f(1), f(2), f(3)]
}

// SAFETY (all methods): the trait's contract gives the instructions and the pointers.
#[allow(clippy::undocumented_unsafe_blocks)]
impl Lanes for Neon {
    type Ints = NeonInts;
    type Bytes = NeonBytes;

    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        unsafe { Self([vdupq_n_f32(x); 4]) }
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        unsafe { Self(quarters(|i| vld1q_f32(from.add(4 * i)))) }
    }
    #[inline(always)]
    unsafe fn load_f16(from: *const u16) -> Self {
        unsafe {
            let four = |i| {
                let half = vld1_u16(from.add(4 * i));
                let wide: float32x4_t;
                asm!("fcvtl {wide:v}.4s, {half:v}.4h", wide = out(vreg) wide, half = in(vreg) half,
                    options(pure, nomem, nostack));
                wide
            };
            Self(quarters(four))
        }
    }
    #[inline(always)]
    unsafe fn load_bf16(from: *const u16) -> Self {
        unsafe {
            let four = |i| vreinterpretq_f32_u32(vshll_n_u16::<16>(vld1_u16(from.add(4 * i))));
            Self(quarters(four))
        }
    }
    #[inline(always)]
    unsafe fn load_u8(from: *const u8) -> Self {
        unsafe {
            let bytes = vld1q_u8(from);
            let (low, high) = (vmovl_u8(vget_low_u8(bytes)), vmovl_high_u8(bytes));
            let wide = |int16| vcvtq_f32_u32(vmovl_u16(int16));
            Self([
                wide(vget_low_u16(low)),
                wide(vget_high_u16(low)),
                wide(vget_low_u16(high)),
                wide(vget_high_u16(high)),
            ])
        }
    }
    #[inline(always)]
    unsafe fn load_i8(from: *const i8) -> Self {
        unsafe {
            let bytes = vld1q_s8(from);
            let (low, high) = (vmovl_s8(vget_low_s8(bytes)), vmovl_high_s8(bytes));
            let wide = |int16| vcvtq_f32_s32(vmovl_s16(int16));
            Self([
                wide(vget_low_s16(low)),
                wide(vget_high_s16(low)),
                wide(vget_low_s16(high)),
                wide(vget_high_s16(high)),
            ])
        }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        for i in 0..4 {
            unsafe { vst1q_f32(to.add(4 * i), self.0[i]) }
        }
    }
    #[inline(always)]
    unsafe fn fma(self, b: Self, c: Self) -> Self {
        unsafe { Self(quarters(|i| vfmaq_f32(c.0[i], self.0[i], b.0[i]))) }
    }
    #[inline(always)]
    unsafe fn sub(self, b: Self) -> Self {
        unsafe { Self(quarters(|i| vsubq_f32(self.0[i], b.0[i]))) }
    }
    #[inline(always)]
    unsafe fn mul(self, b: Self) -> Self {
        unsafe { Self(quarters(|i| vmulq_f32(self.0[i], b.0[i]))) }
    }
    // Not `vmaxq_f32`, which gives NaN where either is: all tables give the second there.
    #[inline(always)]
    unsafe fn max(self, b: Self) -> Self {
        unsafe { Self(quarters(|i| vbslq_f32(vcgtq_f32(self.0[i], b.0[i]), self.0[i], b.0[i]))) }
    }
    #[inline(always)]
    unsafe fn min(self, b: Self) -> Self {
        unsafe { Self(quarters(|i| vbslq_f32(vcltq_f32(self.0[i], b.0[i]), self.0[i], b.0[i]))) }
    }
    #[inline(always)]
    unsafe fn div(self, b: Self) -> Self {
        unsafe { Self(quarters(|i| vdivq_f32(self.0[i], b.0[i]))) }
    }
    #[inline(always)]
    unsafe fn exp2_whole(self) -> Self {
        unsafe {
            let power = |i| {
                let biased = vaddq_s32(vcvtq_s32_f32(self.0[i]), vdupq_n_s32(127));
                vreinterpretq_f32_s32(vshlq_n_s32::<23>(biased))
            };
            Self(quarters(power))
        }
    }
    #[inline(always)]
    unsafe fn largest(self) -> f32 {
        unsafe { vmaxvq_f32(vmaxq_f32(vmaxq_f32(self.0[0], self.0[1]), vmaxq_f32(self.0[2], self.0[3]))) }
    }
    #[inline(always)]
    unsafe fn sum_of_zeros(self) -> f32 {
        unsafe { vaddvq_f32(vaddq_f32(vaddq_f32(self.0[0], self.0[1]), vaddq_f32(self.0[2], self.0[3]))) }
    }
    #[inline(always)]
    unsafe fn prefetch(at: *const u8) {
        unsafe { asm!("prfm pldl2keep, [{at}]", at = in(reg) at, options(nostack, preserves_flags, readonly)) }
    }
    #[inline(always)]
    unsafe fn rounded_i8(self) -> [i8; 16] {
        unsafe {
            let [low, high] = self.rounded();
            transmute(vqmovn_high_s16(vqmovn_s16(low), high))
        }
    }
    #[inline(always)]
    unsafe fn store_rounded_i16(self, to: *mut i16) {
        unsafe {
            let [low, high] = self.rounded();
            vst1q_s16(to, low);
            vst1q_s16(to.add(8), high);
        }
    }
}

impl Neon {
    /// The nearest whole numbers, ties to even, eight int16 a register.
    #[inline(always)]
    unsafe fn rounded(self) -> [int16x8_t; 2] {
        // SAFETY: the caller's.
        unsafe {
            let eight = |i| vqmovn_high_s32(vqmovn_s32(vcvtnq_s32_f32(self.0[i])), vcvtnq_s32_f32(self.0[i + 1]));
            [eight(0), eight(2)]
        }
    }
}

// SAFETY (all methods): the trait's contract gives the instructions and the pointers.
#[allow(clippy::undocumented_unsafe_blocks)]
impl Ints for NeonInts {
    type Floats = Neon;
    // Both sides of the dot product are signed.
    const EIGHT_IS_SIGNED: bool = true;
    type Products = Self;
    const NARROW: bool = false;

    #[target_feature(enable = "neon,dotprod")]
    #[inline(never)]
    unsafe fn outlined<O: Outlined>(of: O) {
        unsafe { of.run::<Self::Floats>() }
    }
    #[inline(always)]
    unsafe fn splat(x: i32) -> Self {
        unsafe { Self([vdupq_n_s32(x); 4]) }
    }
    #[inline(always)]
    unsafe fn load(from: *const i32) -> Self {
        unsafe { Self(quarters(|i| vld1q_s32(from.add(4 * i)))) }
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
    unsafe fn multiply<const EIGHT: bool>(products: Self, codes: NeonBytes, x: i32) -> Self {
        unsafe {
            let x = vdupq_n_s32(x);
            let add = |i| {
                let codes = if EIGHT { veorq_u8(codes.0[i], vdupq_n_u8(128)) } else { codes.0[i] };
                let mut sum = products.0[i];
                asm!(".arch_extension dotprod", "sdot {sum:v}.4s, {codes:v}.16b, {x:v}.16b",
                    sum = inout(vreg) sum, codes = in(vreg) codes, x = in(vreg) x,
                    options(pure, nomem, nostack, preserves_flags));
                sum
            };
            Self(quarters(add))
        }
    }
    #[inline(always)]
    unsafe fn dot_i16(self, int16: NeonBytes, x: i32) -> Self {
        unsafe {
            let x = vreinterpretq_s16_s32(vdupq_n_s32(x));
            let add = |i| {
                let int16 = vreinterpretq_s16_u8(int16.0[i]);
                let low = vmull_s16(vget_low_s16(int16), vget_low_s16(x));
                vaddq_s32(self.0[i], vpaddq_s32(low, vmull_high_s16(int16, x)))
            };
            Self(quarters(add))
        }
    }
    #[inline(always)]
    unsafe fn to_floats(self) -> Neon {
        unsafe { Neon(quarters(|i| vcvtq_f32_s32(self.0[i]))) }
    }
}

// SAFETY (all methods): the trait's contract gives the instructions and the pointers.
#[allow(clippy::undocumented_unsafe_blocks)]
impl Bytes for NeonBytes {
    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        unsafe { Self(quarters(|i| vld1q_u8(from.add(16 * i)))) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        for i in 0..4 {
            unsafe { vst1q_u8(to.add(16 * i), self.0[i]) }
        }
    }
    #[inline(always)]
    unsafe fn or(self, b: Self) -> Self {
        unsafe { Self(quarters(|i| vorrq_u8(self.0[i], b.0[i]))) }
    }
    #[inline(always)]
    unsafe fn sub(self, b: u8) -> Self {
        unsafe { Self(quarters(|i| vsubq_u8(self.0[i], vdupq_n_u8(b)))) }
    }
    // Bytes are shifted as such here; by a negative count to the right.
    #[inline(always)]
    unsafe fn right(self, n: u32, mask: u8) -> Self {
        unsafe {
            let by = vdupq_n_s8(-(n as i8));
            Self(quarters(|i| vandq_u8(vshlq_u8(self.0[i], by), vdupq_n_u8(mask))))
        }
    }
    #[inline(always)]
    unsafe fn left(self, n: u32, mask: u8) -> Self {
        unsafe {
            let by = vdupq_n_s8(n as i8);
            Self(quarters(|i| vandq_u8(vshlq_u8(self.0[i], by), vdupq_n_u8(mask))))
        }
    }
    #[inline(always)]
    unsafe fn select(self, table: &[u8; 16]) -> Self {
        unsafe {
            let table = vld1q_u8(table.as_ptr());
            Self(quarters(|i| vqtbl1q_u8(table, self.0[i])))
        }
    }
}
