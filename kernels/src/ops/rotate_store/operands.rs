//! The operands of the op.

use crate::ops::kv_store::Slots;
use candle_core::Tensor;

/// Destination of keys and values, and the operations applied to them and to the queries before.
#[derive(Debug, Clone, Copy)]
pub struct RotateStore<'a> {
    /// `[tokens, head_dim / 2]`: f32 on a CUDA device, else of the type that is rotated.
    pub cos: &'a Tensor,
    /// Like `cos`.
    pub sin: &'a Tensor,
    /// One slot for each token.
    pub slots: &'a Slots,
    /// `[pages, kv_heads, head_dim, PAGE]`
    pub k_cache: &'a Tensor,
    /// `[pages, kv_heads, PAGE, head_dim]`
    pub v_cache: &'a Tensor,
    /// Biases of queries, keys and values that the projections have not added, `[heads * head_dim]` each.
    pub biases: [Option<&'a Tensor>; 3],
    /// Weights of the norms of each head of queries and of keys, `[head_dim]` each.
    pub norms: [Option<&'a Tensor>; 2],
    /// Added to the mean of squares under a norm's root.
    pub norm_eps: f32,
}
