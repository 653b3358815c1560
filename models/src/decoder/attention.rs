//! Attention of a block.

use super::rotations::Angles;
use crate::batch::Batch;
use crate::layers::{Joined, Linear};
use crate::spec::Rotation;
use candle_core::{Result, Tensor};
use moot_kernels::Gate;
use moot_kernels::ops::gated::gated;
use moot_kernels::ops::{attention, rotate_store::RotateStore};

/// Attention over the pages of keys and values.
#[derive(Debug)]
pub(super) struct Attention {
    /// Positions that a row attends to at most.
    pub window: usize,
    pub rotation: Rotation,
    /// Query, key and value; behind the queries their gates, where it is gated.
    pub projections: Joined<3>,
    /// Whether results are multiplied by the sigmoid of the gates.
    pub gated: bool,
    /// Weights of the norms of each head of queries and of keys, `[head_dim]` each.
    pub head_norms: [Option<Tensor>; 2],
    pub norm_eps: f32,
    pub scale: f32,
    /// `[heads]` f32, a logit in each softmax's sum that has no value.
    pub sinks: Option<Tensor>,
    pub output: Linear,
}

/// A batch's queries, whose keys and values are stored.
pub(super) struct Queries {
    /// `[tokens, heads, head_dim]`
    rotated: Tensor,
    /// `[tokens, heads * head_dim]`
    gate: Option<Tensor>,
}

impl Attention {
    /// Stores the batch's keys and values in their pages and returns its queries.
    pub(super) fn store(
        &self,
        x: &Tensor,
        angles: &Angles,
        batch: &Batch,
        (k_cache, v_cache): (&Tensor, &Tensor),
    ) -> Result<Queries> {
        let (cos, sin) = angles.of(self.rotation)?;
        let [q, k, v] = self.projections.apply(x)?;
        let (q, gate) = if self.gated {
            let width = q.dim(1)? / 2;
            (q.narrow(1, 0, width)?, Some(q.narrow(1, width, width)?))
        } else {
            (q, None)
        };
        let step = RotateStore {
            cos,
            sin,
            slots: &batch.slots,
            k_cache,
            v_cache,
            biases: self.projections.biases.each_ref().map(Option::as_ref),
            norms: self.head_norms.each_ref().map(Option::as_ref),
            norm_eps: self.norm_eps,
        };
        let rotated = step.apply(&q, &k, &v)?;
        let rotated = match &angles.query_factors {
            Some(factors) => rotated.broadcast_mul(&factors.to_dtype(rotated.dtype())?)?,
            None => rotated,
        };
        Ok(Queries { rotated, gate })
    }

    /// Attention of the queries over the pages: `[tokens, heads * head_dim]`.
    pub(super) fn attend(
        &self,
        queries: &Queries,
        batch: &Batch,
        (k_cache, v_cache): (&Tensor, &Tensor),
    ) -> Result<Tensor> {
        let (tokens, heads, dim) = queries.rotated.dims3()?;
        let (window, sinks) = (self.window, self.sinks.as_ref());
        let op = attention::Attention { window, sinks, ..attention::Attention::new(&batch.plan, self.scale) };
        let out = op.apply([&queries.rotated, k_cache, v_cache])?;
        let out = out.reshape((tokens, heads * dim))?;
        match &queries.gate {
            Some(gate) => gated(gate, &out, Gate::Sigmoid),
            None => Ok(out),
        }
    }
}
