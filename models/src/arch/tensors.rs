//! The tensors of a spec, with their shapes.

use super::names::{BlockTensor, Inner, Name};
use crate::spec::{
    Bias, DecoderSpec, ExpertTensors, Experts, NormNames, Norms, Output, Projections, QkNorm, Recurrence, Scoring,
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
    /// Where `spec`'s file stores query, key, value, gate or up; any other tensor is stored by itself.
    #[must_use]
    pub fn of(spec: &DecoderSpec, wanted: BlockTensor) -> Self {
        let (q, kv, wide) = (spec.heads * spec.head_dim, spec.kv_heads * spec.head_dim, spec.dense_width());
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
    // With attention and with a recurrent state; of each, without experts and with them.
    let blocks = [None, spec.recurrence].map(|mixer| [None, spec.experts].map(|of| block_tensors(spec, mixer, of)));
    let block = move |i: usize| {
        let of_block = &blocks[usize::from(spec.kind(i).recurrent)][usize::from(spec.experts_of(i).is_some())];
        of_block.clone().into_iter().map(move |(tensor, shape)| (Name::Block(i, tensor), shape))
    };
    top_tensors(spec).chain((0..spec.layers).flat_map(block))
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
fn top_tensors(spec: &DecoderSpec) -> impl Iterator<Item = (Name, Vec<usize>)> + use<> {
    let matrix = vec![spec.vocab, spec.hidden];
    let own = (spec.output == Output::Own).then(|| (Name::Output, matrix.clone()));
    [(Name::Embedding, matrix), (Name::OutputNorm, vec![spec.hidden])].into_iter().chain(own)
}

/// The tensors of one block, which has a recurrent state by `recurrence` or else attention.
#[must_use]
fn block_tensors(
    spec: &DecoderSpec,
    recurrence: Option<Recurrence>,
    experts: Option<Experts>,
) -> Vec<(BlockTensor, Vec<usize>)> {
    let q = spec.heads * spec.head_dim;
    let norms = BlockNorms::of(spec);
    let norm = |norm: Option<BlockTensor>| norm.map(|norm| (norm, vec![spec.hidden]));
    let mut tensors: Vec<_> = norm(norms.mixer).into_iter().collect();
    match recurrence {
        Some(Recurrence::Delta(delta)) => tensors.extend(delta_tensors(spec, delta)),
        Some(Recurrence::ShortConv(conv)) => tensors.extend([
            (BlockTensor::ShortConvInputs, vec![3 * conv.channels, spec.hidden]),
            (BlockTensor::ShortConvolution, vec![conv.channels, conv.taps]),
            (BlockTensor::ShortConvOutput, vec![spec.hidden, conv.channels]),
        ]),
        None => tensors.push((BlockTensor::AttentionOutput, vec![spec.hidden, q])),
    }
    tensors.extend(norm(norms.feed_forward));
    match experts {
        None => tensors.push((BlockTensor::Down, vec![spec.hidden, spec.dense_width()])),
        Some(experts) => tensors.extend(expert_tensors(spec, experts)),
    }
    let separate: &[BlockTensor] = &[BlockTensor::Query, BlockTensor::Key, BlockTensor::Value];
    let (attention, gate_up): (_, &[BlockTensor]) = match spec.layout.projections {
        Projections::Separate => (separate, &[BlockTensor::Gate, BlockTensor::Up]),
        Projections::Fused => (&[BlockTensor::QueryKeyValue][..], &[BlockTensor::GateUp]),
        Projections::FusedGateUp => (separate, &[BlockTensor::GateUp]),
    };
    let attention = if recurrence.is_none() { attention } else { &[] };
    let gate_up = if experts.is_none() { gate_up } else { &[] };
    let projection = |&tensor: &BlockTensor| (tensor, vec![ProjectionRows::of(spec, tensor).rows, spec.hidden]);
    tensors.extend(attention.iter().chain(gate_up).map(projection));
    if recurrence.is_none() {
        tensors.extend(attention_vectors(spec));
    }
    tensors.extend([norms.mixer_output, norms.feed_forward_output].into_iter().filter_map(norm));
    tensors
}

/// The biases and the norms of heads in attention.
fn attention_vectors(spec: &DecoderSpec) -> Vec<(BlockTensor, Vec<usize>)> {
    let (q, kv) = (spec.heads * spec.head_dim, spec.kv_heads * spec.head_dim);
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
        QkNorm::PerHead => Some([spec.head_dim; 2]),
        QkNorm::Whole => Some([q, kv]),
    };
    if let Some([q, kv]) = widths {
        tensors.extend([(BlockTensor::QueryNorm, vec![q]), (BlockTensor::KeyNorm, vec![kv])]);
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
    if experts.biased { BlockTensor::BiasedRouter } else { BlockTensor::Router }
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
    if let Some(shared) = experts.shared {
        tensors.push((BlockTensor::SharedExpertGate, vec![hidden]));
        let of = |inner: Inner| (BlockTensor::SharedExpert(inner), inner.shape(hidden, shared).to_vec());
        tensors.extend(Inner::ALL.map(of));
    }
    tensors
}
