//! LFM2 and LFM2.5: most layers are short convolutions between two gates, the others have attention whose queries and keys
//! are normed.

use super::config::Config;
use super::row::Arch;
use super::{gguf, hugging_face};
use crate::error::Result;
use crate::spec::{DecoderSpec, LayerKind, Output, QkNorm, Recurrence};
use crate::weights::Metadata;
use moot_kernels::ops::short_conv::ConvShape;

/// What transformers takes where a config.json leaves it out: tokens of a convolution, and the multiple that the
/// feed-forward's width is rounded up to.
const TAPS: usize = 3;
const MULTIPLE: usize = 256;

pub(super) const ARCH: Arch = Arch {
    name: "lfm2",
    model_type: "lfm2",
    about: "LFM2 and LFM2.5, dense, text alone",
    from_gguf: Some(|metadata| from_gguf(metadata, gguf::spec(metadata, "lfm2")?)),
    from_config: |config| {
        let mut spec = from_config(config, "lfm2")?;
        spec.intermediate = adjusted(config, spec.intermediate)?;
        Ok(spec)
    },
};

/// Adds to `spec` what is LFM2's, with experts or without, from a GGUF's metadata.
pub(super) fn from_gguf(metadata: &Metadata, mut spec: DecoderSpec) -> Result<DecoderSpec> {
    let field = |name: &str| format!("{}.{name}", spec.architecture);
    gguf::refuse(metadata, &[&field("attention.sliding_window")])?;
    if metadata.optional_bool(&field("attention.causal"))? == Some(false) {
        return Err(metadata.wrong(&field("attention.causal"), "true (models for embeddings are not supported)"));
    }
    let heads = field("attention.head_count_kv");
    let taps = metadata.usize(&field("shortconv.l_cache"))?;
    let by_layer = metadata.optional_usizes(&heads)?.filter(|heads| heads.len() == spec.layers);
    let Some(by_layer) = by_layer else {
        let expected = format!("a number for each of {} layers, 0 for a convolution", spec.layers);
        return Err(metadata.wrong(&heads, &expected));
    };
    complete(&mut spec, taps, |layer| by_layer[layer] == 0);
    Ok(spec)
}

/// From a config.json; experts are left out, and the width is as stated.
pub(super) fn from_config(config: &Config, architecture: &'static str) -> Result<DecoderSpec> {
    config.refuse("conv_bias", |value| value == false, "false")?;
    config.refuse("sliding_window", |_| false, "null")?;
    let mut spec = hugging_face::spec(config, architecture)?;
    let tied = ["tie_embedding", "tie_word_embeddings"].into_iter().find(|field| config.has(field));
    spec.output = match tied {
        Some(field) if !config.flag(field)? => Output::Own,
        _ => Output::Tied,
    };
    let taps = config.optional_usize("conv_L_cache")?.unwrap_or(TAPS);
    let types = config.words("layer_types")?;
    if config.has("layer_types") {
        let known = types.iter().all(|of| of == "full_attention" || of == "conv");
        if !known || types.len() != spec.layers {
            let expected = format!("full_attention or conv for each of {} layers", spec.layers);
            return Err(config.wrong("layer_types", &expected));
        }
        complete(&mut spec, taps, |layer| types[layer] == "conv");
        return Ok(spec);
    }
    let attending = config.optional_usizes("full_attn_idxs")?;
    let Some(attending) = attending.filter(|all| all.iter().all(|&layer| layer < spec.layers)) else {
        let expected = format!("numbers of layers below {}, or layer_types", spec.layers);
        return Err(config.wrong("full_attn_idxs", &expected));
    };
    complete(&mut spec, taps, |layer| !attending.contains(&layer));
    Ok(spec)
}

/// The feed-forward's width, of the stated one.
fn adjusted(config: &Config, width: usize) -> Result<usize> {
    if config.has("block_auto_adjust_ff_dim") && !config.flag("block_auto_adjust_ff_dim")? {
        return Ok(width);
    }
    let multiplier = config.optional_f64("block_ffn_dim_multiplier")?.unwrap_or(1.0);
    if !(multiplier > 0.0 && multiplier <= 1024.0) {
        return Err(config.wrong("block_ffn_dim_multiplier", "above 0, at most 1024"));
    }
    let multiple = config.optional_usize("block_multiple_of")?.unwrap_or(MULTIPLE);
    let most = 1 << 32;
    if !(1..=most).contains(&multiple) || width > most {
        return Err(config.wrong("block_multiple_of", "above 0, and a width that is no error"));
    }
    let wide = (multiplier * (2 * width / 3) as f64) as usize;
    Ok(wide.next_multiple_of(multiple))
}

/// What both kinds of file leave unsaid.
fn complete(spec: &mut DecoderSpec, taps: usize, convolves: impl Fn(usize) -> bool) {
    spec.recurrence = Some(Recurrence::ShortConv(ConvShape { channels: spec.hidden, taps }));
    spec.set_kinds(|layer| if convolves(layer) { LayerKind::RECURRENT } else { LayerKind::FULL });
    spec.qk_norm = QkNorm::PerHead;
}
