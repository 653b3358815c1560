//! Sixteen f32 lanes on each instruction set. The kernels are written once, over [`Lanes`].
/// Sixteen f32 values that are worked on together. Every method is lane-wise and gives the same bits in every
/// implementation; none reduces across lanes in an order that another would not follow.
///
/// # Safety
/// Methods may only be called where the implementation's instructions exist, and pointers must be valid for sixteen
/// f32 values (of any alignment).
pub(super) trait Lanes: Copy {
    unsafe fn splat(x: f32) -> Self;
    unsafe fn load(from: *const f32) -> Self;
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
}

/// e to the power of each lane, clamped to [-87, 88]: 1.6e-38 and 1.7e38 at the ends.
///
/// Cody-Waite reduction to [-ln 2 / 2, ln 2 / 2] and a degree-6 polynomial (the Taylor coefficients, as in Cephes'
/// expf up to rounding): relative error below 3e-7.
#[inline(always)]
pub(super) unsafe fn exp<L: Lanes>(x: L) -> L {
    // Adding and taking away 1.5 * 2^23 rounds to the nearest whole number.
    const ROUND: f32 = 12_582_912.0;
    // SAFETY: lane-wise methods of the caller's own instruction set.
    unsafe {
        let x = x.max(L::splat(-87.0)).min(L::splat(88.0));
        let n = x.fma(L::splat(std::f32::consts::LOG2_E), L::splat(ROUND)).sub(L::splat(ROUND));
        let r = n.fma(L::splat(-0.693_359_4), x);
        let r = n.fma(L::splat(2.121_944_4e-4), r);
        let mut p = L::splat(1.0 / 720.0);
        for c in [1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
            p = p.fma(r, L::splat(c));
        }
        p.mul(n.exp2_whole())
    }
}

/// Plain Rust: the definition of what the others compute.
#[derive(Clone, Copy)]
pub(super) struct Portable([f32; 16]);

impl Lanes for Portable {
    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        Self([x; 16])
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { from.cast::<[f32; 16]>().read_unaligned() })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: the trait's contract.
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
}

#[cfg(target_arch = "x86_64")]
pub(super) use x86::{Avx2, Avx512};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::Lanes;
    use std::arch::x86_64::*;

    /// Two registers of eight.
    #[derive(Clone, Copy)]
    pub(in crate::cpu) struct Avx2(__m256, __m256);

    // SAFETY (all methods): the trait's contract gives the instructions and the pointers.
    #[allow(clippy::undocumented_unsafe_blocks)]
    impl Lanes for Avx2 {
        #[inline(always)]
        unsafe fn splat(x: f32) -> Self {
            unsafe { Self(_mm256_set1_ps(x), _mm256_set1_ps(x)) }
        }
        #[inline(always)]
        unsafe fn load(from: *const f32) -> Self {
            unsafe { Self(_mm256_loadu_ps(from), _mm256_loadu_ps(from.add(8))) }
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
            unsafe { Self(_mm256_fmadd_ps(self.0, b.0, c.0), _mm256_fmadd_ps(self.1, b.1, c.1)) }
        }
        #[inline(always)]
        unsafe fn sub(self, b: Self) -> Self {
            unsafe { Self(_mm256_sub_ps(self.0, b.0), _mm256_sub_ps(self.1, b.1)) }
        }
        #[inline(always)]
        unsafe fn mul(self, b: Self) -> Self {
            unsafe { Self(_mm256_mul_ps(self.0, b.0), _mm256_mul_ps(self.1, b.1)) }
        }
        #[inline(always)]
        unsafe fn max(self, b: Self) -> Self {
            unsafe { Self(_mm256_max_ps(self.0, b.0), _mm256_max_ps(self.1, b.1)) }
        }
        #[inline(always)]
        unsafe fn min(self, b: Self) -> Self {
            unsafe { Self(_mm256_min_ps(self.0, b.0), _mm256_min_ps(self.1, b.1)) }
        }
        #[inline(always)]
        unsafe fn div(self, b: Self) -> Self {
            unsafe { Self(_mm256_div_ps(self.0, b.0), _mm256_div_ps(self.1, b.1)) }
        }
        #[inline(always)]
        unsafe fn exp2_whole(self) -> Self {
            unsafe {
                let power = |v| {
                    let biased = _mm256_add_epi32(_mm256_cvtps_epi32(v), _mm256_set1_epi32(127));
                    _mm256_castsi256_ps(_mm256_slli_epi32::<23>(biased))
                };
                Self(power(self.0), power(self.1))
            }
        }
    }

    /// One register.
    #[derive(Clone, Copy)]
    pub(in crate::cpu) struct Avx512(__m512);

    // SAFETY (all methods): the trait's contract gives the instructions and the pointers.
    #[allow(clippy::undocumented_unsafe_blocks)]
    impl Lanes for Avx512 {
        #[inline(always)]
        unsafe fn splat(x: f32) -> Self {
            unsafe { Self(_mm512_set1_ps(x)) }
        }
        #[inline(always)]
        unsafe fn load(from: *const f32) -> Self {
            unsafe { Self(_mm512_loadu_ps(from)) }
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
