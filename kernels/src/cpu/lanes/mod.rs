//! Sixteen lanes on each instruction set. Kernels are written once, generic over [`Lanes`].

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod avx_vnni;
#[cfg(target_arch = "x86_64")]
mod fma;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;
#[cfg(target_arch = "x86_64")]
mod sse2;

#[cfg(target_arch = "x86_64")]
pub(super) use avx_vnni::AvxVnni;
#[cfg(target_arch = "x86_64")]
pub(super) use avx2::Avx2;
#[cfg(target_arch = "x86_64")]
pub(super) use avx512::Avx512;
#[cfg(target_arch = "aarch64")]
pub(super) use neon::Neon;
pub(super) use portable::Portable;
#[cfg(target_arch = "x86_64")]
pub(super) use sse2::Sse2;

/// Sixteen f32 lanes. Every method is lane-wise and gives the same bits in every implementation; none reduces across
/// lanes in an order that another implementation would not follow.
///
/// # Safety
/// Methods may only be called where the implementation's instructions exist, and pointers must be valid for sixteen
/// values (of any alignment).
pub(super) trait Lanes: Copy {
    /// Sixteen i32.
    type Ints: Ints<Floats = Self>;
    /// Sixty-four bytes.
    type Bytes: Bytes;

    unsafe fn splat(x: f32) -> Self;
    unsafe fn load(from: *const f32) -> Self;
    unsafe fn load_f16(from: *const u16) -> Self;
    unsafe fn load_bf16(from: *const u16) -> Self;
    unsafe fn load_u8(from: *const u8) -> Self;
    unsafe fn load_i8(from: *const i8) -> Self;
    unsafe fn store(self, to: *mut f32);
    /// `self * b + c`, rounded once.
    unsafe fn fma(self, b: Self, c: Self) -> Self;
    unsafe fn sub(self, b: Self) -> Self;
    unsafe fn mul(self, b: Self) -> Self;
    unsafe fn max(self, b: Self) -> Self;
    unsafe fn min(self, b: Self) -> Self;
    unsafe fn div(self, b: Self) -> Self;
    /// 2 to the power of lanes that hold whole numbers from -126 to 127.
    unsafe fn exp2_whole(self) -> Self;
    /// The largest lane; lanes are numbers.
    unsafe fn largest(self) -> f32;
    /// The sum of lanes that are each 0 or NaN: the one sum that no order changes.
    unsafe fn sum_of_zeros(self) -> f32;
    /// Prefetches the cache line at `at`, which need not exist.
    unsafe fn prefetch(at: *const u8);
    /// The nearest whole numbers, ties to even, of lanes within [-127, 127].
    unsafe fn rounded_i8(self) -> [i8; 16];
    /// The nearest whole numbers, ties to even, of lanes within [-32767, 32767].
    unsafe fn store_rounded_i16(self, to: *mut i16);
}

/// Sixteen i32 sums of integer products, exact.
///
/// # Safety
/// As [`Lanes`].
pub(super) trait Ints: Copy {
    type Floats: Lanes<Ints = Self>;
    /// Whether codes of eight bits are multiplied as `code - 128`: where the products of unsigned bytes would overflow
    /// the instruction's 16-bit sums.
    const EIGHT_IS_SIGNED: bool;
    /// Sums of products of bytes before they are added to the i32 sums; where the instruction's results are narrower,
    /// one widening serves several of them.
    type Products: Copy;
    /// Whether [`Self::Products`] are int16: two for each lane, the first of inputs 0 and 1 of every group of four, the
    /// second of inputs 2 and 3. They wrap, so what they are in the end has to fit, and every pair of products.
    const NARROW: bool;

    unsafe fn splat(x: i32) -> Self;
    #[allow(dead_code, reason = "only used with AMX, which is compiled for x86-64")]
    unsafe fn load(from: *const i32) -> Self;
    /// Starts [`Self::Products`] that [`Self::add`] will add to these sums. Where they are [`Self::NARROW`], they start
    /// at `-zero` times the sum of `pairs`, each two int16.
    unsafe fn products<const N: usize>(self, zero: i16, pairs: [i32; N]) -> Self::Products;
    /// Adds `Σ_j codes[4 i + j] * x_j`, four signed bytes `x` for each lane `i`. `codes` are unsigned, below 64 unless
    /// `EIGHT`; see [`Self::EIGHT_IS_SIGNED`].
    unsafe fn multiply<const EIGHT: bool>(
        products: Self::Products,
        codes: <Self::Floats as Lanes>::Bytes,
        x: i32,
    ) -> Self::Products;
    /// Adds products that began with [`Self::products`] of the same sums.
    unsafe fn add(self, products: Self::Products) -> Self;
    /// Adds `Σ_j codes[2 i + j] * x_j`, two int16 `x` and codes for each lane `i`; the sums must fit an i32.
    unsafe fn dot_i16(self, int16: <Self::Floats as Lanes>::Bytes, x: i32) -> Self;
    /// The nearest float, ties to even: exact below 2^24.
    unsafe fn to_floats(self) -> Self::Floats;
    /// [`OFFSET`] more than each, exactly; they are below 2^22.
    #[allow(dead_code, reason = "only used with AMX, which is compiled for x86-64")]
    #[inline(always)]
    unsafe fn to_offset_floats(self) -> Self::Floats {
        // SAFETY: the caller's.
        unsafe { self.to_floats().sub(Self::Floats::splat(-OFFSET)) }
    }
}

/// 1.5 * 2^23. Floats less than 2^22 from here are all whole numbers, and the bits of `OFFSET + n` are those of `OFFSET`
/// plus `n`.
pub(super) const OFFSET: f32 = 12_582_912.0;

/// Sixty-four bytes, to unpack codes.
///
/// # Safety
/// As [`Lanes`]; pointers are valid for sixty-four bytes.
pub(super) trait Bytes: Copy {
    unsafe fn load(from: *const u8) -> Self;
    unsafe fn store(self, to: *mut u8);
    unsafe fn or(self, b: Self) -> Self;
    /// `byte - b`, which may wrap.
    unsafe fn sub(self, b: u8) -> Self;
    /// `(byte >> n) & mask`; `mask` has no bit that a shift of wider lanes would fill from a neighbour.
    unsafe fn right(self, n: u32, mask: u8) -> Self;
    /// `(byte << n) & mask`, likewise.
    unsafe fn left(self, n: u32, mask: u8) -> Self;
}

/// The results of `f` for each of four registers of 128 bits. A closure is no call: every x86-64 processor has SSE2.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn quarters<T>(f: impl Fn(usize) -> T) -> [T; 4] {
    [f(0), f(1), f(2), f(3)]
}

/// The sum of all lanes in one fixed order: the upper half is added to the lower, four times.
#[inline(always)]
pub(super) unsafe fn sum<L: Lanes>(x: L) -> f32 {
    let mut lanes = [0.0_f32; 16];
    // SAFETY: the caller's; `lanes` holds sixteen values.
    unsafe { x.store(lanes.as_mut_ptr()) };
    for half in [8, 4, 2, 1] {
        for lane in 0..half {
            lanes[lane] += lanes[lane + half];
        }
    }
    lanes[0]
}

/// `x * factor`, clamped to [-largest, largest]. A function, not a closure: the body of a closure would not be compiled
/// for the instructions of the kernel around it.
#[inline(always)]
pub(super) unsafe fn scaled_within<L: Lanes>(x: L, factor: f32, largest: f32) -> L {
    // SAFETY: lane-wise methods of the caller's own instruction set.
    unsafe { x.mul(L::splat(factor)).min(L::splat(largest)).max(L::splat(-largest)) }
}

/// e to the power of each lane, which is clamped to [-87, 88]: the results are 1.6e-38 to 1.7e38.
///
/// Cody-Waite reduction to [-ln 2 / 2, ln 2 / 2] and a degree-6 polynomial (the Taylor coefficients, as in Cephes'
/// expf up to rounding): relative error below 3e-7.
#[inline(always)]
pub(super) unsafe fn exp<L: Lanes>(x: L) -> L {
    // SAFETY: lane-wise methods of the caller's own instruction set.
    unsafe {
        let x = x.max(L::splat(-87.0)).min(L::splat(88.0));
        // The nearest whole number.
        let n = x.fma(L::splat(std::f32::consts::LOG2_E), L::splat(OFFSET)).sub(L::splat(OFFSET));
        let r = n.fma(L::splat(-0.693_359_4), x);
        let r = n.fma(L::splat(2.121_944_4e-4), r);
        let mut p = L::splat(1.0 / 720.0);
        for c in [1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
            p = p.fma(r, L::splat(c));
        }
        p.mul(n.exp2_whole())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_is_close_to_the_standard_library() {
        for i in -8_700..8_800_i16 {
            let x = f32::from(i) / 100.0;
            let mut got = [0.0; 16];
            // SAFETY: portable lanes need no instructions; `got` holds sixteen values.
            unsafe { exp(Portable::splat(x)).store(got.as_mut_ptr()) };
            let want = f64::from(x).exp();
            let error = (f64::from(got[0]) - want).abs() / want;
            assert!(error < 4e-7, "exp({x}): {} for {want}, relative error {error}", got[0]);
        }
    }
}
