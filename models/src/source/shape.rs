//! A model's shape as in its config.json, so that memory can be planned before the model is fetched.

use crate::arch::{Config, spec_of_config};
use crate::error::Result;
use crate::spec::DecoderSpec;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Fields of a config.json, with the same names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// The architecture: "llama", "qwen2".
    pub model_type: String,
    /// Width of the residual stream.
    pub hidden_size: usize,
    /// Width between the feed-forward's layers.
    pub intermediate_size: usize,
    /// Transformer blocks.
    pub num_hidden_layers: usize,
    /// Query heads.
    pub num_attention_heads: usize,
    /// Key and value heads.
    pub num_key_value_heads: usize,
    /// Width of a head if it is not `hidden_size / num_attention_heads`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head_dim: Option<usize>,
    /// Rows of the embedding.
    pub vocab_size: usize,
    /// Context length in tokens.
    pub max_position_embeddings: usize,
    /// Added under the norm's root.
    pub rms_norm_eps: f64,
    /// Base of the rotary embedding.
    pub rope_theta: f64,
    /// Scaling of the rotary embedding, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rope_scaling: Option<RopeScaling>,
    /// Attention window in tokens, if smaller than the context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sliding_window: Option<usize>,
    /// Scores are divided by its root, where that is another number than a head's width (Gemma 3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query_pre_attn_scalar: Option<usize>,
    /// The factor of the embedding's rows (Granite, as the next three).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedding_multiplier: Option<f64>,
    /// The factor of attention's scores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attention_multiplier: Option<f64>,
    /// The factor of what each half of a block adds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub residual_multiplier: Option<f64>,
    /// Logits are divided by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logits_scaling: Option<f64>,
    /// Experts of a layer, in a mixture of experts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_experts: Option<usize>,
    /// Experts that a token goes through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_experts_per_tok: Option<usize>,
    /// Width between the layers of an expert.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moe_intermediate_size: Option<usize>,
    /// Width between the layers of the expert that every token goes through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_expert_intermediate_size: Option<usize>,
    /// The first layers, which have no experts (LFM2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_dense_layers: Option<usize>,
    /// Experts that a token goes through, beside the feed-forward of each layer (Gemma 4, as the next nine).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_k_experts: Option<usize>,
    /// Whether layers have experts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enable_moe_block: Option<bool>,
    /// Width of a head in full layers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub global_head_dim: Option<usize>,
    /// Key and value heads of full layers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_global_key_value_heads: Option<usize>,
    /// Whether values of full layers are their keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attention_k_eq_v: Option<bool>,
    /// The last layers, which have no keys and values of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_kv_shared_layers: Option<usize>,
    /// Whether the feed-forward of these is twice as wide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub use_double_wide_mlp: Option<bool>,
    /// Numbers of the vector that a token brings to each layer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hidden_size_per_layer_input: Option<usize>,
    /// The cap of logits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_logit_softcapping: Option<f64>,
    /// `full_attention` or `sliding_attention`, by layer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layer_types: Option<Vec<String>>,
    /// Whether the weights of the used experts are divided by their sum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub norm_topk_prob: Option<bool>,
    /// The part of a head that is rotated, where that is not all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial_rotary_factor: Option<f64>,
    /// Heads of queries and keys in recurrent layers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub linear_num_key_heads: Option<usize>,
    /// Heads of values in recurrent layers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub linear_num_value_heads: Option<usize>,
    /// Numbers of a query or key in recurrent layers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub linear_key_head_dim: Option<usize>,
    /// Numbers of a value in recurrent layers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub linear_value_head_dim: Option<usize>,
    /// Tokens that the convolution of recurrent layers takes in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub linear_conv_kernel_dim: Option<usize>,
    /// Of this many layers one has attention, the others are recurrent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_attention_interval: Option<usize>,
    /// The layers with attention, from 0 on, where the others are short convolutions (LFM2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_attn_idxs: Option<Vec<usize>>,
    /// Tokens that a short convolution takes in.
    #[serde(default, rename = "conv_L_cache", skip_serializing_if = "Option::is_none")]
    pub conv_l_cache: Option<usize>,
    /// False where `intermediate_size` is LFM2's width itself, and not a number that the width is computed from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_auto_adjust_ff_dim: Option<bool>,
    /// Whether the output layer shares the embedding's weights.
    pub tie_word_embeddings: bool,
}

/// `rope_scaling` of Llama 3.1 and later, of Gemma 3, of Ministral 3, of OLMo 3 and of gpt-oss.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RopeScaling {
    /// "llama3", "linear" or "yarn".
    pub rope_type: String,
    /// Wavelengths beyond the low-frequency bound are this much longer.
    pub factor: f64,
    /// `original_max_position_embeddings` over it bounds the long wavelengths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low_freq_factor: Option<f64>,
    /// `original_max_position_embeddings` over it bounds the short ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high_freq_factor: Option<f64>,
    /// Context length before scaling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_max_position_embeddings: Option<usize>,
    /// Whether YaRN blends from a whole pair on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncate: Option<bool>,
}

/// What a row's [`Shape`] was compared with or taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ShapeFrom {
    /// Not recorded.
    #[default]
    Unchecked,
    /// The model's card, listings of its files, other programs' tables or defaults.
    Description,
    /// The model's GGUF file.
    Gguf,
}

impl ShapeFrom {
    /// Whether it was compared with the model's own file.
    #[must_use]
    pub fn is_checked(self) -> bool {
        self == Self::Gguf
    }

    /// A description, one line.
    #[must_use]
    pub fn about(self) -> &'static str {
        match self {
            Self::Unchecked => "source not recorded",
            Self::Description => "from model cards, listings or other programs; not checked against the model's files",
            Self::Gguf => "that of the model's GGUF file",
        }
    }
}

impl Shape {
    /// As a config.json.
    #[must_use]
    pub fn config(&self) -> serde_json::Value {
        serde_json::to_value(self).expect("numbers and strings are JSON (bug)")
    }

    /// The decoder of this shape.
    ///
    /// # Errors
    /// As [`spec_of_config`].
    pub fn spec(&self) -> Result<DecoderSpec> {
        spec_of_config(&Config::of(Path::new("models/catalog.toml"), self.config())?)
    }

    /// Width of a head.
    #[must_use]
    pub fn head_dim(&self) -> usize {
        self.head_dim.unwrap_or(self.hidden_size / self.num_attention_heads.max(1))
    }

    /// The first inconsistent field.
    pub(super) fn wrong(&self) -> Option<&'static str> {
        let heads = (self.num_attention_heads, self.num_key_value_heads);
        let sizes = [
            ("shape.hidden_size", self.hidden_size),
            ("shape.intermediate_size", self.intermediate_size),
            ("shape.num_hidden_layers", self.num_hidden_layers),
            ("shape.num_attention_heads", heads.0),
            ("shape.num_key_value_heads", heads.1),
            ("shape.vocab_size", self.vocab_size),
            ("shape.max_position_embeddings", self.max_position_embeddings),
            ("shape.head_dim", self.head_dim()),
            ("shape.conv_L_cache", self.conv_l_cache.unwrap_or(1)),
        ];
        let zero = sizes.into_iter().find(|(_, size)| *size == 0).map(|(field, _)| field);
        zero.or_else(|| (!heads.0.is_multiple_of(heads.1)).then_some("shape.num_key_value_heads"))
    }
}

#[cfg(test)]
mod tests {
    use super::ShapeFrom;
    use crate::source::Catalog;

    /// Rows and families of rows that are from descriptions, but for those that were read.
    const DESCRIBED: [&str; 16] = [
        "qwen2.5-1.5b",
        "qwen2.5-7b",
        "llama-3.1-8b",
        "qwen3-30b-a3b",
        "qwen3.5-",
        "qwen3.6-",
        "qwen3.8-",
        "gpt-oss-",
        "ministral-",
        "devstral-",
        "gemma-",
        "smollm3-",
        "olmo-",
        "granite-",
        "glm-",
        "lfm2",
    ];

    /// A mark is a claim: one that changes in the catalog changes here.
    #[test]
    fn marks_of_shapes_are_those_listed_here() {
        let catalog = Catalog::embedded();
        let of = |from: ShapeFrom| -> Vec<&str> {
            let rows = catalog.models.iter().filter(|row| row.shape_from == from);
            rows.map(|row| row.alias.as_str()).collect()
        };
        let read = ["smollm2-135m", "qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b", "gemma-3-270m-base"];
        assert_eq!(of(ShapeFrom::Gguf), read);
        for row in &catalog.models {
            let described = DESCRIBED.iter().any(|name| row.alias.starts_with(name));
            let expected = described && !read.contains(&row.alias.as_str());
            assert_eq!(row.shape_from == ShapeFrom::Description, expected, "{}", row.alias);
            // The file that was read is the catalog's.
            assert!(row.shape_from != ShapeFrom::Gguf || row.sha256.is_some(), "{}", row.alias);
        }
    }
}
