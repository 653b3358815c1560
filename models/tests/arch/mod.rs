//! Fields to specs: what is taken from a config.json, and what is refused in one line.

use moot_models::arch::{ARCHS, Arch, Config, spec_of_config};
use moot_models::{ContextLimit, DecoderSpec, Layout, ModelError, Projections, QkRows, Rope, RopeScaling};
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
        &["\"mixtral\" is not supported", "llama, mistral, qwen2, qwen3, phi3"],
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
    let deepseek = json!({ "rope_scaling": { "type": "yarn", "factor": 4.0, "mscale": 0.7 } });
    refused(deepseek, &["rope_scaling.mscale"]);
}

#[test]
fn settings_that_would_change_the_computation_are_refused() {
    refused(json!({ "hidden_act": "gelu" }), &["hidden_act", "\"silu\"", "\"gelu\""]);
    refused(json!({ "mlp_bias": true }), &["mlp_bias"]);
    refused(json!({ "quantization_config": { "quant_method": "gptq" } }), &["quantization_config", "GGUF"]);
    refused(json!({ "partial_rotary_factor": 0.5 }), &["partial_rotary_factor", "not known of llama", "found 0.5"]);
    let section = json!({ "rope_parameters": { "rope_type": "default", "partial_rotary_factor": 0.5 } });
    refused(section, &["rope_parameters.partial_rotary_factor", "found 0.5"]);
    refused(json!({ "num_key_value_heads": 3 }), &["heads and key-value heads", "found 4 and 3"]);
    refused(json!({ "head_dim": 24 }), &["head size", "multiple of 16"]);
    refused(json!({ "num_hidden_layers": 1_u64 << 40 }), &["layers", "1 to 4096"]);
    refused(json!({ "head_dim": u64::MAX }), &["head size"]);
    refused(json!({ "model_type": "qwen3" }), &["head_dim", "found nothing"]);
}

#[test]
fn a_window_smaller_than_the_context_cuts_it() {
    let windowed = |model_type: &str, window: Value, switch: Value| {
        accepted(
            json!({ "model_type": model_type, "head_dim": 16, "sliding_window": window, "use_sliding_window": switch }),
        )
    };
    let cut = (1024, ContextLimit::SlidingWindow { claimed: 4096 });
    let whole = (4096, ContextLimit::Trained);
    for (model_type, window, switch, expected) in [
        ("mistral", json!(1024), json!(null), cut),
        ("mistral", json!(null), json!(null), whole),
        ("mistral", json!(4096), json!(null), whole),
        ("phi3", json!(1024), json!(null), cut),
        ("qwen2", json!(1024), json!(false), whole),
        ("qwen2", json!(1024), json!(true), cut),
        ("qwen3", json!(1024), json!(true), cut),
        ("llama", json!(1024), json!(null), whole),
    ] {
        let spec = windowed(model_type, window.clone(), switch);
        assert_eq!((spec.context, spec.limit), expected, "{model_type}, {window}");
        assert_eq!(spec.note().is_some(), expected != whole);
    }
}

/// Every order is a permutation within each head, and rotated pairs come half a head apart.
#[test]
fn rows_are_put_in_the_order_of_the_rotation() {
    let plain = accepted(json!({}));
    assert!(plain.rows_in_order() && (0..64).all(|row| plain.file_row(row) == row));
    for (qk_rows, dims) in [(QkRows::Interleaved, 16), (QkRows::Halves, 12), (QkRows::Interleaved, 4)] {
        let layout = Layout { qk_rows, projections: Projections::Separate };
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
