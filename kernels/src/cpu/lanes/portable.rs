//! Plain Rust: the definition of the other implementations' results, and what processors without another use.

use super::traits::{Bytes, Ints, Lanes, Outlined};
use half::{bf16, f16};

#[derive(Clone, Copy)]
pub(in crate::cpu) struct Portable([f32; 16]);

#[derive(Clone, Copy)]
pub(in crate::cpu) struct PortableInts([i32; 16]);

#[derive(Clone, Copy)]
pub(in crate::cpu) struct PortableBytes([u8; 64]);

/// # Safety
/// `from` is valid for `N` values.
#[inline(always)]
unsafe fn read<T: Copy, const N: usize>(from: *const T) -> [T; N] {
    // SAFETY: the caller's.
    unsafe { from.cast::<[T; N]>().read_unaligned() }
}

// SAFETY (all methods): the trait's contract gives the pointers.
#[allow(clippy::undocumented_unsafe_blocks)]
impl Lanes for Portable {
    type Ints = PortableInts;
    type Bytes = PortableBytes;

    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        Self([x; 16])
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        Self(unsafe { read(from) })
    }
    #[inline(always)]
    unsafe fn load_f16(from: *const u16) -> Self {
        Self(unsafe { read::<_, 16>(from) }.map(|bits| f16::from_bits(bits).to_f32()))
    }
    #[inline(always)]
    unsafe fn load_bf16(from: *const u16) -> Self {
        Self(unsafe { read::<_, 16>(from) }.map(|bits| bf16::from_bits(bits).to_f32()))
    }
    #[inline(always)]
    unsafe fn load_u8(from: *const u8) -> Self {
        Self(unsafe { read::<_, 16>(from) }.map(f32::from))
    }
    #[inline(always)]
    unsafe fn load_i8(from: *const i8) -> Self {
        Self(unsafe { read::<_, 16>(from) }.map(f32::from))
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        unsafe { to.cast::<[f32; 16]>().write_unaligned(self.0) }
    }
    #[inline(always)]
    unsafe fn fma(self, b: Self, c: Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i].mul_add(b.0[i], c.0[i])))
    }
    #[inline(always)]
    unsafe fn sub(self, b: Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] - b.0[i]))
    }
    #[inline(always)]
    unsafe fn mul(self, b: Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] * b.0[i]))
    }
    #[inline(always)]
    unsafe fn max(self, b: Self) -> Self {
        // Not `f32::max`: x86's maximum takes the second operand where either is NaN, and so do all tables.
        Self(std::array::from_fn(|i| if self.0[i] > b.0[i] { self.0[i] } else { b.0[i] }))
    }
    #[inline(always)]
    unsafe fn min(self, b: Self) -> Self {
        Self(std::array::from_fn(|i| if self.0[i] < b.0[i] { self.0[i] } else { b.0[i] }))
    }
    #[inline(always)]
    unsafe fn div(self, b: Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] / b.0[i]))
    }
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    unsafe fn exp2_whole(self) -> Self {
        Self(std::array::from_fn(|i| f32::from_bits(((self.0[i] as i32 + 127) << 23) as u32)))
    }
    #[inline(always)]
    unsafe fn largest(self) -> f32 {
        self.0.iter().fold(f32::NEG_INFINITY, |m, &x| if x > m { x } else { m })
    }
    #[inline(always)]
    unsafe fn sum_of_zeros(self) -> f32 {
        self.0.iter().sum()
    }
    #[inline(always)]
    unsafe fn prefetch(_: *const u8) {}
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)]
    unsafe fn rounded_i8(self) -> [i8; 16] {
        self.0.map(|x| x.round_ties_even() as i8)
    }
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)]
    unsafe fn store_rounded_i16(self, to: *mut i16) {
        unsafe { to.cast::<[i16; 16]>().write_unaligned(self.0.map(|x| x.round_ties_even() as i16)) }
    }
}

impl Ints for PortableInts {
    type Floats = Portable;
    const EIGHT_IS_SIGNED: bool = false;
    type Products = Self;
    const NARROW: bool = false;

    #[inline(never)]
    unsafe fn outlined<O: Outlined>(of: O) {
        unsafe { of.run::<Self::Floats>() }
    }
    #[inline(always)]
    unsafe fn splat(x: i32) -> Self {
        Self([x; 16])
    }
    #[inline(always)]
    unsafe fn load(from: *const i32) -> Self {
        Self(unsafe { read(from) })
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
    unsafe fn multiply<const EIGHT: bool>(products: Self, codes: PortableBytes, x: i32) -> Self {
        let x = x.to_le_bytes().map(|byte| i32::from(byte as i8));
        Self(std::array::from_fn(|i| (0..4).fold(products.0[i], |sum, j| sum + i32::from(codes.0[4 * i + j]) * x[j])))
    }
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)]
    unsafe fn dot_i16(self, int16: PortableBytes, x: i32) -> Self {
        let word = |i: usize| i32::from(i16::from_le_bytes([int16.0[2 * i], int16.0[2 * i + 1]]));
        let (low, high) = (i32::from(x as i16), x >> 16);
        Self(std::array::from_fn(|i| self.0[i] + word(2 * i) * low + word(2 * i + 1) * high))
    }
    #[inline(always)]
    unsafe fn to_floats(self) -> Portable {
        Portable(self.0.map(|x| x as f32))
    }
}

// SAFETY (all methods): the trait's contract gives the pointers.
#[allow(clippy::undocumented_unsafe_blocks)]
impl Bytes for PortableBytes {
    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        Self(unsafe { read(from) })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        unsafe { to.cast::<[u8; 64]>().write_unaligned(self.0) }
    }
    #[inline(always)]
    unsafe fn or(self, b: Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] | b.0[i]))
    }
    #[inline(always)]
    unsafe fn sub(self, b: u8) -> Self {
        Self(self.0.map(|byte| byte.wrapping_sub(b)))
    }
    #[inline(always)]
    unsafe fn right(self, n: u32, mask: u8) -> Self {
        Self(self.0.map(|byte| (byte >> n) & mask))
    }
    #[inline(always)]
    unsafe fn left(self, n: u32, mask: u8) -> Self {
        Self(self.0.map(|byte| (byte << n) & mask))
    }
}
