//! Bases of rotations that a file leaves out: those of the family, or a refusal.

use super::norms_and_scales::gguf_without_base;
use super::{accepted, gemma3, qwen35, refused};
use moot_models::arch::ARCHS;
use moot_models::weights::Value as Field;
use moot_models::{DecoderSpec, RopeScaling};
use serde_json::{Value, json};

/// What a config.json of `model_type` needs besides the fields of a Llama; no base.
fn config(model_type: &str) -> Value {
    let mut config = json!({ "model_type": model_type, "head_dim": 16 });
    let more = match model_type {
        "gemma3_text" => gemma3(json!({ "rope_theta": null })),
        "gemma4_text" => json!({ "hidden_act": null, "sliding_window": 512, "num_hidden_layers": 6 }),
        "olmo3" => json!({ "sliding_window": 16 }),
        "qwen3_5_text" | "qwen3_5_moe_text" => qwen35(json!({ "model_type": model_type, "rope_parameters": null })),
        "gpt_oss" => json!({ "rope_scaling": { "rope_type": "yarn", "factor": 32.0 }, "num_local_experts": 8 }),
        "ministral3" => json!({ "rope_parameters": { "rope_type": "yarn", "factor": 16.0 } }),
        "granite" => json!({
            "embedding_multiplier": 12, "attention_multiplier": 0.5, "residual_multiplier": 0.2, "logits_scaling": 16,
        }),
        "lfm2" | "lfm2_moe" => json!({ "head_dim": null, "full_attn_idxs": [1], "num_dense_layers": 1 }),
        _ => json!({}),
    };
    let experts = json!({
        "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "shared_expert_intermediate_size": 48,
    });
    for fields in [more, experts] {
        config.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    }
    config
}

/// The numbers of transformers' classes.
#[test]
fn a_base_that_a_folder_leaves_out_is_that_of_its_family() {
    let bases = |spec: &DecoderSpec| (spec.rope.theta, spec.window_rope.as_ref().map(|rope| rope.theta));
    for arch in ARCHS.iter().filter(|arch| arch.model_type != "ministral3") {
        let usual = match arch.model_type {
            "smollm3" => (2e6, None),
            "gpt_oss" => (1.5e5, None),
            "lfm2" | "lfm2_moe" => (1e6, None),
            "gemma3_text" | "gemma4_text" => (1e6, Some(1e4)),
            "olmo3" => (5e5, Some(5e5)),
            _ => (1e4, None),
        };
        assert_eq!(bases(&accepted(config(arch.model_type))), usual, "{}", arch.model_type);
    }
    // Beside a scaling, and in sections that lack it.
    let linear = json!({ "rope_scaling": { "rope_type": "linear", "factor": 8.0 }, "rope_theta": null });
    assert_eq!(accepted(gemma3(linear)).rope.theta, 1e6);
    let sections =
        json!({ "full_attention": { "rope_type": "default" }, "sliding_attention": { "rope_type": "default" } });
    let spec = accepted(gemma3(json!({ "rope_theta": null, "rope_parameters": sections })));
    assert_eq!(bases(&spec), (1e6, Some(1e4)));
    let stated = accepted(json!({ "model_type": "smollm3", "rope_parameters": { "rope_theta": 5e6 } }));
    assert_eq!(stated.rope.theta, 5e6);
}

/// transformers scales positions where these files say nothing of a rotation.
#[test]
fn a_rotation_of_which_transformers_takes_another_is_refused() {
    refused(config("ministral3"), &["rope_parameters.rope_theta", "found nothing"]);
    for model_type in ["ministral3", "gpt_oss"] {
        let mut bare = config(model_type);
        bare["rope_parameters"] = Value::Null;
        bare["rope_scaling"] = Value::Null;
        bare["rope_theta"] = json!(1e6);
        refused(bare, &["rope_parameters", "found nothing"]);
    }
}

/// llama.cpp takes 10,000 for all: where transformers does so too, the file is read.
#[test]
fn a_base_that_a_gguf_leaves_out_is_10_000_or_refused() {
    for name in ["llama", "qwen2", "qwen3", "phi3", "olmo2"] {
        let spec = gguf_without_base(name, &[]).unwrap();
        assert_eq!((spec.rope.theta, &spec.rope.scaling), (1e4, &RopeScaling::None), "{name}");
    }
    let refused = |name: &str, fields: &[(&str, Field)]| {
        let message = gguf_without_base(name, fields).unwrap_err().to_string();
        assert!(message.contains(&format!("{name}.rope.freq_base")), "{message}");
    };
    for name in ["smollm3", "mistral3", "gemma3", "lfm2"] {
        refused(name, &[]);
    }
    // OLMo 3.
    refused("olmo2", &[("attention.sliding_window", Field::Unsigned(16))]);
}
