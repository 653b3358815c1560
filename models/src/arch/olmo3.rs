//! OLMo 3: OLMo 2 with a window in three of four layers, whose positions are not scaled. GGUF files say olmo2.

use super::config::Config;
use super::row::Arch;
use super::{hugging_face, olmo2, rope};
use crate::error::Result;
use crate::spec::{DecoderSpec, RopeScaling};

/// Base of both rotations, where a file does not state it for each kind of layer.
const THETA: f64 = 500_000.0;

pub(super) const ARCH: Arch =
    Arch { name: "olmo3", model_type: "olmo3", about: "OLMo 3 (GGUF files say olmo2)", from_gguf: None, from_config };

fn from_config(config: &Config) -> Result<DecoderSpec> {
    config.refuse("attention_bias", |value| value == false, "false")?;
    let mut spec = olmo2::complete(hugging_face::spec(config, "olmo3")?);
    let theta = match config.section("rope_parameters")? {
        Some(section) => {
            let (full, windowed) = (section.section("full_attention")?, section.section("sliding_attention")?);
            let (Some(full), Some(windowed)) = (full, windowed) else {
                return Err(config.wrong("rope_parameters", "full_attention and sliding_attention"));
            };
            for rotation in [&full, &windowed] {
                rotation.f64("rope_theta")?;
            }
            spec.rope = rope::of_section(config, &full, None, spec.head_dim, spec.context)?.0;
            let windowed_rope = rope::of_section(config, &windowed, None, spec.head_dim, spec.context)?.0;
            if windowed_rope.scaling != RopeScaling::None {
                return Err(windowed.wrong("rope_type", "\"default\" (windowed layers are not scaled)"));
            }
            windowed_rope.theta
        }
        None => {
            // transformers takes another base than this one for full layers alone.
            config.refuse("rope_theta", |value| value.as_f64() == Some(THETA), &THETA.to_string())?;
            THETA
        }
    };
    hugging_face::read_windows(config, &mut spec, olmo2::is_windowed_by_default)?;
    if spec.window == usize::MAX {
        return Err(config.wrong("sliding_window", "a number of positions above 0"));
    }
    let kinds = spec.layer_kinds.clone();
    olmo2::rotate_windows(&mut spec, theta, |layer| kinds.get(layer).is_some_and(|kind| kind.windowed));
    Ok(spec)
}
