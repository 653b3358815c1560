//! The encoder families: from a config.json to an [`EncoderSpec`] and the names of its tensors.

pub(super) mod gguf;
mod specs;

use specs::HHEM;
pub(super) use specs::MOST;

use super::spec::EncoderSpec;
use crate::arch::Config;
use crate::error::{ModelError, Result};

/// One family.
#[derive(Debug)]
pub struct Family {
    /// `model_type` in config.json.
    pub name: &'static str,
    /// Prefix of the encoder's tensors in a file that also has a head.
    pub prefix: &'static str,
    /// Names of the encoder's tensors.
    pub names: Names,
    /// The token in front of every text, and the one behind it, where the tokenizer does not say it.
    pub ends: [&'static str; 2],
    /// Tokens between the texts of a pair, likewise: this many of the second of `ends`.
    pub between: usize,
    /// The mask token of the pre-training.
    pub mask: &'static str,
    /// The classification head.
    pub head: HeadOf,
    /// Prefixes of tensors that a file may hold and that are not read: heads of the pre-training, position ids.
    pub unused: &'static [&'static str],
    spec: fn(&Config) -> Result<EncoderSpec>,
}

/// Names of an encoder's tensors, without its prefix; those of a block without the block's.
#[derive(Debug, Clone, Copy)]
pub struct Names {
    /// The token embeddings.
    pub words: &'static str,
    /// The table of positions, where there is one.
    pub positions: &'static str,
    /// The table of segments, where there is one.
    pub segments: &'static str,
    /// The norm behind them.
    pub norm: &'static str,
    /// In front of a block's number.
    pub block: &'static str,
    /// The query, key and value projections.
    pub projections: Projections,
    /// The layer behind attention.
    pub attention_output: &'static str,
    /// The norm behind the attention's residual.
    pub attention_norm: &'static str,
    /// The first layer of the feed-forward.
    pub inner: &'static str,
    /// What its activations are multiplied by.
    pub gate: Gate,
    /// The last layer of the feed-forward.
    pub outer: &'static str,
    /// The norm that the next attention reads, or the encoder's output.
    pub outer_norm: OuterNorm,
    /// The numbers that are added to scores by the distance of two tokens; empty in families without them.
    pub bias: &'static str,
}

/// The second projection of a gated feed-forward.
#[derive(Debug, Clone, Copy)]
pub enum Gate {
    /// The feed-forward has none.
    None,
    /// The rows behind those of the first layer, in the same tensor.
    Behind,
    /// A tensor of its own.
    Own(&'static str),
}

/// Names of the query, key and value projections.
#[derive(Debug, Clone, Copy)]
pub enum Projections {
    /// One tensor each.
    Apart([&'static str; 3]),
    /// The rows of one tensor.
    Fused(&'static str),
}

/// Names of the norms behind the feed-forwards.
#[derive(Debug, Clone, Copy)]
pub enum OuterNorm {
    /// The block's own.
    Own(&'static str),
    /// The next block's; of the last block, the encoder's.
    Next {
        /// Of a block.
        block: &'static str,
        /// Of the encoder.
        last: &'static str,
    },
}

/// The classification head of a family.
#[derive(Debug, Clone, Copy)]
pub enum HeadOf {
    /// Two layers over a text's vector: the first token's, or the mean where config.json says so.
    Layers(HeadNames),
    /// One layer over the first token's vector. The pair is one text, written as the model was trained.
    Token(&'static str),
    /// One step of a decoder, whose logits of the words "0" and "1" are the classes (MiniCheck). The pair is one text too.
    Step,
}

/// The layers of [`HeadOf::Layers`].
#[derive(Debug, Clone, Copy)]
pub struct HeadNames {
    /// A layer from the hidden width to itself; under the encoder's prefix for BERT.
    pub dense: &'static str,
    /// Whether `dense` has a bias.
    pub bias: bool,
    /// The norm behind its activation.
    pub norm: Option<&'static str>,
    /// The layer that gives the logits.
    pub output: &'static str,
    /// Whether `dense` is followed by GELU, not by tanh.
    pub gelu: bool,
    /// The field of config.json that names this activation, where it does.
    pub activation: &'static str,
}

const BERT_NAMES: Names = Names {
    words: "embeddings.word_embeddings",
    positions: "embeddings.position_embeddings.weight",
    segments: "embeddings.token_type_embeddings.weight",
    norm: "embeddings.LayerNorm",
    block: "encoder.layer.",
    projections: Projections::Apart(["attention.self.query", "attention.self.key", "attention.self.value"]),
    attention_output: "attention.output.dense",
    attention_norm: "attention.output.LayerNorm",
    inner: "intermediate.dense",
    gate: Gate::None,
    outer: "output.dense",
    outer_norm: OuterNorm::Own("output.LayerNorm"),
    bias: "",
};
const T5_NAMES: Names = Names {
    words: "shared",
    positions: "",
    segments: "",
    norm: "encoder.block.0.layer.0.layer_norm",
    block: "encoder.block.",
    projections: Projections::Apart(["layer.0.SelfAttention.q", "layer.0.SelfAttention.k", "layer.0.SelfAttention.v"]),
    attention_output: "layer.0.SelfAttention.o",
    attention_norm: "layer.1.layer_norm",
    inner: "layer.1.DenseReluDense.wi_0",
    gate: Gate::Own("layer.1.DenseReluDense.wi_1"),
    outer: "layer.1.DenseReluDense.wo",
    outer_norm: OuterNorm::Next { block: "layer.0.layer_norm", last: "encoder.final_layer_norm" },
    bias: "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight",
};
const BERT_HEAD: HeadNames = HeadNames {
    dense: "bert.pooler.dense",
    bias: true,
    norm: None,
    output: "classifier",
    gelu: false,
    activation: "pooler_hidden_act",
};
const ROBERTA_HEAD: HeadNames = HeadNames { dense: "classifier.dense", output: "classifier.out_proj", ..BERT_HEAD };

const ROBERTA: Family = Family {
    name: "roberta",
    prefix: "roberta.",
    names: BERT_NAMES,
    ends: ["<s>", "</s>"],
    between: 2,
    mask: "<mask>",
    head: HeadOf::Layers(ROBERTA_HEAD),
    unused: &["pooler.", "roberta.pooler.", "lm_head.", "embeddings.position_ids", "roberta.embeddings.position_ids"],
    spec: |config| specs::roberta(config, "roberta"),
};
const T5: Family = Family {
    name: "t5",
    prefix: "",
    names: T5_NAMES,
    ends: ["</s>", "</s>"],
    between: 1,
    mask: "<extra_id_0>",
    head: HeadOf::Step,
    unused: &["encoder.embed_tokens.", "decoder.embed_tokens."],
    spec: specs::t5,
};

/// Every family there is.
pub const FAMILIES: [Family; 8] = [
    Family {
        name: "bert",
        prefix: "bert.",
        names: BERT_NAMES,
        ends: ["[CLS]", "[SEP]"],
        between: 1,
        mask: "[MASK]",
        head: HeadOf::Layers(BERT_HEAD),
        unused: &["pooler.", "bert.pooler.", "cls.", "embeddings.position_ids", "bert.embeddings.position_ids"],
        spec: specs::bert,
    },
    ROBERTA,
    Family { name: "xlm-roberta", spec: |config| specs::roberta(config, "xlm-roberta"), ..ROBERTA },
    Family {
        name: "deberta-v2",
        prefix: "deberta.",
        names: Names {
            projections: Projections::Apart([
                "attention.self.query_proj",
                "attention.self.key_proj",
                "attention.self.value_proj",
            ]),
            ..BERT_NAMES
        },
        ends: ["[CLS]", "[SEP]"],
        between: 1,
        mask: "[MASK]",
        head: HeadOf::Layers(HeadNames { dense: "pooler.dense", gelu: true, ..BERT_HEAD }),
        unused: &[
            "cls.",
            "lm_predictions.",
            "mask_predictions.",
            "embeddings.position_ids",
            "deberta.embeddings.position_ids",
            "deberta.embeddings.position_embeddings.",
            "embeddings.position_embeddings.",
        ],
        spec: specs::deberta,
    },
    Family {
        name: "modernbert",
        prefix: "model.",
        names: Names {
            words: "embeddings.tok_embeddings",
            positions: "",
            segments: "",
            norm: "embeddings.norm",
            block: "layers.",
            projections: Projections::Fused("attn.Wqkv"),
            attention_output: "attn.Wo",
            attention_norm: "mlp_norm",
            inner: "mlp.Wi",
            gate: Gate::Behind,
            outer: "mlp.Wo",
            outer_norm: OuterNorm::Next { block: "attn_norm", last: "final_norm" },
            bias: "",
        },
        ends: ["[CLS]", "[SEP]"],
        between: 1,
        mask: "[MASK]",
        head: HeadOf::Layers(HeadNames {
            dense: "head.dense",
            bias: false,
            norm: Some("head.norm"),
            gelu: true,
            activation: "classifier_activation",
            ..BERT_HEAD
        }),
        unused: &["head.", "decoder."],
        spec: specs::modernbert,
    },
    Family {
        name: "mpnet",
        prefix: "mpnet.",
        names: Names {
            projections: Projections::Apart(["attention.attn.q", "attention.attn.k", "attention.attn.v"]),
            attention_output: "attention.attn.o",
            attention_norm: "attention.LayerNorm",
            bias: "encoder.relative_attention_bias.weight",
            ..BERT_NAMES
        },
        ends: ["<s>", "</s>"],
        between: 2,
        mask: "<mask>",
        head: HeadOf::Layers(ROBERTA_HEAD),
        unused: &["pooler.", "mpnet.pooler.", "lm_head.", "embeddings.position_ids", "mpnet.embeddings.position_ids"],
        spec: specs::mpnet,
    },
    T5,
    Family {
        name: HHEM,
        prefix: "t5.transformer.",
        head: HeadOf::Token("t5.classifier"),
        unused: &["t5.transformer.encoder.embed_tokens."],
        ..T5
    },
];

/// The `model_type` of decoders: the last token is read, or all of them where attention goes in both directions.
pub(in crate::encoder) const DECODERS: [&str; 2] = ["qwen3", "gemma3_text"];

/// The family and the spec that `config` says.
///
/// # Errors
/// A family that is not known; a field that is missing, or would change the forward in a way that is not built.
pub(in crate::encoder) fn spec(config: &Config) -> Result<(&'static Family, EncoderSpec)> {
    let name = match config.str("model_type")? {
        "HHEMv2" => HHEM,
        name => name,
    };
    let known = || FAMILIES.iter().map(|family| family.name).collect::<Vec<_>>().join(", ");
    let family = FAMILIES.iter().find(|family| family.name == name).ok_or_else(|| ModelError::UnknownArchitecture {
        path: config.path().to_owned(),
        found: name.to_owned(),
        reason: None,
        supported: format!("{}; as embedder also {}; as reranker also qwen3", known(), DECODERS.join(", ")),
    })?;
    Ok((family, (family.spec)(config)?))
}
