//! Qwen2 and Qwen2.5: biases on queries, keys and values.

use super::{Arch, fields};
use crate::spec::{Bias, DecoderSpec};

pub(super) const ARCH: Arch = Arch {
    name: "qwen2",
    model_type: "qwen2",
    about: "Qwen2 and Qwen2.5, dense",
    from_gguf: |metadata| Ok(DecoderSpec { bias: Bias::Qkv, ..fields::from_gguf(metadata, "qwen2")? }),
    from_config: |config| {
        config.refuse("use_sliding_window", |value| value == false, "false (sliding windows are not supported)")?;
        Ok(DecoderSpec { bias: Bias::Qkv, ..fields::from_config(config, "qwen2")? })
    },
};
