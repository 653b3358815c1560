//! From a file's tensors to a [`Decoder`].

use super::rotations::Rotations;
use super::{Block, Decoder, LoadOptions, Residency};
use crate::arch::names::{BlockTensor, Inner, Name, Naming, ProjectionRows};
use crate::error::{ModelError, Result};
use crate::layers::{FeedForward, Joined, Linear, MixtureOfExperts};
use crate::spec::{Bias, DecoderSpec, ExpertTensors, Experts, NormWeights, Norms, Output, QkNorm};
use crate::weights::{Order, Rows, Weights};
use candle_core::quantized::GgmlDType;
use candle_core::{DType, Device, Tensor};
use moot_kernels::launch::{Element, attention_fits};
use moot_kernels::{Weight, multiplies_blocks, release_unused};

impl Decoder {
    /// Loads `spec`'s tensors from `weights`, each checked against the shape that `spec` says.
    ///
    /// # Errors
    /// A missing tensor, a wrong shape, an element type that is not handled, or no memory on the device.
    pub fn load(spec: DecoderSpec, weights: &Weights, options: &LoadOptions) -> Result<Self> {
        if options.exact && options.device.is_cuda() && !attends_by_kernel(&spec, options.dtype) {
            let what = "sums in a fixed order (--exact) on a GPU".to_owned();
            let reason = "expected heads of 64, 96 or 128 and no window shorter than the context: for others attention has no kernel";
            return Err(ModelError::Tensor { what, source: candle_core::Error::Msg(reason.into()) });
        }
        // A model that was here before.
        options.devices().try_for_each(release_unused)?;
        let loader = Loader { spec: &spec, naming: weights.naming(), weights, options, device: &options.device };
        let last = Loader { device: options.last_device(), ..loader };
        let vocabulary = |name| {
            let (of, inputs) = (spec.vocab, spec.hidden);
            TensorSlice { name, of, first: 0, rows: of, inputs, stacked: None }
        };
        let embedding = |loader: &Loader<'_>| {
            loader.matrix(&Source { from: vocabulary(Name::Embedding), bias: None, turned: false })
        };
        let token_embedding = embedding(&loader)?;
        let output = match spec.output {
            Output::Tied if options.more_devices.is_empty() => Linear::dense(token_embedding.clone(), None),
            Output::Tied => Linear::dense(embedding(&last)?, None),
            Output::Own => last.linear(vocabulary(Name::Output), None)?,
        };
        let block = |i| Block::load(i, &Loader { device: options.device_of(i, spec.layers), ..loader });
        let blocks = (0..spec.layers).map(block).collect::<Result<_>>()?;
        let norm = last.norm(Name::OutputNorm, spec.hidden)?;
        let (device, dtype, rotations) = (options.device.clone(), options.dtype, Rotations::new(&spec));
        // A GPU computes behind this thread. Its errors are returned here and not by the first step.
        options.devices().try_for_each(Device::synchronize)?;
        // Matrices that were concatenated into others.
        options.devices().try_for_each(release_unused)?;
        let kv_dtype = options.kv_dtype();
        Ok(Self { spec, device, dtype, kv_dtype, embedding: token_embedding, blocks, norm, output, rotations })
    }
}

impl Block {
    fn load(index: usize, loader: &Loader<'_>) -> Result<Self> {
        let spec = loader.spec;
        let name = |tensor| Name::Block(index, tensor);
        let rows = |projection, inputs| {
            let ProjectionRows { tensor, tensor_rows, first, rows } = ProjectionRows::of(spec, projection);
            TensorSlice { name: name(tensor), of: tensor_rows, first, rows, inputs, stacked: None }
        };
        let bias = |tensor| (spec.bias != Bias::None).then(|| name(tensor));
        let inward = |projection, bias, turned| Source { from: rows(projection, spec.hidden), bias, turned };
        let projections = [
            inward(BlockTensor::Query, bias(BlockTensor::QueryBias), true),
            inward(BlockTensor::Key, bias(BlockTensor::KeyBias), true),
            inward(BlockTensor::Value, bias(BlockTensor::ValueBias), false),
        ];
        let output_bias = (spec.bias == Bias::Attention).then(|| name(BlockTensor::AttentionOutputBias));
        let around = spec.norms == Norms::Around;
        let behind = |tensor| around.then(|| loader.norm(name(tensor), spec.hidden)).transpose();
        let feed_forward_norm = if around { BlockTensor::FeedForwardInputNorm } else { BlockTensor::FeedForwardNorm };
        Ok(Self {
            device: loader.device.clone(),
            window: spec.window_of(index),
            rotation: spec.kind(index).rotation,
            attention_norm: loader.norm(name(BlockTensor::AttentionNorm), spec.hidden)?,
            projections: loader.joined(projections)?,
            head_norms: [
                loader.head_norm(name(BlockTensor::QueryNorm))?,
                loader.head_norm(name(BlockTensor::KeyNorm))?,
            ],
            attention_output: loader
                .linear(rows(BlockTensor::AttentionOutput, spec.heads * spec.head_dim), output_bias)?,
            attention_output_norm: behind(BlockTensor::AttentionOutputNorm)?,
            feed_forward_norm: loader.norm(name(feed_forward_norm), spec.hidden)?,
            feed_forward_output_norm: behind(BlockTensor::FeedForwardOutputNorm)?,
            feed_forward: match spec.experts {
                None => super::Following::One(loader.feed_forward(index)?),
                Some(experts) => super::Following::Experts(loader.experts(index, experts)?),
            },
        })
    }
}

/// The inputs of loading that every tensor shares.
#[derive(Clone, Copy)]
struct Loader<'a> {
    spec: &'a DecoderSpec,
    naming: Naming,
    weights: &'a Weights,
    options: &'a LoadOptions,
    /// The device that the tensors are loaded to.
    device: &'a Device,
}

/// Rows of a stored tensor: `rows` from row `first` on, of a tensor `[of, inputs]`.
#[derive(Clone, Copy)]
struct TensorSlice {
    name: Name,
    of: usize,
    first: usize,
    rows: usize,
    inputs: usize,
    /// How many matrices the tensor has, where it has several, one after the other.
    stacked: Option<usize>,
}

/// A linear layer in the file.
#[derive(Clone, Copy)]
struct Source {
    from: TensorSlice,
    bias: Option<Name>,
    /// Whether its rows are queries or keys, which [`moot_kernels::ops::rope`] turns in an order of its own.
    turned: bool,
}

impl<'a> Loader<'a> {
    fn dense(&self, name: Name, shape: &[usize]) -> Result<Tensor> {
        self.weights.dense(&self.naming.name(name), shape, self.options.dtype, self.device)
    }

    /// The feed-forward of block `index`, where it is one pair of layers.
    fn feed_forward(&self, index: usize) -> Result<FeedForward> {
        let rows = |projection, inputs| {
            let ProjectionRows { tensor, tensor_rows, first, rows } = ProjectionRows::of(self.spec, projection);
            TensorSlice { name: Name::Block(index, tensor), of: tensor_rows, first, rows, inputs, stacked: None }
        };
        let inward = |projection| Source { from: rows(projection, self.spec.hidden), bias: None, turned: false };
        let gate_up = self.joined([inward(BlockTensor::Gate), inward(BlockTensor::Up)])?;
        Ok(FeedForward::new(
            gate_up,
            self.spec.gate,
            self.linear(rows(BlockTensor::Down, self.spec.intermediate), None)?,
        ))
    }

    /// The experts of block `index`.
    fn experts(&self, index: usize, experts: Experts) -> Result<MixtureOfExperts> {
        let slice = |expert: usize, inner: Inner| {
            let [rows, inputs] = inner.shape(self.spec);
            match self.spec.layout.experts {
                ExpertTensors::Separate => {
                    let name = Name::Block(index, BlockTensor::Expert(expert, inner));
                    TensorSlice { name, of: rows, first: 0, rows, inputs, stacked: None }
                }
                ExpertTensors::Stacked => {
                    let name = Name::Block(index, BlockTensor::Experts(inner));
                    let (of, first) = (experts.count * rows, expert * rows);
                    TensorSlice { name, of, first, rows, inputs, stacked: Some(experts.count) }
                }
            }
        };
        let one = |expert: usize| {
            let inward = |inner| Source { from: slice(expert, inner), bias: None, turned: false };
            let gate_up = self.joined([inward(Inner::Gate), inward(Inner::Up)])?;
            Ok(FeedForward::new(gate_up, self.spec.gate, self.linear(slice(expert, Inner::Down), None)?))
        };
        let (count, hidden) = (experts.count, self.spec.hidden);
        let name = Name::Block(index, BlockTensor::Router);
        let router = TensorSlice { name, of: count, first: 0, rows: count, inputs: hidden, stacked: None };
        let all = (0..count).map(one).collect::<Result<_>>()?;
        Ok(MixtureOfExperts::new(experts, self.linear(router, None)?, all))
    }

    /// A norm's weights, `[width]`.
    fn norm(&self, name: Name, width: usize) -> Result<Tensor> {
        self.whole(self.dense(name, &[width])?)
    }

    /// Norms' weights, from what is stored of them.
    fn whole(&self, stored: Tensor) -> Result<Tensor> {
        Ok(match self.spec.layout.norm_weights {
            NormWeights::Whole => stored,
            NormWeights::LessOne => (stored.to_dtype(DType::F32)? + 1.0)?.to_dtype(stored.dtype())?,
        })
    }

    fn linear(&self, from: TensorSlice, bias: Option<Name>) -> Result<Linear> {
        self.layer(&Source { from, bias, turned: false })
    }

    /// Layers of one input. Elsewhere than on the CPU, biases are left to what takes their results.
    fn joined<const N: usize>(&self, sources: [Source; N]) -> Result<Joined<N>> {
        if self.device.is_cpu() {
            let layers = all(sources.each_ref().map(|source| self.layer(source)))?;
            return Ok(Joined::apart(layers, [const { None }; N]));
        }
        let biases = all(sources.each_ref().map(|source| self.bias(source)))?;
        let bare = sources.map(|source| Source { bias: None, ..source });
        match self.together(&bare)? {
            Some(layer) => Ok(Joined::together(layer, sources.map(|source| source.from.rows), biases)),
            None => Ok(Joined::apart(all(bare.each_ref().map(|source| self.layer(source)))?, biases)),
        }
    }

    /// One matrix of several, on a CUDA device; `None` where they are multiplied as stored and are not stored alike.
    fn together(&self, sources: &[Source]) -> Result<Option<Linear>> {
        if !self.device.is_cuda() {
            return Ok(None);
        }
        if self.keeps_blocks() {
            let stored = sources.iter().map(|source| self.rows(source)).collect::<Result<Vec<_>>>()?;
            if stored.iter().any(Rows::multiplies_as_stored) {
                let orders: Vec<_> = sources.iter().map(|source| self.order(source)).collect();
                let parts: Vec<(&Rows<'_>, Order<'_>)> =
                    stored.iter().zip(&orders).map(|(rows, order)| (rows, order as Order<'_>)).collect();
                let together = Rows::quantized_together(&parts, self.device)?;
                return Ok(together.map(|matrix| Linear::quantized(matrix, None)).transpose()?);
            }
        }
        let matrices = sources.iter().map(|source| self.widened(source)).collect::<Result<Vec<_>>>()?;
        Ok(Some(Linear::dense(self.held(&Tensor::cat(&matrices, 0)?)?, None)))
    }

    /// A matrix and its bias; quantised where the device multiplies by what is stored.
    fn layer(&self, source: &Source) -> Result<Linear> {
        let bias = self.bias(source)?;
        if self.keeps_blocks() {
            let (stored, order) = (self.rows(source)?, self.order(source));
            if let Some(matrix) = Rows::quantized_together(&[(&stored, &order)], self.device)? {
                return Ok(Linear::quantized(matrix, bias)?);
            }
        }
        Ok(Linear::dense(self.matrix(source)?, bias))
    }

    /// Whether blocks are multiplied as they are stored, by Candle.
    fn keeps_blocks(&self) -> bool {
        let asked = self.options.residency == Residency::AsStored && !self.options.exact;
        asked && !self.device.is_cpu() && multiplies_blocks(self.device)
    }

    fn rows(&self, Source { from, .. }: &Source) -> Result<Rows<'a>> {
        let name = self.naming.name(from.name);
        let stored = match from.stacked {
            Some(count) => self.weights.stacked(&name, [count, from.of / count, from.inputs])?,
            None => self.weights.rows(&name, from.of, from.inputs)?,
        };
        Ok(stored.slice(from.first..from.first + from.rows))
    }

    /// Maps a row of the loaded matrix to the row of the file.
    fn order(&self, source: &Source) -> impl Fn(usize) -> usize + Sync + use<'a> {
        let (spec, turned) = (self.spec, source.turned && !self.spec.rows_in_order());
        move |row| if turned { spec.file_row(row) } else { row }
    }

    fn matrix(&self, source: &Source) -> Result<Weight> {
        if !self.device.is_cpu() {
            return self.held(&self.widened(source)?);
        }
        let stored = self.rows(source)?;
        let weight = self.packed(&stored, self.order(source));
        stored.check_read()?;
        Ok(weight)
    }

    /// A matrix elsewhere than on the CPU, in the working type.
    fn widened(&self, source: &Source) -> Result<Tensor> {
        let dense = self.rows(source)?.dense(self.options.dtype, self.device)?;
        let order = self.order(source);
        if (0..source.from.rows).all(|row| order(row) == row) {
            return Ok(dense);
        }
        let order = Tensor::from_iter((0..source.from.rows).map(|row| order(row) as u32), self.device)?;
        Ok(dense.index_select(&order, 0)?)
    }

    /// As it is multiplied elsewhere than on the CPU.
    fn held(&self, dense: &Tensor) -> Result<Weight> {
        let weight = Weight::new(dense)?;
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

    fn bias(&self, source: &Source) -> Result<Option<Tensor>> {
        let Some(name) = source.bias else { return Ok(None) };
        let rows = source.from.rows;
        if source.turned { self.reordered(name, rows).map(Some) } else { self.dense(name, &[rows]).map(Some) }
    }

    /// A vector over the rows of queries or keys, in the decoder's order.
    fn reordered(&self, name: Name, rows: usize) -> Result<Tensor> {
        let stored = self.dense(name, &[rows])?;
        if self.spec.rows_in_order() {
            return Ok(stored);
        }
        let order = Tensor::from_iter((0..rows).map(|row| self.spec.file_row(row) as u32), self.device)?;
        Ok(stored.index_select(&order, 0)?)
    }

    /// The norm of queries or keys, where the model has one.
    fn head_norm(&self, name: Name) -> Result<Option<Tensor>> {
        match self.spec.qk_norm {
            QkNorm::None => Ok(None),
            QkNorm::PerHead => self.whole(self.reordered(name, self.spec.head_dim)?).map(Some),
        }
    }
}

/// Whether every layer's attention is computed by a kernel of ours on a GPU, whatever the batch.
fn attends_by_kernel(spec: &DecoderSpec, dtype: DType) -> bool {
    let fits =
        Element::of(dtype).is_some_and(|element| attention_fits(element, spec.heads, spec.kv_heads, spec.head_dim));
    fits && spec.context <= spec.window
}

/// All of them, or the first error.
fn all<T: std::fmt::Debug, const N: usize>(results: [Result<T>; N]) -> Result<[T; N]> {
    let all = results.into_iter().collect::<Result<Vec<T>>>()?;
    Ok(all.try_into().expect("as many results as there were (bug)"))
}
