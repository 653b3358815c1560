//! Phi-3 and its kin: query, key and value in one tensor, gate and up in another; some rotate a part of each head.

use super::row::Arch;
use super::{gguf, hugging_face};
use crate::spec::{ContextLimit, DecoderSpec, Layout, Projections};

const LAYOUT: Layout = Layout { projections: Projections::Fused, ..Layout::PLAIN };

pub(super) const ARCH: Arch = Arch {
    name: "phi3",
    model_type: "phi3",
    about: "Phi-3 and Phi-3.5 mini, Phi-4 mini; up to the window or the first training's context",
    from_gguf: Some(|metadata| Ok(DecoderSpec { layout: LAYOUT, ..gguf::partly_rotated(metadata, "phi3")? })),
    from_config: |config| {
        let mut spec = DecoderSpec { layout: LAYOUT, ..hugging_face::partly_rotated(config, "phi3")? };
        spec.limit_context(config.window()?, |claimed| ContextLimit::SlidingWindow { claimed });
        Ok(spec)
    },
};
