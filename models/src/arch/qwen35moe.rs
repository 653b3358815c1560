//! Qwen3.5 and 3.6 with a mixture of experts in every layer, their text: the layers of [`super::qwen35`], and one expert that
//! every token goes through.

use super::config::Config;
use super::row::Arch;
use super::{gguf, hugging_face, qwen35};
use crate::error::Result;
use crate::spec::{DecoderSpec, Experts};
use crate::weights::Metadata;

pub(super) const ARCH: Arch = Arch {
    name: "qwen35moe",
    model_type: "qwen3_5_moe_text",
    about: "Qwen3.5 and 3.6 with a mixture of experts, text alone",
    from_gguf: Some(from_gguf),
    from_config,
};

fn from_gguf(metadata: &Metadata) -> Result<DecoderSpec> {
    let spec = qwen35::from_gguf(metadata, gguf::with_experts(metadata, "qwen35moe")?)?;
    Ok(shared(spec, metadata.usize("qwen35moe.expert_shared_feed_forward_length")?))
}

fn from_config(config: &Config) -> Result<DecoderSpec> {
    config.refuse("norm_topk_prob", |value| value == true, "true")?;
    let spec = hugging_face::with_experts(config, qwen35::from_config(config, "qwen35moe")?, true)?;
    Ok(shared(spec, config.usize("shared_expert_intermediate_size")?))
}

/// With the expert of every token, `width` between its layers.
fn shared(mut spec: DecoderSpec, width: usize) -> DecoderSpec {
    spec.experts = spec.experts.map(|experts| Experts { shared: Some(width), ..experts });
    spec
}
