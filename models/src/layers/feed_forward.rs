//! The layers between attention and the next block.

use super::{Joined, Linear};
use candle_core::{Result, Tensor};
use moot_kernels::Gate;
use moot_kernels::ops::rounded::rounded;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// `down(activation(gate(x)) * up(x))`.
#[derive(Debug)]
pub(crate) struct FeedForward {
    gate_up: Joined<2>,
    activation: Gate,
    down: Linear,
    applied: AtomicUsize,
    in_one_pass: AtomicUsize,
}

/// How often feed-forward layers were applied since the model was loaded, and how often of these in one pass
/// ([`moot_kernels::Weight::feed_forward`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FeedForwards {
    /// Each layer of each step.
    pub applied: usize,
    /// Those whose inner activations were never written as floats.
    pub in_one_pass: usize,
    /// Experts whose weights were read, each once a step that has a token for it.
    pub experts_read: usize,
}

impl FeedForward {
    pub(crate) fn new(gate_up: Joined<2>, activation: Gate, down: Linear) -> Self {
        Self { gate_up, activation, down, applied: AtomicUsize::new(0), in_one_pass: AtomicUsize::new(0) }
    }

    /// `[tokens, hidden]` to the same.
    pub(crate) fn apply(&self, x: &Tensor) -> Result<Tensor> {
        self.applied.fetch_add(1, Relaxed);
        if let [gate, up] = self.gate_up.linears()
            && let Some(out) = Linear::feed_forward((gate, up, self.activation), &self.down, x)?
        {
            self.in_one_pass.fetch_add(1, Relaxed);
            return Ok(out);
        }
        let inner = self.gate_up.apply_gated(x, self.activation)?;
        self.down.apply(&if inner.dtype() == x.dtype() { inner } else { rounded(&inner)? })
    }

    /// `so_far` and this layer's.
    pub(crate) fn count(&self, so_far: FeedForwards) -> FeedForwards {
        FeedForwards {
            applied: so_far.applied + self.applied.load(Relaxed),
            in_one_pass: so_far.in_one_pass + self.in_one_pass.load(Relaxed),
            ..so_far
        }
    }

    /// The matrices.
    pub(crate) fn linears(&self) -> impl Iterator<Item = &Linear> {
        self.gate_up.linears().iter().chain([&self.down])
    }
}
