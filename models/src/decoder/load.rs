//! From a file's tensors to a [`Decoder`].

use super::Decoder;
use super::attention::{Attention, Projections};
use super::block::{Block, Following, Mixer};
use super::loader::{Loader, RowOrder, Source, TensorSlice};
use super::options::LoadOptions;
use super::rotations::Rotations;
use crate::arch::names::{BlockTensor, Inner, Name};
use crate::arch::tensors::{BlockNorms, ProjectionRows, router};
use crate::error::{ModelError, Result};
use crate::layers::{
    BesideNorms, DeltaNet, FeedForward, FeedForwardBesideExperts, LayerEmbedding, LayerInput, Linear, MixtureOfExperts,
    Router, SharedExpert, ShortConv,
};
use crate::spec::{
    Bias, DecoderSpec, ExpertTensors, Experts, Heads, LayerInputs, Output, QkNorm, Recurrence, Scoring, Values,
};
use crate::weights::Weights;
use candle_core::{DType, Device, Tensor};
use moot_kernels::launch::{Element, attention_fits};
use moot_kernels::math::exp_f32;
use moot_kernels::ops::delta_net::{DeltaShape, DeltaWeights};
use moot_kernels::ops::short_conv::ConvShape;
use moot_kernels::{FreedOn, KernelGroup, has_kernels, release_unused};

impl Decoder {
    /// Loads `spec`'s tensors from `weights`, each checked against the shape that `spec` says.
    ///
    /// # Errors
    /// A missing tensor, a wrong shape, an element type that is not handled, or no memory on the device.
    pub fn load(spec: DecoderSpec, weights: &Weights, options: &LoadOptions) -> Result<Self> {
        if options.exact && options.device.is_cuda() {
            check_exact(&spec, options)?;
        }
        if spec.shared_kv_layers > 0 && !options.more_devices.is_empty() {
            let what = format!("{} on several devices", spec.architecture);
            let reason = "expected one device: its last layers attend to keys and values of layers before them";
            return Err(ModelError::Tensor { what, source: candle_core::Error::Msg(reason.into()) });
        }
        // Release memory of a previously loaded model.
        options.devices().try_for_each(release_unused)?;
        let loader = Loader { spec: &spec, naming: weights.naming(), weights, options, device: &options.device };
        let last = Loader { device: options.last_device(), ..loader };
        let vocabulary = |name| Loader::whole_tensor(name, [spec.vocab, spec.hidden]);
        let embedding = |loader: &Loader<'_>| {
            loader.matrix(&Source { from: vocabulary(Name::Embedding), bias: None, order: RowOrder::Stored })
        };
        let token_embedding = embedding(&loader)?;
        let output = match spec.output {
            Output::Tied if options.more_devices.is_empty() => {
                last.tied(vocabulary(Name::Embedding), token_embedding.clone())?
            }
            // The last device has no other use for the embedding.
            Output::Tied => last.linear(vocabulary(Name::Embedding), None)?,
            Output::Own => last.linear(vocabulary(Name::Output), None)?,
        };
        let block = |i| Block::load(i, &Loader { device: options.device_of(i, spec.layers), ..loader });
        let blocks: Vec<Block> = (0..spec.layers).map(block).collect::<Result<_>>()?;
        let layer_embedding = spec.layer_inputs.map(|inputs| loader.layer_embedding(inputs)).transpose()?;
        let norm = last.norm(Name::OutputNorm, spec.hidden)?;
        let (device, dtype, rotations) = (options.device.clone(), options.dtype, Rotations::new(&spec));
        // GPU work is asynchronous: synchronise so that load errors surface here, not in the first step.
        options.devices().try_for_each(Device::synchronize)?;
        // Release the matrices that were concatenated into others.
        options.devices().try_for_each(release_unused)?;
        let kv_dtype = options.kv_dtype();
        let quantised = blocks.iter().flat_map(Block::linears).any(Linear::is_quantised);
        Ok(Self {
            last_storing: spec.last_storing_layer(),
            spec,
            device,
            dtype,
            kv_dtype,
            _on_first_device: FreedOn::new(&options.device),
            embedding: token_embedding,
            layer_embedding,
            blocks,
            _on_last_device: FreedOn::new(options.last_device()),
            norm,
            output,
            rotations,
            rounds_prompts: options.rounds_prompts() && quantised,
        })
    }
}

impl Block {
    fn load(index: usize, loader: &Loader<'_>) -> Result<Self> {
        let spec = loader.spec;
        let norms = BlockNorms::of(spec);
        let norm = |tensor: Option<BlockTensor>| {
            tensor.map(|tensor| loader.norm(Name::Block(index, tensor), spec.hidden)).transpose()
        };
        Ok(Self {
            device: loader.device.clone(),
            _on_device: FreedOn::new(loader.device),
            mixer_norm: norm(norms.mixer)?,
            mixer: match spec.recurrence_of(index) {
                Some(Recurrence::Delta(delta)) => Mixer::Delta(loader.delta_net(index, delta)?),
                Some(Recurrence::ShortConv(conv)) => Mixer::ShortConv(loader.short_conv(index, conv)?),
                None => Mixer::Attention(loader.attention(index)?),
            },
            mixer_output_norm: norm(norms.mixer_output)?,
            feed_forward_norm: norm(norms.feed_forward)?,
            feed_forward_output_norm: norm(norms.feed_forward_output)?,
            feed_forward: match spec.experts_of(index) {
                None => Following::One(loader.feed_forward(index)?),
                Some(experts) if experts.beside.is_some() => {
                    Following::Beside(Box::new(loader.beside_experts(index, experts)?))
                }
                Some(experts) => Following::Experts(Box::new(loader.experts(index, experts)?)),
            },
            layer_input: spec.layer_inputs.map(|inputs| loader.layer_input(index, inputs)).transpose()?,
            scale: spec.layer_scales.then(|| loader.layer_scale(index)).transpose()?,
        })
    }
}

impl Loader<'_> {
    /// Attention of block `index`.
    fn attention(&self, index: usize) -> Result<Attention> {
        let (spec, heads) = (self.spec, self.spec.heads_of(index));
        let name = |tensor| Name::Block(index, tensor);
        let bias = |tensor| (spec.bias != Bias::None).then(|| name(tensor));
        let inward =
            |projection, bias, order| Source { from: self.projection(index, projection, spec.hidden), bias, order };
        let query = inward(BlockTensor::Query, bias(BlockTensor::QueryBias), RowOrder::Queries);
        let key = inward(BlockTensor::Key, bias(BlockTensor::KeyBias), RowOrder::Keys);
        let value = inward(BlockTensor::Value, bias(BlockTensor::ValueBias), RowOrder::Stored);
        let projections = match (spec.has_kv(index), spec.projects_values(index)) {
            (true, true) => Projections::All(self.joined([query, key, value])?),
            (true, false) => Projections::KeysAsValues(self.joined([query, key])?),
            (false, _) => Projections::Queries(self.joined([query])?),
        };
        let output = self.projection(index, BlockTensor::AttentionOutput, heads.query_width());
        let output_bias = (spec.bias == Bias::Attention).then(|| name(BlockTensor::AttentionOutputBias));
        let key_norm = || self.qk_norm(name(BlockTensor::KeyNorm), heads.kv, heads.dim);
        let ones = || Tensor::ones(heads.dim, self.options.dtype, self.device);
        Ok(Attention {
            window: spec.window_of(index),
            rotation: spec.kind(index).rotation,
            head_dim: heads.dim,
            projections,
            gated: spec.attention_gate,
            qk_norms: [
                self.qk_norm(name(BlockTensor::QueryNorm), heads.queries, heads.dim)?,
                if spec.has_kv(index) { key_norm()? } else { None },
            ],
            value_norm: (spec.values != Values::Projected).then(ones).transpose()?,
            normed_whole: spec.qk_norm == QkNorm::Whole,
            norm_eps: spec.norm_eps,
            scale: spec.attention_scale,
            sinks: spec.attention_sinks.then(|| self.sinks(name(BlockTensor::AttentionSinks))).transpose()?,
            output: self.linear(output, output_bias)?,
        })
    }

    /// A projection of block `index`, of `inputs`.
    fn projection(&self, index: usize, projection: BlockTensor, inputs: usize) -> TensorSlice {
        let ProjectionRows { tensor, tensor_rows, first, rows } = ProjectionRows::of(self.spec, index, projection);
        TensorSlice { name: Name::Block(index, tensor), of: tensor_rows, first, rows, inputs, stacked: None, step: 1 }
    }

    /// A matrix that is a whole tensor.
    fn whole_tensor(name: Name, [rows, inputs]: [usize; 2]) -> TensorSlice {
        TensorSlice { name, of: rows, first: 0, rows, inputs, stacked: None, step: 1 }
    }

    /// Loads the weights that give each layer a vector for each token.
    fn layer_embedding(&self, LayerInputs { width }: LayerInputs) -> Result<LayerEmbedding> {
        let (all, hidden) = (self.spec.layers * width, self.spec.hidden);
        let table = Self::whole_tensor(Name::LayerEmbedding, [self.spec.vocab, all]);
        Ok(LayerEmbedding {
            table: self.matrix(&Source { from: table, bias: None, order: RowOrder::Stored })?,
            projection: self.linear(Self::whole_tensor(Name::LayerProjection, [all, hidden]), None)?,
            norm: self.norm(Name::LayerProjectionNorm, width)?,
            norm_eps: self.spec.norm_eps,
        })
    }

    /// Loads the weights with which block `index` adds these vectors.
    fn layer_input(&self, index: usize, LayerInputs { width }: LayerInputs) -> Result<LayerInput> {
        let hidden = self.spec.hidden;
        let linear = |tensor, shape| self.linear(Self::whole_tensor(Name::Block(index, tensor), shape), None);
        Ok(LayerInput {
            gate: linear(BlockTensor::LayerInputGate, [width, hidden])?,
            activation: self.spec.gate,
            projection: linear(BlockTensor::LayerInputProjection, [hidden, width])?,
            norm: self.norm(Name::Block(index, BlockTensor::LayerInputNorm), hidden)?,
            norm_eps: self.spec.norm_eps,
        })
    }

    fn layer_scale(&self, index: usize) -> Result<f32> {
        Ok(self.numbers(Name::Block(index, BlockTensor::LayerScale), &[1])?[0])
    }

    /// The feed-forward and the experts of block `index`, side by side.
    fn beside_experts(&self, index: usize, experts: Experts) -> Result<FeedForwardBesideExperts> {
        let hidden = self.spec.hidden;
        let norm = |tensor| self.norm(Name::Block(index, tensor), hidden);
        let router = (norm(BlockTensor::RouterScale)? * (1.0 / (hidden as f64).sqrt()))?;
        Ok(FeedForwardBesideExperts {
            dense: self.feed_forward(index)?,
            experts: self.experts(index, experts)?,
            norms: BesideNorms {
                dense_output: norm(BlockTensor::BesideOutputNorm)?,
                router,
                experts: norm(BlockTensor::ExpertsInputNorm)?,
                experts_output: norm(BlockTensor::ExpertsOutputNorm)?,
            },
            eps: self.spec.norm_eps,
        })
    }

    /// The feed-forward of block `index`, where it is one pair of layers.
    fn feed_forward(&self, index: usize) -> Result<FeedForward> {
        let rows = |projection, inputs| self.projection(index, projection, inputs);
        let inward =
            |projection| Source { from: rows(projection, self.spec.hidden), bias: None, order: RowOrder::Stored };
        let gate_up = self.gate_up([inward(BlockTensor::Gate), inward(BlockTensor::Up)])?;
        Ok(FeedForward::new(
            gate_up,
            self.spec.gate,
            self.linear(rows(BlockTensor::Down, self.spec.dense_width(index)), None)?,
        ))
    }

    /// The experts of block `index`.
    fn experts(&self, index: usize, experts: Experts) -> Result<MixtureOfExperts> {
        let (count, hidden, wide) = (experts.count, self.spec.hidden, self.spec.intermediate);
        let whole = |tensor, shape| Self::whole_tensor(Name::Block(index, tensor), shape);
        // Rows `first..` of an expert's `each` rows, in a tensor of all experts.
        let stacked = |tensor, expert: usize, (each, first): (usize, usize), [rows, inputs]: [usize; 2]| {
            let (of, first) = (count * each, expert * each + first);
            TensorSlice { name: Name::Block(index, tensor), of, first, rows, inputs, stacked: Some(count), step: 1 }
        };
        let in_turns = |expert: usize, first: usize, shape: [usize; 2]| TensorSlice {
            step: 2,
            ..stacked(BlockTensor::ExpertsGateUp, expert, (2 * wide, first), shape)
        };
        let slice = |expert: usize, inner: Inner| {
            let shape = inner.shape(hidden, wide);
            match (self.spec.layout.experts, inner) {
                (ExpertTensors::Separate, _) => whole(BlockTensor::Expert(expert, inner), shape),
                (ExpertTensors::StackedFused, Inner::Gate) => {
                    stacked(BlockTensor::ExpertsGateUp, expert, (2 * wide, 0), shape)
                }
                (ExpertTensors::StackedFused, Inner::Up) => {
                    stacked(BlockTensor::ExpertsGateUp, expert, (2 * wide, wide), shape)
                }
                (ExpertTensors::StackedInTurns, Inner::Gate) => in_turns(expert, 0, shape),
                (ExpertTensors::StackedInTurns, Inner::Up) => in_turns(expert, 1, shape),
                (ExpertTensors::Stacked | ExpertTensors::StackedFused | ExpertTensors::StackedInTurns, _) => {
                    stacked(BlockTensor::Experts(inner), expert, (shape[0], 0), shape)
                }
            }
        };
        let router_bias = experts.biased.then_some(Name::Block(index, BlockTensor::RouterBias));
        let biased = (experts.scoring == Scoring::Sigmoid).then_some(Name::Block(index, BlockTensor::ChoiceBias));
        let scales = experts.beside.map(|_| Name::Block(index, BlockTensor::ExpertScales));
        let router = Router {
            layer: self.linear(whole(router(experts), [count, hidden]), router_bias)?,
            choice_bias: biased.map(|name| self.numbers(name, &[count])).transpose()?,
            scales: scales.map(|name| self.numbers(name, &[count])).transpose()?,
        };
        let biases = experts.biased.then(|| self.expert_biases(index, experts)).transpose()?;
        let bias = |expert: usize| biases.as_ref().map(|all| all.each_ref().map(|of| of.get(expert)));
        let expert = |expert: usize| self.expert(|inner| slice(expert, inner), bias(expert));
        let all = (0..count).map(expert).collect::<Result<_>>()?;
        let shared = |width: usize| {
            let slice = |inner: Inner| whole(BlockTensor::SharedExpert(inner), inner.shape(hidden, width));
            let layers = self.expert(slice, None)?;
            let gate = self.numbers(Name::Block(index, BlockTensor::SharedExpertGate), &[hidden])?;
            let gate = Tensor::from_vec(gate, (1, hidden), self.device)?.to_dtype(self.options.dtype)?;
            Ok::<_, ModelError>(SharedExpert { layers, gate: Linear::dense(self.held(&gate)?, None) })
        };
        Ok(MixtureOfExperts::new(experts, router, all, experts.shared.map(shared).transpose()?))
    }

    /// A feed-forward from its three matrices, and the biases of gate, up and down.
    fn expert(
        &self,
        slice: impl Fn(Inner) -> TensorSlice,
        biases: Option<[candle_core::Result<Tensor>; 3]>,
    ) -> Result<FeedForward> {
        let inward = |inner| Source { from: slice(inner), bias: None, order: RowOrder::Stored };
        let inward = [Inner::Gate, Inner::Up].map(inward);
        let down = self.linear(slice(Inner::Down), None)?;
        let (gate_up, down) = match biases {
            None => (self.gate_up(inward)?, down),
            Some([gate, up, of_down]) => (self.joined(inward)?.with_biases([gate?, up?])?, down.with_bias(of_down?)),
        };
        Ok(FeedForward::new(gate_up, self.spec.gate, down))
    }

    /// The biases of all experts of block `index`: of gate, up and down, `[experts, outputs]` each.
    fn expert_biases(&self, index: usize, experts: Experts) -> Result<[Tensor; 3]> {
        let (hidden, wide) = (self.spec.hidden, self.spec.intermediate);
        let dense = |tensor, outputs| self.dense(Name::Block(index, tensor), &[experts.count, outputs]);
        let down = dense(BlockTensor::ExpertsBias(Inner::Down), hidden)?;
        if self.spec.layout.experts != ExpertTensors::StackedInTurns {
            let of = |inner| dense(BlockTensor::ExpertsBias(inner), wide);
            return Ok([of(Inner::Gate)?, of(Inner::Up)?, down]);
        }
        let both = dense(BlockTensor::ExpertsGateUpBias, 2 * wide)?.reshape((experts.count, wide, 2))?;
        let of = |turn: usize| both.narrow(2, turn, 1)?.squeeze(2)?.contiguous();
        Ok([of(0)?, of(1)?, down])
    }

    /// The recurrent layer of block `index`.
    fn delta_net(&self, index: usize, delta: DeltaShape) -> Result<DeltaNet> {
        let hidden = self.spec.hidden;
        let slice = |tensor, rows, inputs| Self::whole_tensor(Name::Block(index, tensor), [rows, inputs]);
        let inward = |tensor, rows| Source { from: slice(tensor, rows, hidden), bias: None, order: RowOrder::Stored };
        let projections = self.joined([
            inward(BlockTensor::DeltaQkv, delta.channels()),
            inward(BlockTensor::DeltaGate, delta.outputs()),
            inward(BlockTensor::DeltaRate, delta.value_heads),
            inward(BlockTensor::DeltaStep, delta.value_heads),
        ])?;
        let numbers = |tensor, shape: &[usize]| self.numbers(Name::Block(index, tensor), shape);
        let conv = numbers(BlockTensor::DeltaConvolution, &[delta.channels(), delta.taps])?;
        let decay = numbers(BlockTensor::DeltaDecay, &[delta.value_heads])?;
        let weights = DeltaWeights {
            conv: (0..conv.len()).map(|i| conv[i % delta.channels() * delta.taps + i / delta.channels()]).collect(),
            decay: match self.naming.is_gguf() {
                true => decay,
                false => decay.iter().map(|log| -exp_f32(*log)).collect(),
            },
            step_bias: numbers(BlockTensor::DeltaStepBias, &[delta.value_heads])?,
        };
        // Stored whole, also where the other norms are not.
        let norm = self.dense(Name::Block(index, BlockTensor::DeltaNorm), &[delta.value_dim])?;
        let output = self.linear(slice(BlockTensor::DeltaOutput, hidden, delta.outputs()), None)?;
        Ok(DeltaNet::new(projections, weights, (norm, self.spec.norm_eps), output))
    }

    /// The short convolution of block `index`.
    fn short_conv(&self, index: usize, shape: ConvShape) -> Result<ShortConv> {
        let ConvShape { channels, taps } = shape;
        let hidden = self.spec.hidden;
        let slice = |tensor, of: usize, first: usize, rows: usize, inputs: usize| {
            let name = Name::Block(index, tensor);
            TensorSlice { name, of, first, rows, inputs, stacked: None, step: 1 }
        };
        let inward = |third: usize| {
            let from = slice(BlockTensor::ShortConvInputs, 3 * channels, third * channels, channels, hidden);
            Source { from, bias: None, order: RowOrder::Stored }
        };
        let projections = self.joined([inward(0), inward(1), inward(2)])?;
        let weights = self.numbers(Name::Block(index, BlockTensor::ShortConvolution), &[channels, taps])?;
        let weights = Tensor::from_vec(weights, (channels, taps), self.device)?.t()?.contiguous()?;
        let output = self.linear(slice(BlockTensor::ShortConvOutput, hidden, 0, hidden, channels), None)?;
        Ok(ShortConv::new(projections, weights, output))
    }
}

/// Checks that a GPU has kernels with sums in a fixed order for all of `spec`.
fn check_exact(spec: &DecoderSpec, options: &LoadOptions) -> Result<()> {
    let needed = [KernelGroup::FixedOrder, KernelGroup::Attention];
    let reason = match needed.into_iter().find(|&group| !has_kernels(&options.device, group)) {
        Some(wrong) => {
            format!("expected kernels that pass the self-test, found wrong ones: {}; leave out --exact", wrong.name())
        }
        None if attends_by_kernel(spec, options.dtype) => return Ok(()),
        None => {
            "expected heads of 64, 96, 128 or 256 and no recurrent states: for others there is no kernel".to_owned()
        }
    };
    let what = "sums in a fixed order (--exact) on a GPU".to_owned();
    Err(ModelError::Tensor { what, source: candle_core::Error::Msg(reason) })
}

/// Whether every layer's mixer is attention that a kernel of ours computes on a GPU, whatever the batch.
fn attends_by_kernel(spec: &DecoderSpec, dtype: DType) -> bool {
    let fits = |heads: Heads| {
        Element::of(dtype).is_some_and(|element| attention_fits(element, heads.queries, heads.kv, heads.dim))
    };
    spec.recurrence.is_none() && !spec.bidirectional && (0..spec.layers).all(|layer| fits(spec.heads_of(layer)))
}
