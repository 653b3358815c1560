//! Configurations of models that take images too, whose text is a section.

use super::{accepted, qwen35};
use moot_models::arch::{Config, spec_of_config};
use moot_models::{DecoderSpec, Output, RopeScaling};
use serde_json::{Value, json};
use std::path::Path;

#[test]
fn the_text_of_a_model_with_images_is_in_its_section() {
    let text = accepted(qwen35(json!({})));
    let mut section = qwen35(json!({
        "vocab_size": 320, "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2,
        "intermediate_size": 96, "max_position_embeddings": 4096, "rms_norm_eps": 1e-5,
    }));
    let outer = |section: &Value| {
        let config = json!({ "model_type": "qwen3_5", "text_config": section, "tie_word_embeddings": true });
        spec_of_config(&Config::of(Path::new("config.json"), config)?)
    };
    let found = outer(&section).unwrap();
    assert_eq!(DecoderSpec { output: text.output, ..found.clone() }, text);
    assert_eq!(found.output, Output::Tied);
    section["model_type"] = json!("llama");
    let error = outer(&section).unwrap_err().to_string();
    assert!(error.contains("text_config.model_type") && error.contains("qwen3_5_text"), "{error}");
    let error = outer(&Value::Null).unwrap_err().to_string();
    assert!(error.contains("text_config") && error.contains("found nothing"), "{error}");
}

/// With the fields of the published file of 4B, and of a Mistral Small 3.1 in small.
#[test]
fn a_text_beside_images_may_leave_out_what_its_class_has() {
    let of = |config: Value| spec_of_config(&Config::of(Path::new("config.json"), config)?);
    let text = json!({
        "hidden_size": 2560, "intermediate_size": 10_240, "model_type": "gemma3_text", "num_hidden_layers": 34,
        "rope_scaling": { "factor": 8.0, "rope_type": "linear" }, "sliding_window": 1024,
    });
    let outer = |text: &Value| json!({ "model_type": "gemma3", "text_config": text, "torch_dtype": "bfloat16" });
    let spec = of(outer(&text)).unwrap();
    assert_eq!((spec.heads, spec.kv_heads, spec.head_dim, spec.vocab), (8, 4, 256, 262_208));
    assert_eq!((spec.context, spec.norm_eps, spec.attention_scale), (131_072, 1e-6, 0.0625));
    assert_eq!((spec.rope.theta, &spec.rope.scaling), (1e6, &RopeScaling::Linear { factor: 8.0 }));
    assert_eq!(spec.output, Output::Tied);
    let mut stated = text.clone();
    stated["num_attention_heads"] = json!(16);
    stated["query_pre_attn_scalar"] = json!(64);
    let stated = of(outer(&stated)).unwrap();
    assert_eq!((stated.heads, stated.attention_scale), (16, 0.125));
    // What every file states has no default.
    for field in ["hidden_size", "intermediate_size", "num_hidden_layers", "sliding_window"] {
        let mut text = text.clone();
        text.as_object_mut().unwrap().remove(field);
        assert!(of(outer(&text)).unwrap_err().to_string().contains(field), "{field}");
    }
    let mut quantised = outer(&text);
    quantised["quantization_config"] = json!({ "quant_method": "fp8" });
    assert!(of(quantised).unwrap_err().to_string().contains("quantization_config"));
    let small = json!({
        "vocab_size": 320, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
        "intermediate_size": 96, "max_position_embeddings": 4096, "rms_norm_eps": 1e-5, "rope_theta": 1e9,
    });
    let mistral = |model_type: Value| {
        let mut text = small.clone();
        text["model_type"] = model_type;
        of(json!({ "model_type": "mistral3", "text_config": text }))
    };
    let spec = mistral(json!("mistral")).unwrap();
    assert_eq!((spec.architecture, spec.rope.theta), ("mistral", 1e9));
    assert_eq!(mistral(Value::Null).unwrap(), spec);
    assert!(mistral(json!("ministral3")).unwrap_err().to_string().contains("text_config.rope_parameters"));
    let error = mistral(json!("llama")).unwrap_err().to_string();
    assert!(error.contains("\"mistral\" or \"ministral3\""), "{error}");
}
