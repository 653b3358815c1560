//! The one forward of every decoder: a [`Batch`] and the KV cache in, logits out.

use crate::arch::names::{Name, Naming, Part};
use crate::batch::Batch;
use crate::error::Result;
use crate::kv::KvCache;
use crate::layers::{Linear, Rotary};
use crate::spec::{Bias, DecoderSpec, Output, QkRows};
use crate::weights::{Rows, Weights};
use candle_core::quantized::GgmlDType;
use candle_core::{DType, Device, Tensor};
use moot_kernels::ops::{attention::attention, pointwise, swiglu::swiglu};
use moot_kernels::{PAGE, SequenceRows, Weight};

/// How matrices are held once loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Residency {
    /// As wide as they are stored. On the CPU by kernels of ours, which bring activations to bytes where weights are
    /// quantised; elsewhere Candle multiplies by quantised ones.
    #[default]
    AsStored,
    /// Widened to the working type at load: the numbers of the file with no other rounding, to judge the others by.
    Dense,
}

/// Where and how a model is held.
#[derive(Debug, Clone)]
pub struct LoadOptions {
    /// Where the tensors live.
    pub device: Device,
    /// Type of dense weights, activations and KV pages; f32 on the CPU.
    pub dtype: DType,
    /// Whether quantised weights are widened.
    pub residency: Residency,
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self { device: Device::Cpu, dtype: DType::F32, residency: Residency::default() }
    }
}

/// A decoder-only transformer: RMS norms, rotary positions, grouped-query attention, SwiGLU.
#[derive(Debug)]
pub struct Decoder {
    spec: DecoderSpec,
    device: Device,
    dtype: DType,
    embedding: Weight,
    blocks: Vec<Block>,
    norm: Tensor,
    output: Linear,
    rotary: Rotary,
}

#[derive(Debug)]
struct Block {
    attention_norm: Tensor,
    query: Linear,
    key: Linear,
    value: Linear,
    attention_output: Linear,
    feed_forward_norm: Tensor,
    gate: Linear,
    up: Linear,
    down: Linear,
}

impl Decoder {
    /// Loads `spec`'s tensors from `weights`, each checked against the shape that `spec` says.
    ///
    /// # Errors
    /// A missing tensor, a wrong shape, an element type that is not handled, or no memory on the device.
    pub fn load(spec: DecoderSpec, weights: &Weights, options: &LoadOptions) -> Result<Self> {
        let loader = Loader { spec: &spec, naming: Naming::of(weights), weights, options };
        let embedding = loader.matrix(Name::Embedding, spec.vocab, spec.hidden, |row| row)?;
        let output = match spec.output {
            Output::Tied => Linear::dense(embedding.clone(), None),
            Output::Own => loader.linear(Name::Output, spec.vocab, spec.hidden, None)?,
        };
        let blocks = (0..spec.layers).map(|i| Block::load(i, &loader)).collect::<Result<_>>()?;
        let norm = loader.dense(Name::OutputNorm, &[spec.hidden])?;
        let (device, dtype, rotary) = (options.device.clone(), options.dtype, Rotary::new(&spec));
        Ok(Self { spec, device, dtype, embedding, blocks, norm, output, rotary })
    }

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
        KvCache::new(&self.spec, pages, self.dtype, &self.device)
    }

    /// Bytes of one KV page over all layers.
    #[must_use]
    pub fn page_bytes(&self) -> usize {
        KvCache::page_bytes(&self.spec, self.dtype)
    }

    /// What one token's forward multiplies by: weights of all linear layers, and the bytes they are held in.
    #[must_use]
    pub fn linear_weights(&self) -> (usize, usize) {
        let blocks = self.blocks.iter().flat_map(Block::linears);
        blocks.chain([&self.output]).fold((0, 0), |(n, b), linear| (n + linear.elements(), b + linear.bytes()))
    }

    /// Stores the batch's keys and values in `kv` and gives the logits of the wanted rows: `[logit rows, vocab]`, f32.
    ///
    /// # Errors
    /// An id beyond the vocabulary, a page beyond the cache, or a failed operation.
    pub fn forward(&self, batch: &Batch, kv: &KvCache) -> Result<Tensor> {
        let ids = Tensor::new(&batch.tokens[..], &self.device)?;
        let (cos, sin) = self.rotary.tables(batch.plan.positions(), self.dtype, &self.device)?;
        let mut x = self.embedding.rows(&ids)?;
        for (i, block) in self.blocks.iter().enumerate() {
            let normed = pointwise::rms_norm(&x, &block.attention_norm, self.spec.norm_eps)?;
            x = (x + self.attend(block, &normed, (&cos, &sin), batch, kv.layer(i))?)?;
            let normed = pointwise::rms_norm(&x, &block.feed_forward_norm, self.spec.norm_eps)?;
            x = (x + block.down.apply(&swiglu(&block.gate.apply(&normed)?, &block.up.apply(&normed)?)?)?)?;
        }
        let rows = Tensor::new(&batch.logit_rows[..], &self.device)?;
        let x = pointwise::rms_norm(&x.index_select(&rows, 0)?, &self.norm, self.spec.norm_eps)?;
        Ok(self.output.apply(&x)?.to_dtype(DType::F32)?)
    }

    fn attend(
        &self,
        block: &Block,
        x: &Tensor,
        (cos, sin): (&Tensor, &Tensor),
        batch: &Batch,
        (k_cache, v_cache): (&Tensor, &Tensor),
    ) -> candle_core::Result<Tensor> {
        let (tokens, dim) = (x.dim(0)?, self.spec.head_dim);
        let q = block.query.apply(x)?.reshape((tokens, self.spec.heads, dim))?;
        let k = block.key.apply(x)?.reshape((tokens, self.spec.kv_heads, dim))?;
        let v = block.value.apply(x)?.reshape((tokens, self.spec.kv_heads, dim))?;
        batch.slots.store(&pointwise::rope(&k, cos, sin)?, &v, k_cache, v_cache)?;
        let q = pointwise::rope(&q, cos, sin)?;
        let out = attention(&q, k_cache, v_cache, &batch.plan, 1.0 / (dim as f32).sqrt())?;
        block.attention_output.apply(&out.reshape((tokens, self.spec.heads * dim))?)
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

impl Block {
    fn load(index: usize, loader: &Loader<'_>) -> Result<Self> {
        let spec = loader.spec;
        let (q_rows, kv_rows) = (spec.heads * spec.head_dim, spec.kv_heads * spec.head_dim);
        let name = |part| Name::Block(index, part);
        let bias = |part| if spec.bias == Bias::Qkv { Some(name(part)) } else { None };
        Ok(Self {
            attention_norm: loader.dense(name(Part::AttentionNorm), &[spec.hidden])?,
            query: loader.rotated(name(Part::Query), q_rows, spec.hidden, bias(Part::QueryBias))?,
            key: loader.rotated(name(Part::Key), kv_rows, spec.hidden, bias(Part::KeyBias))?,
            value: loader.linear(name(Part::Value), kv_rows, spec.hidden, bias(Part::ValueBias))?,
            attention_output: loader.linear(name(Part::AttentionOutput), spec.hidden, q_rows, None)?,
            feed_forward_norm: loader.dense(name(Part::FeedForwardNorm), &[spec.hidden])?,
            gate: loader.linear(name(Part::Gate), spec.intermediate, spec.hidden, None)?,
            up: loader.linear(name(Part::Up), spec.intermediate, spec.hidden, None)?,
            down: loader.linear(name(Part::Down), spec.hidden, spec.intermediate, None)?,
        })
    }
}

impl Block {
    fn linears(&self) -> [&Linear; 7] {
        let Self { query, key, value, attention_output, gate, up, down, .. } = self;
        [query, key, value, attention_output, gate, up, down]
    }
}

/// What loading needs at every tensor.
struct Loader<'a> {
    spec: &'a DecoderSpec,
    naming: Naming,
    weights: &'a Weights,
    options: &'a LoadOptions,
}

impl Loader<'_> {
    fn dense(&self, name: Name, shape: &[usize]) -> Result<Tensor> {
        self.weights.dense(&self.naming.name(name), shape, self.options.dtype, &self.options.device)
    }

    fn linear(&self, name: Name, outputs: usize, inputs: usize, bias: Option<Name>) -> Result<Linear> {
        let bias = bias.map(|bias| self.dense(bias, &[outputs])).transpose()?;
        if self.options.residency == Residency::AsStored && !self.options.device.is_cpu() {
            let stored = self.weights.quantized(&self.naming.name(name), &[outputs, inputs], &self.options.device)?;
            if let Some(stored) = stored {
                return Ok(Linear::quantized(stored, bias)?);
            }
        }
        Ok(Linear::dense(self.matrix(name, outputs, inputs, |row| row)?, bias))
    }

    /// A matrix whose row `i` is the file's row `from(i)`.
    fn matrix(
        &self,
        name: Name,
        outputs: usize,
        inputs: usize,
        from: impl Fn(usize) -> usize + Sync,
    ) -> Result<Weight> {
        let name = self.naming.name(name);
        if self.options.device.is_cpu()
            && let Some(rows) = self.weights.rows(&name, outputs, inputs)?
        {
            return Ok(self.packed(rows, outputs, inputs, from));
        }
        let dense = self.weights.dense(&name, &[outputs, inputs], self.options.dtype, &self.options.device)?;
        let order = Tensor::from_iter((0..outputs).map(|row| from(row) as u32), &self.options.device)?;
        Ok(Weight::new(&dense.index_select(&order, 0)?)?)
    }

    /// A matrix on the CPU, straight from the file's rows.
    fn packed(&self, rows: Rows<'_>, outputs: usize, inputs: usize, from: impl Fn(usize) -> usize + Sync) -> Weight {
        if self.options.residency == Residency::AsStored {
            if let GgmlDType::F16 | GgmlDType::BF16 = rows.dtype() {
                let dtype = if rows.dtype() == GgmlDType::F16 { DType::F16 } else { DType::BF16 };
                return Weight::from_halves(dtype, outputs, inputs, |row, out| rows.bits(from(row), out));
            }
            if let Some(weight) = Weight::from_blocks(rows.dtype(), outputs, inputs, |row| rows.stored(from(row))) {
                return weight;
            }
        }
        Weight::from_rows(outputs, inputs, |row, out| rows.read(from(row), out))
    }

    /// A query or key projection: its rows in the order that [`pointwise::rope`] rotates them.
    fn rotated(&self, name: Name, outputs: usize, inputs: usize, bias: Option<Name>) -> Result<Linear> {
        if self.spec.qk_rows == QkRows::Halves {
            return self.linear(name, outputs, inputs, bias);
        }
        // Widened even under `AsStored`: rows of a quantised tensor cannot be taken apart through Candle.
        let (dim, half) = (self.spec.head_dim, self.spec.head_dim / 2);
        let from = |row: usize| row / dim * dim + row % half * 2 + row % dim / half;
        let bias = match bias {
            Some(bias) => {
                let order = Tensor::from_iter((0..outputs).map(|row| from(row) as u32), &self.options.device)?;
                Some(self.dense(bias, &[outputs])?.index_select(&order, 0)?)
            }
            None => None,
        };
        Ok(Linear::dense(self.matrix(name, outputs, inputs, from)?, bias))
    }
}
