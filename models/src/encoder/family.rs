//! The encoder families: from a config.json to an [`EncoderSpec`] and the names of its tensors.

use super::spec::{Buckets, EncoderSpec, PositionTable, RelativePositions, RotaryPositions};
use crate::arch::Config;
use crate::error::{ModelError, Result};
use crate::spec::{Rope, RopeScaling};
use moot_kernels::Activation;

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
    pub head: HeadNames,
    /// Prefixes of tensors that a file may hold and that are not read: heads of the pre-training, position ids.
    pub unused: &'static [&'static str],
    spec: fn(&Config) -> Result<EncoderSpec>,
}

/// Names of an encoder's tensors, without its prefix; those of a block without the block's.
#[derive(Debug, Clone, Copy)]
pub struct Names {
    /// The token embeddings.
    pub words: &'static str,
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
    /// The first layer of the feed-forward; of a gated one, its rows and then the gate's.
    pub inner: &'static str,
    /// The last layer of the feed-forward.
    pub outer: &'static str,
    /// The norm that the next attention reads, or the encoder's output.
    pub outer_norm: OuterNorm,
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

/// A classification head over a text's vector: the first token's, or the mean where config.json says so.
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
    norm: "embeddings.LayerNorm",
    block: "encoder.layer.",
    projections: Projections::Apart(["attention.self.query", "attention.self.key", "attention.self.value"]),
    attention_output: "attention.output.dense",
    attention_norm: "attention.output.LayerNorm",
    inner: "intermediate.dense",
    outer: "output.dense",
    outer_norm: OuterNorm::Own("output.LayerNorm"),
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

/// Every family there is.
pub const FAMILIES: [Family; 5] = [
    Family {
        name: "bert",
        prefix: "bert.",
        names: BERT_NAMES,
        ends: ["[CLS]", "[SEP]"],
        between: 1,
        mask: "[MASK]",
        head: BERT_HEAD,
        unused: &["pooler.", "bert.pooler.", "cls.", "embeddings.position_ids", "bert.embeddings.position_ids"],
        spec: bert,
    },
    Family {
        name: "roberta",
        prefix: "roberta.",
        names: BERT_NAMES,
        ends: ["<s>", "</s>"],
        between: 2,
        mask: "<mask>",
        head: ROBERTA_HEAD,
        unused: &[
            "pooler.",
            "roberta.pooler.",
            "lm_head.",
            "embeddings.position_ids",
            "roberta.embeddings.position_ids",
        ],
        spec: |config| roberta(config, "roberta"),
    },
    Family {
        name: "xlm-roberta",
        prefix: "roberta.",
        names: BERT_NAMES,
        ends: ["<s>", "</s>"],
        between: 2,
        mask: "<mask>",
        head: ROBERTA_HEAD,
        unused: &[
            "pooler.",
            "roberta.pooler.",
            "lm_head.",
            "embeddings.position_ids",
            "roberta.embeddings.position_ids",
        ],
        spec: |config| roberta(config, "xlm-roberta"),
    },
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
        head: HeadNames { dense: "pooler.dense", gelu: true, ..BERT_HEAD },
        unused: &[
            "cls.",
            "lm_predictions.",
            "mask_predictions.",
            "embeddings.position_ids",
            "deberta.embeddings.position_ids",
            "deberta.embeddings.position_embeddings.",
            "embeddings.position_embeddings.",
        ],
        spec: deberta,
    },
    Family {
        name: "modernbert",
        prefix: "model.",
        names: Names {
            words: "embeddings.tok_embeddings",
            norm: "embeddings.norm",
            block: "layers.",
            projections: Projections::Fused("attn.Wqkv"),
            attention_output: "attn.Wo",
            attention_norm: "mlp_norm",
            inner: "mlp.Wi",
            outer: "mlp.Wo",
            outer_norm: OuterNorm::Next { block: "attn_norm", last: "final_norm" },
        },
        ends: ["[CLS]", "[SEP]"],
        between: 1,
        mask: "[MASK]",
        head: HeadNames {
            dense: "head.dense",
            bias: false,
            norm: Some("head.norm"),
            gelu: true,
            activation: "classifier_activation",
            ..BERT_HEAD
        },
        unused: &["head.", "decoder."],
        spec: modernbert,
    },
];

/// The `model_type` of decoders: the last token is read, or all of them where attention goes in both directions.
pub(super) const DECODERS: [&str; 2] = ["qwen3", "gemma3_text"];

/// The family and the spec that `config` says.
///
/// # Errors
/// A family that is not known; a field that is missing, or would change the forward in a way that is not built.
pub(super) fn spec(config: &Config) -> Result<(&'static Family, EncoderSpec)> {
    let name = config.str("model_type")?;
    let known = || FAMILIES.iter().map(|family| family.name).collect::<Vec<_>>().join(", ");
    let family = FAMILIES.iter().find(|family| family.name == name).ok_or_else(|| ModelError::UnknownArchitecture {
        path: config.path().to_owned(),
        found: name.to_owned(),
        supported: format!("{}; as embedder also {}; as reranker also qwen3", known(), DECODERS.join(", ")),
    })?;
    let spec = (family.spec)(config)?;
    check(config, &spec)?;
    Ok((family, spec))
}

/// The largest size of a model's shape.
pub(super) const MOST: usize = 1 << 24;

/// Refuses sizes that the forward would divide by, or that are too large to allocate.
fn check(config: &Config, spec: &EncoderSpec) -> Result<()> {
    for (field, value) in [
        ("vocab_size", spec.vocab),
        ("hidden_size", spec.hidden),
        ("num_hidden_layers", spec.layers),
        ("num_attention_heads", spec.heads),
        ("intermediate_size", spec.intermediate),
        ("max_position_embeddings", spec.context),
    ] {
        if !(1..=MOST).contains(&value) {
            return Err(config.wrong(field, &format!("a number from 1 to {MOST}")));
        }
    }
    if !spec.hidden.is_multiple_of(16 * spec.heads) {
        return Err(config.wrong("num_attention_heads", "heads whose width is a multiple of 16"));
    }
    Ok(())
}

/// The fields that all families share, with `activation` and `norm_eps` under these names. Each family adds its positions.
fn shared(config: &Config, family: &'static str, activation: &str, norm_eps: &str) -> Result<EncoderSpec> {
    config.refuse("quantization_config", |_| false, "weights that are not quantised")?;
    config.refuse("is_decoder", |value| value == false, "false (an encoder)")?;
    let field = activation;
    let activation = match config.optional_str(field)?.unwrap_or("gelu") {
        "gelu" => Activation::Gelu,
        "gelu_new" | "gelu_pytorch_tanh" | "gelu_fast" => Activation::GeluTanh,
        "relu" => Activation::Relu,
        _ => return Err(config.wrong(field, "gelu, gelu_new, gelu_fast, gelu_pytorch_tanh or relu")),
    };
    Ok(EncoderSpec {
        family,
        vocab: config.usize("vocab_size")?,
        hidden: config.usize("hidden_size")?,
        layers: config.usize("num_hidden_layers")?,
        heads: config.usize("num_attention_heads")?,
        intermediate: config.usize("intermediate_size")?,
        context: config.usize("max_position_embeddings")?,
        norm_eps: config.f64(norm_eps)? as f32,
        activation,
        positions: None,
        segments: config.optional_usize("type_vocab_size")?.unwrap_or(2),
        relative: None,
        rotary: None,
        norm_first: false,
        biases: true,
        gated: false,
    })
}

fn of_bert(config: &Config, family: &'static str) -> Result<EncoderSpec> {
    shared(config, family, "hidden_act", "layer_norm_eps")
}

fn bert(config: &Config) -> Result<EncoderSpec> {
    config.refuse("position_embedding_type", |value| value == "absolute", "\"absolute\"")?;
    let spec = of_bert(config, "bert")?;
    Ok(EncoderSpec { positions: Some(PositionTable { rows: spec.context, first: 0 }), ..spec })
}

fn roberta(config: &Config, family: &'static str) -> Result<EncoderSpec> {
    config.refuse("position_embedding_type", |value| value == "absolute", "\"absolute\"")?;
    let spec = of_bert(config, family)?;
    let (rows, first) = (spec.context, config.usize("pad_token_id")? + 1);
    Ok(EncoderSpec { context: rows.saturating_sub(first), positions: Some(PositionTable { rows, first }), ..spec })
}

fn deberta(config: &Config) -> Result<EncoderSpec> {
    if !config.flag("relative_attention")? {
        return Err(config.wrong("relative_attention", "true"));
    }
    config.refuse("conv_kernel_size", |value| value == 0, "0 (no convolution)")?;
    let mut spec = of_bert(config, "deberta-v2")?;
    spec.segments = config.optional_usize("type_vocab_size")?.unwrap_or(0);
    // Absent means true in the reference.
    let added = !config.has("position_biased_input") || config.flag("position_biased_input")?;
    spec.positions = added.then_some(PositionTable { rows: spec.context, first: 0 });
    config.refuse("embedding_size", |value| value == spec.hidden, "the hidden size")?;
    config.refuse("attention_head_size", |value| value == spec.hidden / spec.heads.max(1), "hidden size / heads")?;
    let mut terms: Vec<String> = config.words("pos_att_type")?;
    terms.sort_unstable();
    if terms != ["c2p", "p2c"] {
        return Err(config.wrong("pos_att_type", "c2p and p2c"));
    }
    let positive = |field: &str| Ok::<_, ModelError>(config.optional_i64(field)?.and_then(|n| usize::try_from(n).ok()));
    let farthest = positive("max_relative_positions")?.filter(|&n| n > 0).unwrap_or(spec.context);
    let count = positive("position_buckets")?.filter(|&n| n > 0);
    if count.is_some_and(|count| count < 4 || farthest <= count / 2 + 1) {
        return Err(config.wrong("position_buckets", "at least 4, and less than twice the farthest position"));
    }
    spec.relative = Some(RelativePositions {
        span: count.unwrap_or(farthest),
        buckets: count.map(|count| Buckets { count, farthest }),
        normed: config.words("norm_rel_ebd")?.iter().any(|word| word == "layer_norm"),
        shared: config.flag("share_att_key")?,
    });
    Ok(spec)
}

fn modernbert(config: &Config) -> Result<EncoderSpec> {
    for field in ["attention_bias", "mlp_bias", "norm_bias", "classifier_bias"] {
        config.refuse(field, |value| value == false, "false (layers without biases)")?;
    }
    config.refuse("rope_scaling", |_| false, "rotations that are not scaled")?;
    let mut spec = shared(config, "modernbert", "hidden_activation", "norm_eps")?;
    let is_local = local_layers(config, spec.layers)?;
    let parameters = config.section("rope_parameters")?;
    let rope = |section: &str, older: &str, usual: f64| -> Result<Rope> {
        let section = parameters.as_ref().map(|all| all.section(section)).transpose()?.flatten();
        if let Some(section) = &section {
            section.refuse("rope_type", |value| value == "default", "\"default\" (rotations that are not scaled)")?;
        }
        let named = section.map(|section| section.optional_f64("rope_theta")).transpose()?.flatten();
        let theta = named.or(config.optional_f64(older)?).unwrap_or(usual);
        if !(1.0..=1e12).contains(&theta) {
            return Err(config.wrong(older, "a base of rotations from 1 to 1e12"));
        }
        let dims = spec.hidden / spec.heads.max(1);
        Ok(Rope { theta, dims, scaling: RopeScaling::None })
    };
    let full = rope("full_attention", "global_rope_theta", 160_000.0)?;
    let local = rope("sliding_attention", "local_rope_theta", 10_000.0)?;
    // The field counts both sides.
    let window = config.optional_usize("local_attention")?.unwrap_or(128) / 2;
    spec.rotary = Some(RotaryPositions { full, local, is_local, window });
    (spec.segments, spec.norm_first, spec.biases, spec.gated) = (0, true, false, true);
    Ok(spec)
}

/// Which blocks see neighbours alone: of `layer_types`, in older files all but every third.
fn local_layers(config: &Config, layers: usize) -> Result<Vec<bool>> {
    if !config.has("layer_types") {
        let every = config.optional_usize("global_attn_every_n_layers")?.unwrap_or(3);
        if every == 0 {
            return Err(config.wrong("global_attn_every_n_layers", "at least 1"));
        }
        return Ok((0..layers.min(MOST)).map(|layer| layer % every != 0).collect());
    }
    let kinds = config.words("layer_types")?;
    let local = |kind: &String| match kind.as_str() {
        "full_attention" => Some(false),
        "sliding_attention" => Some(true),
        _ => None,
    };
    let kinds: Option<Vec<bool>> = kinds.iter().map(local).collect();
    kinds
        .filter(|kinds| kinds.len() == layers)
        .ok_or_else(|| config.wrong("layer_types", &format!("{layers} of full_attention and sliding_attention")))
}
