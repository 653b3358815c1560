//! Mistral 7B and models of its shape: Llama with, in its first versions, a sliding window.

use super::hugging_face;
use super::row::Arch;

pub(super) const ARCH: Arch = Arch {
    name: "mistral",
    model_type: "mistral",
    about: "Mistral 7B and Nemo (GGUF files say llama)",
    from_gguf: None,
    from_config: |config| {
        let mut spec = hugging_face::spec(config, "mistral")?;
        hugging_face::read_windows(config, &mut spec, |_| true)?;
        Ok(spec)
    },
};
