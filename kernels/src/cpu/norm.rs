//! `x / rms(x) * weight` of one row.

use super::lanes::{Lanes, sum};

/// The addend of a row before its norm, and the output of the sum: both as long as the row.
#[derive(Clone, Copy)]
pub(crate) struct Residual<'a> {
    pub y: &'a [f32],
    pub sum: *mut f32,
}

/// Adds the residual's `y` to `x`, if there is one, and norms the sum: `out = x * (1 / sqrt(mean(x²) + eps)) * weight`.
///
/// The recipe: sixteen sums of squares, over inputs sixteen apart in ascending order, then [`sum`].
///
/// # Safety
/// The instructions of `L` exist; `weight` is as long as `x`, and there is room for as many results.
#[inline(always)]
pub(super) unsafe fn run<L: Lanes>(x: &[f32], residual: Option<Residual<'_>>, weight: &[f32], eps: f32, out: *mut f32) {
    let (hidden, whole) = (x.len(), x.len() / 16 * 16);
    // SAFETY: full sixteens lie within the slices; the rest goes through buffers of sixteen.
    unsafe {
        let x = match residual {
            Some(Residual { y, sum }) => {
                for at in (0..whole).step_by(16) {
                    let one = L::splat(1.0);
                    L::load(x.as_ptr().add(at)).fma(one, L::load(y.as_ptr().add(at))).store(sum.add(at));
                }
                (whole..hidden).for_each(|i| sum.add(i).write(x[i] + y[i]));
                sum.cast_const()
            }
            None => x.as_ptr(),
        };
        let mut squares = L::splat(0.0);
        for at in (0..whole).step_by(16) {
            let x = L::load(x.add(at));
            squares = x.fma(x, squares);
        }
        let mut rest = [0.0; 16];
        std::ptr::copy_nonoverlapping(x.add(whole), rest.as_mut_ptr(), hidden - whole);
        let last = L::load(rest.as_ptr());
        squares = last.fma(last, squares);
        let scale = L::splat(1.0 / (sum(squares) / hidden as f32 + eps).sqrt());
        for at in (0..whole).step_by(16) {
            L::load(x.add(at)).mul(scale).mul(L::load(weight.as_ptr().add(at))).store(out.add(at));
        }
        last.mul(scale).store(rest.as_mut_ptr());
        (whole..hidden).for_each(|i| out.add(i).write(rest[i - whole] * weight[i]));
    }
}
