//! Fields to specs: what is taken from a config.json, and what is refused in one line.

mod gemma4;
mod images;
mod lfm2;
mod norms_and_scales;
mod not_read;
mod rotations;

use moot_models::arch::names::{BlockTensor, Inner, Name, Naming};
use moot_models::arch::{ARCHS, Arch, Config, spec_of_config};
use moot_models::kernels::Gate;
use moot_models::{
    ContextLimit, DecoderSpec, Experts, Layout, ModelError, QkRows, QueryScaling, Rope, RopeScaling, Rotation,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;

use std::path::Path;

/// A Llama with `fields` besides; null takes one away.
fn parse(fields: &Value) -> Result<DecoderSpec, ModelError> {
    let mut value = json!({
        "model_type": "llama", "vocab_size": 320, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 2, "intermediate_size": 96, "max_position_embeddings": 4096, "rms_norm_eps": 1e-5,
    });
    value.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    spec_of_config(&Config::of(Path::new("config.json"), value)?)
}

#[allow(clippy::needless_pass_by_value)] // literals
fn accepted(fields: Value) -> DecoderSpec {
    parse(&fields).unwrap_or_else(|error| panic!("{fields}: {error}"))
}

#[allow(clippy::needless_pass_by_value)]
fn refused(fields: Value, parts: &[&str]) {
    let message = parse(&fields).expect_err(&fields.to_string()).to_string();
    assert!(parts.iter().all(|part| message.contains(part)) && !message.contains('\n'), "{fields}: {message}");
}

#[test]
fn names_are_unique() {
    for key in [|arch: &Arch| arch.name, |arch: &Arch| arch.model_type] {
        assert_eq!(ARCHS.iter().map(key).collect::<BTreeSet<_>>().len(), ARCHS.len());
    }
    refused(
        json!({ "model_type": "mixtral" }),
        &["\"mixtral\" is not supported", "llama, mistral, ministral3, qwen2, qwen3, qwen3_moe, phi3, gemma3_text"],
    );
    refused(json!({ "model_type": null }), &["model_type", "found nothing"]);
}

#[test]
fn a_scaling_is_read_in_both_forms() {
    let llama3 = json!({ "rope_type": "llama3", "factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192 });
    let old = accepted(json!({ "rope_theta": 5e5, "rope_scaling": llama3 }));
    let mut parameters = llama3.clone();
    parameters.as_object_mut().unwrap().insert("rope_theta".into(), json!(5e5));
    let new = accepted(json!({ "rope_parameters": parameters }));
    let scaling = RopeScaling::Llama3 { factor: 32.0, low: 1.0, high: 4.0, original: 8192.0 };
    assert_eq!(old.rope, Rope { theta: 5e5, dims: 16, scaling });
    assert_eq!(old, new);
    let linear = accepted(json!({ "rope_scaling": { "type": "linear", "factor": 2 } }));
    assert_eq!(linear.rope.scaling, RopeScaling::Linear { factor: 2.0 });
    for none in [json!(null), json!({ "rope_type": "default" }), json!({})] {
        assert_eq!(accepted(json!({ "rope_scaling": none })).rope.scaling, RopeScaling::None);
    }
}

#[test]
fn a_scaling_that_is_not_known_or_not_sound_is_refused() {
    refused(json!({ "rope_scaling": { "type": "dynamic", "factor": 2.0 } }), &["rope_scaling.type", "\"dynamic\""]);
    refused(json!({ "rope_scaling": { "factor": 2.0 } }), &["rope_scaling.rope_type", "found nothing"]);
    refused(json!({ "rope_scaling": 2.0 }), &["rope_scaling", "a JSON object"]);
    refused(json!({ "rope_scaling": { "type": "linear", "factor": 0.0 } }), &["rope_scaling.factor", "found 0.0"]);
    refused(json!({ "rope_scaling": { "type": "linear" } }), &["rope_scaling.factor", "found nothing"]);
    let llama3 = |low: f64, original: i64| {
        json!({ "rope_scaling": { "rope_type": "llama3", "factor": 8.0, "low_freq_factor": low,
            "high_freq_factor": 4.0, "original_max_position_embeddings": original } })
    };
    refused(llama3(4.0, 8192), &["rope_scaling.high_freq_factor", "more than low_freq_factor, 4"]);
    refused(llama3(1.0, 0), &["positions of the first training"]);
    let long = |short: Value| {
        json!({ "model_type": "phi3", "original_max_position_embeddings": 1024,
            "rope_scaling": { "type": "longrope", "short_factor": short, "long_factor": [] } })
    };
    refused(long(json!(vec![1.0; 7])), &["rope divisors", "8, one a pair", "found 7"]);
    refused(long(json!(vec![0.0; 8])), &["rope divisors", "found 0"]);
    refused(long(json!("none")), &["rope_scaling.short_factor", "an array of numbers"]);
    assert_eq!(accepted(long(json!(vec![1.0; 8]))).context, 1024);
    let one = json!({ "rope_scaling": { "type": "yarn", "factor": 4.0, "mscale": 0.7 } });
    refused(one, &["rope_scaling.mscale_all_dim", "mscale"]);
    let both = json!({ "rope_scaling": { "type": "yarn", "factor": 4.0, "mscale": 0.7, "mscale_all_dim": 1.0 } });
    let RopeScaling::Yarn { magnitude, .. } = accepted(both).rope.scaling else { panic!("no YaRN") };
    let ln = 4f32.ln();
    assert!((magnitude - (0.07 * ln + 1.0) / (0.1 * ln + 1.0)).abs() < 1e-6);
}

#[test]
fn settings_that_would_change_the_computation_are_refused() {
    refused(json!({ "hidden_act": "gelu" }), &["hidden_act", "\"silu\"", "\"gelu\""]);
    refused(json!({ "mlp_bias": true }), &["mlp_bias"]);
    refused(json!({ "quantization_config": { "quant_method": "gptq" } }), &["quantization_config", "GGUF"]);
    refused(
        json!({ "partial_rotary_factor": 0.5 }),
        &["partial_rotary_factor", "llama has no partial rotation", "found 0.5"],
    );
    let section = json!({ "rope_parameters": { "rope_type": "default", "partial_rotary_factor": 0.5 } });
    refused(section, &["rope_parameters.partial_rotary_factor", "found 0.5"]);
    refused(json!({ "num_key_value_heads": 3 }), &["heads and key-value heads", "found 4 and 3"]);
    refused(json!({ "head_dim": 24 }), &["head size", "multiple of 16"]);
    refused(json!({ "num_hidden_layers": 1_u64 << 40 }), &["layers", "1 to 4096"]);
    refused(json!({ "head_dim": u64::MAX }), &["head size"]);
    refused(json!({ "model_type": "qwen3" }), &["head_dim", "found nothing"]);
}

/// With the fields of published files. Windows cut no context.
#[test]
fn windows_are_those_of_their_layers() {
    let windows = |model_type: &str, fields: Value| {
        let mut config = json!({ "model_type": model_type, "head_dim": 16, "num_hidden_layers": 6 });
        config.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let spec = accepted(config);
        assert_eq!((spec.context, spec.limit, spec.note()), (4096, ContextLimit::Trained, None));
        (0..6).map(|layer| (spec.window_of(layer) != usize::MAX).then(|| spec.window_of(layer))).collect::<Vec<_>>()
    };
    let (none, all) = (vec![None; 6], vec![Some(1024); 6]);
    let last_two = [vec![None; 4], vec![Some(1024); 2]].concat();
    assert_eq!(windows("mistral", json!({ "sliding_window": 1024 })), all);
    assert_eq!(windows("mistral", json!({ "sliding_window": null })), none);
    assert_eq!(windows("phi3", json!({ "sliding_window": 1024 })), all);
    assert_eq!(windows("llama", json!({ "sliding_window": 1024 })), none);
    for model_type in ["qwen2", "qwen3"] {
        let fields = json!({ "sliding_window": 1024, "use_sliding_window": false, "max_window_layers": 4 });
        assert_eq!(windows(model_type, fields), none);
        let fields = json!({ "sliding_window": 1024, "use_sliding_window": true, "max_window_layers": 4 });
        assert_eq!(windows(model_type, fields), last_two);
    }
    let types = json!([
        "full_attention",
        "full_attention",
        "full_attention",
        "full_attention",
        "sliding_attention",
        "sliding_attention"
    ]);
    assert_eq!(windows("mistral", json!({ "sliding_window": 1024, "layer_types": types })), last_two);
    refused(
        json!({ "model_type": "mistral", "sliding_window": 8, "layer_types": ["chunked_attention"] }),
        &["layer_types"],
    );
}

#[allow(clippy::needless_pass_by_value)] // literals
fn gemma3(fields: Value) -> Value {
    let mut config = json!({
        "model_type": "gemma3_text", "head_dim": 16, "num_hidden_layers": 12, "sliding_window": 512,
        "query_pre_attn_scalar": 64, "hidden_act": null, "hidden_activation": "gelu_pytorch_tanh", "rope_theta": 1e6,
    });
    config.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    config
}

#[test]
fn gemma_3_has_two_rotations_and_scales_of_its_own() {
    let old = accepted(gemma3(json!({
        "rope_local_base_freq": 2e4, "rope_scaling": { "rope_type": "linear", "factor": 8.0 },
    })));
    let new = accepted(gemma3(json!({ "rope_parameters": {
        "full_attention": { "rope_type": "linear", "factor": 8.0, "rope_theta": 1e6 },
        "sliding_attention": { "rope_type": "default", "rope_theta": 2e4 },
    } })));
    assert_eq!(old, new);
    let beside = accepted(gemma3(json!({ "rope_local_base_freq": 2e4, "rope_parameters": {
        "full_attention": { "rope_type": "linear", "factor": 8.0 }, "sliding_attention": { "rope_type": "default" },
    } })));
    assert_eq!(beside, new);
    assert_eq!((old.rope.theta, &old.rope.scaling), (1e6, &RopeScaling::Linear { factor: 8.0 }));
    let window_rope = old.window_rope.as_ref().unwrap();
    assert_eq!((window_rope.theta, &window_rope.scaling), (2e4, &RopeScaling::None));
    assert_eq!((old.attention_scale, old.embedding_scale), (0.125, 8.0));
    let full: Vec<usize> = (0..12).filter(|&layer| !old.kind(layer).windowed).collect();
    assert_eq!(full, [5, 11]);
    assert!((0..12).all(|i| (old.kind(i).rotation == Rotation::WindowRope) == old.kind(i).windowed));
    let third = accepted(gemma3(json!({ "sliding_window_pattern": 3 })));
    assert_eq!((0..12).filter(|&layer| !third.kind(layer).windowed).collect::<Vec<_>>(), [2, 5, 8, 11]);
    refused(gemma3(json!({ "final_logit_softcapping": 30.0 })), &["final_logit_softcapping", "null"]);
    refused(gemma3(json!({ "hidden_activation": "gelu" })), &["hidden_activation"]);
    refused(gemma3(json!({ "sliding_window": null })), &["sliding_window"]);
    refused(gemma3(json!({ "query_pre_attn_scalar": 0 })), &["attention scale"]);
}

/// Every order is a permutation within each head, and rotated pairs come half a head apart.
#[test]
fn rows_are_put_in_the_order_of_the_rotation() {
    let plain = accepted(json!({}));
    assert!(plain.rows_in_order() && (0..64).all(|row| plain.file_row(row) == row));
    for (qk_rows, dims) in [(QkRows::Interleaved, 16), (QkRows::Halves, 12), (QkRows::Interleaved, 4)] {
        let layout = Layout { qk_rows, ..Layout::PLAIN };
        let spec = DecoderSpec { layout, rope: Rope { dims, ..plain.rope.clone() }, ..plain.clone() };
        assert!(!spec.rows_in_order());
        let rows: Vec<usize> = (0..64).map(|row| spec.file_row(row)).collect();
        for (head, rows) in rows.chunks(16).enumerate() {
            assert!(rows.iter().copied().collect::<BTreeSet<_>>().into_iter().eq(head * 16..head * 16 + 16));
        }
        for pair in 0..dims / 2 {
            let expected = match qk_rows {
                QkRows::Halves => (pair, pair + dims / 2),
                QkRows::Interleaved => (2 * pair, 2 * pair + 1),
            };
            assert_eq!((rows[pair], rows[pair + 8]), expected, "{qk_rows:?} {dims}");
        }
    }
}

/// With the fields of published files.
#[allow(clippy::needless_pass_by_value)] // literals
fn qwen35(fields: Value) -> Value {
    let mut config = json!({
        "model_type": "qwen3_5_text", "head_dim": 32, "num_hidden_layers": 8, "linear_num_key_heads": 2,
        "linear_num_value_heads": 4, "linear_key_head_dim": 16, "linear_value_head_dim": 16, "linear_conv_kernel_dim": 4,
        "rope_parameters": { "rope_type": "default", "rope_theta": 1e7, "mrope_section": [2, 1, 1] },
    });
    config.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    config
}

#[test]
fn recurrent_layers_are_read_or_refused() {
    let recurrent = |fields: Value| {
        let spec = accepted(qwen35(fields));
        (0..8).map(|layer| spec.kind(layer).recurrent).collect::<Vec<_>>()
    };
    let every_fourth = [true, true, true, false, true, true, true, false];
    assert_eq!(recurrent(json!({})), every_fourth);
    let mut types = vec!["linear_attention"; 7];
    types.push("full_attention");
    assert_eq!(recurrent(json!({ "layer_types": types })), [true, true, true, true, true, true, true, false]);
    assert_eq!(recurrent(json!({ "full_attention_interval": 2 }))[..2], [true, false]);
    let spec = accepted(qwen35(json!({})));
    assert_eq!((spec.rope.dims, spec.recurrent_layers(), spec.attention_gate), (8, 6, true));
    for field in ["head_dim", "linear_num_key_heads", "linear_value_head_dim", "linear_conv_kernel_dim"] {
        refused(qwen35(json!({ field: null })), &[field, "found nothing"]);
    }
    refused(qwen35(json!({ "layer_types": vec!["linear_attention"; 8] })), &["layers with attention", "found none"]);
    refused(qwen35(json!({ "layer_types": ["sliding_attention"] })), &["layer_types", "linear_attention"]);
    refused(qwen35(json!({ "linear_num_value_heads": 3 })), &["heads of recurrent layers", "found 2 and 3"]);
    refused(qwen35(json!({ "linear_key_head_dim": 20 })), &["head sizes of recurrent layers", "found 20 and 16"]);
    refused(qwen35(json!({ "linear_conv_kernel_dim": 1 })), &["convolution", "found 1"]);
    refused(qwen35(json!({ "full_attention_interval": 0 })), &["full_attention_interval"]);
    refused(qwen35(json!({ "attention_bias": true })), &["attention_bias"]);
}

#[test]
fn growing_queries_are_read_or_refused() {
    let config = |fields: Value| {
        let mut rope = json!({
            "rope_type": "yarn", "factor": 16.0, "original_max_position_embeddings": 16384, "mscale": 1.0,
            "mscale_all_dim": 1.0, "llama_4_scaling_beta": 0.1, "rope_theta": 1e6,
        });
        rope.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        json!({ "model_type": "ministral3", "rope_parameters": rope })
    };
    let scaling = |fields: Value| accepted(config(fields)).query_scaling;
    assert_eq!(scaling(json!({})), Some(QueryScaling { beta: 0.1, original: 16384.0 }));
    assert_eq!(scaling(json!({ "llama_4_scaling_beta": 0.0 })), None);
    assert_eq!(scaling(json!({ "llama_4_scaling_beta": null })), None);
    refused(config(json!({ "llama_4_scaling_beta": -0.1 })), &["scaling of queries", "0 to 100", "-0.1"]);
    refused(config(json!({ "llama_4_scaling_beta": "a" })), &["llama_4_scaling_beta", "a number"]);
    refused(config(json!({ "original_max_position_embeddings": null })), &["original_max_position_embeddings"]);
    refused(config(json!({ "mscale": -40.0 })), &["magnitude of YaRN"]);
}

#[test]
fn experts_beside_recurrent_layers_are_read_or_refused() {
    let config = |fields: Value| {
        let mut config = qwen35(json!({
            "model_type": "qwen3_5_moe_text", "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32,
            "shared_expert_intermediate_size": 48,
        }));
        config.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        config
    };
    let spec = accepted(config(json!({ "intermediate_size": null })));
    assert_eq!(spec.experts, Some(Experts { shared: Some(48), ..Experts::of(8, 2) }));
    assert_eq!((spec.intermediate, spec.recurrent_layers()), (32, 6));
    for field in ["num_experts", "num_experts_per_tok", "moe_intermediate_size", "shared_expert_intermediate_size"] {
        refused(config(json!({ field: null })), &[field, "found nothing"]);
    }
    refused(config(json!({ "shared_expert_intermediate_size": 0 })), &["width of the shared expert", "found 0"]);
    refused(config(json!({ "num_experts_per_tok": 9 })), &["experts", "found 9 of 8"]);
    refused(config(json!({ "norm_topk_prob": false })), &["norm_topk_prob", "true"]);
    refused(config(json!({ "mlp_only_layers": [0] })), &["mlp_only_layers"]);
    refused(config(json!({ "decoder_sparse_step": 2 })), &["decoder_sparse_step"]);
}

/// With the fields of the published file.
#[test]
fn gpt_oss_is_read_or_refused() {
    let config = |fields: Value| {
        let mut config = json!({
            "model_type": "gpt_oss", "attention_bias": true, "head_dim": 16, "num_hidden_layers": 4, "rope_theta": 150_000,
            "rope_scaling": { "beta_fast": 32.0, "beta_slow": 1.0, "factor": 32.0, "rope_type": "yarn", "truncate": false,
                "original_max_position_embeddings": 4096 },
            "num_local_experts": 32, "num_experts_per_tok": 4, "experts_per_token": 4, "sliding_window": 128,
            "swiglu_limit": 7.0, "hidden_act": "silu", "quantization_config": { "quant_method": "mxfp4" },
        });
        config.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        config
    };
    let spec = accepted(config(json!({})));
    let experts = Experts { biased: true, ..Experts::of(32, 4) };
    assert_eq!((spec.experts, spec.attention_sinks, spec.gate), (Some(experts), true, Gate::ClampedSilu));
    assert_eq!([0, 1, 2, 3].map(|layer| spec.window_of(layer)), [128, usize::MAX, 128, usize::MAX]);
    assert!(matches!(spec.rope.scaling, RopeScaling::Yarn { whole_pairs: false, .. }));
    let types = json!(["full_attention", "full_attention", "sliding_attention", "full_attention"]);
    let windows = accepted(config(json!({ "layer_types": types })));
    assert_eq!([0, 1, 2, 3].map(|layer| windows.window_of(layer) == 128), [false, false, true, false]);
    let other = accepted(config(json!({ "rope_scaling": { "rope_type": "yarn", "factor": 2.0 } })));
    assert!(matches!(other.rope.scaling, RopeScaling::Yarn { whole_pairs: true, .. }));
    refused(config(json!({ "swiglu_limit": 6.0 })), &["swiglu_limit", "7", "6.0"]);
    refused(config(json!({ "swiglu_alpha": 1.0 })), &["swiglu_alpha", "1.702"]);
    refused(config(json!({ "attention_bias": false })), &["attention_bias", "true"]);
    refused(config(json!({ "quantization_config": { "quant_method": "gptq" } })), &["quantization_config", "mxfp4"]);
    refused(config(json!({ "num_local_experts": null })), &["num_experts", "found nothing"]);
    refused(config(json!({ "num_experts_per_tok": 33 })), &["experts", "found 33 of 32"]);
    refused(
        config(json!({ "rope_scaling": { "type": "yarn", "factor": 2.0, "truncate": 1 } })),
        &["truncate", "false"],
    );
}

#[test]
fn experts_have_a_name_in_each_kind_of_file() {
    let block = |tensor| Name::Block(3, tensor);
    for (tensor, gguf, folder) in [
        (BlockTensor::ExpertsGateUp, "ffn_gate_up_exps.weight", "mlp.experts.gate_up_proj"),
        (BlockTensor::Experts(Inner::Down), "ffn_down_exps.weight", "mlp.experts.down_proj"),
        (BlockTensor::ExpertsBias(Inner::Down), "ffn_down_exps.bias", "mlp.experts.down_proj_bias"),
        (BlockTensor::ExpertsGateUpBias, "ffn_gate_up_exps.bias", "mlp.experts.gate_up_proj_bias"),
        (BlockTensor::BiasedRouter, "ffn_gate_inp.weight", "mlp.router.weight"),
        (BlockTensor::RouterBias, "ffn_gate_inp.bias", "mlp.router.bias"),
        (BlockTensor::AttentionSinks, "attn_sinks.weight", "self_attn.sinks"),
        (BlockTensor::SharedExpert(Inner::Up), "ffn_up_shexp.weight", "mlp.shared_expert.up_proj.weight"),
        (BlockTensor::SharedExpertGate, "ffn_gate_inp_shexp.weight", "mlp.shared_expert_gate.weight"),
    ] {
        assert_eq!(Naming::Gguf.name(block(tensor)), format!("blk.3.{gguf}"));
        assert_eq!(Naming::FOLDER.name(block(tensor)), format!("model.layers.3.{folder}"));
    }
}
