//! GLM-4 of April 2025 (GLM-4-0414, GLM-Z1), dense: norms around attention and feed-forward, pairs of neighbours rotated
//! in half of each head, biases on queries, keys and values.

use super::config::Config;
use super::row::Arch;
use super::{gguf, hugging_face};
use crate::error::Result;
use crate::spec::{Bias, DecoderSpec, Layout, NormNames, Norms, Projections, QkRows};
use crate::weights::Metadata;

/// The part of a head that is rotated, unless a config.json says otherwise: transformers' default.
const ROTATED: f64 = 0.5;

const LAYOUT: Layout = Layout {
    qk_rows: QkRows::Interleaved,
    projections: Projections::FusedGateUp,
    norm_names: NormNames::AfterMlp,
    ..Layout::PLAIN
};

pub(super) const ARCH: Arch = Arch {
    name: "glm4",
    model_type: "glm4",
    about: "GLM-4-0414 and GLM-Z1, dense",
    from_gguf: Some(from_gguf),
    from_config,
};

fn from_gguf(metadata: &Metadata) -> Result<DecoderSpec> {
    // Files of models that see pictures have their rows in another order.
    if metadata.get("glm4.rope.dimension_sections").is_some() {
        return Err(
            metadata.wrong("glm4.rope.dimension_sections", "nothing (models that see pictures are not supported)")
        );
    }
    gguf::refuse(metadata, &["glm4.nextn_predict_layers"])?;
    metadata.usize("glm4.rope.dimension_count")?;
    Ok(complete(gguf::partly_rotated(metadata, "glm4")?))
}

fn from_config(config: &Config) -> Result<DecoderSpec> {
    // transformers would take 128 here, a GGUF hidden / heads: no file leaves it out.
    if !config.has("head_dim") {
        return Err(config.wrong("head_dim", "a non-negative integer"));
    }
    let bias = if config.has("attention_bias") && !config.flag("attention_bias")? { Bias::None } else { Bias::Qkv };
    let mut spec = hugging_face::partly_rotated(config, "glm4")?;
    let section = config.section("rope_parameters")?;
    if !section.iter().chain([config]).any(|fields| fields.has("partial_rotary_factor")) {
        spec.rope.dims = (spec.head_dim as f64 * ROTATED) as usize;
    }
    Ok(DecoderSpec { bias, ..complete(spec) })
}

/// What both kinds of file leave unsaid.
fn complete(spec: DecoderSpec) -> DecoderSpec {
    DecoderSpec { norms: Norms::Around, layout: LAYOUT, ..spec }
}
