//! Attention by Candle's own operations, one sequence at a time.

use super::plan::AttentionPlan;
use crate::pages::PAGE;
use candle_core::{D, DType, Result, Tensor};

/// Rows whose scores are computed at once.
const REFERENCE_ROWS: usize = 256;

/// Attention of `q` over `plan`'s pages, as [`Attention`](super::Attention) has it.
pub(super) fn attend(
    [q, k_cache, v_cache]: [&Tensor; 3],
    plan: &AttentionPlan,
    window: usize,
    scale: f32,
    sinks: Option<&Tensor>,
) -> Result<Tensor> {
    let (_, heads, dim) = q.dims3()?;
    let kv_heads = k_cache.dim(1)?;
    let mut row = 0;
    let mut outs = Vec::with_capacity(plan.sequences.len());
    for sequence in &plan.sequences {
        let total = sequence.start + sequence.len;
        let pages = Tensor::new(&sequence.pages[..total.div_ceil(PAGE)], q.device())?;
        // To [kv_heads, positions, head_dim]. What lies behind the last position was never written.
        let [k, v] = [k_cache, v_cache].map(|cache| cache.index_select(&pages, 0)?.to_dtype(q.dtype()));
        let k = k?.permute((1, 0, 3, 2))?.reshape((kv_heads, (), dim))?.narrow(1, 0, total)?;
        let v = v?.permute((1, 0, 2, 3))?.reshape((kv_heads, (), dim))?.narrow(1, 0, total)?;
        let (k, v) = (k.t()?.contiguous()?, v.contiguous()?);
        // Some rows at once, since their scores are as wide as the positions.
        for first in (0..sequence.len).step_by(REFERENCE_ROWS) {
            let len = REFERENCE_ROWS.min(sequence.len - first);
            // To [kv_heads, group * len, head_dim].
            let own = q.narrow(0, row + first, len)?.reshape((len, kv_heads, heads / kv_heads, dim))?;
            let own = own.permute((1, 2, 0, 3))?.reshape((kv_heads, (), dim))?;
            let start = sequence.start + first;
            let later = if plan.ends().is_some() { window } else { 1 };
            let attends =
                |i: usize, j: usize| j < (start + i).saturating_add(later) && j.saturating_add(window) > start + i;
            let mask = (0..len).flat_map(|i| (0..total).map(move |j| (i, j)));
            let mask = mask.map(|(i, j)| if attends(i, j) { 0.0 } else { f32::NEG_INFINITY });
            let mask = Tensor::from_iter(mask, q.device())?.reshape((1, 1, len, total))?;
            let scores = (own.matmul(&k)?.to_dtype(DType::F32)? * f64::from(scale))?;
            let scores = scores.reshape((kv_heads, heads / kv_heads, len, total))?.broadcast_add(&mask)?;
            let weights = match sinks {
                None => softmax(&scores)?,
                Some(sinks) => {
                    let sinks = sinks.reshape((kv_heads, heads / kv_heads, 1, 1))?.to_dtype(DType::F32)?;
                    let sinks = sinks.broadcast_as((kv_heads, heads / kv_heads, len, 1))?;
                    softmax(&Tensor::cat(&[&scores, &sinks], 3)?)?.narrow(3, 0, total)?
                }
            };
            let weights = weights.to_dtype(q.dtype())?.contiguous()?;
            let out = weights.reshape((kv_heads, (), total))?.matmul(&v)?;
            let out = out.reshape((kv_heads, heads / kv_heads, len, dim))?.permute((2, 0, 1, 3))?;
            outs.push(out.reshape((len, heads, dim))?);
        }
        row += sequence.len;
    }
    Tensor::cat(&outs, 0)
}

fn softmax(scores: &Tensor) -> Result<Tensor> {
    let weights = scores.broadcast_sub(&scores.max_keepdim(D::Minus1)?)?.exp()?;
    weights.broadcast_div(&weights.sum_keepdim(D::Minus1)?)
}
