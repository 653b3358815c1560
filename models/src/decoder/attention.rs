//! Attention of a block.

use super::rotations::Angles;
use crate::batch::Table;
use crate::layers::{Joined, Linear};
use crate::spec::Rotation;
use candle_core::{Result, Tensor};
use moot_kernels::Gate;
use moot_kernels::ops::gated::gated;
use moot_kernels::ops::norm::rms_norm;
use moot_kernels::ops::rope::rope;
use moot_kernels::ops::{attention, rotate_store::RotateStore};

/// Attention over the pages of keys and values.
#[derive(Debug)]
pub(super) struct Attention {
    /// Positions that a row attends to at most.
    pub window: usize,
    pub rotation: Rotation,
    /// Width of a head.
    pub head_dim: usize,
    pub projections: Projections,
    /// Whether results are multiplied by the sigmoid of the gates.
    pub gated: bool,
    /// Weights of the norms of queries and keys: of each head, `[head_dim]`, or of all heads together.
    pub qk_norms: [Option<Tensor>; 2],
    /// Ones, `[head_dim]`, where each head of values is normed.
    pub value_norm: Option<Tensor>,
    /// Whether all heads of a row are normed together.
    pub normed_whole: bool,
    pub norm_eps: f32,
    pub scale: f32,
    /// `[heads]` f32, a logit in each softmax's sum that has no value.
    pub sinks: Option<Tensor>,
    pub output: Linear,
}

/// The projections of attention.
#[derive(Debug)]
pub(super) enum Projections {
    /// Query, key and value; behind the queries their gates, where it is gated.
    All(Joined<3>),
    /// Query and key: values are keys before their norm and rotation.
    KeysAsValues(Joined<2>),
    /// Query alone: keys and values are those of a layer before.
    Queries(Joined<1>),
}

impl Projections {
    pub(super) fn linears(&self) -> &[Linear] {
        match self {
            Self::All(all) => all.linears(),
            Self::KeysAsValues(both) => both.linears(),
            Self::Queries(alone) => alone.linears(),
        }
    }

    /// Biases of queries, keys and values that [`Self::apply`] leaves out.
    fn biases(&self) -> [Option<&Tensor>; 3] {
        match self {
            Self::All(all) => all.biases.each_ref().map(Option::as_ref),
            // Files of such models with biases are refused.
            Self::KeysAsValues(_) | Self::Queries(_) => [None; 3],
        }
    }

    /// Queries, and keys with values where the layer has its own; `[tokens, heads * head_dim]` each.
    fn apply(&self, x: &Tensor) -> Result<(Tensor, Option<[Tensor; 2]>)> {
        Ok(match self {
            Self::All(all) => {
                let [q, k, v] = all.apply(x)?;
                (q, Some([k, v]))
            }
            Self::KeysAsValues(both) => {
                let [q, k] = both.apply(x)?;
                (q, Some([k.clone(), k]))
            }
            Self::Queries(alone) => {
                let [q] = alone.apply(x)?;
                (q, None)
            }
        })
    }
}

/// A batch's queries, whose keys and values are stored.
pub(super) struct Queries {
    /// `[tokens, heads, head_dim]`
    rotated: Tensor,
    /// `[tokens, heads * head_dim]`
    gate: Option<Tensor>,
}

impl Attention {
    /// Stores the batch's keys and values in their pages, where the layer has its own, and returns its queries.
    pub(super) fn store(
        &self,
        x: &Tensor,
        angles: &Angles,
        table: &Table,
        (k_cache, v_cache): (&Tensor, &Tensor),
    ) -> Result<Queries> {
        let (cos, sin) = angles.of(self.rotation)?;
        let (q, own) = self.projections.apply(x)?;
        let (q, gate) = if self.gated {
            let width = q.dim(1)? / 2;
            (q.narrow(1, 0, width)?, Some(q.narrow(1, width, width)?))
        } else {
            (q, None)
        };
        let (biases, norms) = (self.projections.biases(), self.qk_norms.each_ref().map(Option::as_ref));
        let rotated = match own {
            None => {
                let q = self.by_head(&q)?;
                let q = norms[0].map_or_else(|| Ok(q.clone()), |weight| rms_norm(&q, weight, self.norm_eps))?;
                rope(&q, cos, sin)?
            }
            Some([k, v]) => {
                // The kernel that rotates norms heads, and adds biases before.
                let (q, k, biases, norms) = if self.normed_whole {
                    let whole = |x: &Tensor, at: usize| normed_whole(x, biases[at], norms[at], self.norm_eps);
                    (whole(&q, 0)?, whole(&k, 1)?, [None, None, biases[2]], [None, None])
                } else {
                    (q, k, biases, norms)
                };
                let v = match &self.value_norm {
                    Some(ones) => rms_norm(&self.by_head(&v)?, ones, self.norm_eps)?.reshape(v.shape())?,
                    None => v,
                };
                let norm_eps = self.norm_eps;
                let step = RotateStore { cos, sin, slots: &table.slots, k_cache, v_cache, biases, norms, norm_eps };
                step.apply(&q, &k, &v)?
            }
        };
        let rotated = match &angles.query_factors {
            Some(factors) => rotated.broadcast_mul(&factors.to_dtype(rotated.dtype())?)?,
            None => rotated,
        };
        Ok(Queries { rotated, gate })
    }

    /// `[tokens, heads * head_dim]` to `[tokens, heads, head_dim]`.
    fn by_head(&self, x: &Tensor) -> Result<Tensor> {
        let (tokens, width) = x.dims2()?;
        x.reshape((tokens, width / self.head_dim, self.head_dim))
    }

    /// Attention of the queries over the pages, by products of bf16 where `rounded`: `[tokens, heads * head_dim]`.
    pub(super) fn attend(
        &self,
        queries: &Queries,
        table: &Table,
        (k_cache, v_cache): (&Tensor, &Tensor),
        rounded: bool,
    ) -> Result<Tensor> {
        let (tokens, heads, dim) = queries.rotated.dims3()?;
        let (window, sinks) = (self.window, self.sinks.as_ref());
        let op = attention::Attention { window, sinks, rounded, ..attention::Attention::new(&table.plan, self.scale) };
        let out = op.apply([&queries.rotated, k_cache, v_cache])?;
        let out = out.reshape((tokens, heads * dim))?;
        match &queries.gate {
            Some(gate) => gated(gate, &out, Gate::Sigmoid),
            None => Ok(out),
        }
    }
}

/// The norm of all heads of each row of queries or keys, `[tokens, heads * head_dim]`, behind a bias.
fn normed_whole(x: &Tensor, bias: Option<&Tensor>, weight: Option<&Tensor>, eps: f32) -> Result<Tensor> {
    let biased = bias.map(|bias| x.broadcast_add(bias)).transpose()?;
    let x = biased.as_ref().unwrap_or(x);
    weight.map_or_else(|| Ok(x.clone()), |weight| rms_norm(x, weight, eps))
}
