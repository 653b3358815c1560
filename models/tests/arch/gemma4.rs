//! Configurations of Gemma 4: fields that are read, and values that are refused.

use super::norms_and_scales::{gguf, gguf_refused};
use super::{accepted, refused};
use moot_models::weights::{Value as Field, Weights};
use moot_models::{Experts, Heads, LayerInputs, RopeScaling, Values, WindowHeads, arch};
use serde_json::{Value, json};
use std::path::Path;

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
    let rotations = |full: Value, windowed: Value| {
        gemma4(json!({ "rope_parameters": { "full_attention": full, "sliding_attention": windowed } }))
    };
    let full = json!({ "partial_rotary_factor": 0.25, "rope_theta": 1e6, "rope_type": "proportional" });
    let partly = rotations(full.clone(), json!({ "rope_theta": 1e4, "partial_rotary_factor": 0.5 }));
    refused(partly, &["rotated numbers of a head"]);
    let plain = json!({ "rope_theta": 1e4, "rope_type": "default" });
    let scaled = json!({ "rope_theta": 1e6, "rope_type": "proportional", "factor": 8.0 });
    refused(rotations(scaled, plain), &["factor", "8"]);
    // transformers takes no base for one of the two.
    let bare = rotations(full.clone(), json!({ "rope_type": "default" }));
    refused(bare, &["sliding_attention.rope_theta", "found nothing"]);
    refused(rotations(full, Value::Null), &["rope_parameters", "sliding_attention"]);
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

#[test]
fn a_gguf_of_other_heads_or_another_router_is_refused() {
    let windowed = [true, true, false, true, true, true, true, false];
    let number = Field::Unsigned;
    let fields = [
        ("attention.sliding_window_pattern", Field::BoolArray(windowed.to_vec())),
        ("attention.sliding_window", number(32)),
        ("attention.key_length", number(32)),
        ("attention.value_length", number(32)),
        ("attention.key_length_swa", number(16)),
        ("attention.value_length_swa", number(16)),
        ("rope.dimension_count", number(32)),
        ("rope.dimension_count_swa", number(16)),
        ("expert_count", number(8)),
        ("expert_used_count", number(2)),
        ("expert_feed_forward_length", number(40)),
    ];
    let with = |field: &'static str, value: Field| [&fields[..], &[(field, value)]].concat();
    let spec = gguf("gemma4", &fields).unwrap();
    assert_eq!(spec.experts, Some(Experts { beside: Some(96), ..Experts::of(8, 2) }));
    let heads = |full: i64| Field::SignedArray(windowed.map(|of| if of { 2 } else { full }).to_vec());
    let few = gguf("gemma4", &with("attention.head_count_kv", heads(1))).unwrap();
    assert_eq!((few.heads_of(2).kv, few.heads_of(3).kv), (1, 2));
    let mixed = Field::SignedArray(vec![2, 1, 2, 2, 2, 2, 2, 2]);
    gguf_refused("gemma4", &with("attention.head_count_kv", mixed), "the same in all with a window");
    gguf_refused("gemma4", &with("rope.dimension_count_swa", number(8)), "16, the head size");
    gguf_refused("gemma4", &with("attention.sliding_window", number(0)), "sliding_window");
    gguf_refused("gemma4", &with("attention.sliding_window_pattern", number(6)), "booleans");
    gguf_refused("gemma4", &with("expert_gating_func", number(2)), "1, a softmax");
    gguf_refused("gemma4", &with("expert_weights_scale", Field::Float(2.5)), "expert_weights_scale");
}

/// No field says what part of a head turns, so without this tensor every number of it would.
#[test]
fn a_gguf_without_its_rotation_is_refused() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/architectures/gemma4.gguf");
    let mut bytes = std::fs::read(path).unwrap();
    let name = b"rope_freqs.weight";
    let at = bytes.windows(name.len()).position(|window| window == name).unwrap();
    bytes[at..at + name.len()].copy_from_slice(b"rope_other.weight");
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("other.gguf");
    std::fs::write(&other, bytes).unwrap();
    let message = arch::spec(&Weights::open(&other).unwrap()).unwrap_err().to_string();
    assert!(message.contains("rope_freqs.weight") && message.contains("head turns"), "{message}");
}
