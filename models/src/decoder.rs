//! The one forward of every decoder: a [`Batch`] and the KV cache in, logits out.

use crate::arch::names::{Name, Naming, Part, Piece};
use crate::batch::Batch;
use crate::error::Result;
use crate::kv::KvCache;
use crate::layers::{Linear, Rotary};
use crate::spec::{Bias, DecoderSpec, Output, QkNorm};
use crate::weights::{Rows, Weights};
use candle_core::quantized::GgmlDType;
use candle_core::{DType, Device, Tensor};
use moot_kernels::ops::norm::{add_rms_norm, rms_norm};
use moot_kernels::ops::{attention::attention, rotate_store::RotateStore, swiglu::swiglu};
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
    /// More devices of the same kind: blocks are spread over `device` and these, in equal runs.
    pub more_devices: Vec<Device>,
    /// On a GPU: sums in an order that does not depend on the number of rows, so that a row's bits are its own. Takes
    /// dense weights. On the CPU it is always so.
    pub exact: bool,
}

impl LoadOptions {
    /// Where block `index` of `layers` is.
    pub(crate) fn device_of(&self, index: usize, layers: usize) -> &Device {
        let devices = self.more_devices.len() + 1;
        match index * devices / layers.max(1) {
            0 => &self.device,
            place => &self.more_devices[(place - 1).min(self.more_devices.len() - 1)],
        }
    }

    /// Where what comes behind the last block is.
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
    last_device: Device,
    dtype: DType,
    embedding: Weight,
    blocks: Vec<Block>,
    norm: Tensor,
    output: Linear,
    rotary: Rotary,
}

#[derive(Debug)]
struct Block {
    device: Device,
    attention_norm: Tensor,
    query: Linear,
    /// `[head_dim]`
    query_norm: Option<Tensor>,
    key: Linear,
    /// `[head_dim]`
    key_norm: Option<Tensor>,
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
        let loader = Loader { spec: &spec, naming: Naming::of(weights), weights, options, device: &options.device };
        let last = Loader { device: options.last_device(), ..loader };
        let vocabulary = |name| Place { name, of: spec.vocab, first: 0, rows: spec.vocab, inputs: spec.hidden };
        let embedding = loader.matrix(vocabulary(Name::Embedding), |row| row)?;
        let output = match spec.output {
            Output::Tied if options.more_devices.is_empty() => Linear::dense(embedding.clone(), None),
            Output::Tied => Linear::dense(last.matrix(vocabulary(Name::Embedding), |row| row)?, None),
            Output::Own => last.linear(vocabulary(Name::Output), None)?,
        };
        let block = |i| Block::load(i, &Loader { device: options.device_of(i, spec.layers), ..loader });
        let blocks = (0..spec.layers).map(block).collect::<Result<_>>()?;
        let norm = last.dense(Name::OutputNorm, &[spec.hidden])?;
        let (device, dtype, rotary) = (options.device.clone(), options.dtype, Rotary::new(&spec));
        let last_device = options.last_device().clone();
        // Who runs it may be another thread, whose work a GPU does not put behind this one's by itself.
        [&device].into_iter().chain(&options.more_devices).try_for_each(Device::synchronize)?;
        Ok(Self { spec, device, last_device, dtype, embedding, blocks, norm, output, rotary })
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
        KvCache::new(&self.spec, pages, self.dtype, |layer| &self.blocks[layer].device)
    }

    /// Where what goes in is: the first device.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Bytes of one KV page over all layers.
    #[must_use]
    pub fn page_bytes(&self) -> usize {
        KvCache::page_bytes(&self.spec, self.dtype)
    }

    /// What every token's forward multiplies by, and what those of the wanted rows do besides.
    #[must_use]
    pub fn linear_weights(&self) -> (LinearWeights, LinearWeights) {
        let blocks = self.blocks.iter().flat_map(Block::linears);
        (LinearWeights::of(blocks), LinearWeights::of([&self.output]))
    }

    /// Stores the batch's keys and values in `kv` and gives the logits of the wanted rows: `[logit rows, vocab]`, f32.
    ///
    /// # Errors
    /// An id beyond the vocabulary, a page beyond the cache, or a failed operation.
    pub fn forward(&self, batch: &Batch, kv: &KvCache) -> Result<Tensor> {
        let ids = Tensor::new(&batch.tokens[..], &self.device)?;
        let mut angles = self.angles(batch, &self.device)?;
        let mut x = self.embedding.rows(&ids)?;
        let eps = self.spec.norm_eps;
        // What the block before adds to `x`: it is added where the next norm reads it.
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
            let attended = self.attend(block, &normed, (&angles.0, &angles.1), batch, kv.layer(i))?;
            let (sum, normed) = add_rms_norm(&x, &attended, &block.feed_forward_norm, eps)?;
            x = sum;
            let [gate, up] = Linear::apply_all([&block.gate, &block.up], &normed)?;
            added = Some(block.down.apply(&swiglu(&gate, &up)?)?);
        }
        if batch.logit_rows.is_empty() {
            // A GPU launches nothing on nothing.
            return Ok(Tensor::zeros((0, self.spec.vocab), DType::F32, &Device::Cpu)?);
        }
        let rows = Tensor::new(&batch.logit_rows[..], &self.last_device)?;
        let wanted = |x: &Tensor| x.index_select(&rows, 0);
        let x = match &added {
            Some(added) => add_rms_norm(&wanted(&x)?, &wanted(added)?, &self.norm, eps)?.1,
            None => rms_norm(&wanted(&x)?, &self.norm, eps)?,
        };
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
        let [q, k, v] = Linear::apply_all([&block.query, &block.key, &block.value], x)?;
        let q = q.reshape((tokens, self.spec.heads, dim))?;
        let k = k.reshape((tokens, self.spec.kv_heads, dim))?;
        let v = v.reshape((tokens, self.spec.kv_heads, dim))?;
        let (q, k) = (self.norm_heads(q, &block.query_norm)?, self.norm_heads(k, &block.key_norm)?);
        let q = RotateStore { cos, sin, slots: &batch.slots, k_cache, v_cache }.apply(&q, &k, &v)?;
        let out = attention(&q, k_cache, v_cache, &batch.plan, 1.0 / (dim as f32).sqrt())?;
        block.attention_output.apply(&out.reshape((tokens, self.spec.heads * dim))?)
    }

    /// Cosines and sines of the batch's positions: f32 where a kernel of ours turns by them.
    fn angles(&self, batch: &Batch, device: &Device) -> candle_core::Result<(Tensor, Tensor)> {
        let dtype = if device.is_cuda() { DType::F32 } else { self.dtype };
        self.rotary.tables(batch.plan.positions(), dtype, device)
    }

    /// Norms each head of `[tokens, heads, head_dim]` by itself, where the model does.
    fn norm_heads(&self, heads: Tensor, weight: &Option<Tensor>) -> candle_core::Result<Tensor> {
        match weight {
            Some(weight) => rms_norm(&heads, weight, self.spec.norm_eps),
            None => Ok(heads),
        }
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

/// Weights of linear layers, by how they are multiplied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinearWeights {
    /// As floats.
    pub floats: usize,
    /// As bytes.
    pub quantised: usize,
    /// Bytes that all of them are held in.
    pub bytes: usize,
}

impl LinearWeights {
    fn of<'a>(layers: impl IntoIterator<Item = &'a Linear>) -> Self {
        layers.into_iter().fold(Self::default(), |mut all, layer| {
            *(if layer.is_quantised() { &mut all.quantised } else { &mut all.floats }) += layer.elements();
            all.bytes += layer.bytes();
            all
        })
    }
}

/// `x` on another GPU. It waits: `x` may be freed on its own device the moment after, which knows nothing of the copy.
fn moved(x: &Tensor, device: &Device) -> candle_core::Result<Tensor> {
    let moved = x.to_device(device)?;
    device.synchronize()?;
    Ok(moved)
}

impl Block {
    fn load(index: usize, loader: &Loader<'_>) -> Result<Self> {
        let spec = loader.spec;
        let name = |part| Name::Block(index, part);
        let rows = |part, inputs| {
            let Piece { part, tensor_rows, first, rows } = Piece::of(spec, part);
            Place { name: name(part), of: tensor_rows, first, rows, inputs }
        };
        let inward = |part| rows(part, spec.hidden);
        let bias = |part| (spec.bias != Bias::None).then(|| name(part));
        let output_bias = (spec.bias == Bias::Attention).then(|| name(Part::AttentionOutputBias));
        Ok(Self {
            device: loader.device.clone(),
            attention_norm: loader.dense(name(Part::AttentionNorm), &[spec.hidden])?,
            query: loader.rotated(inward(Part::Query), bias(Part::QueryBias))?,
            query_norm: loader.head_norm(name(Part::QueryNorm))?,
            key: loader.rotated(inward(Part::Key), bias(Part::KeyBias))?,
            key_norm: loader.head_norm(name(Part::KeyNorm))?,
            value: loader.linear(inward(Part::Value), bias(Part::ValueBias))?,
            attention_output: loader.linear(rows(Part::AttentionOutput, spec.heads * spec.head_dim), output_bias)?,
            feed_forward_norm: loader.dense(name(Part::FeedForwardNorm), &[spec.hidden])?,
            gate: loader.linear(inward(Part::Gate), None)?,
            up: loader.linear(inward(Part::Up), None)?,
            down: loader.linear(rows(Part::Down, spec.intermediate), None)?,
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
#[derive(Clone, Copy)]
struct Loader<'a> {
    spec: &'a DecoderSpec,
    naming: Naming,
    weights: &'a Weights,
    options: &'a LoadOptions,
    /// Where what is loaded goes.
    device: &'a Device,
}

/// A projection's place in the file: `rows` from the `first` on, of a tensor `[of, inputs]`.
#[derive(Clone, Copy)]
struct Place {
    name: Name,
    of: usize,
    first: usize,
    rows: usize,
    inputs: usize,
}

impl Loader<'_> {
    fn dense(&self, name: Name, shape: &[usize]) -> Result<Tensor> {
        self.weights.dense(&self.naming.name(name), shape, self.options.dtype, self.device)
    }

    fn linear(&self, from: Place, bias: Option<Name>) -> Result<Linear> {
        let bias = bias.map(|bias| self.dense(bias, &[from.rows])).transpose()?;
        self.projection(from, |row| row, bias)
    }

    /// A matrix whose row `i` is the projection's row `order(i)`, and its bias; quantised where the device multiplies by
    /// what is stored.
    fn projection(&self, from: Place, order: impl Fn(usize) -> usize + Sync, bias: Option<Tensor>) -> Result<Linear> {
        if self.options.residency == Residency::AsStored && !self.device.is_cpu() && !self.options.exact {
            let stored = self.weights.rows(&self.naming.name(from.name), from.of, from.inputs)?;
            let stored = stored.part(from.first..from.first + from.rows).quantized_in(&order, self.device)?;
            if let Some(stored) = stored {
                return Ok(Linear::quantized(stored, bias)?);
            }
        }
        Ok(Linear::dense(self.matrix(from, order)?, bias))
    }

    /// A matrix whose row `i` is the projection's row `order(i)`.
    fn matrix(&self, from: Place, order: impl Fn(usize) -> usize + Sync) -> Result<Weight> {
        let name = self.naming.name(from.name);
        let stored = self.weights.rows(&name, from.of, from.inputs)?.part(from.first..from.first + from.rows);
        if self.device.is_cpu() {
            let weight = self.packed(&stored, order);
            stored.check_read()?;
            return Ok(weight);
        }
        let dense = stored.dense(self.options.dtype, self.device)?;
        let weight = if (0..from.rows).all(|row| order(row) == row) {
            Weight::new(&dense)?
        } else {
            let order = Tensor::from_iter((0..from.rows).map(|row| order(row) as u32), self.device)?;
            Weight::new(&dense.index_select(&order, 0)?)?
        };
        Ok(if self.options.exact { weight.exact() } else { weight })
    }

    /// A matrix on the CPU, straight from the file's rows.
    fn packed(&self, stored: &Rows<'_>, order: impl Fn(usize) -> usize + Sync) -> Weight {
        let (outputs, inputs) = stored.shape();
        if self.options.residency == Residency::AsStored {
            if let GgmlDType::F16 | GgmlDType::BF16 = stored.dtype() {
                let dtype = if stored.dtype() == GgmlDType::F16 { DType::F16 } else { DType::BF16 };
                return Weight::from_halves(dtype, outputs, inputs, |row, out| stored.bits(order(row), out));
            }
            if let Some(weight) = Weight::from_blocks(stored.dtype(), outputs, inputs, |row| stored.stored(order(row)))
            {
                return weight;
            }
        }
        Weight::from_rows(outputs, inputs, |row, out| stored.read(order(row), out))
    }

    /// A query or key projection: its rows in the order that [`rope`] rotates them.
    fn rotated(&self, from: Place, bias: Option<Name>) -> Result<Linear> {
        if self.spec.rows_in_order() {
            return self.linear(from, bias);
        }
        let bias = bias.map(|bias| self.reordered(bias, from.rows)).transpose()?;
        self.projection(from, |row| self.spec.file_row(row), bias)
    }

    /// A vector over the rows of queries or keys, in the decoder's order.
    fn reordered(&self, name: Name, rows: usize) -> Result<Tensor> {
        let order = Tensor::from_iter((0..rows).map(|row| self.spec.file_row(row) as u32), self.device)?;
        Ok(self.dense(name, &[rows])?.index_select(&order, 0)?)
    }

    /// The norm of queries or keys, where the model has one.
    fn head_norm(&self, name: Name) -> Result<Option<Tensor>> {
        match self.spec.qk_norm {
            QkNorm::None => Ok(None),
            QkNorm::PerHead => self.reordered(name, self.spec.head_dim).map(Some),
        }
    }
}
