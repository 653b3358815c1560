//! Gemma 3, its text: norms around attention and feed-forward, queries and keys normed, GELU in the gate, a scaled
//! embedding; five of six layers have a window and a rotation of their own.

use super::config::Config;
use super::row::Arch;
use super::{gguf, hugging_face, rope};
use crate::error::Result;
use crate::spec::{DecoderSpec, LayerKind, Layout, NormWeights, Norms, QkNorm, Rope, RopeScaling, Rotation};
use crate::weights::Metadata;
use moot_kernels::Gate;
use serde_json::{Value, json};

/// Every sixth layer attends to all positions, unless a file says otherwise.
const PATTERN: usize = 6;
/// Bases of the rotations of full and of windowed layers, unless a file says otherwise.
const FULL_THETA: f64 = 1_000_000.0;
const WINDOW_THETA: f64 = 10_000.0;
/// The layers of the one size whose attention is scaled by other than the head's width; a GGUF does not say it.
const LAYERS_27B: usize = 62;

pub(super) const ARCH: Arch = Arch {
    name: "gemma3",
    model_type: "gemma3_text",
    about: "Gemma 3, text alone",
    from_gguf: Some(from_gguf),
    from_config,
};

fn from_gguf(metadata: &Metadata) -> Result<DecoderSpec> {
    gguf::refuse(metadata, &["gemma3.final_logit_softcapping", "gemma3.attn_logit_softcapping"])?;
    let mut spec = gguf::spec(metadata, "gemma3")?;
    let theta = metadata.optional_f64("gemma3.rope.freq_base_swa")?.unwrap_or(WINDOW_THETA);
    if spec.layers == LAYERS_27B {
        spec.attention_scale = 1.0 / (spec.hidden as f32 / spec.heads.max(1) as f32).sqrt();
    }
    if spec.window == usize::MAX {
        return Err(metadata.wrong("gemma3.attention.sliding_window", "a number of positions above 0"));
    }
    let window_rope = Rope { theta, dims: spec.rope.dims, scaling: RopeScaling::None };
    let field = "gemma3.attention.sliding_window_pattern";
    let pattern = metadata.optional_usize(field)?.unwrap_or(PATTERN);
    if pattern == 0 {
        return Err(metadata.wrong(field, "above 0"));
    }
    complete(&mut spec, window_rope, |layer| !(layer + 1).is_multiple_of(pattern));
    Ok(spec)
}

/// Defaults of transformers' class. Published files of 4B and more leave these fields out.
fn defaults() -> Value {
    json!({
        "vocab_size": 262_208, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
        "max_position_embeddings": 131_072, "rms_norm_eps": 1e-6, "query_pre_attn_scalar": 256,
        "tie_word_embeddings": true,
    })
}

fn from_config(config: &Config) -> Result<DecoderSpec> {
    let config = &config.with_defaults(defaults());
    for field in ["attn_logit_softcapping", "final_logit_softcapping"] {
        config.refuse(field, |_| false, "null (Gemma 3 has no soft caps)")?;
    }
    config.refuse("attention_bias", |value| value == false, "false")?;
    config.refuse("hidden_activation", |value| value == "gelu_pytorch_tanh", "\"gelu_pytorch_tanh\"")?;
    let mut spec = hugging_face::gated_by_gelu(config, "gemma3")?;
    let head_dim = config.usize("head_dim")?;
    let section = config.section("rope_parameters")?;
    let (full, windowed) = match &section {
        Some(section) => (section.section("full_attention")?, section.section("sliding_attention")?),
        None => (None, None),
    };
    if let Some(full) = &full {
        spec.rope = rope::of_section(config, full, Some(FULL_THETA), head_dim, spec.context)?.0;
    }
    let theta = config.optional_f64("rope_local_base_freq")?.unwrap_or(WINDOW_THETA);
    let window_rope = match &windowed {
        // Some files have the bases beside the sections.
        Some(windowed) if !windowed.has("rope_theta") => {
            Rope { theta, ..rope::of_section(config, windowed, Some(theta), head_dim, spec.context)?.0 }
        }
        Some(windowed) => rope::of_section(config, windowed, None, head_dim, spec.context)?.0,
        None => Rope { theta, dims: spec.rope.dims, scaling: RopeScaling::None },
    };
    let scalar = config.f64("query_pre_attn_scalar")?;
    spec.attention_scale = (1.0 / scalar.sqrt()) as f32;
    let pattern = config.optional_usize("sliding_window_pattern")?.unwrap_or(PATTERN);
    if pattern == 0 {
        return Err(config.wrong("sliding_window_pattern", "above 0"));
    }
    hugging_face::read_windows(config, &mut spec, |layer| !(layer + 1).is_multiple_of(pattern))?;
    if spec.window == usize::MAX {
        return Err(config.wrong("sliding_window", "a number of positions above 0"));
    }
    // EmbeddingGemma: the window counts on both sides together.
    spec.bidirectional = config.flag("use_bidirectional_attention")?;
    if spec.bidirectional {
        spec.window = spec.window / 2 + 1;
    }
    spec.layout = Layout { norm_weights: NormWeights::LessOne, ..Layout::PLAIN };
    let kinds = spec.layer_kinds.clone();
    complete(&mut spec, window_rope, |layer| kinds.get(layer).is_some_and(|kind| kind.windowed));
    Ok(spec)
}

/// What both kinds of file leave unsaid.
fn complete(spec: &mut DecoderSpec, window_rope: Rope, windowed: impl Fn(usize) -> bool) {
    spec.window_rope = Some(window_rope);
    spec.set_kinds(|layer| match windowed(layer) {
        true => LayerKind { rotation: Rotation::WindowRope, ..LayerKind::WINDOWED },
        false => LayerKind::FULL,
    });
    spec.embedding_scale = (spec.hidden as f32).sqrt();
    spec.gate = Gate::GeluTanh;
    spec.norms = Norms::Around;
    spec.qk_norm = QkNorm::PerHead;
}
