//! LFM2, dense and with experts: fields to specs, from a config.json and from a GGUF's metadata, and names of tensors.

use super::norms_and_scales::{gguf, gguf_refused};
use super::{accepted, refused};
use moot_models::arch::names::{BlockTensor, Inner, Name, Naming};
use moot_models::kernels::ops::short_conv::ConvShape;
use moot_models::weights::Value;
use moot_models::{DecoderSpec, DenseLayers, Experts, Output, QkNorm, Recurrence, Scoring};
use serde_json::json;

/// In the form of the first published files.
#[allow(clippy::needless_pass_by_value)] // literals
fn config(fields: serde_json::Value) -> serde_json::Value {
    let mut config = json!({
        "model_type": "lfm2", "num_hidden_layers": 6, "intermediate_size": null, "rms_norm_eps": null, "norm_eps": 1e-5,
        "block_ff_dim": 1000, "full_attn_idxs": [2, 5], "conv_L_cache": 3, "conv_bias": false,
    });
    config.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    config
}

fn convolving(spec: &DecoderSpec) -> Vec<usize> {
    (0..spec.layers).filter(|&layer| spec.kind(layer).recurrent).collect()
}

#[test]
fn short_convolutions_are_read_or_refused() {
    let first = accepted(config(json!({})));
    assert_eq!(first.recurrence, Some(Recurrence::ShortConv(ConvShape { channels: 64, taps: 3 })));
    assert_eq!((convolving(&first), first.qk_norm), (vec![0, 1, 3, 4], QkNorm::PerHead));
    // Two thirds of 1000, rounded up to a multiple of 256; transformers' base of rotations.
    assert_eq!((first.intermediate, first.rope.theta, first.output), (768, 1e6, Output::Tied));
    let types = ["conv", "conv", "full_attention", "conv", "conv", "full_attention"];
    let rope = json!({ "rope_theta": 1e6, "rope_type": "default" });
    let newer = config(json!({
        "layer_types": types, "full_attn_idxs": null, "block_ff_dim": null, "intermediate_size": 768,
        "block_auto_adjust_ff_dim": false, "rope_parameters": rope, "tie_embedding": true,
    }));
    assert_eq!(accepted(newer), first);
    let width = |fields| accepted(config(fields)).intermediate;
    assert_eq!(width(json!({ "block_ffn_dim_multiplier": 1.5, "block_multiple_of": 10 })), 1000);
    assert_eq!(width(json!({ "block_auto_adjust_ff_dim": false })), 1000);
    assert_eq!(accepted(config(json!({ "conv_L_cache": null, "rope_theta": 5e5 }))).rope.theta, 5e5);
    for field in ["tie_embedding", "tie_word_embeddings"] {
        assert_eq!(accepted(config(json!({ field: false }))).output, Output::Own);
    }
    refused(config(json!({ "full_attn_idxs": null })), &["full_attn_idxs", "layer_types", "found nothing"]);
    refused(config(json!({ "full_attn_idxs": [6] })), &["full_attn_idxs", "below 6"]);
    refused(config(json!({ "full_attn_idxs": [] })), &["layers with attention", "found none"]);
    refused(config(json!({ "layer_types": ["conv"] })), &["layer_types", "each of 6 layers"]);
    refused(config(json!({ "layer_types": vec!["linear_attention"; 6] })), &["layer_types", "conv"]);
    refused(config(json!({ "conv_L_cache": 1 })), &["convolution of recurrent layers", "found 1"]);
    refused(config(json!({ "conv_bias": true })), &["conv_bias"]);
    refused(config(json!({ "sliding_window": 32 })), &["sliding_window", "null"]);
    refused(config(json!({ "norm_eps": null })), &["rms_norm_eps", "found nothing"]);
    refused(config(json!({ "block_multiple_of": 0 })), &["block_multiple_of"]);
    refused(config(json!({ "block_ffn_dim_multiplier": -1.0 })), &["block_ffn_dim_multiplier"]);
    refused(config(json!({ "hidden_size": 72, "head_dim": 16 })), &["channels of short convolutions", "found 72"]);
}

#[test]
fn experts_behind_the_first_layers_are_read_or_refused() {
    let config = |fields: serde_json::Value| {
        let mut config = config(json!({
            "model_type": "lfm2_moe", "block_ff_dim": null, "intermediate_size": 96, "num_experts": 8,
            "num_experts_per_tok": 2, "moe_intermediate_size": 32, "num_dense_layers": 2, "use_expert_bias": true,
            "routed_scaling_factor": 1.0, "norm_topk_prob": true,
        }));
        config.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        config
    };
    let spec = accepted(config(json!({})));
    let experts = |dense| Some(Experts { scoring: Scoring::Sigmoid, dense, ..Experts::of(8, 2) });
    assert_eq!(spec.experts, experts(Some(DenseLayers { layers: 2, width: 96 })));
    assert_eq!((spec.intermediate, spec.dense_width(0)), (32, 96));
    assert_eq!([0, 1, 2, 5].map(|layer| spec.experts_of(layer).is_some()), [false, false, true, true]);
    let absent = json!({ "num_dense_layers": null, "norm_topk_prob": null, "use_expert_bias": null });
    assert_eq!(accepted(config(absent)), spec);
    assert_eq!(accepted(config(json!({ "num_dense_layers": 0 }))).experts, experts(None));
    assert!(!accepted(config(json!({ "norm_topk_prob": false }))).experts.unwrap().normalised);
    refused(config(json!({ "num_dense_layers": 6 })), &["layers without experts", "fewer than 6"]);
    refused(config(json!({ "intermediate_size": 0 })), &["width of layers without experts", "found 0"]);
    refused(config(json!({ "use_expert_bias": false })), &["use_expert_bias", "true"]);
    refused(config(json!({ "routed_scaling_factor": 2.5 })), &["routed_scaling_factor", "found 2.5"]);
    refused(config(json!({ "moe_intermediate_size": null })), &["moe_intermediate_size"]);
}

#[test]
fn a_gguf_has_a_number_of_heads_for_each_layer() {
    let taps = ("shortconv.l_cache", Value::Unsigned(3));
    let heads = |all: [i64; 8]| ("attention.head_count_kv", Value::SignedArray(all.to_vec()));
    let some = heads([0, 0, 2, 0, 0, 2, 0, 0]);
    let dense = gguf("lfm2", &[taps.clone(), some.clone()]).unwrap();
    assert_eq!(dense.recurrence, Some(Recurrence::ShortConv(ConvShape { channels: 64, taps: 3 })));
    assert_eq!((convolving(&dense), dense.kv_heads, dense.intermediate), (vec![0, 1, 3, 4, 6, 7], 2, 96));
    let with = |field: &str, value: Value| {
        let fields = [taps.clone(), some.clone(), (field, value)];
        gguf("lfm2", &fields).unwrap_err().to_string()
    };
    assert!(with("attention.sliding_window", Value::Unsigned(32)).contains("sliding_window"));
    assert!(with("attention.causal", Value::Bool(false)).contains("embeddings"));
    assert!(with("expert_count", Value::Unsigned(8)).contains("expert_count"));
    gguf_refused("lfm2", std::slice::from_ref(&some), "lfm2.shortconv.l_cache");
    gguf_refused("lfm2", std::slice::from_ref(&taps), "each of 8 layers, 0 for a convolution");
    gguf_refused(
        "lfm2",
        &[taps.clone(), heads([0, 0, 2, 0, 0, 4, 0, 0])],
        "the same number in all layers with attention",
    );
    let negative = Value::SignedArray(vec![-1; 8]);
    gguf_refused("lfm2", &[taps.clone(), ("attention.head_count_kv", negative)], "non-negative integers");
    let experts = [
        taps,
        some,
        ("expert_count", Value::Unsigned(8)),
        ("expert_used_count", Value::Unsigned(2)),
        ("expert_feed_forward_length", Value::Unsigned(32)),
        ("leading_dense_block_count", Value::Unsigned(2)),
        ("expert_gating_func", Value::Unsigned(2)),
    ];
    let spec = gguf("lfm2moe", &experts).unwrap();
    let dense = Some(DenseLayers { layers: 2, width: 96 });
    assert_eq!(spec.experts, Some(Experts { scoring: Scoring::Sigmoid, dense, ..Experts::of(8, 2) }));
    let other = |field: &'static str, value: Value| [&experts[..], &[(field, value)]].concat();
    gguf_refused("lfm2moe", &other("expert_gating_func", Value::Unsigned(1)), "2, sigmoids");
    gguf_refused("lfm2moe", &experts[..6], "expert_gating_func");
    gguf_refused("lfm2moe", &other("expert_weights_scale", Value::Float(2.5)), "expert_weights_scale");
    gguf_refused("lfm2moe", &other("expert_weights_norm", Value::Bool(false)), "expert_weights_norm");
}

#[test]
fn tensors_have_names_of_their_own() {
    assert_eq!(Naming::GgufLfm2.name(Name::OutputNorm), "token_embd_norm.weight");
    assert_eq!(Naming::HuggingFaceLfm2.name(Name::OutputNorm), "model.embedding_norm.weight");
    for (tensor, gguf, folder) in [
        (BlockTensor::AttentionNorm, "attn_norm.weight", "operator_norm.weight"),
        (BlockTensor::Query, "attn_q.weight", "self_attn.q_proj.weight"),
        (BlockTensor::KeyNorm, "attn_k_norm.weight", "self_attn.k_layernorm.weight"),
        (BlockTensor::ShortConvInputs, "shortconv.in_proj.weight", "conv.in_proj.weight"),
        (BlockTensor::Up, "ffn_up.weight", "feed_forward.w3.weight"),
        (BlockTensor::Router, "ffn_gate_inp.weight", "feed_forward.gate.weight"),
        (BlockTensor::ChoiceBias, "exp_probs_b.bias", "feed_forward.expert_bias"),
        (BlockTensor::ExpertsGateUp, "ffn_gate_up_exps.weight", "feed_forward.experts.gate_up_proj"),
        (BlockTensor::Experts(Inner::Down), "ffn_down_exps.weight", "feed_forward.experts.down_proj"),
    ] {
        assert_eq!(Naming::GgufLfm2.name(Name::Block(3, tensor)), format!("blk.3.{gguf}"));
        assert_eq!(Naming::HuggingFaceLfm2.name(Name::Block(3, tensor)), format!("model.layers.3.{folder}"));
    }
    let expert = Name::Block(3, BlockTensor::Expert(7, Inner::Down));
    assert_eq!(Naming::HuggingFaceLfm2.name(expert), "model.layers.3.feed_forward.experts.7.w2.weight");
}
