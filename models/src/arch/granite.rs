//! Granite 3 and 4.1, dense: Llama with factors of embedding, scores, residuals and logits.

use super::config::Config;
use super::row::Arch;
use super::{gguf, hugging_face};
use crate::error::Result;
use crate::spec::{Bias, DecoderSpec, Layout, QkRows};
use crate::weights::Metadata;

pub(super) const ARCH: Arch = Arch {
    name: "granite",
    model_type: "granite",
    about: "Granite 3 and 4.1, dense",
    from_gguf: Some(from_gguf),
    from_config,
};

fn from_gguf(metadata: &Metadata) -> Result<DecoderSpec> {
    if metadata.optional_bool("granite.rope.scaling.finetuned")? == Some(false) {
        return Err(
            metadata.wrong("granite.rope.scaling.finetuned", "true (layers without rotation are not supported)")
        );
    }
    // As in llama.cpp, 0 is as if a factor were not there.
    let scale = |field: &str| Ok::<_, crate::ModelError>(metadata.optional_f64(field)?.filter(|&scale| scale != 0.0));
    let logits = metadata.optional_f64("granite.logit_scale")?;
    let logits = logits.ok_or_else(|| metadata.wrong("granite.logit_scale", "a number"))?;
    let layout = Layout { qk_rows: QkRows::Interleaved, ..Layout::PLAIN };
    let mut spec = DecoderSpec { layout, ..gguf::spec(metadata, "granite")? };
    if let Some(scale) = scale("granite.attention.scale")? {
        spec.attention_scale = scale as f32;
    }
    spec.embedding_scale = scale("granite.embedding_scale")?.unwrap_or(1.0) as f32;
    spec.residual_scale = scale("granite.residual_scale")?.unwrap_or(1.0) as f32;
    spec.logit_scale = (1.0 / logits) as f32;
    Ok(spec)
}

/// A file that leaves a factor out is refused: transformers takes 1, a GGUF another attention scale.
fn from_config(config: &Config) -> Result<DecoderSpec> {
    let bias = if config.flag("attention_bias")? { Bias::Attention } else { Bias::None };
    let spec = hugging_face::spec(config, "granite")?;
    Ok(DecoderSpec {
        bias,
        attention_scale: config.f64("attention_multiplier")? as f32,
        embedding_scale: config.f64("embedding_multiplier")? as f32,
        residual_scale: config.f64("residual_multiplier")? as f32,
        logit_scale: (1.0 / config.f64("logits_scaling")?) as f32,
        ..spec
    })
}
