//! Qwen3 with a mixture of experts in every layer.

use super::config::Config;
use super::row::Arch;
use super::{gguf, hugging_face};
use crate::error::Result;
use crate::spec::{Bias, DecoderSpec, ExpertTensors, Experts, Layout, QkNorm};
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
    // 1 is a softmax; other numbers are other routers.
    if metadata.optional_usize("qwen3moe.expert_gating_func")?.is_some_and(|kind| kind > 1) {
        return Err(metadata.wrong("qwen3moe.expert_gating_func", "1, a softmax"));
    }
    let mut spec = gguf::with_experts(metadata, "qwen3moe")?;
    if spec.rope.dims != spec.head_dim {
        return Err(metadata.wrong("qwen3moe.rope.dimension_count", &format!("{}, the head size", spec.head_dim)));
    }
    let (count, used) = (metadata.usize("qwen3moe.expert_count")?, metadata.usize("qwen3moe.expert_used_count")?);
    spec.qk_norm = QkNorm::PerHead;
    spec.intermediate = metadata.usize("qwen3moe.expert_feed_forward_length")?;
    spec.experts = Some(Experts { count, used, normalised: true });
    spec.layout = Layout { experts: ExpertTensors::Stacked, ..Layout::PLAIN };
    Ok(spec)
}

fn from_config(config: &Config) -> Result<DecoderSpec> {
    config.refuse("decoder_sparse_step", |value| value == 1, "1 (experts in every layer)")?;
    config.refuse(
        "mlp_only_layers",
        |value| value.as_array().is_some_and(Vec::is_empty),
        "[] (experts in every layer)",
    )?;
    config.refuse("use_sliding_window", |value| value == false, "false")?;
    let bias = if config.flag("attention_bias")? { Bias::Attention } else { Bias::None };
    let mut spec = DecoderSpec { bias, qk_norm: QkNorm::PerHead, ..hugging_face::spec(config, "qwen3moe")? };
    // transformers would take 128 here, a GGUF hidden / heads: no file leaves it out.
    if !config.has("head_dim") {
        return Err(config.wrong("head_dim", "a non-negative integer"));
    }
    let (count, used) = (config.usize("num_experts")?, config.usize("num_experts_per_tok")?);
    spec.intermediate = config.usize("moe_intermediate_size")?;
    spec.experts = Some(Experts { count, used, normalised: config.flag("norm_topk_prob")? });
    Ok(spec)
}
