//! Llama 2 and 3, SmolLM2 and their kin; GGUF files interleave the rows of queries and keys.

use super::row::Arch;
use super::{gguf, hugging_face};
use crate::spec::{Bias, DecoderSpec, Layout, QkRows};

pub(super) const ARCH: Arch = Arch {
    name: "llama",
    model_type: "llama",
    about: "Llama 2, 3, 3.1, 3.2 and 3.3, SmolLM2, and models of their shape",
    from_gguf: Some(|metadata| {
        let layout = Layout { qk_rows: QkRows::Interleaved, ..Layout::PLAIN };
        Ok(DecoderSpec { layout, ..gguf::spec(metadata, "llama")? })
    }),
    from_config: |config| {
        let bias = if config.flag("attention_bias")? { Bias::Attention } else { Bias::None };
        Ok(DecoderSpec { bias, ..hugging_face::spec(config, "llama")? })
    },
};
