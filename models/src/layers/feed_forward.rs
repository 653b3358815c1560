//! The layers between attention and the next block.

use super::{Joined, Linear};
use candle_core::{Result, Tensor};
use moot_kernels::ops::swiglu::swiglu;

/// `down(silu(gate(x)) * up(x))`.
#[derive(Debug)]
pub(crate) struct FeedForward {
    pub gate_up: Joined<2>,
    pub down: Linear,
}

impl FeedForward {
    /// `[tokens, hidden]` to the same.
    pub(crate) fn apply(&self, x: &Tensor) -> Result<Tensor> {
        if let [gate, up] = self.gate_up.linears()
            && let Some(out) = Linear::feed_forward(gate, up, &self.down, x)?
        {
            return Ok(out);
        }
        let [gate, up] = self.gate_up.apply(x)?;
        self.down.apply(&swiglu(&gate, &up)?)
    }

    /// The matrices.
    pub(crate) fn linears(&self) -> impl Iterator<Item = &Linear> {
        self.gate_up.linears().iter().chain([&self.down])
    }
}
