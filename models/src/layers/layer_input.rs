//! Inputs of each layer's own (Gemma 4's per-layer embeddings): a vector for each token and layer, from a table of the token and
//! from the token's embedding.

use super::Linear;
use candle_core::{Result, Tensor};
use moot_kernels::ops::gated::gated;
use moot_kernels::ops::norm::rms_norm;
use moot_kernels::{Gate, Weight};

/// Weights that give each layer a vector for each token.
#[derive(Debug)]
pub(crate) struct LayerEmbedding {
    /// `[vocab, layers * width]`
    pub(crate) table: Weight,
    /// `hidden` to `layers * width`.
    pub(crate) projection: Linear,
    /// `[width]`
    pub(crate) norm: Tensor,
    pub(crate) norm_eps: f32,
}

/// Weights with which a layer adds its vectors: `norm(projection(activation(gate(x)) * vector))` is added to the
/// residual stream.
#[derive(Debug)]
pub(crate) struct LayerInput {
    /// `hidden` to `width`.
    pub(crate) gate: Linear,
    pub(crate) activation: Gate,
    /// `width` to `hidden`.
    pub(crate) projection: Linear,
    /// `[hidden]`
    pub(crate) norm: Tensor,
    pub(crate) norm_eps: f32,
}

impl LayerEmbedding {
    /// `(sqrt(width) table[id] + norm(projection(x) / sqrt(hidden))) / sqrt(2)` of tokens `ids` whose scaled embeddings are
    /// `x`, `[tokens, hidden]`: `[layers, tokens, width]`. `form` gives activations the type that linear layers take.
    pub(crate) fn vectors(&self, ids: &Tensor, x: &Tensor, form: &dyn Fn(Tensor) -> Result<Tensor>) -> Result<Tensor> {
        let ((tokens, hidden), width) = (x.dims2()?, self.norm.dim(0)?);
        let all = self.table.inputs() / width.max(1);
        let by_layer = |vectors: Tensor| vectors.reshape((tokens, all, width));
        let of_token = (by_layer(self.table.rows(ids)?)? * (width as f64).sqrt())?;
        let projected = (self.projection.apply(&form(x.clone())?)? * (1.0 / (hidden as f64).sqrt()))?;
        let projected = rms_norm(&by_layer(projected)?, &self.norm, self.norm_eps)?;
        ((of_token + projected)? * std::f64::consts::FRAC_1_SQRT_2)?.transpose(0, 1)?.contiguous()
    }
}

impl LayerInput {
    /// The term that the vectors of this layer, `[tokens, width]`, add to `x`, `[tokens, hidden]`.
    pub(crate) fn apply(
        &self,
        x: &Tensor,
        vectors: &Tensor,
        form: &dyn Fn(Tensor) -> Result<Tensor>,
    ) -> Result<Tensor> {
        let gate = self.gate.apply(&form(x.clone())?)?;
        let inner = gated(&gate, vectors, self.activation)?;
        rms_norm(&self.projection.apply(&form(inner)?)?, &self.norm, self.norm_eps)
    }

    /// The matrices.
    pub(crate) fn linears(&self) -> [&Linear; 2] {
        [&self.gate, &self.projection]
    }
}
