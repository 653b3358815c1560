//! A layer with a short convolution between its projections.

use super::{Joined, Linear};
use crate::batch::Batch;
use candle_core::{Result, Tensor};
use moot_kernels::ops::short_conv::{ConvStates, ShortConvInputs, short_conv};

/// `output(after * conv(before * x))`; `before`, `after` and `x` are projections of the layer's input.
#[derive(Debug)]
pub(crate) struct ShortConv {
    /// `before`, `after` and `x`.
    projections: Joined<3>,
    /// `[taps, hidden]` f32
    weights: Tensor,
    output: Linear,
}

impl ShortConv {
    pub(crate) fn new(projections: Joined<3>, weights: Tensor, output: Linear) -> Self {
        Self { projections, weights, output }
    }

    /// Carries the states of the batch's sequences over their tokens, `[tokens, hidden]`, and gives the inputs of the
    /// output layer, of the same shape.
    pub(crate) fn apply(&self, x: &Tensor, batch: &Batch, states: &ConvStates) -> Result<Tensor> {
        let [before, after, x] = self.projections.apply(x)?;
        let inputs = ShortConvInputs { before: &before, after: &after, x: &x };
        short_conv(inputs, &self.weights, states, &batch.lens, &batch.states)
    }

    /// The projections.
    pub(crate) fn projections(&self) -> &[Linear] {
        self.projections.linears()
    }

    /// The layer behind it.
    pub(crate) fn output(&self) -> &Linear {
        &self.output
    }
}
