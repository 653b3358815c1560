//! SmolLM3: Llama with every fourth layer not rotated.

use super::row::Arch;
use super::{gguf, hugging_face};
use crate::spec::{Bias, DecoderSpec, LayerKind, Layout, QkRows, Rotation};

/// Every fourth layer is not rotated, unless a file says otherwise.
const PATTERN: usize = 4;
const UNROTATED: LayerKind = LayerKind { rotation: Rotation::None, ..LayerKind::FULL };

pub(super) const ARCH: Arch = Arch {
    name: "smollm3",
    model_type: "smollm3",
    about: "SmolLM3",
    from_gguf: Some(|metadata| {
        gguf::refuse(metadata, &["smollm3.attention.sliding_window"])?;
        let layout = Layout { qk_rows: QkRows::Interleaved, ..Layout::PLAIN };
        let mut spec = DecoderSpec { layout, ..gguf::spec(metadata, "smollm3")? };
        spec.set_kinds(|layer| if (layer + 1).is_multiple_of(PATTERN) { UNROTATED } else { LayerKind::FULL });
        Ok(spec)
    }),
    from_config: |config| {
        config.refuse("use_sliding_window", |value| value == false, "false")?;
        let bias = if config.flag("attention_bias")? { Bias::Attention } else { Bias::None };
        let mut spec = DecoderSpec { bias, ..hugging_face::spec(config, "smollm3")? };
        let interval = config.optional_usize("no_rope_layer_interval")?.unwrap_or(PATTERN);
        // One where a layer is rotated, whatever the field's name says.
        let rotated = config.optional_ones("no_rope_layers")?;
        if interval == 0 || rotated.as_ref().is_some_and(|rotated| rotated.len() != spec.layers) {
            let field = if interval == 0 { "no_rope_layer_interval" } else { "no_rope_layers" };
            return Err(config.wrong(field, &format!("above 0, and 0 or 1 for each of {} layers", spec.layers)));
        }
        spec.set_kinds(|layer| match &rotated {
            Some(rotated) if rotated[layer] => LayerKind::FULL,
            None if !(layer + 1).is_multiple_of(interval) => LayerKind::FULL,
            _ => UNROTATED,
        });
        Ok(spec)
    },
};
