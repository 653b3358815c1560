//! A layer with a recurrent state: a gated delta net with its projections.

use super::{Joined, Linear};
use crate::batch::Batch;
use candle_core::{DType, Result, Tensor};
use moot_kernels::ops::delta_net::{DeltaInputs, DeltaStates, DeltaWeights, delta_net};
use moot_kernels::ops::gated::gated;
use moot_kernels::ops::norm::rms_norm;
use moot_kernels::{Gate, read_back};

/// `output(norm(delta_net(qkv, rate, step)) * silu(gate))`, all four projections of the layer's input.
#[derive(Debug)]
pub(crate) struct DeltaNet {
    /// Queries, keys and values; gate; rate; step.
    projections: Joined<4>,
    weights: DeltaWeights,
    /// Of each head's result, `[value_dim]`.
    norm: Tensor,
    norm_eps: f32,
    output: Linear,
}

impl DeltaNet {
    pub(crate) fn new(projections: Joined<4>, weights: DeltaWeights, norm: (Tensor, f32), output: Linear) -> Self {
        Self { projections, weights, norm: norm.0, norm_eps: norm.1, output }
    }

    /// Carries the states of the batch's sequences over their tokens, `[tokens, hidden]`, and gives the inputs of the
    /// output layer, `[tokens, value_heads * value_dim]`. The states are in the CPU's memory and carried there: of a model on
    /// a GPU, what they take and give is copied.
    pub(crate) fn apply(&self, x: &Tensor, batch: &Batch, states: &DeltaStates) -> Result<Tensor> {
        let [qkv, gate, rate, step] = self.projections.apply(x)?;
        let [qkv, rate, step] = [qkv, rate, step].map(on_cpu);
        let (qkv, rate, step) = (qkv?, rate?, step?);
        let inputs = DeltaInputs { qkv: &qkv, rate: &rate, step: &step };
        let read = delta_net(inputs, &self.weights, states, &batch.lens, &batch.states)?;
        let read = if x.device().is_cpu() { read } else { read.to_device(x.device())?.to_dtype(gate.dtype())? };
        let (tokens, width) = read.dims2()?;
        let by_head = read.reshape((tokens, width / self.norm.dim(0)?, self.norm.dim(0)?))?;
        let normed = rms_norm(&by_head, &self.norm, self.norm_eps)?.reshape((tokens, width))?;
        gated(&gate, &normed, Gate::Silu)
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

/// `x` as it is on the CPU, else a copy of it in f32.
fn on_cpu(x: Tensor) -> Result<Tensor> {
    if x.device().is_cpu() { Ok(x) } else { read_back(&x.to_dtype(DType::F32)?) }
}
