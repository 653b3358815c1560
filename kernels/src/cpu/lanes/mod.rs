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
mod traits;

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
pub(super) use traits::{Bytes, Ints, Lanes, OFFSET, Outlined, bias_of};

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
