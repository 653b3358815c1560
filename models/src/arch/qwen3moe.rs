//! Qwen3 with a mixture of experts in every layer.

use super::config::Config;
use super::row::Arch;
use super::{gguf, hugging_face};
use crate::error::Result;
use crate::spec::{Bias, DecoderSpec, QkNorm};
use crate::weights::Metadata;

pub(super) const ARCH: Arch = Arch {
    name: "qwen3moe",
    model_type: "qwen3_moe",
    about: "Qwen3 with a mixture of experts",
    from_gguf: Some(from_gguf),
    from_config,
};

fn from_gguf(metadata: &Metadata) -> Result<DecoderSpec> {
    gguf::refuse(metadata, &["qwen3moe.expert_shared_count", "qwen3moe.attention.sliding_window"])?;
    let mut spec = gguf::with_experts(metadata, "qwen3moe")?;
    if spec.rope.dims != spec.head_dim {
        return Err(metadata.wrong("qwen3moe.rope.dimension_count", &format!("{}, the head size", spec.head_dim)));
    }
    spec.qk_norm = QkNorm::PerHead;
    Ok(spec)
}

fn from_config(config: &Config) -> Result<DecoderSpec> {
    config.refuse("use_sliding_window", |value| value == false, "false")?;
    let bias = if config.flag("attention_bias")? { Bias::Attention } else { Bias::None };
    let spec = DecoderSpec { bias, qk_norm: QkNorm::PerHead, ..hugging_face::spec(config, "qwen3moe")? };
    // transformers would take 128 here, a GGUF hidden / heads: no file leaves it out.
    if !config.has("head_dim") {
        return Err(config.wrong("head_dim", "a non-negative integer"));
    }
    hugging_face::with_experts(config, spec, config.flag("norm_topk_prob")?)
}
