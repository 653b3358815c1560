//! Norm and rotary embedding, by Candle's own kernels: row by row, so a row's bits are its own.

use candle_core::{Result, Tensor};

/// Root-mean-square norm over the last dimension: `x / rms(x) * weight`; `[.., hidden]`, weight `[hidden]`.
///
/// # Errors
/// Shapes that do not fit.
pub fn rms_norm(x: &Tensor, weight: &Tensor, eps: f32) -> Result<Tensor> {
    if x.device().is_cuda() {
        return super::rms_norm::on_cuda(x, weight, eps);
    }
    candle_nn::ops::rms_norm(&x.contiguous()?, weight, eps)
}

/// Rotary embedding in halves (GPT-NeoX order): `x` is `[tokens, heads, head_dim]`, `cos` and `sin` are
/// `[tokens, head_dim / 2]`, the row of each token's own position; on a CUDA device they are f32.
///
/// # Errors
/// Shapes that do not fit.
pub fn rope(x: &Tensor, cos: &Tensor, sin: &Tensor) -> Result<Tensor> {
    if x.device().is_cuda() {
        return super::rotate_store::rope_on_cuda(x, cos, sin);
    }
    candle_nn::rotary_emb::rope_thd(&x.unsqueeze(0)?.contiguous()?, cos, sin)?.squeeze(0)
}
