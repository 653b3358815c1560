//! Qwen3.5, 3.6 and 3.8, their text: three of four layers are gated delta nets, the others have gated attention
//! whose heads are rotated in part.

use super::config::Config;
use super::row::Arch;
use super::{gguf, hugging_face};
use crate::error::Result;
use crate::spec::{DecoderSpec, LayerKind, Layout, NormWeights, QkNorm, Recurrence};
use crate::weights::Metadata;
use moot_kernels::ops::delta_net::{DeltaShape, HeadOrder};

/// Every fourth layer has attention, unless a file says otherwise.
const INTERVAL: usize = 4;
/// The part of a head that is rotated, unless a config.json says otherwise: transformers' default.
const ROTATED: f64 = 0.25;

pub(super) const ARCH: Arch = Arch {
    name: "qwen35",
    model_type: "qwen3_5_text",
    about: "Qwen3.5, 3.6 and 3.8, dense, text alone",
    from_gguf: Some(|metadata| from_gguf(metadata, gguf::partly_rotated(metadata, "qwen35")?)),
    from_config: |config| from_config(config, "qwen35"),
};

/// Adds to `spec` what is Qwen3.5's, with experts or without, from a GGUF's metadata.
pub(super) fn from_gguf(metadata: &Metadata, mut spec: DecoderSpec) -> Result<DecoderSpec> {
    let field = |name: &str| format!("{}.{name}", spec.architecture);
    for name in ["attention.key_length", "rope.dimension_count"] {
        // Both have other defaults in other programs.
        metadata.usize(&field(name))?;
    }
    let (inner, value_heads) =
        (metadata.usize(&field("ssm.inner_size"))?, metadata.usize(&field("ssm.time_step_rank"))?);
    if value_heads == 0 || !inner.is_multiple_of(value_heads) {
        return Err(metadata.wrong(&field("ssm.inner_size"), &format!("a multiple of {value_heads} heads")));
    }
    let delta = DeltaShape {
        key_heads: metadata.usize(&field("ssm.group_count"))?,
        value_heads,
        key_dim: metadata.usize(&field("ssm.state_size"))?,
        value_dim: inner / value_heads,
        taps: metadata.usize(&field("ssm.conv_kernel"))?,
        order: HeadOrder::Tiled,
    };
    let blocks = spec.layers;
    spec.prediction_blocks = metadata.optional_usize(&field("nextn_predict_layers"))?.unwrap_or(0);
    let Some(layers) = blocks.checked_sub(spec.prediction_blocks).filter(|&layers| layers > 0) else {
        return Err(metadata.wrong(&field("nextn_predict_layers"), &format!("fewer than {blocks} blocks")));
    };
    spec.layers = layers;
    spec.widths.truncate(layers);
    let recurrent = metadata.optional_bools(&field("attention.recurrent_layers"))?;
    if recurrent.is_some_and(|recurrent| recurrent.len() != blocks) {
        let expected = format!("a boolean for each of {blocks} blocks");
        return Err(metadata.wrong(&field("attention.recurrent_layers"), &expected));
    }
    let interval = metadata.optional_usize(&field("full_attention_interval"))?.unwrap_or(INTERVAL);
    if interval == 0 {
        return Err(metadata.wrong(&field("full_attention_interval"), "above 0"));
    }
    complete(&mut spec, delta, |layer| match recurrent {
        Some(recurrent) => recurrent[layer],
        None => !(layer + 1).is_multiple_of(interval),
    });
    Ok(spec)
}

/// From a config.json; experts are left out.
pub(super) fn from_config(config: &Config, architecture: &'static str) -> Result<DecoderSpec> {
    config.refuse("attention_bias", |value| value == false, "false")?;
    let mut spec = hugging_face::partly_rotated(config, architecture)?;
    let section = config.section("rope_parameters")?;
    let said = section.iter().chain([config]).any(|fields| fields.has("partial_rotary_factor"));
    if !said {
        spec.rope.dims = (spec.head_dim as f64 * ROTATED) as usize;
    }
    // transformers would take 256 here, a GGUF hidden / heads: no file leaves it out.
    if !config.has("head_dim") {
        return Err(config.wrong("head_dim", "a non-negative integer"));
    }
    let delta = DeltaShape {
        key_heads: config.usize("linear_num_key_heads")?,
        value_heads: config.usize("linear_num_value_heads")?,
        key_dim: config.usize("linear_key_head_dim")?,
        value_dim: config.usize("linear_value_head_dim")?,
        taps: config.usize("linear_conv_kernel_dim")?,
        order: HeadOrder::Grouped,
    };
    let interval = config.optional_usize("full_attention_interval")?.unwrap_or(INTERVAL);
    if interval == 0 {
        return Err(config.wrong("full_attention_interval", "above 0"));
    }
    let types = config.words("layer_types")?;
    let known = types.iter().all(|of| of == "full_attention" || of == "linear_attention");
    if config.has("layer_types") && (!known || types.len() != spec.layers) {
        let expected = format!("full_attention or linear_attention for each of {} layers", spec.layers);
        return Err(config.wrong("layer_types", &expected));
    }
    spec.layout = Layout { norm_weights: NormWeights::LessOne, ..Layout::PLAIN };
    spec.prediction_blocks = config.optional_usize("mtp_num_hidden_layers")?.unwrap_or(1);
    complete(&mut spec, delta, |layer| match types.get(layer) {
        Some(of) => of == "linear_attention",
        None => !(layer + 1).is_multiple_of(interval),
    });
    Ok(spec)
}

/// What both kinds of file leave unsaid.
fn complete(spec: &mut DecoderSpec, delta: DeltaShape, recurrent: impl Fn(usize) -> bool) {
    spec.recurrence = Some(Recurrence::Delta(delta));
    spec.set_kinds(|layer| if recurrent(layer) { LayerKind::RECURRENT } else { LayerKind::FULL });
    spec.qk_norm = QkNorm::PerHead;
    spec.attention_gate = true;
}
