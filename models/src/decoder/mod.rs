//! The one forward of every decoder: a [`Batch`] and the KV cache in, logits out.

mod load;
mod replay;
mod rotations;

pub use replay::{ReplayCounts, Replays};

use crate::batch::Batch;
use crate::error::Result;
use crate::kv::KvCache;
use crate::layers::{FeedForward, FeedForwards, Joined, Linear, MixtureOfExperts, moved};
use crate::spec::{DecoderSpec, Rotation};
use candle_core::{DType, Device, Tensor};
use moot_kernels::ops::norm::{add_rms_norm, rms_norm};
use moot_kernels::ops::{attention::attention, rotate_store::RotateStore};
use moot_kernels::{PAGE, SequenceRows, Weight, opened_again};
use rotations::{Angles, Rotations};

/// How matrices are stored once loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Residency {
    /// In the file's own type. On the CPU by kernels of ours, which quantise activations to int8 where weights are
    /// quantised; elsewhere quantised weights are multiplied by Candle.
    #[default]
    AsStored,
    /// Widened to the working type at load: the numbers of the file with no other rounding, as a reference. Keys and values
    /// are of that type too.
    Dense,
}

/// Where a model is loaded to, and in which types.
#[derive(Debug, Clone)]
pub struct LoadOptions {
    /// The device of the first blocks, or of all of them.
    pub device: Device,
    /// Type of dense weights and activations; f32 on the CPU.
    pub dtype: DType,
    /// Whether quantised weights are widened.
    pub residency: Residency,
    /// More devices of the same kind: blocks are spread over `device` and these, in equal runs.
    pub more_devices: Vec<Device>,
    /// On a GPU: sums in an order that does not depend on the number of rows, so that a row has the same bits in any
    /// batch. Widens quantised weights. On the CPU it is always so.
    pub exact: bool,
}

impl LoadOptions {
    /// The device of block `index` of `layers`.
    pub(crate) fn device_of(&self, index: usize, layers: usize) -> &Device {
        let devices = self.more_devices.len() + 1;
        match index * devices / layers.max(1) {
            0 => &self.device,
            number => &self.more_devices[(number - 1).min(self.more_devices.len() - 1)],
        }
    }

    /// The type of keys and values: that of activations, but f16 on the CPU unless weights are widened.
    #[must_use]
    pub fn kv_dtype(&self) -> DType {
        if self.device.is_cpu() && self.residency == Residency::AsStored { DType::F16 } else { self.dtype }
    }

    /// The same options on devices with streams of their own, which a model needs that computes beside another one.
    ///
    /// # Errors
    /// The driver's.
    pub fn on_own_streams(&self) -> Result<Self> {
        let device = opened_again(&self.device)?;
        let more_devices = self.more_devices.iter().map(opened_again).collect::<candle_core::Result<_>>()?;
        Ok(Self { device, more_devices, ..self.clone() })
    }

    fn devices(&self) -> impl Iterator<Item = &Device> {
        [&self.device].into_iter().chain(&self.more_devices)
    }

    /// The device of the last block, the last norm and the output layer.
    fn last_device(&self) -> &Device {
        self.more_devices.last().unwrap_or(&self.device)
    }
}

impl Default for LoadOptions {
    fn default() -> Self {
        let (residency, more_devices) = (Residency::default(), Vec::new());
        Self { device: Device::Cpu, dtype: DType::F32, residency, more_devices, exact: false }
    }
}

/// A decoder-only transformer: RMS norms, rotary positions, grouped-query attention, SwiGLU.
#[derive(Debug)]
pub struct Decoder {
    spec: DecoderSpec,
    device: Device,
    dtype: DType,
    kv_dtype: DType,
    embedding: Weight,
    blocks: Vec<Block>,
    norm: Tensor,
    output: Linear,
    rotations: Rotations,
}

#[derive(Debug)]
struct Block {
    device: Device,
    /// Positions that a row attends to at most.
    window: usize,
    rotation: Rotation,
    attention_norm: Tensor,
    /// Query, key and value.
    projections: Joined<3>,
    /// Weights of the norms of each head of queries and of keys, `[head_dim]` each.
    head_norms: [Option<Tensor>; 2],
    attention_output: Linear,
    attention_output_norm: Option<Tensor>,
    feed_forward_norm: Tensor,
    feed_forward_output_norm: Option<Tensor>,
    feed_forward: Following,
}

/// What follows attention in a block.
#[derive(Debug)]
enum Following {
    One(FeedForward),
    Experts(MixtureOfExperts),
}

impl Following {
    fn apply(&self, x: &Tensor) -> candle_core::Result<Tensor> {
        match self {
            Self::One(layers) => layers.apply(x),
            Self::Experts(experts) => experts.apply(x),
        }
    }

    fn count(&self, so_far: FeedForwards) -> FeedForwards {
        match self {
            Self::One(layers) => layers.count(so_far),
            Self::Experts(experts) => experts.count(so_far),
        }
    }

    /// The weights that a token is multiplied by.
    fn of_a_token(&self) -> LinearWeights {
        match self {
            Self::One(layers) => LinearWeights::of(layers.linears()),
            Self::Experts(experts) => {
                let one = LinearWeights::of(experts.linears_of_one());
                (0..experts.used()).fold(LinearWeights::of([experts.router()]), |all, _| all.and(one))
            }
        }
    }

    fn linears(&self) -> Box<dyn Iterator<Item = &Linear> + '_> {
        match self {
            Self::One(layers) => Box::new(layers.linears()),
            Self::Experts(experts) => Box::new(experts.linears()),
        }
    }
}

impl Decoder {
    /// The model's shape.
    #[must_use]
    pub fn spec(&self) -> &DecoderSpec {
        &self.spec
    }

    /// Whether the tensors live in the CPU's memory.
    #[must_use]
    pub fn is_on_cpu(&self) -> bool {
        self.device.is_cpu()
    }

    /// A cache of `pages` on this decoder's device.
    ///
    /// # Errors
    /// The device has not that much memory.
    pub fn kv_cache(&self, pages: usize) -> Result<KvCache> {
        KvCache::new(&self.spec, pages, self.kv_dtype, |layer| &self.blocks[layer].device)
    }

    /// The first device, which takes the input.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Bytes of one KV page over all layers.
    #[must_use]
    pub fn page_bytes(&self) -> usize {
        KvCache::page_bytes(&self.spec, self.kv_dtype)
    }

    /// The linear layers that every token goes through, and those that only rows with wanted logits go through. Of experts,
    /// as many as a token uses.
    #[must_use]
    pub fn linear_weights(&self) -> (LinearWeights, LinearWeights) {
        let (last, before) = self.blocks.split_last().expect("a model has blocks (bug)");
        let every = before.iter().map(|block| block.projecting().and(block.after_attention()));
        let every = every.fold(last.projecting(), LinearWeights::and);
        (every, last.after_attention().and(LinearWeights::of([&self.output])))
    }

    /// Experts that a token goes through, in all layers together.
    #[must_use]
    pub fn experts_of_a_token(&self) -> usize {
        self.spec.experts.map_or(0, |experts| experts.used * self.spec.layers)
    }

    /// Bytes of the weights of one expert; 0 where there are none.
    #[must_use]
    pub fn expert_bytes(&self) -> usize {
        match self.blocks.first().map(|block| &block.feed_forward) {
            Some(Following::Experts(experts)) => LinearWeights::of(experts.linears_of_one()).bytes,
            _ => 0,
        }
    }

    /// Feed-forward layers applied until now.
    #[must_use]
    pub fn feed_forwards(&self) -> FeedForwards {
        self.blocks.iter().fold(FeedForwards::default(), |so_far, block| block.feed_forward.count(so_far))
    }

    /// Stores the batch's keys and values in `kv` and gives the logits of the wanted rows: `[logit rows, vocab]`, f32.
    ///
    /// # Errors
    /// An id beyond the vocabulary, a page beyond the cache, or a failed operation.
    pub fn forward(&self, batch: &Batch, kv: &KvCache) -> Result<Tensor> {
        self.logits(&self.hidden(batch, kv)?)
    }

    /// The logits of normed hidden states, as [`Self::hidden`] gives them: `[rows, vocab]`, f32. Many rows can be taken in
    /// parts, since a vocabulary a row is far wider than a hidden state.
    ///
    /// # Errors
    /// A failed operation.
    pub fn logits(&self, hidden: &Tensor) -> Result<Tensor> {
        if hidden.dim(0)? == 0 {
            // A GPU launches nothing on nothing.
            return Ok(Tensor::zeros((0, self.spec.hidden), DType::F32, &Device::Cpu)?);
        }
        Ok(self.output.apply(hidden)?.to_dtype(DType::F32)?)
    }

    /// Stores the batch's keys and values in `kv` and gives the final normed hidden states of the wanted rows:
    /// `[logit rows, hidden]`.
    ///
    /// # Errors
    /// As [`Self::forward`].
    pub fn hidden(&self, batch: &Batch, kv: &KvCache) -> Result<Tensor> {
        let ids = Tensor::new(&batch.tokens[..], &self.device)?;
        self.hidden_of(batch, &ids, self.angles(batch, &self.device)?, kv)
    }

    /// [`Self::hidden`] of tokens and angles that are on the first device.
    fn hidden_of(&self, batch: &Batch, ids: &Tensor, angles: Angles, kv: &KvCache) -> Result<Tensor> {
        let (mut angles, mut x) = (angles, self.embedding.rows(ids)?);
        if self.spec.embedding_scale != 1.0 {
            x = (x * f64::from(self.spec.embedding_scale))?;
        }
        let eps = self.spec.norm_eps;
        // The output of the block before: it is added to `x` in the same pass as the next norm.
        let mut added: Option<Tensor> = None;
        for (i, block) in self.blocks.iter().enumerate() {
            if !x.device().same_device(&block.device) {
                x = moved(&x, &block.device)?;
                added = added.map(|added| moved(&added, &block.device)).transpose()?;
                angles = self.angles(batch, &block.device)?;
            }
            let normed = match &added {
                Some(added) => {
                    let (sum, normed) = add_rms_norm(&x, added, &block.attention_norm, eps)?;
                    x = sum;
                    normed
                }
                None => rms_norm(&x, &block.attention_norm, eps)?,
            };
            let q = self.store(block, &normed, angles.of(block.rotation)?, batch, kv.layer(i))?;
            let last = i + 1 == self.blocks.len();
            // The keys and values of the last block are stored. A chunk before a prompt's end needs nothing else of it.
            if last && batch.logit_rows.is_empty() {
                break;
            }
            let mut attended = self.attend(block, &q, batch, kv.layer(i))?;
            if last && !batch.logits_of_all() {
                // The other rows' keys and values are stored, and their logits are not wanted.
                let wanted = Tensor::new(&batch.logit_rows[..], attended.device())?;
                x = x.index_select(&wanted, 0)?;
                attended = attended.index_select(&wanted, 0)?;
            }
            let mut attended = block.attention_output.apply(&attended)?;
            if let Some(norm) = &block.attention_output_norm {
                attended = rms_norm(&attended, norm, eps)?;
            }
            let (sum, normed) = add_rms_norm(&x, &attended, &block.feed_forward_norm, eps)?;
            x = sum;
            let out = block.feed_forward.apply(&normed)?;
            added = Some(match &block.feed_forward_output_norm {
                Some(norm) => rms_norm(&out, norm, eps)?,
                None => out,
            });
        }
        if batch.logit_rows.is_empty() {
            // A GPU cannot launch a kernel of no blocks.
            return Ok(Tensor::zeros((0, self.spec.hidden), DType::F32, &Device::Cpu)?);
        }
        Ok(match &added {
            Some(added) => add_rms_norm(&x, added, &self.norm, eps)?.1,
            None => rms_norm(&x, &self.norm, eps)?,
        })
    }

    /// Stores the batch's keys and values in their pages and returns its queries, `[tokens, heads, head_dim]`.
    fn store(
        &self,
        block: &Block,
        x: &Tensor,
        (cos, sin): (&Tensor, &Tensor),
        batch: &Batch,
        (k_cache, v_cache): (&Tensor, &Tensor),
    ) -> candle_core::Result<Tensor> {
        let [q, k, v] = block.projections.apply(x)?;
        let step = RotateStore {
            cos,
            sin,
            slots: &batch.slots,
            k_cache,
            v_cache,
            biases: block.projections.biases.each_ref().map(Option::as_ref),
            norms: block.head_norms.each_ref().map(Option::as_ref),
            norm_eps: self.spec.norm_eps,
        };
        step.apply(&q, &k, &v)
    }

    /// Attention of the queries over the pages: `[tokens, heads * head_dim]`.
    fn attend(
        &self,
        block: &Block,
        q: &Tensor,
        batch: &Batch,
        (k_cache, v_cache): (&Tensor, &Tensor),
    ) -> candle_core::Result<Tensor> {
        let out = attention(q, k_cache, v_cache, &batch.plan, block.window, self.spec.attention_scale)?;
        out.reshape((q.dim(0)?, self.spec.heads * self.spec.head_dim))
    }

    /// Cosines and sines of the batch's positions: f32 where a kernel of ours rotates by them.
    fn angles(&self, batch: &Batch, device: &Device) -> candle_core::Result<Angles> {
        let dtype = if device.is_cuda() { DType::F32 } else { self.dtype };
        self.rotations.angles(batch.plan.positions(), dtype, device)
    }

    /// Logits at every position of one sequence, from an empty cache: `[tokens, vocab]`.
    ///
    /// # Errors
    /// As [`Self::forward`].
    pub fn forward_alone(&self, tokens: &[u32]) -> Result<Vec<Vec<f32>>> {
        if tokens.is_empty() {
            return Ok(Vec::new());
        }
        let pages = tokens.len().div_ceil(PAGE);
        let sequence = SequenceRows { start: 0, len: tokens.len(), pages: (0..pages as u32).collect() };
        let batch = Batch::new(tokens.to_vec(), vec![sequence], (0..tokens.len() as u32).collect());
        Ok(self.forward(&batch, &self.kv_cache(pages)?)?.to_vec2()?)
    }
}

/// Counts of linear layers' weights, by how they are multiplied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinearWeights {
    /// Weights multiplied as floats.
    pub floats: usize,
    /// Weights multiplied as int8.
    pub quantised: usize,
    /// Bytes of all of them.
    pub bytes: usize,
}

impl LinearWeights {
    fn and(self, other: Self) -> Self {
        Self {
            floats: self.floats + other.floats,
            quantised: self.quantised + other.quantised,
            bytes: self.bytes + other.bytes,
        }
    }

    fn of<'a>(layers: impl IntoIterator<Item = &'a Linear>) -> Self {
        layers.into_iter().fold(Self::default(), |mut all, layer| {
            *(if layer.is_quantised() { &mut all.quantised } else { &mut all.floats }) += layer.elements();
            all.bytes += layer.bytes();
            all
        })
    }
}

impl Block {
    fn linears(&self) -> impl Iterator<Item = &Linear> {
        self.projections.linears().iter().chain([&self.attention_output]).chain(self.feed_forward.linears())
    }

    fn projecting(&self) -> LinearWeights {
        LinearWeights::of(self.projections.linears())
    }

    /// The layers behind attention: in the last block they run for the rows with wanted logits.
    fn after_attention(&self) -> LinearWeights {
        LinearWeights::of([&self.attention_output]).and(self.feed_forward.of_a_token())
    }
}
