//! What is read of a configuration of Gemma 4, and what is refused.

use super::{accepted, refused};
use moot_models::{Experts, Heads, LayerInputs, RopeScaling, Values, WindowHeads};
use serde_json::{Value, json};

/// With the fields of published files.
#[allow(clippy::needless_pass_by_value)] // literals
fn gemma4(fields: Value) -> Value {
    let mut config = json!({
        "model_type": "gemma4_text", "head_dim": 16, "global_head_dim": 32, "num_hidden_layers": 12, "sliding_window": 512,
        "hidden_act": null, "hidden_activation": "gelu_pytorch_tanh", "rope_theta": null, "final_logit_softcapping": 30.0,
        "rope_parameters": {
            "full_attention": { "partial_rotary_factor": 0.25, "rope_theta": 1e6, "rope_type": "proportional" },
            "sliding_attention": { "rope_theta": 1e4, "rope_type": "default" },
        },
    });
    config.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    config
}

#[test]
fn heads_differ_between_layers() {
    let spec = accepted(gemma4(json!({})));
    let windowed = |layer: usize| spec.kind(layer).windowed;
    assert_eq!((0..12).filter(|&layer| !windowed(layer)).collect::<Vec<_>>(), [5, 11]);
    assert_eq!(spec.heads_of(5), Heads { queries: 4, kv: 2, dim: 32 });
    assert_eq!(spec.window_heads, Some(WindowHeads { kv_heads: 2, head_dim: 16 }));
    assert_eq!((spec.attention_scale, spec.logit_cap, spec.values), (1.0, Some(30.0), Values::Normed));
    assert_eq!((spec.rope.theta, spec.rope.dims, &spec.rope.scaling), (1e6, 32, &RopeScaling::FirstPairs { pairs: 4 }));
    let unsaid = accepted(gemma4(json!({ "rope_parameters": null, "global_head_dim": null })));
    assert_eq!((unsaid.head_dim, unsaid.rope.theta), (512, 1e6));
    assert_eq!(unsaid.rope.scaling, RopeScaling::FirstPairs { pairs: 64 });
    // Key and value heads of full layers count where their values are keys alone, as in transformers.
    let few = json!({ "num_global_key_value_heads": 1 });
    assert_eq!(accepted(gemma4(few)).kv_heads, 2);
    let few = accepted(gemma4(json!({ "num_global_key_value_heads": 1, "attention_k_eq_v": true })));
    assert_eq!((few.kv_heads, few.values), (1, Values::NormedKeysInFullLayers));
    assert!(!few.projects_values(5) && few.projects_values(4));
    // The newer form of the same.
    let by_layer = json!({ "global_head_dim": null, "attention_k_eq_v": true, "per_layer_config": {
        "5": { "head_dim": 32, "num_key_value_heads": 1 }, "11": { "head_dim": 32, "num_key_value_heads": 1 },
    } });
    assert_eq!(accepted(gemma4(by_layer)), few);
    refused(gemma4(json!({ "head_dim": 24 })), &["head size of windowed layers", "24"]);
    refused(gemma4(json!({ "num_global_key_value_heads": 3, "attention_k_eq_v": true })), &["key-value heads", "3"]);
    refused(gemma4(json!({ "sliding_window": null })), &["sliding_window"]);
    refused(gemma4(json!({ "layer_types": vec!["sliding_attention"; 12] })), &["layer_types", "last layer"]);
    let partly = json!({ "rope_parameters": { "sliding_attention": { "partial_rotary_factor": 0.5 } } });
    refused(gemma4(partly), &["rotated numbers of a head"]);
    let scaled = json!({ "rope_parameters": { "full_attention": { "rope_type": "proportional", "factor": 8.0 } } });
    refused(gemma4(scaled), &["factor", "8"]);
}

#[test]
fn what_some_sizes_have_is_read_or_refused() {
    let none = accepted(gemma4(json!({ "hidden_size_per_layer_input": 0, "num_kv_shared_layers": 0 })));
    assert_eq!((none.layer_inputs, none.shared_kv_layers, none.last_storing_layer()), (None, 0, 11));
    let small = accepted(gemma4(json!({
        "hidden_size_per_layer_input": 8, "num_kv_shared_layers": 6, "use_double_wide_mlp": true,
    })));
    assert_eq!((small.layer_inputs, small.last_storing_layer()), (Some(LayerInputs { width: 8 }), 5));
    assert_eq!([4, 5, 6, 11].map(|layer| small.kv_layer(layer)), [4, 5, 4, 5]);
    assert_eq!([5, 6].map(|layer| small.dense_width(layer)), [96, 192]);
    let mixed = accepted(gemma4(json!({
        "enable_moe_block": true, "num_experts": 8, "top_k_experts": 2, "moe_intermediate_size": 40,
    })));
    assert_eq!(mixed.experts, Some(Experts { beside: Some(96), ..Experts::of(8, 2) }));
    assert_eq!((mixed.intermediate, mixed.dense_width(3)), (40, 96));
    // Of five layers with keys and values none is full.
    refused(gemma4(json!({ "num_kv_shared_layers": 7 })), &["layers without keys and values", "7"]);
    refused(gemma4(json!({ "num_kv_shared_layers": 12 })), &["layers without keys and values", "12"]);
    refused(gemma4(json!({ "final_logit_softcapping": 0.0 })), &["cap of logits", "0"]);
    refused(gemma4(json!({ "hidden_size_per_layer_input": 1 << 20 })), &["width of layers' inputs"]);
    refused(gemma4(json!({ "use_bidirectional_attention": "all" })), &["use_bidirectional_attention", "vision"]);
    assert_eq!(accepted(gemma4(json!({ "use_bidirectional_attention": "vision" }))), accepted(gemma4(json!({}))));
    refused(gemma4(json!({ "attention_bias": true })), &["attention_bias", "false"]);
    refused(gemma4(json!({ "enable_moe_block": true, "num_experts": 8 })), &["top_k_experts"]);
    let experts =
        json!({ "enable_moe_block": true, "num_experts": 2, "top_k_experts": 3, "moe_intermediate_size": 40 });
    refused(gemma4(experts), &["experts", "3 of 2"]);
}
