//! `silu(gate) * up`, and `gelu(gate) * up`.

use super::lanes::{Lanes, exp};
use super::rowwise::gelu_tanh;

/// The function applied to the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gate {
    /// `x / (1 + exp(-x))`
    Silu,
    /// `x / 2 * (1 + tanh(√(2 / π) * (x + 0.044715 x³)))`
    GeluTanh,
}

/// As many values as `gate` has.
///
/// # Safety
/// The instructions of `L` exist; `up` is as long as `gate`, and there is room for as many results.
#[inline(always)]
pub(super) unsafe fn run<L: Lanes, const GELU: bool>(gate: &[f32], up: &[f32], out: *mut f32) {
    let whole = gate.len() / 16 * 16;
    // SAFETY: full sixteens lie within the slices; the rest goes through buffers of sixteen.
    unsafe {
        for at in (0..whole).step_by(16) {
            gated::<L, GELU>(gate.as_ptr().add(at), up.as_ptr().add(at), out.add(at));
        }
        let (mut g, mut u, mut o) = ([0.0; 16], [0.0; 16], [0.0; 16]);
        let rest = gate.len() - whole;
        g[..rest].copy_from_slice(&gate[whole..]);
        u[..rest].copy_from_slice(&up[whole..]);
        gated::<L, GELU>(g.as_ptr(), u.as_ptr(), o.as_mut_ptr());
        std::ptr::copy_nonoverlapping(o.as_ptr(), out.add(whole), rest);
    }
}

/// Sixteen values of `gate / (1 + exp(-gate)) * up`, or of GELU by `tanh`.
#[inline(always)]
unsafe fn gated<L: Lanes, const GELU: bool>(gate: *const f32, up: *const f32, out: *mut f32) {
    // SAFETY: the caller's.
    unsafe {
        let x = L::load(gate);
        let activated =
            if GELU { gelu_tanh(x) } else { x.div(L::splat(1.0).fma(L::splat(1.0), exp(L::splat(0.0).sub(x)))) };
        activated.mul(L::load(up)).store(out);
    }
}
