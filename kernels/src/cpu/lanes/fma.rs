//! Fused multiply-add for x86-64 processors without the instruction, by SSE2.
//!
//! A product of two floats is exact in f64, and so is the sum `s` of it and a third, but for one rounding. Rounding `s`
//! again, to f32, gives the fused result unless `s` lies halfway between two floats and was itself rounded: then the
//! exact sum lies on a side of the middle that `s` no longer shows. The vectors only detect such lanes; they are rare,
//! and [`exact`] computes the vector again.

use std::arch::x86_64::*;

/// Sixteen lanes.
type Quarters = [__m128; 4];

/// The results of `f` for each of four registers of 128 bits. A closure is not a call: every x86-64 processor has SSE2.
#[inline(always)]
pub(super) fn quarters<T>(f: impl Fn(usize) -> T) -> [T; 4] {
    [f(0), f(1), f(2), f(3)]
}

/// `a * b + c`, rounded once: the bits of [`f32::mul_add`], up to the payload of NaN.
#[inline(always)]
pub(super) fn fma(a: Quarters, b: Quarters, c: Quarters) -> Quarters {
    let mut sums = a;
    // SAFETY: every x86-64 processor has SSE2.
    let doubtful = unsafe {
        let mut middle = _mm_setzero_si128();
        let mut least = _mm_set1_ps(f32::INFINITY);
        for (i, sum) in sums.iter_mut().enumerate() {
            let low = sum_in_f64(a[i], b[i], c[i]);
            let high = sum_in_f64(upper(a[i]), upper(b[i]), upper(c[i]));
            *sum = _mm_movelh_ps(_mm_cvtpd_ps(low), _mm_cvtpd_ps(high));
            middle = _mm_or_si128(middle, in_the_middle(low, high));
            // The second operand is taken where the first is NaN.
            least = _mm_min_ps(_mm_and_ps(*sum, _mm_castsi128_ps(_mm_set1_epi32(i32::MAX))), least);
        }
        // Where the float is not above the least normal one, a double has more bits than elsewhere: all sums count.
        let small = _mm_castps_si128(_mm_cmple_ps(least, _mm_set1_ps(f32::MIN_POSITIVE)));
        _mm_movemask_epi8(_mm_or_si128(middle, small)) != 0
    };
    if doubtful { quarters(|i| exact(a[i], b[i], c[i])) } else { sums }
}

/// Lanes 2 and 3, as lanes 0 and 1.
#[inline(always)]
fn upper(x: __m128) -> __m128 {
    // SAFETY: every x86-64 processor has SSE2.
    unsafe { _mm_movehl_ps(x, x) }
}

/// `a * b + c` of lanes 0 and 1.
#[inline(always)]
fn sum_in_f64(a: __m128, b: __m128, c: __m128) -> __m128d {
    // SAFETY: every x86-64 processor has SSE2.
    unsafe { _mm_add_pd(_mm_mul_pd(_mm_cvtps_pd(a), _mm_cvtps_pd(b)), _mm_cvtps_pd(c)) }
}

/// All bits of the lanes whose sums lie halfway between two normal floats: of the 29 bits that a double has more than a
/// float, the first alone is set.
#[inline(always)]
fn in_the_middle(low: __m128d, high: __m128d) -> __m128i {
    // SAFETY: every x86-64 processor has SSE2.
    unsafe {
        let lower_halves = _mm_shuffle_ps::<0b10_00_10_00>(_mm_castpd_ps(low), _mm_castpd_ps(high));
        let end = _mm_and_si128(_mm_castps_si128(lower_halves), _mm_set1_epi32(0x1fff_ffff));
        _mm_cmpeq_epi32(end, _mm_set1_epi32(0x1000_0000))
    }
}

/// `a * b + c`, rounded once.
#[cold]
#[inline(never)]
fn exact(a: __m128, b: __m128, c: __m128) -> __m128 {
    let [low, high] = [rounded_to_odd(a, b, c), rounded_to_odd(upper(a), upper(b), upper(c))];
    // SAFETY: every x86-64 processor has SSE2.
    unsafe { _mm_movelh_ps(_mm_cvtpd_ps(low), _mm_cvtpd_ps(high)) }
}

/// `a * b + c` of lanes 0 and 1 in f64, rounded to odd: where the sum is inexact, to the neighbour whose last bit is 1. That
/// is never halfway between two floats, and on the same side of the middle as the exact sum, so that rounding it again
/// gives what rounding once does (Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums", 2008).
#[inline(always)]
fn rounded_to_odd(a: __m128, b: __m128, c: __m128) -> __m128d {
    // SAFETY: every x86-64 processor has SSE2.
    unsafe {
        let (product, c) = (_mm_mul_pd(_mm_cvtps_pd(a), _mm_cvtps_pd(b)), _mm_cvtps_pd(c));
        let sum = _mm_add_pd(product, c);
        // Knuth's TwoSum: the exact rounding error of the sum. NaN where the sum is infinite or NaN.
        let added = _mm_sub_pd(sum, product);
        let error = _mm_add_pd(_mm_sub_pd(product, _mm_sub_pd(sum, added)), _mm_sub_pd(c, added));
        let inexact = _mm_and_pd(_mm_cmpneq_pd(error, _mm_setzero_pd()), _mm_cmpord_pd(error, error));
        let bits = _mm_castpd_si128(sum);
        let one = _mm_and_si128(_mm_andnot_si128(bits, _mm_set1_epi64x(1)), _mm_castpd_si128(inexact));
        // The exact sum lies further from 0 where the error has the sign of the sum, else nearer: there one is negated.
        let signs = _mm_srai_epi32::<31>(_mm_castpd_si128(_mm_xor_pd(sum, error)));
        let nearer = _mm_shuffle_epi32::<0b11_11_01_01>(signs);
        let step = _mm_sub_epi64(_mm_xor_si128(one, nearer), nearer);
        _mm_castsi128_pd(_mm_add_epi64(bits, step))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// [`fma`] of sixteen lanes against [`f32::mul_add`]; a NaN is a NaN.
    #[track_caller]
    fn check(a: [f32; 16], b: [f32; 16], c: [f32; 16]) {
        // SAFETY: both types are sixteen floats.
        let [x, y, z] = [a, b, c].map(|x| unsafe { std::mem::transmute::<[f32; 16], Quarters>(x) });
        // SAFETY: as above.
        let sums = unsafe { std::mem::transmute::<Quarters, [f32; 16]>(fma(x, y, z)) };
        for (i, sum) in sums.into_iter().enumerate() {
            let want = a[i].mul_add(b[i], c[i]);
            let same = sum.to_bits() == want.to_bits() || sum.is_nan() && want.is_nan();
            assert!(same, "lane {i}: {:e} * {:e} + {:e} = {want:e}, not {sum:e}", a[i], b[i], c[i]);
        }
    }

    /// One sum in each lane and with all signs, beside ordinary ones, and `and_hard` one in the middle of two floats.
    #[track_caller]
    fn check_one([a, b, c]: [f32; 3], and_hard: bool) {
        for lane in 0..16 {
            for signs in 0..8 {
                let mut all = [[1.25; 16], [0.75; 16], [0.1; 16]];
                let hard = [1.0 + power(-12), 1.0 + power(-12), power(-80)];
                for (i, (all, (x, hard))) in all.iter_mut().zip([a, b, c].into_iter().zip(hard)).enumerate() {
                    if and_hard {
                        all[(lane + 7) % 16] = hard;
                    }
                    all[lane] = if signs >> i & 1 == 1 { -x } else { x };
                }
                check(all[0], all[1], all[2]);
            }
        }
    }

    /// With and without a sum because of which all are rounded to odd.
    #[track_caller]
    fn check_both(sum: [f32; 3]) {
        check_one(sum, false);
        check_one(sum, true);
    }

    fn power(exponent: i32) -> f32 {
        2.0_f32.powi(exponent)
    }

    #[test]
    fn sums_that_f64_rounds_to_the_middle_of_two_floats_are_rounded_once() {
        // The products are 1 + 2^-11 + 2^-24 and 1 + 2^-10 + 2^-23 + 2^-24: the float below is even, and odd.
        for a in [1.0 + power(-12), 1.0 + 3.0 * power(-12)] {
            let b = 1.0 + power(-12);
            for exponent in [-149, -120, -80, -54, -53, -40, -24] {
                check_both([a, b, power(exponent)]);
            }
            check_both([a, b, 0.0]);
            // In f64 the sum is rounded up, to the odd neighbour of the middle.
            check_both([a, b, 3.0 * power(-54)]);
        }
        // 2^-150 * (1 - 2^-46) and a subnormal number: the middle is another bit of the sum.
        let (a, b) = ((1.0 + power(-23)) * power(-75), (1.0 - power(-23)) * power(-75));
        for c in [power(-127), power(-127) + power(-149), power(-126) - power(-149), power(-130)] {
            check_both([a, b, c]);
        }
    }

    #[test]
    fn a_nan_hides_no_other_sum() {
        let hard = [(1.0 + power(-23)) * power(-75), (1.0 - power(-23)) * power(-75), power(-127) + power(-149)];
        for lane in 0..16 {
            let mut all = [[f32::NAN; 16], [1.0; 16], [1.0; 16]];
            for (all, hard) in all.iter_mut().zip(hard) {
                all[lane] = hard;
            }
            check(all[0], all[1], all[2]);
        }
    }

    #[test]
    fn special_numbers_are_those_of_one_rounding() {
        let numbers = [
            0.0,
            1.0,
            power(-149),
            1.5 * power(-75),
            power(-126),
            power(-126) - power(-149),
            power(64),
            f32::MAX,
            f32::INFINITY,
            f32::NAN,
        ];
        for a in numbers {
            for b in numbers {
                for c in numbers {
                    check_both([a, b, c]);
                }
            }
        }
        // Just below, at and above the middle of the greatest float and the one that would follow.
        for c in [power(103), power(103) - power(80), power(103) + power(80), power(102)] {
            check_both([f32::MAX, 1.0, c]);
        }
    }

    #[test]
    fn random_sums_are_rounded_once() {
        let mut state = 1_u64;
        let mut bits = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 32) as u32
        };
        for round in 0..60_000_u32 {
            let mut all = [[0.0; 16]; 3];
            for lane in 0..16 {
                let (mut a, mut b, mut c) = (bits(), bits(), bits());
                if round % 3 == 1 {
                    // Magnitudes near one another.
                    (a, b, c) =
                        (a & 0x807f_ffff | 0x3f80_0000, b & 0x80ff_ffff | 0x3f00_0000, c & 0x87ff_ffff | 0x3800_0000);
                } else if round % 3 == 2 {
                    // Short products, which are often ties, and sums that cancel.
                    (a, b) = (a & 0x80ff_f000 | 0x3f00_0000, b & 0x80ff_f000 | 0x3f00_0000);
                    let product = f32::from_bits(a) * f32::from_bits(b);
                    c = if lane < 8 { (-product).to_bits() } else { c & 0x8000_0fff | (round / 3 % 60 + 90) << 23 };
                }
                for (all, bits) in all.iter_mut().zip([a, b, c]) {
                    all[lane] = f32::from_bits(bits);
                }
            }
            check(all[0], all[1], all[2]);
        }
    }
}
