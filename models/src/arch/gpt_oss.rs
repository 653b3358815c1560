//! gpt-oss, 20b and 120b: attention sinks, a window in every other layer, biases everywhere, and in every layer a
//! mixture of experts with a clamped gate, whose matrices are in MXFP4.

use super::config::Config;
use super::row::Arch;
use super::{gguf, hugging_face};
use crate::error::Result;
use crate::spec::{Bias, DecoderSpec, Experts, LayerKind, RopeScaling};
use crate::weights::Metadata;
use moot_kernels::Gate;

pub(super) const ARCH: Arch = Arch {
    name: "gpt-oss",
    model_type: "gpt_oss",
    about: "gpt-oss 20b and 120b",
    from_gguf: Some(from_gguf),
    from_config,
};

fn from_gguf(metadata: &Metadata) -> Result<DecoderSpec> {
    let mut spec = gguf::with_experts(metadata, "gpt-oss")?;
    if spec.rope.dims != spec.head_dim {
        return Err(metadata.wrong("gpt-oss.rope.dimension_count", &format!("{}, the head size", spec.head_dim)));
    }
    if spec.window == usize::MAX {
        return Err(metadata.wrong("gpt-oss.attention.sliding_window", "a number of positions above 0"));
    }
    // No key says which layers have the window, nor that the ramp of YaRN begins and ends between pairs.
    spec.set_kinds(kind);
    if let RopeScaling::Yarn { whole_pairs, .. } = &mut spec.rope.scaling {
        *whole_pairs = false;
    }
    Ok(complete(spec))
}

fn from_config(config: &Config) -> Result<DecoderSpec> {
    config.refuse("attention_bias", |value| value == true, "true")?;
    config.refuse("swiglu_limit", |value| is(value, Gate::LIMIT), &Gate::LIMIT.to_string())?;
    config.refuse("swiglu_alpha", |value| is(value, Gate::ALPHA), &Gate::ALPHA.to_string())?;
    let mut spec = hugging_face::in_mxfp4(config, "gpt-oss")?;
    // Without these fields transformers takes YaRN of its own; no file leaves them out.
    if !config.has("rope_parameters") && !config.has("rope_scaling") {
        return Err(config.wrong("rope_parameters", "a JSON object"));
    }
    hugging_face::read_windows(config, &mut spec, |layer| kind(layer) == LayerKind::WINDOWED)?;
    let count = if config.has("num_local_experts") { "num_local_experts" } else { "num_experts" };
    let (count, used) = (config.usize(count)?, config.usize("num_experts_per_tok")?);
    spec.experts = Some(Experts { biased: true, ..Experts::of(count, used) });
    Ok(complete(spec))
}

fn is(value: &serde_json::Value, number: f32) -> bool {
    value.as_f64().is_some_and(|value| value as f32 == number)
}

/// Even layers have the window.
fn kind(layer: usize) -> LayerKind {
    if layer.is_multiple_of(2) { LayerKind::WINDOWED } else { LayerKind::FULL }
}

/// What both kinds of file leave unsaid. A softmax over the used experts is that over all, divided by their sum.
fn complete(spec: DecoderSpec) -> DecoderSpec {
    DecoderSpec {
        bias: Bias::Attention,
        attention_sinks: true,
        gate: Gate::ClampedSilu,
        experts: spec.experts.map(|experts| Experts { biased: true, ..experts }),
        ..spec
    }
}
