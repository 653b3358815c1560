//! The row-by-row operations between an encoder's products: biases, activations, layer norms.
//!
//! Sums over a row run lane by lane (value `i` in lane `i % 16`), then over the lanes as [`sum`] does, so every table
//! gives the same bits.

use super::lanes::{Lanes, exp, sum};

const LANES: usize = 16;

/// The function applied to a linear layer's result, element by element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activation {
    /// No function.
    None,
    /// `x / 2 * (1 + erf(x / √2))`
    Gelu,
    /// `x / 2 * (1 + tanh(√(2 / π) * (x + 0.044715 x³)))`
    GeluTanh,
    /// `max(x, 0)`
    Relu,
    /// `tanh(x)`, with an absolute error below 3e-7 on the CPU.
    Tanh,
}

/// `row = activation(row + bias)`.
///
/// # Safety
/// The instructions of `L` exist.
#[inline(always)]
pub(super) unsafe fn bias_activation<L: Lanes>(row: &mut [f32], bias: &[f32], activation: Activation) {
    let ((whole, rest), (biases, last)) = (row.as_chunks_mut::<LANES>(), bias.as_chunks::<LANES>());
    // SAFETY: instructions by the caller; every pointer has sixteen values.
    unsafe {
        for (row, bias) in whole.iter_mut().zip(biases) {
            activated::<L>(row.as_ptr(), bias.as_ptr(), activation).store(row.as_mut_ptr());
        }
        if !rest.is_empty() {
            let (mut x, mut b) = ([0.0; LANES], [0.0; LANES]);
            x[..rest.len()].copy_from_slice(rest);
            b[..rest.len()].copy_from_slice(last);
            activated::<L>(x.as_ptr(), b.as_ptr(), activation).store(x.as_mut_ptr());
            rest.copy_from_slice(&x[..rest.len()]);
        }
    }
}

/// Sixteen values. There is no closure here: its body would not be compiled for the caller's instructions, and every
/// vector operation in it would be a call.
#[inline(always)]
unsafe fn activated<L: Lanes>(x: *const f32, bias: *const f32, activation: Activation) -> L {
    // SAFETY: the caller's.
    unsafe {
        let x = L::splat(1.0).fma(L::load(x), L::load(bias));
        match activation {
            Activation::None => x,
            Activation::Gelu => gelu(x),
            Activation::GeluTanh => gelu_tanh(x),
            Activation::Relu => x.max(L::splat(0.0)),
            Activation::Tanh => tanh(x),
        }
    }
}

/// `x · Φ(x)` with `Φ(x) = 1 - erfc(x / √2) / 2`, and `erfc(|z|) = t · P(t) · exp(-z²)`, `t = 1 / (1 + |z| / 2)`: the
/// rational Chebyshev fit of Numerical Recipes (§ 6.2, `erfcc`), of relative error below 1.2e-7 everywhere.
#[inline(always)]
unsafe fn gelu<L: Lanes>(x: L) -> L {
    // SAFETY: lane-wise methods of the caller's own instruction set.
    unsafe {
        let (zero, one, half) = (L::splat(0.0), L::splat(1.0), L::splat(0.5));
        let z = x.mul(L::splat(std::f32::consts::FRAC_1_SQRT_2));
        let z = z.max(zero.sub(z));
        let t = one.div(half.fma(z, one));
        let mut p = L::splat(0.170_872_77);
        for c in [
            -0.822_152_23,
            1.488_515_9,
            -1.135_204,
            0.278_868_07,
            -0.186_288_06,
            0.096_784_18,
            0.374_091_96,
            1.000_023_7,
            -1.265_512_2,
        ] {
            p = p.fma(t, L::splat(c));
        }
        let upper = half.mul(t).mul(exp(zero.sub(z).fma(z, p)));
        // Φ(-|x|) is `upper`. x Φ(x) = max(x, 0) - |x| Φ(-|x|).
        let magnitude = x.max(zero.sub(x));
        zero.sub(magnitude).fma(upper, x.max(zero))
    }
}

/// `x / (1 + exp(-2 u))`, which is `x / 2 * (1 + tanh u)`.
#[inline(always)]
pub(super) unsafe fn gelu_tanh<L: Lanes>(x: L) -> L {
    // SAFETY: as above.
    unsafe {
        const TWICE: f32 = -1.595_769;
        let u = x.mul(x).fma(L::splat(0.044_715), L::splat(1.0)).mul(x).mul(L::splat(TWICE));
        let one = L::splat(1.0);
        x.div(one.fma(one, exp(u)))
    }
}

/// `1 - 2 / (1 + exp(2 x))`.
#[inline(always)]
unsafe fn tanh<L: Lanes>(x: L) -> L {
    // SAFETY: as above.
    unsafe {
        let (one, two) = (L::splat(1.0), L::splat(2.0));
        one.sub(two.div(one.fma(one, exp(two.mul(x)))))
    }
}

/// `out = (s - mean(s)) / √(variance(s) + eps) * weight + bias` with `s = x + residual`; all of one length.
///
/// # Safety
/// The instructions of `L` exist; `out` has room for as many values as `x` has.
#[inline(always)]
pub(super) unsafe fn add_norm<L: Lanes>(x: &[f32], residual: &[f32], norm: LayerNorm<'_>, out: *mut f32) {
    let (count, whole) = (x.len() as f32, x.len() / LANES * LANES);
    // SAFETY: instructions and room by the caller; vectors lie within the slices, the rest goes value by value.
    unsafe {
        let (one, zero) = (L::splat(1.0), L::splat(0.0));
        let mut sums = zero;
        for at in (0..whole).step_by(LANES) {
            let both = one.fma(L::load(x.as_ptr().add(at)), L::load(residual.as_ptr().add(at)));
            both.store(out.add(at));
            sums = one.fma(both, sums);
        }
        let mut total = sum(sums);
        for at in whole..x.len() {
            out.add(at).write(x[at] + residual[at]);
            total += *out.add(at);
        }
        let mean = total / count;
        let (mean_lanes, mut squares) = (L::splat(mean), zero);
        for at in (0..whole).step_by(LANES) {
            let apart = L::load(out.add(at)).sub(mean_lanes);
            squares = apart.fma(apart, squares);
        }
        let mut total = sum(squares);
        for at in whole..x.len() {
            total += (*out.add(at) - mean) * (*out.add(at) - mean);
        }
        let factor = 1.0 / (total / count + norm.eps).sqrt();
        for at in (0..whole).step_by(LANES) {
            let apart = L::load(out.add(at)).sub(mean_lanes).mul(L::splat(factor));
            let (weight, bias) = (L::load(norm.weight.as_ptr().add(at)), L::load(norm.bias.as_ptr().add(at)));
            apart.fma(weight, bias).store(out.add(at));
        }
        for at in whole..x.len() {
            let out = out.add(at);
            *out = ((*out - mean) * factor).mul_add(norm.weight[at], norm.bias[at]);
        }
    }
}

/// The parameters of a layer norm.
#[derive(Clone, Copy)]
pub(crate) struct LayerNorm<'a> {
    pub weight: &'a [f32],
    pub bias: &'a [f32],
    pub eps: f32,
}
