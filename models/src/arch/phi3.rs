//! Phi-3 and its kin: query, key and value in one tensor, gate and up in another; some rotate a part of each head.

use super::row::Arch;
use super::{gguf, hugging_face};
use crate::spec::{DecoderSpec, Layout, Projections};

const LAYOUT: Layout = Layout { projections: Projections::Fused, ..Layout::PLAIN };

pub(super) const ARCH: Arch = Arch {
    name: "phi3",
    model_type: "phi3",
    about: "Phi-3 and Phi-3.5 mini, Phi-4 mini; up to the first training's context",
    from_gguf: Some(|metadata| Ok(DecoderSpec { layout: LAYOUT, ..gguf::partly_rotated(metadata, "phi3")? })),
    from_config: |config| {
        let mut spec = DecoderSpec { layout: LAYOUT, ..hugging_face::partly_rotated(config, "phi3")? };
        hugging_face::read_windows(config, &mut spec, |_| true)?;
        Ok(spec)
    },
};
