//! Sizes, weights and inputs.

use crate::ops::states::ConvShape;
use candle_core::Tensor;

/// Sizes of a gated delta net.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeltaShape {
    /// Heads of queries and keys.
    pub key_heads: usize,
    /// Heads of values, a multiple of `key_heads`; each has a state.
    pub value_heads: usize,
    /// Numbers of a query or key, a multiple of 16.
    pub key_dim: usize,
    /// Numbers of a value, a multiple of 16.
    pub value_dim: usize,
    /// Tokens that the convolution takes in, its own included.
    pub taps: usize,
    /// Which values belong to which keys.
    pub order: HeadOrder,
}

/// Which heads of values belong to which head of keys, where a key serves `ratio` of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeadOrder {
    /// `ratio` after one another: transformers' order.
    Grouped,
    /// Each `key_heads`-th: the order of GGUF files.
    Tiled,
}

impl DeltaShape {
    /// Numbers of a token that are convolved: queries, keys and values of all heads, in this order.
    #[must_use]
    pub fn channels(&self) -> usize {
        2 * self.key_heads * self.key_dim + self.value_heads * self.value_dim
    }

    /// Numbers of a token's result.
    #[must_use]
    pub fn outputs(&self) -> usize {
        self.value_heads * self.value_dim
    }

    /// Numbers of a sequence's state: the latest inputs of the convolution, and a matrix for each head.
    #[must_use]
    pub fn state_len(&self) -> usize {
        self.conv().state_len() + self.value_heads * self.head_len()
    }

    pub(super) fn conv(&self) -> ConvShape {
        ConvShape { channels: self.channels(), taps: self.taps }
    }

    pub(super) fn head_len(&self) -> usize {
        self.key_dim * self.value_dim
    }

    /// The head of keys that serves values' head `head`.
    pub(super) fn key_head(&self, head: usize) -> usize {
        match self.order {
            HeadOrder::Grouped => head / (self.value_heads / self.key_heads),
            HeadOrder::Tiled => head % self.key_heads,
        }
    }
}

/// The weights of a gated delta net that are not projections.
#[derive(Debug, Clone)]
pub struct DeltaWeights {
    /// `[taps, channels]`; the last row is the token's own.
    pub conv: Vec<f32>,
    /// `-exp(A_log)`, `[value_heads]`.
    pub decay: Vec<f32>,
    /// Added to a token's time step, `[value_heads]`.
    pub step_bias: Vec<f32>,
}

/// The projections of a batch's tokens.
#[derive(Debug, Clone, Copy)]
pub struct DeltaInputs<'a> {
    /// Queries, keys and values, `[tokens, channels]`.
    pub qkv: &'a Tensor,
    /// The rate's logit, `[tokens, value_heads]`.
    pub rate: &'a Tensor,
    /// The time step, `[tokens, value_heads]`.
    pub step: &'a Tensor,
}
