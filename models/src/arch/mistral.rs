//! Mistral 7B and models of its shape: Llama with, in its first versions, a sliding window.

use super::hugging_face;
use super::row::Arch;
use crate::spec::ContextLimit;

pub(super) const ARCH: Arch = Arch {
    name: "mistral",
    model_type: "mistral",
    about: "Mistral 7B and Nemo (GGUF files say llama); where attention slides, the context is the window",
    from_gguf: None,
    from_config: |config| {
        let mut spec = hugging_face::spec(config, "mistral")?;
        spec.limit_context(config.window()?, |claimed| ContextLimit::SlidingWindow { claimed });
        Ok(spec)
    },
};
