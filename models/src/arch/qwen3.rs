//! Qwen3, dense: every head's queries and keys are normed; a head's width is free.

use super::row::Arch;
use super::{gguf, hugging_face};
use crate::spec::{Bias, DecoderSpec, QkNorm};

pub(super) const ARCH: Arch = Arch {
    name: "qwen3",
    model_type: "qwen3",
    about: "Qwen3, dense",
    from_gguf: Some(|metadata| Ok(DecoderSpec { qk_norm: QkNorm::PerHead, ..gguf::spec(metadata, "qwen3")? })),
    from_config: |config| {
        let bias = if config.flag("attention_bias")? { Bias::Attention } else { Bias::None };
        let mut spec = DecoderSpec { bias, qk_norm: QkNorm::PerHead, ..hugging_face::spec(config, "qwen3")? };
        // transformers would take 128 here, a GGUF hidden / heads: no file leaves it out.
        if !config.has("head_dim") {
            return Err(config.wrong("head_dim", "a non-negative integer"));
        }
        if config.flag("use_sliding_window")? {
            // The last layers have it.
            let first = config.optional_usize("max_window_layers")?.unwrap_or(28);
            hugging_face::read_windows(config, &mut spec, |layer| layer >= first)?;
        }
        Ok(spec)
    },
};
