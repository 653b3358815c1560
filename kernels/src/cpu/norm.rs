//! `x / rms(x) * weight` of one row.

use super::lanes::{Lanes, sum};

/// Adds `y` to `x` where it is given, and norms the sum: `out = x * (1 / sqrt(mean(x²) + eps)) * weight`.
///
/// The recipe: sixteen sums of squares, over inputs sixteen apart in ascending order, then [`sum`].
///
/// # Safety
/// The instructions of `L` exist; slices have one length.
#[inline(always)]
pub(super) unsafe fn run<L: Lanes>(x: &mut [f32], y: Option<&[f32]>, weight: &[f32], eps: f32, out: &mut [f32]) {
    let (hidden, whole) = (x.len(), x.len() / 16 * 16);
    // SAFETY: full sixteens lie within the slices; the rest goes through buffers of sixteen.
    unsafe {
        if let Some(y) = y {
            for at in (0..whole).step_by(16) {
                let one = L::splat(1.0);
                L::load(x.as_ptr().add(at)).fma(one, L::load(y.as_ptr().add(at))).store(x.as_mut_ptr().add(at));
            }
            x[whole..].iter_mut().zip(&y[whole..]).for_each(|(x, y)| *x += y);
        }
        let mut squares = L::splat(0.0);
        for at in (0..whole).step_by(16) {
            let x = L::load(x.as_ptr().add(at));
            squares = x.fma(x, squares);
        }
        let mut rest = [0.0; 16];
        rest[..hidden - whole].copy_from_slice(&x[whole..]);
        let last = L::load(rest.as_ptr());
        squares = last.fma(last, squares);
        let scale = L::splat(1.0 / (sum(squares) / hidden as f32 + eps).sqrt());
        for at in (0..whole).step_by(16) {
            let normed = L::load(x.as_ptr().add(at)).mul(scale);
            normed.mul(L::load(weight.as_ptr().add(at))).store(out.as_mut_ptr().add(at));
        }
        last.mul(scale).store(rest.as_mut_ptr());
        for ((out, weight), x) in out[whole..].iter_mut().zip(&weight[whole..]).zip(rest) {
            *out = x * weight;
        }
    }
}
