//! `silu(gate) * up`, `gelu(gate) * up`, `sigmoid(gate) * up`, and gpt-oss's clamped form of the first.

use super::lanes::{Lanes, exp};
use super::rowwise::gelu_tanh;

/// The function applied to the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gate {
    /// `x / (1 + exp(-x))`
    Silu,
    /// `x / 2 * (1 + tanh(√(2 / π) * (x + 0.044715 x³)))`
    GeluTanh,
    /// `1 / (1 + exp(-x))`
    Sigmoid,
    /// `x / (1 + exp(-1.702 x))` of `x = min(gate, 7)`, times `clamp(up, -7, 7) + 1`: gpt-oss's.
    ClampedSilu,
}

impl Gate {
    /// The largest gate of [`Self::ClampedSilu`], and the largest magnitude of what it multiplies.
    pub const LIMIT: f32 = 7.0;
    /// The factor in the exponent of [`Self::ClampedSilu`].
    pub const ALPHA: f32 = 1.702;
}

/// [`Gate`] as a constant of a kernel.
pub(super) const SILU: u8 = Gate::Silu as u8;
pub(super) const GELU_TANH: u8 = Gate::GeluTanh as u8;
pub(super) const SIGMOID: u8 = Gate::Sigmoid as u8;
pub(super) const CLAMPED_SILU: u8 = Gate::ClampedSilu as u8;

/// As many values as `gate` has.
///
/// # Safety
/// The instructions of `L` exist; `up` is as long as `gate`, and there is room for as many results.
#[inline(always)]
pub(super) unsafe fn run<L: Lanes, const GATE: u8>(gate: &[f32], up: &[f32], out: *mut f32) {
    let whole = gate.len() / 16 * 16;
    // SAFETY: full sixteens lie within the slices; the rest goes through buffers of sixteen.
    unsafe {
        for at in (0..whole).step_by(16) {
            gated::<L, GATE>(gate.as_ptr().add(at), up.as_ptr().add(at), out.add(at));
        }
        let (mut g, mut u, mut o) = ([0.0; 16], [0.0; 16], [0.0; 16]);
        let rest = gate.len() - whole;
        g[..rest].copy_from_slice(&gate[whole..]);
        u[..rest].copy_from_slice(&up[whole..]);
        gated::<L, GATE>(g.as_ptr(), u.as_ptr(), o.as_mut_ptr());
        std::ptr::copy_nonoverlapping(o.as_ptr(), out.add(whole), rest);
    }
}

/// Sixteen values of `activation(gate) * up`; GELU is by `tanh`.
#[inline(always)]
unsafe fn gated<L: Lanes, const GATE: u8>(gate: *const f32, up: *const f32, out: *mut f32) {
    // SAFETY: the caller's.
    unsafe {
        let x = L::load(gate);
        if GATE == CLAMPED_SILU {
            return clamped_silu(x, L::load(up)).store(out);
        }
        let activated = match GATE {
            GELU_TANH => gelu_tanh(x),
            SIGMOID => L::splat(1.0).div(L::splat(1.0).fma(L::splat(1.0), exp(L::splat(0.0).sub(x)))),
            _ => x.div(L::splat(1.0).fma(L::splat(1.0), exp(L::splat(0.0).sub(x)))),
        };
        activated.mul(L::load(up)).store(out);
    }
}

/// Sixteen values of [`Gate::ClampedSilu`]. Where an operand is NaN, so is the result: `min` and `max` take the second
/// operand then.
#[inline(always)]
unsafe fn clamped_silu<L: Lanes>(gate: L, up: L) -> L {
    // SAFETY: the caller's.
    unsafe {
        let x = L::splat(Gate::LIMIT).min(gate);
        let up = L::splat(-Gate::LIMIT).max(L::splat(Gate::LIMIT).min(up));
        let power = exp(L::splat(0.0).sub(x.mul(L::splat(Gate::ALPHA))));
        let activated = x.div(L::splat(1.0).fma(L::splat(1.0), power));
        activated.fma(up, activated)
    }
}
