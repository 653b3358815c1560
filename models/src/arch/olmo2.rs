//! OLMo 2: norms behind attention and feed-forward alone, queries and keys normed over all their heads. GGUF files of
//! OLMo 3 have the same name, and windows besides.

use super::row::Arch;
use super::{gguf, hugging_face};
use crate::error::Result;
use crate::spec::{DecoderSpec, LayerKind, Norms, QkNorm, Rope, RopeScaling, Rotation};
use crate::weights::{Metadata, Value};

/// Every fourth layer attends to all positions, unless a file says otherwise.
const PATTERN: usize = 4;

pub(super) const ARCH: Arch = Arch {
    name: "olmo2",
    model_type: "olmo2",
    about: "OLMo 2, and OLMo 3 in GGUF files",
    from_gguf: Some(from_gguf),
    from_config: |config| {
        config.refuse("attention_bias", |value| value == false, "false")?;
        Ok(complete(hugging_face::spec(config, "olmo2")?))
    },
};

fn from_gguf(metadata: &Metadata) -> Result<DecoderSpec> {
    gguf::refuse(metadata, &["olmo2.attention.clamp_kqv"])?;
    let mut spec = complete(gguf::spec(metadata, "olmo2")?);
    if spec.window == usize::MAX {
        return Ok(spec);
    }
    // OLMo 3, whose base is another one where a file states none.
    if metadata.get("olmo2.rope.freq_base").is_none() {
        return Err(metadata.wrong("olmo2.rope.freq_base", "a number"));
    }
    let field = "olmo2.attention.sliding_window_pattern";
    let theta = metadata.optional_f64("olmo2.rope.freq_base_swa")?.unwrap_or(spec.rope.theta);
    let windowed: Vec<bool> = match metadata.get(field) {
        Some(Value::BoolArray(windowed)) if windowed.len() == spec.layers => windowed.clone(),
        Some(Value::BoolArray(_)) => {
            return Err(metadata.wrong(field, &format!("a boolean for each of {} layers", spec.layers)));
        }
        _ => {
            let pattern = metadata.optional_usize(field)?.unwrap_or(PATTERN);
            if pattern == 0 {
                return Err(metadata.wrong(field, "above 0"));
            }
            (0..spec.layers.min(DecoderSpec::MOST_LAYERS)).map(|layer| is_windowed(layer, pattern)).collect()
        }
    };
    rotate_windows(&mut spec, theta, |layer| windowed[layer]);
    Ok(spec)
}

/// Whether a layer has a window, where of `pattern` layers the last one has none.
fn is_windowed(layer: usize, pattern: usize) -> bool {
    !(layer + 1).is_multiple_of(pattern)
}

/// As [`is_windowed`], by the published pattern.
pub(super) fn is_windowed_by_default(layer: usize) -> bool {
    is_windowed(layer, PATTERN)
}

/// What both kinds of file leave unsaid.
pub(super) fn complete(spec: DecoderSpec) -> DecoderSpec {
    DecoderSpec { norms: Norms::Behind, qk_norm: QkNorm::Whole, ..spec }
}

/// Gives windows to the layers that `windowed` says, and to these a rotation that is not scaled: `YaRN` is of the others
/// alone.
pub(super) fn rotate_windows(spec: &mut DecoderSpec, theta: f64, windowed: impl Fn(usize) -> bool) {
    spec.window_rope = Some(Rope { theta, dims: spec.rope.dims, scaling: RopeScaling::None });
    spec.set_kinds(|layer| match windowed(layer) {
        true => LayerKind { rotation: Rotation::WindowRope, ..LayerKind::WINDOWED },
        false => LayerKind::FULL,
    });
}
