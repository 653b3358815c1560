//! The shape of an encoder from its config.json, family by family.

use crate::arch::Config;
use crate::encoder::spec::{Buckets, DistanceBuckets, EncoderSpec, PositionTable, RelativePositions, RotaryPositions};
use crate::error::{ModelError, Result};
use crate::spec::{Rope, RopeScaling};
use moot_kernels::Activation;

/// The largest size of a model's shape.
pub(in crate::encoder) const MOST: usize = 1 << 24;

/// Most tokens of a text of a T5.
const LONGEST: usize = 1 << 13;

/// HHEM-2.1-open: the encoder of Flan-T5 base, whose fields its config.json leaves out.
pub(super) const HHEM: &str = "HHEMv2Config";

/// A size of `field`, `usual` where it is absent. Refuses one that the forward would divide by, or that is too large to
/// allocate.
fn size(config: &Config, field: &str, usual: Option<usize>) -> Result<usize> {
    let found = match usual {
        Some(usual) => config.optional_usize(field)?.unwrap_or(usual),
        None => config.usize(field)?,
    };
    if (1..=MOST).contains(&found) {
        Ok(found)
    } else {
        Err(config.wrong(field, &format!("a number from 1 to {MOST}")))
    }
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
    let size = |field: &str| size(config, field, None);
    let (hidden, heads) = (size("hidden_size")?, size("num_attention_heads")?);
    if !hidden.is_multiple_of(16 * heads) {
        return Err(config.wrong("num_attention_heads", "heads whose width is a multiple of 16"));
    }
    let head_dim = hidden / heads;
    Ok(EncoderSpec {
        family,
        vocab: size("vocab_size")?,
        hidden,
        layers: size("num_hidden_layers")?,
        heads,
        head_dim,
        scale: 1.0 / (head_dim as f32).sqrt(),
        intermediate: size("intermediate_size")?,
        context: size("max_position_embeddings")?,
        norm_eps: config.f64(norm_eps)? as f32,
        root_mean_square: false,
        activation,
        positions: None,
        segments: config.optional_usize("type_vocab_size")?.unwrap_or(2),
        relative: None,
        distances: None,
        rotary: None,
        norm_first: false,
        biases: true,
    })
}

fn of_bert(config: &Config, family: &'static str) -> Result<EncoderSpec> {
    shared(config, family, "hidden_act", "layer_norm_eps")
}

pub(super) fn bert(config: &Config) -> Result<EncoderSpec> {
    config.refuse("position_embedding_type", |value| value == "absolute", "\"absolute\"")?;
    let spec = of_bert(config, "bert")?;
    Ok(EncoderSpec { positions: Some(PositionTable { rows: spec.context, first: 0 }), ..spec })
}

pub(super) fn roberta(config: &Config, family: &'static str) -> Result<EncoderSpec> {
    config.refuse("position_embedding_type", |value| value == "absolute", "\"absolute\"")?;
    of_roberta(config, family)
}

/// The table of positions begins behind the padding token's.
fn of_roberta(config: &Config, family: &'static str) -> Result<EncoderSpec> {
    let spec = of_bert(config, family)?;
    let (rows, first) = (spec.context, config.usize("pad_token_id")? + 1);
    if first >= rows {
        return Err(
            config.wrong("max_position_embeddings", &format!("more than {first}, the rows before the first token's"))
        );
    }
    Ok(EncoderSpec { context: rows - first, positions: Some(PositionTable { rows, first }), ..spec })
}

pub(super) fn mpnet(config: &Config) -> Result<EncoderSpec> {
    let spec = of_roberta(config, "mpnet")?;
    // The reference takes the farthest distance from its code, not from the file.
    let count = config.optional_usize("relative_attention_num_buckets")?.unwrap_or(32);
    Ok(EncoderSpec { segments: 0, distances: Some(distance_buckets(config, count, 128)?), ..spec })
}

/// The encoder of T5, in the form of its version 1.1 and of Flan-T5: gated, and without positions of its own, so that any
/// context works. Fields that a file leaves out are those of Flan-T5 base.
pub(super) fn t5(config: &Config) -> Result<EncoderSpec> {
    config.refuse("quantization_config", |_| false, "weights that are not quantised")?;
    config.refuse("feed_forward_proj", |value| value == "gated-gelu", "\"gated-gelu\" (T5 1.1 and Flan-T5)")?;
    let size = |field: &str, usual: usize| size(config, field, Some(usual));
    let head_dim = size("d_kv", 64)?;
    if !head_dim.is_multiple_of(16) {
        return Err(config.wrong("d_kv", "a multiple of 16"));
    }
    let count = size("relative_attention_num_buckets", 32)?;
    let distances = distance_buckets(config, count, size("relative_attention_max_distance", 128)?)?;
    Ok(EncoderSpec {
        family: if config.str("model_type")?.starts_with("HHEM") { HHEM } else { "t5" },
        vocab: size("vocab_size", 32128)?,
        hidden: size("d_model", 768)?,
        layers: size("num_layers", 12)?,
        heads: size("num_heads", 12)?,
        head_dim,
        // Its training folds the scale into the weights.
        scale: 1.0,
        intermediate: size("d_ff", 2048)?,
        // No table bounds it, and the numbers of all distances are held.
        context: size("n_positions", 512)?.min(LONGEST),
        norm_eps: config.optional_f64("layer_norm_epsilon")?.unwrap_or(1e-6) as f32,
        root_mean_square: true,
        activation: Activation::GeluTanh,
        positions: None,
        segments: 0,
        relative: None,
        distances: Some(distances),
        rotary: None,
        norm_first: true,
        biases: false,
    })
}

fn distance_buckets(config: &Config, count: usize, farthest: usize) -> Result<DistanceBuckets> {
    if count == 0 || !count.is_multiple_of(4) || farthest <= count / 4 {
        let expected = "a multiple of 4, less than four times the farthest distance";
        return Err(config.wrong("relative_attention_num_buckets", expected));
    }
    Ok(DistanceBuckets { count, farthest })
}

pub(super) fn deberta(config: &Config) -> Result<EncoderSpec> {
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
    // Scores are sums of three terms, each of which adds to the variance.
    spec.scale = 1.0 / (spec.head_dim as f32 * 3.0).sqrt();
    Ok(spec)
}

pub(super) fn modernbert(config: &Config) -> Result<EncoderSpec> {
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
    (spec.segments, spec.norm_first, spec.biases) = (0, true, false);
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
