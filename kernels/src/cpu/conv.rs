//! Causal convolutions of a few tokens, each channel by itself.

use super::lanes::{Lanes, exp};

/// `silu(Σ_j weights[j] * rows[j])`, number by number: a causal convolution of one token, whose row is the last of
/// `rows`; `weights` are `[rows, width]`.
///
/// # Safety
/// The instructions of `L` exist; all rows are of one width, a multiple of sixteen, and there is room for as many
/// results.
#[inline(always)]
pub(super) unsafe fn silu<L: Lanes>(rows: &[&[f32]], weights: &[f32], out: *mut f32) {
    // SAFETY: the caller's.
    unsafe {
        for at in (0..weights.len() / rows.len()).step_by(16) {
            let (sum, one) = (convolved::<L>(rows, weights, at), L::splat(1.0));
            sum.div(one.fma(one, exp(L::splat(0.0).sub(sum)))).store(out.add(at));
        }
    }
}

/// `gate * Σ_j weights[j] * rows[j]`, as [`silu`] but for what follows the sum.
///
/// # Safety
/// As of [`silu`]; `gate` is as wide as a row.
#[inline(always)]
pub(super) unsafe fn gated<L: Lanes>(rows: &[&[f32]], weights: &[f32], gate: &[f32], out: *mut f32) {
    // SAFETY: the caller's.
    unsafe {
        for at in (0..weights.len() / rows.len()).step_by(16) {
            L::load(gate.as_ptr().add(at)).mul(convolved::<L>(rows, weights, at)).store(out.add(at));
        }
    }
}

/// The sum of sixteen channels from channel `at` on, the oldest token first.
#[inline(always)]
unsafe fn convolved<L: Lanes>(rows: &[&[f32]], weights: &[f32], at: usize) -> L {
    let width = weights.len() / rows.len();
    // SAFETY: the caller's.
    unsafe {
        let mut sum = L::splat(0.0);
        for (j, row) in rows.iter().enumerate() {
            sum = L::load(row.as_ptr().add(at)).fma(L::load(weights.as_ptr().add(j * width + at)), sum);
        }
        sum
    }
}
