//! Qwen2 and Qwen2.5: biases on queries, keys and values.

use super::row::Arch;
use super::{gguf, hugging_face};
use crate::spec::{Bias, DecoderSpec};

pub(super) const ARCH: Arch = Arch {
    name: "qwen2",
    model_type: "qwen2",
    about: "Qwen2 and Qwen2.5, dense",
    from_gguf: Some(|metadata| Ok(DecoderSpec { bias: Bias::Qkv, ..gguf::spec(metadata, "qwen2")? })),
    from_config: |config| {
        let mut spec = DecoderSpec { bias: Bias::Qkv, ..hugging_face::spec(config, "qwen2")? };
        if config.flag("use_sliding_window")? {
            // The last layers have it.
            let first = config.optional_usize("max_window_layers")?.unwrap_or(28);
            hugging_face::read_windows(config, &mut spec, |layer| layer >= first)?;
        }
        Ok(spec)
    },
};
