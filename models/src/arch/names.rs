//! How the two kinds of file call a decoder's tensors.

use crate::spec::{Bias, DecoderSpec, Output, Projections, QkNorm};
use crate::weights::Weights;

/// A tensor by its part in the decoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name {
    /// `[vocab, hidden]`
    Embedding,
    /// `[hidden]`
    OutputNorm,
    /// `[vocab, hidden]`
    Output,
    /// A tensor of block `.0`.
    Block(usize, Part),
}

/// A tensor by its part in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// `[hidden]`
    AttentionNorm,
    /// `[heads * head_dim, hidden]`
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
    /// `[intermediate, hidden]`
    Gate,
    /// `[intermediate, hidden]`
    Up,
    /// Gate and up under one another: `[2 * intermediate, hidden]`
    GateUp,
    /// `[hidden, intermediate]`
    Down,
}

/// Which file's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Naming {
    /// llama.cpp's.
    Gguf,
    /// transformers'.
    HuggingFace,
}

impl Naming {
    /// The names that `weights` use.
    #[must_use]
    pub fn of(weights: &Weights) -> Self {
        match weights {
            Weights::Gguf(_) | Weights::Random(_) => Self::Gguf,
            Weights::Safetensors(_) => Self::HuggingFace,
        }
    }

    /// The tensor's name in the file.
    #[must_use]
    pub fn name(self, name: Name) -> String {
        match (self, name) {
            (Self::Gguf, Name::Embedding) => "token_embd.weight".into(),
            (Self::Gguf, Name::OutputNorm) => "output_norm.weight".into(),
            (Self::Gguf, Name::Output) => "output.weight".into(),
            (Self::Gguf, Name::Block(i, part)) => format!("blk.{i}.{}", part.names().0),
            (Self::HuggingFace, Name::Embedding) => "model.embed_tokens.weight".into(),
            (Self::HuggingFace, Name::OutputNorm) => "model.norm.weight".into(),
            (Self::HuggingFace, Name::Output) => "lm_head.weight".into(),
            (Self::HuggingFace, Name::Block(i, part)) => format!("model.layers.{i}.{}", part.names().1),
        }
    }
}

impl Part {
    /// In a GGUF, in a transformers folder.
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
            Self::Gate => ("ffn_gate.weight", "mlp.gate_proj.weight"),
            Self::Up => ("ffn_up.weight", "mlp.up_proj.weight"),
            // llama.cpp has no name for the two together: a tensor of twice the rows under the name of one.
            Self::GateUp => ("ffn_up.weight", "mlp.gate_up_proj.weight"),
            Self::Down => ("ffn_down.weight", "mlp.down_proj.weight"),
        }
    }
}

/// A projection as rows of a tensor of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// The tensor.
    pub part: Part,
    /// Its rows, which may be more than the projection's.
    pub tensor_rows: usize,
    /// The projection's first.
    pub first: usize,
    /// The projection's number.
    pub rows: usize,
}

impl Piece {
    /// Where `spec`'s file keeps query, key, value, gate or up; any other part has a tensor of its own.
    #[must_use]
    pub fn of(spec: &DecoderSpec, part: Part) -> Self {
        let (q, kv, wide) = (spec.heads * spec.head_dim, spec.kv_heads * spec.head_dim, spec.intermediate);
        let rows = match part {
            Part::Query => q,
            Part::Key | Part::Value => kv,
            Part::Gate | Part::Up => wide,
            Part::QueryKeyValue => q + 2 * kv,
            Part::GateUp => 2 * wide,
            _ => spec.hidden,
        };
        let (whole, tensor_rows, first) = match (spec.layout.projections, part) {
            (Projections::Fused, Part::Query) => (Part::QueryKeyValue, q + 2 * kv, 0),
            (Projections::Fused, Part::Key) => (Part::QueryKeyValue, q + 2 * kv, q),
            (Projections::Fused, Part::Value) => (Part::QueryKeyValue, q + 2 * kv, q + kv),
            (Projections::Fused, Part::Gate) => (Part::GateUp, 2 * wide, 0),
            (Projections::Fused, Part::Up) => (Part::GateUp, 2 * wide, wide),
            _ => (part, rows, 0),
        };
        Self { part: whole, tensor_rows, first, rows }
    }
}

/// Every tensor of `spec`'s file with its shape, row-major, outermost first; made as they are asked for.
pub fn tensors(spec: &DecoderSpec) -> impl Iterator<Item = (Name, Vec<usize>)> {
    let parts = block_tensors(spec);
    let block = move |i| parts.clone().into_iter().map(move |(part, shape)| (Name::Block(i, part), shape));
    top_tensors(spec).chain((0..spec.layers).flat_map(block))
}

/// The tensors outside all blocks.
pub fn top_tensors(spec: &DecoderSpec) -> impl Iterator<Item = (Name, Vec<usize>)> + use<> {
    let matrix = vec![spec.vocab, spec.hidden];
    let own = (spec.output == Output::Own).then(|| (Name::Output, matrix.clone()));
    [(Name::Embedding, matrix), (Name::OutputNorm, vec![spec.hidden])].into_iter().chain(own)
}

/// The tensors of one block.
#[must_use]
pub fn block_tensors(spec: &DecoderSpec) -> Vec<(Part, Vec<usize>)> {
    let (q, kv) = (spec.heads * spec.head_dim, spec.kv_heads * spec.head_dim);
    let mut tensors = vec![
        (Part::AttentionNorm, vec![spec.hidden]),
        (Part::AttentionOutput, vec![spec.hidden, q]),
        (Part::FeedForwardNorm, vec![spec.hidden]),
        (Part::Down, vec![spec.hidden, spec.intermediate]),
    ];
    let inward: &[Part] = match spec.layout.projections {
        Projections::Separate => &[Part::Query, Part::Key, Part::Value, Part::Gate, Part::Up],
        Projections::Fused => &[Part::QueryKeyValue, Part::GateUp],
    };
    tensors.extend(inward.iter().map(|&part| (part, vec![Piece::of(spec, part).rows, spec.hidden])));
    if spec.bias != Bias::None {
        tensors.extend([(Part::QueryBias, vec![q]), (Part::KeyBias, vec![kv]), (Part::ValueBias, vec![kv])]);
    }
    if spec.bias == Bias::Attention {
        tensors.push((Part::AttentionOutputBias, vec![spec.hidden]));
    }
    if spec.qk_norm == QkNorm::PerHead {
        tensors.extend([(Part::QueryNorm, vec![spec.head_dim]), (Part::KeyNorm, vec![spec.head_dim])]);
    }
    tensors
}
