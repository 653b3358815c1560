//! OLMo 2 and 3, Granite and GLM-4: fields to specs, from a config.json and from a GGUF's metadata.

use super::{accepted, refused};
use moot_models::arch::ARCHS;
use moot_models::weights::{Metadata, Value};
use moot_models::{Bias, DecoderSpec, ModelError, Norms, QkNorm, RopeScaling, Rotation};
use serde_json::json;
use std::path::PathBuf;

/// A GGUF's fields of `architecture`, and `fields` besides.
pub(super) fn gguf(architecture: &str, fields: &[(&str, Value)]) -> Result<DecoderSpec, ModelError> {
    gguf_without_base(architecture, &[&[("rope.freq_base", Value::Float(1e4))][..], fields].concat())
}

/// As [`gguf`], without a base of rotations.
pub(super) fn gguf_without_base(architecture: &str, fields: &[(&str, Value)]) -> Result<DecoderSpec, ModelError> {
    let shared = [
        ("block_count", Value::Unsigned(8)),
        ("context_length", Value::Unsigned(4096)),
        ("embedding_length", Value::Unsigned(64)),
        ("feed_forward_length", Value::Unsigned(96)),
        ("attention.head_count", Value::Unsigned(4)),
        ("attention.head_count_kv", Value::Unsigned(2)),
        ("attention.layer_norm_rms_epsilon", Value::Float(1e-5)),
    ];
    let all = shared.into_iter().chain(fields.iter().cloned());
    let values = all.map(|(name, value)| (format!("{architecture}.{name}"), value)).collect();
    let row = ARCHS.iter().find(|arch| arch.name == architecture).unwrap();
    row.from_gguf.unwrap()(&Metadata::new(PathBuf::from("model.gguf"), values))
}

pub(super) fn gguf_refused(architecture: &str, fields: &[(&str, Value)], part: &str) {
    let message = gguf(architecture, fields).unwrap_err().to_string();
    assert!(message.contains(part) && !message.contains('\n'), "{message}");
}

fn windowed(spec: &DecoderSpec) -> Vec<usize> {
    (0..spec.layers).filter(|&layer| spec.kind(layer).windowed).collect()
}

/// With the fields of the published file, and in the form of transformers 5.
#[test]
fn olmo_3_scales_the_positions_of_full_layers_alone() {
    let yarn = json!({ "rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 8192,
        "attention_factor": 1.2079441541679836, "beta_fast": 32.0, "beta_slow": 1.0 });
    let olmo3 = |fields: serde_json::Value| {
        let mut config = json!({ "model_type": "olmo3", "num_hidden_layers": 8, "sliding_window": 16 });
        config.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        config
    };
    let old = accepted(olmo3(json!({ "rope_theta": 500_000, "rope_scaling": yarn })));
    let mut full = yarn.clone();
    full["rope_theta"] = json!(5e5);
    let sliding = json!({ "rope_type": "default", "rope_theta": 5e5 });
    let sections = json!({ "full_attention": full, "sliding_attention": sliding });
    assert_eq!(accepted(olmo3(json!({ "rope_parameters": sections }))), old);
    assert_eq!(windowed(&old), [0, 1, 2, 4, 5, 6]);
    assert_eq!((old.norms, old.qk_norm, old.rope.theta), (Norms::Behind, QkNorm::Whole, 5e5));
    assert!(matches!(old.rope.scaling, RopeScaling::Yarn { magnitude, .. } if (magnitude - 1.207_944).abs() < 1e-6));
    let window_rope = old.window_rope.as_ref().unwrap();
    assert_eq!((window_rope.theta, &window_rope.scaling), (5e5, &RopeScaling::None));
    assert!((0..8).all(|i| (old.kind(i).rotation == Rotation::WindowRope) == old.kind(i).windowed));
    refused(olmo3(json!({ "rope_theta": 1e4 })), &["rope_theta", "500000", "found 10000"]);
    refused(olmo3(json!({ "rope_parameters": { "full_attention": full } })), &["rope_parameters", "sliding_attention"]);
    let bare = json!({ "full_attention": full, "sliding_attention": { "rope_type": "default" } });
    refused(olmo3(json!({ "rope_parameters": bare })), &["sliding_attention.rope_theta", "found nothing"]);
    let both = json!({ "full_attention": full, "sliding_attention": full });
    refused(olmo3(json!({ "rope_parameters": both })), &["sliding_attention.rope_type", "default"]);
    refused(olmo3(json!({ "sliding_window": null })), &["sliding_window"]);
    refused(olmo3(json!({ "attention_bias": true })), &["attention_bias"]);
    refused(json!({ "model_type": "olmo2", "attention_bias": true }), &["attention_bias"]);
}

/// Converters write a boolean a layer; llama.cpp also takes one number, and 4 where there is nothing.
#[test]
fn olmo_3_in_gguf_says_which_layers_have_a_window() {
    let window = ("attention.sliding_window", Value::Unsigned(16));
    let pattern = |value: Value| gguf("olmo2", &[window.clone(), ("attention.sliding_window_pattern", value)]);
    let none = gguf("olmo2", &[]).unwrap();
    assert_eq!((windowed(&none), &none.window_rope), (vec![], &None));
    assert_eq!(windowed(&gguf("olmo2", std::slice::from_ref(&window)).unwrap()), [0, 1, 2, 4, 5, 6]);
    assert_eq!(windowed(&pattern(Value::Unsigned(2)).unwrap()), [0, 2, 4, 6]);
    let one = [true, false, false, false, false, false, false, false];
    assert_eq!(windowed(&pattern(Value::BoolArray(one.to_vec())).unwrap()), [0]);
    assert!(pattern(Value::BoolArray(vec![true])).unwrap_err().to_string().contains("each of 8 layers"));
    assert!(pattern(Value::Unsigned(0)).unwrap_err().to_string().contains("above 0"));
    gguf_refused("olmo2", &[("attention.clamp_kqv", Value::Float(8.0))], "clamp_kqv");
}

/// A converter writes down a magnitude that a config.json states: it is in place of the paper's, not a factor of it.
#[test]
fn a_magnitude_of_yarn_in_gguf_is_the_stated_one() {
    let magnitude = |stated: &[f64]| {
        let mut fields = vec![
            ("rope.scaling.type", Value::String("yarn".into())),
            ("rope.scaling.factor", Value::Float(8.0)),
            ("rope.scaling.original_context_length", Value::Unsigned(512)),
        ];
        fields.extend(stated.iter().map(|&stated| ("rope.scaling.yarn_attn_factor", Value::Float(stated))));
        match gguf("olmo2", &fields).unwrap().rope.scaling {
            RopeScaling::Yarn { magnitude, .. } => magnitude,
            other => panic!("{other:?}"),
        }
    };
    let paper = 1.0 + 0.1 * 8f32.ln();
    assert!([magnitude(&[]), magnitude(&[1.0])].iter().all(|found| (found - paper).abs() < 1e-6));
    assert!((magnitude(&[1.5]) - 1.5).abs() < 1e-6);
}

#[test]
fn the_factors_of_granite_are_read_or_refused() {
    let granite = |fields: serde_json::Value| {
        let mut config = json!({ "model_type": "granite", "embedding_multiplier": 12, "attention_multiplier": 0.0078125,
            "residual_multiplier": 0.22, "logits_scaling": 16, "rope_theta": 1e7 });
        config.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        config
    };
    let scales =
        |spec: &DecoderSpec| [spec.embedding_scale, spec.attention_scale, spec.residual_scale, spec.logit_scale];
    assert_eq!(scales(&accepted(granite(json!({})))), [12.0, 0.007_812_5, 0.22, 0.0625]);
    for field in ["embedding_multiplier", "attention_multiplier", "residual_multiplier", "logits_scaling"] {
        refused(granite(json!({ field: null })), &[field, "found nothing"]);
        refused(granite(json!({ field: -1.0 })), &["scale", "above 0"]);
    }
    refused(granite(json!({ "logits_scaling": 0.0 })), &["logit scale", "found inf"]);
    let logits = ("logit_scale", Value::Float(16.0));
    assert_eq!(scales(&gguf("granite", std::slice::from_ref(&logits)).unwrap()), [1.0, 0.25, 1.0, 0.0625]);
    let rest = ["attention.scale", "embedding_scale", "residual_scale"].map(|name| (name, Value::Float(0.5)));
    let all = [&rest[..], std::slice::from_ref(&logits)].concat();
    assert_eq!(scales(&gguf("granite", &all).unwrap()), [0.5, 0.5, 0.5, 0.0625]);
    gguf_refused("granite", &[], "granite.logit_scale");
    gguf_refused("granite", &[logits.clone(), ("rope.scaling.finetuned", Value::Bool(false))], "finetuned");
    gguf_refused("granite", &[logits, ("expert_count", Value::Unsigned(8))], "experts");
}

#[test]
fn glm_4_rotates_half_of_a_head_unless_a_file_says_otherwise() {
    let glm4 = |fields: serde_json::Value| {
        let mut config = json!({ "model_type": "glm4", "head_dim": 32 });
        config.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        config
    };
    let spec = accepted(glm4(json!({})));
    assert_eq!((spec.rope.dims, spec.bias, spec.norms), (16, Bias::Qkv, Norms::Around));
    assert_eq!(accepted(glm4(json!({ "partial_rotary_factor": 1.0 }))).rope.dims, 32);
    assert_eq!(accepted(glm4(json!({ "attention_bias": false }))).bias, Bias::None);
    refused(glm4(json!({ "head_dim": null })), &["head_dim", "found nothing"]);
    let dims = ("rope.dimension_count", Value::Unsigned(8));
    assert_eq!(gguf("glm4", std::slice::from_ref(&dims)).unwrap().rope.dims, 8);
    gguf_refused("glm4", &[], "glm4.rope.dimension_count");
    gguf_refused("glm4", &[dims.clone(), ("nextn_predict_layers", Value::Unsigned(1))], "nextn_predict_layers");
    let sections = ("rope.dimension_sections", Value::UnsignedArray(vec![8, 12, 12]));
    gguf_refused("glm4", &[dims, sections], "dimension_sections");
}
