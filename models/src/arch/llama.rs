//! Llama 2 and 3, SmolLM2 and their kin: no biases; GGUF files interleave the rows of queries and keys.

use super::{Arch, fields};
use crate::spec::{DecoderSpec, QkRows};

pub(super) const ARCH: Arch = Arch {
    name: "llama",
    model_type: "llama",
    about: "Llama 2 and 3 without rope scaling, SmolLM2, and models of their shape",
    from_gguf: |metadata| Ok(DecoderSpec { qk_rows: QkRows::Interleaved, ..fields::from_gguf(metadata, "llama")? }),
    from_config: |config| {
        config.refuse("attention_bias", |value| value == false, "false")?;
        config.refuse("mlp_bias", |value| value == false, "false")?;
        fields::from_config(config, "llama")
    },
};
