//! Gemma 4, its text: the blocks of Gemma 3 with heads of two widths, normed values, a factor behind each layer, and, by size,
//! inputs of each layer's own (E2B, E4B), last layers without keys and values (these), values that are keys (26B-A4B, 31B),
//! experts beside the feed-forward (26B-A4B).

use super::config::Config;
use super::row::Arch;
use super::{gguf, hugging_face, rope};
use crate::error::Result;
use crate::spec::{
    DecoderSpec, Experts, LayerInputs, LayerKind, Norms, QkNorm, Rope, RopeScaling, Rotation, Scoring, Values,
    WindowHeads,
};
use crate::weights::Metadata;
use moot_kernels::Gate;

/// Every sixth layer attends to all positions, unless a config.json says otherwise.
const PATTERN: usize = 6;
/// Width of a full layer's head, unless a config.json says otherwise.
const FULL_HEAD: usize = 512;
/// Base of the windowed layers' rotation, unless a file says otherwise.
const WINDOW_THETA: f64 = 10_000.0;
/// Base of the full layers' rotation and the part of a head that turns, unless a config.json says otherwise.
const FULL_THETA: f64 = 1_000_000.0;
const TURNED: f64 = 0.25;

pub(super) const ARCH: Arch = Arch {
    name: "gemma4",
    model_type: "gemma4_text",
    about: "Gemma 4, text alone",
    from_gguf: Some(from_gguf),
    from_config,
};

fn from_gguf(metadata: &Metadata) -> Result<DecoderSpec> {
    gguf::refuse(metadata, &["gemma4.attn_logit_softcapping"])?;
    let layers = metadata.usize("gemma4.block_count")?;
    let of_layers = format!("a boolean for each of {layers} layers");
    let pattern = "gemma4.attention.sliding_window_pattern";
    let windowed = metadata.optional_bools(pattern)?.filter(|windowed| windowed.len() == layers);
    let windowed = windowed.ok_or_else(|| metadata.wrong(pattern, &of_layers))?.to_vec();
    let [kv_heads, window_kv_heads] = kv_heads(metadata, &windowed)?;
    let mut spec = gguf::with_kv_heads(metadata, "gemma4", "feed_forward_length", kv_heads)?;
    let head_dim = metadata.usize("gemma4.attention.key_length_swa")?;
    for (field, expected) in [
        ("gemma4.attention.value_length_swa", head_dim),
        ("gemma4.rope.dimension_count_swa", head_dim),
        ("gemma4.rope.dimension_count", spec.head_dim),
    ] {
        if metadata.usize(field)? != expected {
            return Err(metadata.wrong(field, &format!("{expected}, the head size")));
        }
    }
    if spec.window == usize::MAX {
        return Err(metadata.wrong("gemma4.attention.sliding_window", "a number of positions above 0"));
    }
    spec.window_heads = Some(WindowHeads { kv_heads: window_kv_heads.unwrap_or(spec.heads), head_dim });
    spec.shared_kv_layers = metadata.optional_usize("gemma4.attention.shared_kv_layers")?.unwrap_or(0);
    let width = metadata.optional_usize("gemma4.embedding_length_per_layer_input")?.unwrap_or(0);
    spec.layer_inputs = (width > 0).then_some(LayerInputs { width });
    spec.logit_cap = metadata.optional_f64("gemma4.final_logit_softcapping")?.map(|cap| cap as f32);
    if let Some(count) = metadata.optional_usize("gemma4.expert_count")?.filter(|&count| count > 0) {
        gguf::check_router(metadata, "gemma4", Scoring::Softmax)?;
        let used = metadata.usize("gemma4.expert_used_count")?;
        add_experts(&mut spec, count, used, metadata.usize("gemma4.expert_feed_forward_length")?);
    }
    let theta = metadata.optional_f64("gemma4.rope.freq_base_swa")?.unwrap_or(WINDOW_THETA);
    complete(&mut spec, Rope { theta, dims: head_dim, scaling: RopeScaling::None }, |layer| windowed[layer]);
    Ok(spec)
}

/// Key and value heads of full and of windowed layers: a number, or one for each layer.
fn kv_heads(metadata: &Metadata, windowed: &[bool]) -> Result<[Option<usize>; 2]> {
    let field = "gemma4.attention.head_count_kv";
    let Some(by_layer) = metadata.optional_usizes(field)? else {
        let all = metadata.optional_usize(field)?;
        return Ok([all, all]);
    };
    let of = |kind: bool| -> Option<usize> {
        let mut heads =
            by_layer.iter().zip(windowed).filter(|(_, windowed)| **windowed == kind).map(|(heads, _)| *heads);
        let first = heads.next()?;
        heads.all(|heads| heads == first).then_some(first)
    };
    match (by_layer.len() == windowed.len(), of(false), of(true)) {
        (true, Some(full), Some(window)) => Ok([Some(full), Some(window)]),
        _ => Err(metadata.wrong(field, "one for each layer, the same in all with a window and in all without")),
    }
}

fn from_config(config: &Config) -> Result<DecoderSpec> {
    config.refuse("attention_bias", |value| value == false, "false")?;
    config.refuse("hidden_activation", |value| value == "gelu_pytorch_tanh", "\"gelu_pytorch_tanh\"")?;
    // Text attends to what is before it alone, also where images do not.
    config.refuse("use_bidirectional_attention", |value| value == "vision", "null or \"vision\"")?;
    let mut spec = hugging_face::gated_by_gelu(config, "gemma4")?;
    let window_dim = config.usize("head_dim")?;
    hugging_face::read_windows(config, &mut spec, |layer| !(layer + 1).is_multiple_of(PATTERN))?;
    if spec.window == usize::MAX {
        return Err(config.wrong("sliding_window", "a number of positions above 0"));
    }
    let kinds = spec.layer_kinds.clone();
    if kinds.last().is_some_and(|last| last.windowed) {
        return Err(config.wrong("layer_types", "full_attention for the last layer"));
    }
    spec.window_heads = Some(WindowHeads { kv_heads: spec.kv_heads, head_dim: window_dim });
    let keys_as_values = config.flag("attention_k_eq_v")?;
    (spec.head_dim, spec.kv_heads) = full_heads(config, &spec, keys_as_values)?;
    if keys_as_values {
        spec.values = Values::NormedKeysInFullLayers;
    }
    let window_rope = rotations(config, &mut spec, window_dim)?;
    spec.shared_kv_layers = config.optional_usize("num_kv_shared_layers")?.unwrap_or(0);
    if config.flag("use_double_wide_mlp")? && spec.shared_kv_layers > 0 && spec.layers <= DecoderSpec::MOST_LAYERS {
        let own = spec.layers.saturating_sub(spec.shared_kv_layers);
        let width = spec.intermediate;
        spec.widths = (0..spec.layers).map(|layer| if layer < own { width } else { width.saturating_mul(2) }).collect();
    }
    let width = config.optional_usize("hidden_size_per_layer_input")?.unwrap_or(0);
    spec.layer_inputs = (width > 0).then_some(LayerInputs { width });
    spec.logit_cap = config.optional_f64("final_logit_softcapping")?.map(|cap| cap as f32);
    if config.flag("enable_moe_block")? {
        let (count, used) = (config.usize("num_experts")?, config.usize("top_k_experts")?);
        add_experts(&mut spec, count, used, config.usize("moe_intermediate_size")?);
    }
    complete(&mut spec, window_rope, |layer| kinds.get(layer).is_some_and(|kind| kind.windowed));
    Ok(spec)
}

/// Sets the rotation of full layers, and returns that of windowed ones: both stated with their bases, or both
/// transformers' own.
fn rotations(config: &Config, spec: &mut DecoderSpec, window_dim: usize) -> Result<Rope> {
    let Some(section) = config.section("rope_parameters")? else {
        let pairs = (spec.head_dim as f64 * TURNED) as usize / 2;
        spec.rope = Rope { theta: FULL_THETA, dims: spec.head_dim, scaling: RopeScaling::FirstPairs { pairs } };
        return Ok(Rope { theta: WINDOW_THETA, dims: window_dim, scaling: RopeScaling::None });
    };
    let (full, windowed) = (section.section("full_attention")?, section.section("sliding_attention")?);
    let (Some(full), Some(windowed)) = (full, windowed) else {
        return Err(config.wrong("rope_parameters", "full_attention and sliding_attention"));
    };
    for rotation in [&full, &windowed] {
        rotation.f64("rope_theta")?;
    }
    spec.rope = rope::of_section(config, &full, None, spec.head_dim, spec.context)?.0;
    Ok(rope::of_section(config, &windowed, None, window_dim, spec.context)?.0)
}

/// Width of a head and number of key and value heads in full layers.
fn full_heads(config: &Config, spec: &DecoderSpec, keys_as_values: bool) -> Result<(usize, usize)> {
    let mut head_dim = config.optional_usize("global_head_dim")?.unwrap_or(FULL_HEAD);
    let mut kv_heads = config.optional_usize("num_global_key_value_heads")?.filter(|_| keys_as_values);
    // How transformers writes the same since version 5.19: by layer.
    if let Some(by_layer) = config.section("per_layer_config")? {
        let full = (0..spec.layers).find(|&layer| !spec.kind(layer).windowed);
        if let Some(layer) = full.map(|layer| by_layer.section(&layer.to_string())).transpose()?.flatten() {
            head_dim = layer.optional_usize("head_dim")?.unwrap_or(head_dim);
            kv_heads = layer.optional_usize("num_key_value_heads")?.or(kv_heads);
        }
    }
    Ok((head_dim, kv_heads.unwrap_or(spec.kv_heads)))
}

/// Experts in every layer, beside its feed-forward.
fn add_experts(spec: &mut DecoderSpec, count: usize, used: usize, width: usize) {
    spec.experts = Some(Experts { beside: Some(spec.intermediate), ..Experts::of(count, used) });
    spec.intermediate = width;
}

/// What both kinds of file leave unsaid.
fn complete(spec: &mut DecoderSpec, window_rope: Rope, windowed: impl Fn(usize) -> bool) {
    spec.window_rope = Some(window_rope);
    spec.set_kinds(|layer| match windowed(layer) {
        true => LayerKind { rotation: Rotation::WindowRope, ..LayerKind::WINDOWED },
        false => LayerKind::FULL,
    });
    if spec.values == Values::Projected {
        spec.values = Values::Normed;
    }
    spec.attention_scale = 1.0;
    spec.embedding_scale = (spec.hidden as f32).sqrt();
    spec.gate = Gate::GeluTanh;
    spec.norms = Norms::Around;
    spec.qk_norm = QkNorm::PerHead;
    spec.layer_scales = true;
}
