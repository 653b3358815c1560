//! LFM2 and LFM2.5 with a mixture of experts behind the first layers, chosen by sigmoids and a bias of each expert.

use super::config::Config;
use super::row::Arch;
use super::{gguf, hugging_face, lfm2};
use crate::error::Result;
use crate::spec::{DecoderSpec, DenseLayers, Experts, Scoring};
use crate::weights::Metadata;

/// Layers without experts, where a config.json does not say: transformers' default.
const DENSE_LAYERS: usize = 2;

pub(super) const ARCH: Arch = Arch {
    name: "lfm2moe",
    model_type: "lfm2_moe",
    about: "LFM2 and LFM2.5 with a mixture of experts",
    from_gguf: Some(from_gguf),
    from_config,
};

fn from_gguf(metadata: &Metadata) -> Result<DecoderSpec> {
    if metadata.optional_bool("lfm2moe.expert_weights_norm")? == Some(false) {
        return Err(metadata.wrong("lfm2moe.expert_weights_norm", "true"));
    }
    let spec = gguf::with_scored_experts(metadata, "lfm2moe", Scoring::Sigmoid)?;
    if spec.rope.dims != spec.head_dim {
        return Err(metadata.wrong("lfm2moe.rope.dimension_count", &format!("{}, the head size", spec.head_dim)));
    }
    let layers = metadata.optional_usize("lfm2moe.leading_dense_block_count")?.unwrap_or(0);
    let width = metadata.usize("lfm2moe.feed_forward_length")?;
    lfm2::from_gguf(metadata, behind(spec, layers, width))
}

fn from_config(config: &Config) -> Result<DecoderSpec> {
    config.refuse("use_expert_bias", |value| value == true, "true")?;
    config.refuse("routed_scaling_factor", |value| value.as_f64() == Some(1.0), "1")?;
    let spec = lfm2::from_config(config, "lfm2moe")?;
    let normalised = !config.has("norm_topk_prob") || config.flag("norm_topk_prob")?;
    let layers = config.optional_usize("num_dense_layers")?.unwrap_or(DENSE_LAYERS);
    let spec = hugging_face::with_experts(config, spec, normalised)?;
    Ok(behind(spec, layers, config.usize("intermediate_size")?))
}

/// Experts behind `layers` layers, of which each has a feed-forward of `width`.
fn behind(mut spec: DecoderSpec, layers: usize, width: usize) -> DecoderSpec {
    let dense = (layers > 0).then_some(DenseLayers { layers, width });
    spec.experts = spec.experts.map(|experts| Experts { scoring: Scoring::Sigmoid, dense, ..experts });
    spec
}
