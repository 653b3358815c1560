//! Ministral 3 and Devstral 2, their text: Mistral over YaRN, with queries that grow with their position.

use super::row::Arch;
use super::{gguf, hugging_face};
use crate::spec::{DecoderSpec, Layout, QkRows};

pub(super) const ARCH: Arch = Arch {
    name: "mistral3",
    model_type: "ministral3",
    about: "Ministral 3, Devstral Small 2, Mistral Small 3.1 and 3.2, text alone",
    from_gguf: Some(|metadata| {
        let layout = Layout { qk_rows: QkRows::Interleaved, ..Layout::PLAIN };
        Ok(DecoderSpec { layout, ..gguf::spec(metadata, "mistral3")? })
    }),
    from_config: |config| {
        // Without these fields transformers takes a YaRN with a base of its own. No published file leaves them out.
        if !config.has("rope_parameters") && !config.has("rope_scaling") {
            return Err(config.wrong("rope_parameters", "a JSON object"));
        }
        let mut spec = hugging_face::spec(config, "mistral3")?;
        hugging_face::read_windows(config, &mut spec, |_| true)?;
        Ok(spec)
    },
};
