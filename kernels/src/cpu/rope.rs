//! Rotates the heads of one token.

use super::lanes::Lanes;

/// Rotates every head of `x`, `[heads, 2 * pairs]`, by the angles of its pairs, `[pairs]`: `(a, b)`, half a head apart, to
/// `(fma(a, cos, -(b * sin)), fma(a, sin, b * cos))`.
///
/// # Safety
/// The instructions of `L` exist; `out` is as long as `x`, a whole number of heads.
#[inline(always)]
pub(super) unsafe fn run<L: Lanes>(x: &[f32], cos: &[f32], sin: &[f32], out: &mut [f32]) {
    let (pairs, whole) = (cos.len(), cos.len() / 16 * 16);
    for (x, out) in x.chunks_exact(2 * pairs).zip(out.chunks_exact_mut(2 * pairs)) {
        // SAFETY: full sixteens lie within the slices; the rest goes through buffers of sixteen.
        unsafe {
            for at in (0..whole).step_by(16) {
                let (cos, sin) = (L::load(cos.as_ptr().add(at)), L::load(sin.as_ptr().add(at)));
                let (a, b) = (L::load(x.as_ptr().add(at)), L::load(x.as_ptr().add(pairs + at)));
                let (a, b) = turned(a, b, cos, sin);
                a.store(out.as_mut_ptr().add(at));
                b.store(out.as_mut_ptr().add(pairs + at));
            }
            let many = pairs - whole;
            if many > 0 {
                let mut four = [[0.0; 16]; 4];
                for (to, from) in four.iter_mut().zip([&x[whole..], &x[pairs + whole..], &cos[whole..], &sin[whole..]])
                {
                    to[..many].copy_from_slice(&from[..many]);
                }
                let [a, b, cos, sin] = four.map(|values| L::load(values.as_ptr()));
                let (a, b) = turned(a, b, cos, sin);
                a.store(four[0].as_mut_ptr());
                b.store(four[1].as_mut_ptr());
                out[whole..pairs].copy_from_slice(&four[0][..many]);
                out[pairs + whole..].copy_from_slice(&four[1][..many]);
            }
        }
    }
}

#[inline(always)]
unsafe fn turned<L: Lanes>(a: L, b: L, cos: L, sin: L) -> (L, L) {
    // SAFETY: the caller's.
    unsafe { (a.fma(cos, L::splat(0.0).sub(b.mul(sin))), a.fma(sin, b.mul(cos))) }
}
