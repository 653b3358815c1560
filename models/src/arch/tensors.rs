//! The tensors of a spec, with their shapes.

use super::names::{BlockTensor, Inner, Name};
use crate::spec::{
    Bias, DecoderSpec, ExpertTensors, Experts, LayerInputs, NormNames, Norms, Output, Projections, QkNorm, Recurrence,
    Scoring,
};
use moot_kernels::ops::delta_net::DeltaShape;

/// The rows of a stored tensor that are a projection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProjectionRows {
    /// The stored tensor.
    pub tensor: BlockTensor,
    /// Its rows, which may be more than the projection's.
    pub tensor_rows: usize,
    /// The projection's first row.
    pub first: usize,
    /// The projection's number of rows.
    pub rows: usize,
}

impl ProjectionRows {
    /// Where `spec`'s file stores query, key, value, gate or up of layer `layer`; any other tensor is stored by itself.
    #[must_use]
    pub fn of(spec: &DecoderSpec, layer: usize, wanted: BlockTensor) -> Self {
        let (heads, wide) = (spec.heads_of(layer), spec.dense_width(layer));
        let (q, kv) = (heads.query_width(), heads.kv_width());
        let rows = match wanted {
            BlockTensor::Query if spec.attention_gate => 2 * q,
            BlockTensor::Query => q,
            BlockTensor::Key | BlockTensor::Value => kv,
            BlockTensor::Gate | BlockTensor::Up => wide,
            BlockTensor::QueryKeyValue => q + 2 * kv,
            BlockTensor::GateUp => 2 * wide,
            _ => spec.hidden,
        };
        let (tensor, tensor_rows, first) = match (spec.layout.projections, wanted) {
            (Projections::Fused, BlockTensor::Query) => (BlockTensor::QueryKeyValue, q + 2 * kv, 0),
            (Projections::Fused, BlockTensor::Key) => (BlockTensor::QueryKeyValue, q + 2 * kv, q),
            (Projections::Fused, BlockTensor::Value) => (BlockTensor::QueryKeyValue, q + 2 * kv, q + kv),
            (Projections::Fused | Projections::FusedGateUp, BlockTensor::Gate) => (BlockTensor::GateUp, 2 * wide, 0),
            (Projections::Fused | Projections::FusedGateUp, BlockTensor::Up) => (BlockTensor::GateUp, 2 * wide, wide),
            _ => (wanted, rows, 0),
        };
        Self { tensor, tensor_rows, first, rows }
    }
}

/// Every tensor of `spec`'s file with its shape, row-major, outermost first; made as they are asked for.
pub fn tensors(spec: &DecoderSpec) -> impl Iterator<Item = (Name, Vec<usize>)> {
    let block = move |layer: usize| {
        block_tensors(spec, layer).into_iter().map(move |(tensor, shape)| (Name::Block(layer, tensor), shape))
    };
    top_tensors(spec).into_iter().chain((0..spec.layers).flat_map(block))
}

/// The norms of a block, each `[hidden]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockNorms {
    /// Before the mixer.
    pub mixer: Option<BlockTensor>,
    /// Behind the mixer.
    pub mixer_output: Option<BlockTensor>,
    /// Before the feed-forward.
    pub feed_forward: Option<BlockTensor>,
    /// Behind the feed-forward.
    pub feed_forward_output: Option<BlockTensor>,
}

impl BlockNorms {
    /// Those of `spec`.
    #[must_use]
    pub fn of(spec: &DecoderSpec) -> Self {
        let [mixer_output, feed_forward, feed_forward_output] = match (spec.norms, spec.layout.norm_names) {
            // Files of models with delta nets or sinks call it so, although it is no norm of attention's result.
            (Norms::Before, _) if spec.recurrence.and_then(Recurrence::delta).is_some() || spec.attention_sinks => {
                [None, Some(BlockTensor::AttentionOutputNorm), None]
            }
            (Norms::Before, _) => [None, Some(BlockTensor::FeedForwardNorm), None],
            (Norms::Behind, _) => {
                [Some(BlockTensor::AttentionOutputNorm), None, Some(BlockTensor::FeedForwardOutputNorm)]
            }
            (Norms::Around, NormNames::AfterFeedForward) => [
                Some(BlockTensor::AttentionOutputNorm),
                Some(BlockTensor::FeedForwardInputNorm),
                Some(BlockTensor::FeedForwardOutputNorm),
            ],
            (Norms::Around, NormNames::AfterMlp) => [
                Some(BlockTensor::SelfAttentionOutputNorm),
                Some(BlockTensor::FeedForwardNorm),
                Some(BlockTensor::MlpOutputNorm),
            ],
        };
        let mixer = (spec.norms != Norms::Behind).then_some(BlockTensor::AttentionNorm);
        Self { mixer, mixer_output, feed_forward, feed_forward_output }
    }
}

/// The tensors outside all blocks.
fn top_tensors(spec: &DecoderSpec) -> Vec<(Name, Vec<usize>)> {
    let matrix = vec![spec.vocab, spec.hidden];
    let mut tensors = vec![(Name::Embedding, matrix.clone()), (Name::OutputNorm, vec![spec.hidden])];
    if spec.output == Output::Own {
        tensors.push((Name::Output, matrix));
    }
    if let Some(LayerInputs { width }) = spec.layer_inputs {
        let all = spec.layers * width;
        tensors.extend([
            (Name::LayerEmbedding, vec![spec.vocab, all]),
            (Name::LayerProjection, vec![all, spec.hidden]),
            (Name::LayerProjectionNorm, vec![width]),
        ]);
    }
    tensors
}

/// The tensors of block `layer`.
#[must_use]
fn block_tensors(spec: &DecoderSpec, layer: usize) -> Vec<(BlockTensor, Vec<usize>)> {
    let norms = BlockNorms::of(spec);
    let norm = |norm: Option<BlockTensor>| norm.map(|norm| (norm, vec![spec.hidden]));
    let projection = |tensor: BlockTensor| (tensor, vec![ProjectionRows::of(spec, layer, tensor).rows, spec.hidden]);
    let mut tensors: Vec<_> = norm(norms.mixer).into_iter().collect();
    match spec.recurrence_of(layer) {
        Some(Recurrence::Delta(delta)) => tensors.extend(delta_tensors(spec, delta)),
        Some(Recurrence::ShortConv(conv)) => tensors.extend([
            (BlockTensor::ShortConvInputs, vec![3 * conv.channels, spec.hidden]),
            (BlockTensor::ShortConvolution, vec![conv.channels, conv.taps]),
            (BlockTensor::ShortConvOutput, vec![spec.hidden, conv.channels]),
        ]),
        None => tensors.push((BlockTensor::AttentionOutput, vec![spec.hidden, spec.heads_of(layer).query_width()])),
    }
    tensors.extend(norm(norms.feed_forward));
    let experts = spec.experts_of(layer);
    let dense = experts.is_none_or(|experts| experts.beside.is_some());
    if dense {
        tensors.push((BlockTensor::Down, vec![spec.hidden, spec.dense_width(layer)]));
    }
    tensors.extend(experts.iter().flat_map(|experts| expert_tensors(spec, *experts)));
    let attends = spec.recurrence_of(layer).is_none();
    let attention = if attends { attention_projections(spec, layer) } else { Vec::new() };
    let gate_up: &[BlockTensor] = match spec.layout.projections {
        _ if !dense => &[],
        Projections::Separate => &[BlockTensor::Gate, BlockTensor::Up],
        Projections::Fused | Projections::FusedGateUp => &[BlockTensor::GateUp],
    };
    tensors.extend(attention.iter().chain(gate_up).copied().map(projection));
    if attends {
        tensors.extend(attention_vectors(spec, layer));
    }
    tensors.extend([norms.mixer_output, norms.feed_forward_output].into_iter().filter_map(norm));
    if let Some(LayerInputs { width }) = spec.layer_inputs {
        tensors.extend([
            (BlockTensor::LayerInputGate, vec![width, spec.hidden]),
            (BlockTensor::LayerInputProjection, vec![spec.hidden, width]),
            (BlockTensor::LayerInputNorm, vec![spec.hidden]),
        ]);
    }
    if spec.layer_scales {
        tensors.push((BlockTensor::LayerScale, vec![1]));
    }
    tensors
}

/// The matrices that attention multiplies the input of layer `layer` by.
fn attention_projections(spec: &DecoderSpec, layer: usize) -> Vec<BlockTensor> {
    if spec.layout.projections == Projections::Fused {
        return vec![BlockTensor::QueryKeyValue];
    }
    let mut all = vec![BlockTensor::Query];
    all.extend(spec.has_kv(layer).then_some(BlockTensor::Key));
    all.extend(spec.projects_values(layer).then_some(BlockTensor::Value));
    all
}

/// The biases and the norms of heads in the attention of layer `layer`.
fn attention_vectors(spec: &DecoderSpec, layer: usize) -> Vec<(BlockTensor, Vec<usize>)> {
    let heads = spec.heads_of(layer);
    let (q, kv) = (heads.query_width(), heads.kv_width());
    let mut tensors = Vec::new();
    if spec.bias != Bias::None {
        tensors.extend([
            (BlockTensor::QueryBias, vec![q]),
            (BlockTensor::KeyBias, vec![kv]),
            (BlockTensor::ValueBias, vec![kv]),
        ]);
    }
    if spec.bias == Bias::Attention {
        tensors.push((BlockTensor::AttentionOutputBias, vec![spec.hidden]));
    }
    if spec.attention_sinks {
        tensors.push((BlockTensor::AttentionSinks, vec![spec.heads]));
    }
    let widths = match spec.qk_norm {
        QkNorm::None => None,
        QkNorm::PerHead => Some([heads.dim; 2]),
        QkNorm::Whole => Some([q, kv]),
    };
    if let Some([q, kv]) = widths {
        tensors.push((BlockTensor::QueryNorm, vec![q]));
        tensors.extend(spec.has_kv(layer).then(|| (BlockTensor::KeyNorm, vec![kv])));
    }
    tensors
}

/// The tensors of a recurrent layer in place of attention's.
fn delta_tensors(spec: &DecoderSpec, delta: DeltaShape) -> [(BlockTensor, Vec<usize>); 9] {
    let heads = delta.value_heads;
    [
        (BlockTensor::DeltaQkv, vec![delta.channels(), spec.hidden]),
        (BlockTensor::DeltaGate, vec![delta.outputs(), spec.hidden]),
        (BlockTensor::DeltaRate, vec![heads, spec.hidden]),
        (BlockTensor::DeltaStep, vec![heads, spec.hidden]),
        (BlockTensor::DeltaConvolution, vec![delta.channels(), delta.taps]),
        (BlockTensor::DeltaDecay, vec![heads]),
        (BlockTensor::DeltaStepBias, vec![heads]),
        (BlockTensor::DeltaNorm, vec![delta.value_dim]),
        (BlockTensor::DeltaOutput, vec![spec.hidden, delta.outputs()]),
    ]
}

/// The router's matrix.
#[must_use]
pub fn router(experts: Experts) -> BlockTensor {
    match (experts.biased, experts.beside) {
        (true, _) => BlockTensor::BiasedRouter,
        (false, Some(_)) => BlockTensor::ScaledRouter,
        (false, None) => BlockTensor::Router,
    }
}

/// The router, and each expert's tensors or those of all.
fn expert_tensors(spec: &DecoderSpec, experts: Experts) -> Vec<(BlockTensor, Vec<usize>)> {
    let mut tensors = vec![(router(experts), vec![experts.count, spec.hidden])];
    if experts.scoring == Scoring::Sigmoid {
        tensors.push((BlockTensor::ChoiceBias, vec![experts.count]));
    }
    let (hidden, wide) = (spec.hidden, spec.intermediate);
    let stacked = |inner: Inner| {
        let [outputs, inputs] = inner.shape(hidden, wide);
        (BlockTensor::Experts(inner), vec![experts.count, outputs, inputs])
    };
    let of = |expert: usize| {
        Inner::ALL.map(|inner| (BlockTensor::Expert(expert, inner), inner.shape(hidden, wide).to_vec()))
    };
    match spec.layout.experts {
        ExpertTensors::Stacked => tensors.extend(Inner::ALL.map(stacked)),
        ExpertTensors::StackedFused | ExpertTensors::StackedInTurns => {
            tensors.push((BlockTensor::ExpertsGateUp, vec![experts.count, 2 * wide, hidden]));
            tensors.push(stacked(Inner::Down));
        }
        ExpertTensors::Separate => tensors.extend((0..experts.count).flat_map(of)),
    }
    if experts.biased {
        tensors.push((BlockTensor::RouterBias, vec![experts.count]));
        let of = |inner: Inner| (BlockTensor::ExpertsBias(inner), vec![experts.count, inner.shape(hidden, wide)[0]]);
        if spec.layout.experts == ExpertTensors::StackedInTurns {
            tensors.push((BlockTensor::ExpertsGateUpBias, vec![experts.count, 2 * wide]));
            tensors.push(of(Inner::Down));
        } else {
            tensors.extend(Inner::ALL.map(of));
        }
    }
    if experts.beside.is_some() {
        let norms = [
            BlockTensor::RouterScale,
            BlockTensor::BesideOutputNorm,
            BlockTensor::ExpertsInputNorm,
            BlockTensor::ExpertsOutputNorm,
        ];
        tensors.extend(norms.map(|norm| (norm, vec![hidden])));
        tensors.push((BlockTensor::ExpertScales, vec![experts.count]));
    }
    if let Some(shared) = experts.shared {
        tensors.push((BlockTensor::SharedExpertGate, vec![hidden]));
        let of = |inner: Inner| (BlockTensor::SharedExpert(inner), inner.shape(hidden, shared).to_vec());
        tensors.extend(Inner::ALL.map(of));
    }
    tensors
}
