//! How the two kinds of file call a decoder's tensors.

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
    /// `[kv_heads * head_dim, hidden]`
    Key,
    /// `[kv_heads * head_dim]`
    KeyBias,
    /// `[kv_heads * head_dim, hidden]`
    Value,
    /// `[kv_heads * head_dim]`
    ValueBias,
    /// `[hidden, heads * head_dim]`
    AttentionOutput,
    /// `[hidden]`
    FeedForwardNorm,
    /// `[intermediate, hidden]`
    Gate,
    /// `[intermediate, hidden]`
    Up,
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
            Weights::Gguf(_) => Self::Gguf,
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
            Self::Key => ("attn_k.weight", "self_attn.k_proj.weight"),
            Self::KeyBias => ("attn_k.bias", "self_attn.k_proj.bias"),
            Self::Value => ("attn_v.weight", "self_attn.v_proj.weight"),
            Self::ValueBias => ("attn_v.bias", "self_attn.v_proj.bias"),
            Self::AttentionOutput => ("attn_output.weight", "self_attn.o_proj.weight"),
            Self::FeedForwardNorm => ("ffn_norm.weight", "post_attention_layernorm.weight"),
            Self::Gate => ("ffn_gate.weight", "mlp.gate_proj.weight"),
            Self::Up => ("ffn_up.weight", "mlp.up_proj.weight"),
            Self::Down => ("ffn_down.weight", "mlp.down_proj.weight"),
        }
    }
}
