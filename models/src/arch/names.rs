//! Names of a decoder's tensors in GGUF files and in transformers folders.

use crate::spec::{Bias, DecoderSpec, ExpertTensors, Experts, Norms, Output, Projections, QkNorm};
use moot_kernels::ops::delta_net::DeltaShape;

/// A tensor of a decoder, by its function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name {
    /// `[vocab, hidden]`
    Embedding,
    /// `[hidden]`
    OutputNorm,
    /// `[vocab, hidden]`
    Output,
    /// A tensor of block `.0`.
    Block(usize, BlockTensor),
}

/// A tensor of a block, by its function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockTensor {
    /// `[hidden]`
    AttentionNorm,
    /// `[heads * head_dim, hidden]`; of gated attention a head's queries and then its gates, `[2 * heads * head_dim,
    /// hidden]`.
    Query,
    /// `[heads * head_dim]`
    QueryBias,
    /// `[head_dim]`
    QueryNorm,
    /// `[kv_heads * head_dim, hidden]`
    Key,
    /// `[kv_heads * head_dim]`
    KeyBias,
    /// `[head_dim]`
    KeyNorm,
    /// `[kv_heads * head_dim, hidden]`
    Value,
    /// `[kv_heads * head_dim]`
    ValueBias,
    /// Query, key and value under one another: `[(heads + 2 * kv_heads) * head_dim, hidden]`
    QueryKeyValue,
    /// `[hidden, heads * head_dim]`
    AttentionOutput,
    /// `[hidden]`
    AttentionOutputBias,
    /// `[hidden]`
    FeedForwardNorm,
    /// `[hidden]`: behind attention, where there are norms around it.
    AttentionOutputNorm,
    /// `[hidden]`: before the feed-forward, where there are norms around it.
    FeedForwardInputNorm,
    /// `[hidden]`: behind the feed-forward, where there are norms around it.
    FeedForwardOutputNorm,
    /// `[intermediate, hidden]`
    Gate,
    /// `[intermediate, hidden]`
    Up,
    /// Gate and up under one another: `[2 * intermediate, hidden]`
    GateUp,
    /// `[hidden, intermediate]`
    Down,
    /// Queries, keys and values of a recurrent layer: `[channels, hidden]`
    DeltaQkv,
    /// `[value_heads * value_dim, hidden]`
    DeltaGate,
    /// `[value_heads, hidden]`
    DeltaRate,
    /// `[value_heads, hidden]`
    DeltaStep,
    /// `[channels, taps]`
    DeltaConvolution,
    /// `[value_heads]`: in a GGUF `-exp(A_log)`, in a folder `A_log`.
    DeltaDecay,
    /// `[value_heads]`
    DeltaStepBias,
    /// `[value_dim]`
    DeltaNorm,
    /// `[hidden, value_heads * value_dim]`
    DeltaOutput,
    /// `[experts, hidden]`
    Router,
    /// A projection of expert `.0`, as [`Self::Gate`], [`Self::Up`] or [`Self::Down`].
    Expert(usize, Inner),
    /// A projection of all experts, one after the other: `[experts, outputs, inputs]`.
    Experts(Inner),
}

/// A projection of a feed-forward.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inner {
    /// `[intermediate, hidden]`
    Gate,
    /// `[intermediate, hidden]`
    Up,
    /// `[hidden, intermediate]`
    Down,
}

impl Inner {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Gate, Self::Up, Self::Down];

    fn name(self) -> &'static str {
        match self {
            Self::Gate => "gate",
            Self::Up => "up",
            Self::Down => "down",
        }
    }

    /// Outputs and inputs of one expert.
    #[must_use]
    pub fn shape(self, spec: &DecoderSpec) -> [usize; 2] {
        match self {
            Self::Gate | Self::Up => [spec.intermediate, spec.hidden],
            Self::Down => [spec.hidden, spec.intermediate],
        }
    }
}

/// The naming convention of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Naming {
    /// llama.cpp's.
    Gguf,
    /// transformers'.
    HuggingFace,
    /// transformers', of the text of a model that takes images too.
    HuggingFaceText,
}

impl Naming {
    /// The tensor's name in the file.
    #[must_use]
    pub fn name(self, name: Name) -> String {
        match self {
            Self::Gguf => gguf_name(name),
            Self::HuggingFace => hugging_face_name("model", name),
            Self::HuggingFaceText => hugging_face_name("model.language_model", name),
        }
    }

    /// The tensor's shape in the file, of its shape by [`tensors`].
    #[must_use]
    pub fn shape(self, name: Name, shape: Vec<usize>) -> Vec<usize> {
        match (self, name, &shape[..]) {
            // A convolution of one input a channel.
            (Self::HuggingFace | Self::HuggingFaceText, Name::Block(_, BlockTensor::DeltaConvolution), [out, taps]) => {
                vec![*out, 1, *taps]
            }
            _ => shape,
        }
    }
}

fn gguf_name(name: Name) -> String {
    match name {
        Name::Embedding => "token_embd.weight".into(),
        Name::OutputNorm => "output_norm.weight".into(),
        Name::Output => "output.weight".into(),
        Name::Block(i, BlockTensor::Experts(inner)) => format!("blk.{i}.ffn_{}_exps.weight", inner.name()),
        Name::Block(i, tensor) => format!("blk.{i}.{}", tensor.names().0),
    }
}

fn hugging_face_name(prefix: &str, name: Name) -> String {
    match name {
        Name::Embedding => format!("{prefix}.embed_tokens.weight"),
        Name::OutputNorm => format!("{prefix}.norm.weight"),
        Name::Output => "lm_head.weight".into(),
        Name::Block(i, BlockTensor::Expert(expert, inner)) => {
            format!("{prefix}.layers.{i}.mlp.experts.{expert}.{}_proj.weight", inner.name())
        }
        Name::Block(i, tensor) => format!("{prefix}.layers.{i}.{}", tensor.names().1),
    }
}

impl BlockTensor {
    /// Its name within a block: in a GGUF, in a transformers folder.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::AttentionNorm => ("attn_norm.weight", "input_layernorm.weight"),
            Self::Query => ("attn_q.weight", "self_attn.q_proj.weight"),
            Self::QueryBias => ("attn_q.bias", "self_attn.q_proj.bias"),
            Self::QueryNorm => ("attn_q_norm.weight", "self_attn.q_norm.weight"),
            Self::Key => ("attn_k.weight", "self_attn.k_proj.weight"),
            Self::KeyBias => ("attn_k.bias", "self_attn.k_proj.bias"),
            Self::KeyNorm => ("attn_k_norm.weight", "self_attn.k_norm.weight"),
            Self::Value => ("attn_v.weight", "self_attn.v_proj.weight"),
            Self::ValueBias => ("attn_v.bias", "self_attn.v_proj.bias"),
            Self::QueryKeyValue => ("attn_qkv.weight", "self_attn.qkv_proj.weight"),
            Self::AttentionOutput => ("attn_output.weight", "self_attn.o_proj.weight"),
            Self::AttentionOutputBias => ("attn_output.bias", "self_attn.o_proj.bias"),
            Self::FeedForwardNorm => ("ffn_norm.weight", "post_attention_layernorm.weight"),
            Self::AttentionOutputNorm => ("post_attention_norm.weight", "post_attention_layernorm.weight"),
            Self::FeedForwardInputNorm => ("ffn_norm.weight", "pre_feedforward_layernorm.weight"),
            Self::FeedForwardOutputNorm => ("post_ffw_norm.weight", "post_feedforward_layernorm.weight"),
            Self::Gate => ("ffn_gate.weight", "mlp.gate_proj.weight"),
            Self::Up => ("ffn_up.weight", "mlp.up_proj.weight"),
            // llama.cpp has no name for the two together: a tensor of twice the rows under the name of one.
            Self::GateUp => ("ffn_up.weight", "mlp.gate_up_proj.weight"),
            Self::Down => ("ffn_down.weight", "mlp.down_proj.weight"),
            Self::DeltaQkv => ("attn_qkv.weight", "linear_attn.in_proj_qkv.weight"),
            Self::DeltaGate => ("attn_gate.weight", "linear_attn.in_proj_z.weight"),
            Self::DeltaRate => ("ssm_beta.weight", "linear_attn.in_proj_b.weight"),
            Self::DeltaStep => ("ssm_alpha.weight", "linear_attn.in_proj_a.weight"),
            Self::DeltaConvolution => ("ssm_conv1d.weight", "linear_attn.conv1d.weight"),
            Self::DeltaDecay => ("ssm_a", "linear_attn.A_log"),
            Self::DeltaStepBias => ("ssm_dt.bias", "linear_attn.dt_bias"),
            Self::DeltaNorm => ("ssm_norm.weight", "linear_attn.norm.weight"),
            Self::DeltaOutput => ("ssm_out.weight", "linear_attn.out_proj.weight"),
            Self::Router => ("ffn_gate_inp.weight", "mlp.gate.weight"),
            // Each kind of file stores experts in its own way, so these are no file's.
            Self::Expert(..) => ("expert of a GGUF", "expert"),
            Self::Experts(_) => ("experts", "experts of a folder"),
        }
    }
}

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
        let (q, kv, wide) = (spec.heads * spec.head_dim, spec.kv_heads * spec.head_dim, spec.intermediate);
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
            (Projections::Fused, BlockTensor::Gate) => (BlockTensor::GateUp, 2 * wide, 0),
            (Projections::Fused, BlockTensor::Up) => (BlockTensor::GateUp, 2 * wide, wide),
            _ => (wanted, rows, 0),
        };
        Self { tensor, tensor_rows, first, rows }
    }
}

/// Every tensor of `spec`'s file with its shape, row-major, outermost first; made as they are asked for.
pub fn tensors(spec: &DecoderSpec) -> impl Iterator<Item = (Name, Vec<usize>)> {
    let (attention, recurrent) = (block_tensors(spec, None), block_tensors(spec, spec.delta));
    let block = move |i: usize| {
        let of_block = if spec.kind(i).recurrent { &recurrent } else { &attention };
        of_block.clone().into_iter().map(move |(tensor, shape)| (Name::Block(i, tensor), shape))
    };
    top_tensors(spec).chain((0..spec.layers).flat_map(block))
}

/// The norm between a block's two halves.
#[must_use]
pub fn feed_forward_norm(spec: &DecoderSpec) -> BlockTensor {
    match spec.norms {
        // Files of models with recurrent layers call it so, although it is no norm of attention's result.
        Norms::Before if spec.delta.is_some() => BlockTensor::AttentionOutputNorm,
        Norms::Before => BlockTensor::FeedForwardNorm,
        Norms::Around => BlockTensor::FeedForwardInputNorm,
    }
}

/// The tensors outside all blocks.
fn top_tensors(spec: &DecoderSpec) -> impl Iterator<Item = (Name, Vec<usize>)> + use<> {
    let matrix = vec![spec.vocab, spec.hidden];
    let own = (spec.output == Output::Own).then(|| (Name::Output, matrix.clone()));
    [(Name::Embedding, matrix), (Name::OutputNorm, vec![spec.hidden])].into_iter().chain(own)
}

/// The tensors of one block, which has a recurrent state by `delta` or else attention.
#[must_use]
fn block_tensors(spec: &DecoderSpec, delta: Option<DeltaShape>) -> Vec<(BlockTensor, Vec<usize>)> {
    let q = spec.heads * spec.head_dim;
    let mut tensors = vec![(BlockTensor::AttentionNorm, vec![spec.hidden])];
    match delta {
        Some(delta) => tensors.extend(delta_tensors(spec, delta)),
        None => tensors.push((BlockTensor::AttentionOutput, vec![spec.hidden, q])),
    }
    tensors.push((feed_forward_norm(spec), vec![spec.hidden]));
    match spec.experts {
        None => tensors.push((BlockTensor::Down, vec![spec.hidden, spec.intermediate])),
        Some(experts) => tensors.extend(expert_tensors(spec, experts)),
    }
    let inward: (&[BlockTensor], &[BlockTensor]) = match spec.layout.projections {
        Projections::Separate => {
            (&[BlockTensor::Query, BlockTensor::Key, BlockTensor::Value], &[BlockTensor::Gate, BlockTensor::Up])
        }
        Projections::Fused => (&[BlockTensor::QueryKeyValue], &[BlockTensor::GateUp]),
    };
    let attention = if delta.is_none() { inward.0 } else { &[] };
    let gate_up = if spec.experts.is_none() { inward.1 } else { &[] };
    let projection = |&tensor: &BlockTensor| (tensor, vec![ProjectionRows::of(spec, tensor).rows, spec.hidden]);
    tensors.extend(attention.iter().chain(gate_up).map(projection));
    if delta.is_none() {
        tensors.extend(attention_vectors(spec));
    }
    if spec.norms == Norms::Around {
        let behind = [BlockTensor::AttentionOutputNorm, BlockTensor::FeedForwardOutputNorm];
        tensors.extend(behind.map(|tensor| (tensor, vec![spec.hidden])));
    }
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
    if spec.qk_norm == QkNorm::PerHead {
        tensors.extend([(BlockTensor::QueryNorm, vec![spec.head_dim]), (BlockTensor::KeyNorm, vec![spec.head_dim])]);
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

/// The router, and each expert's tensors or those of all.
fn expert_tensors(spec: &DecoderSpec, experts: Experts) -> Vec<(BlockTensor, Vec<usize>)> {
    let mut tensors = vec![(BlockTensor::Router, vec![experts.count, spec.hidden])];
    let stacked = |inner: Inner| {
        let [outputs, inputs] = inner.shape(spec);
        (BlockTensor::Experts(inner), vec![experts.count, outputs, inputs])
    };
    let of = |expert: usize| Inner::ALL.map(|inner| (BlockTensor::Expert(expert, inner), inner.shape(spec).to_vec()));
    match spec.layout.experts {
        ExpertTensors::Stacked => tensors.extend(Inner::ALL.map(stacked)),
        ExpertTensors::Separate => tensors.extend((0..experts.count).flat_map(of)),
    }
    tensors
}
