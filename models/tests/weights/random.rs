//! Random weights: as many as the spec says, as wide as they should be, and a forward that stays finite.

use candle_core::quantized::GgmlDType;
use candle_core::{DType, Device};
use moot_models::arch::{Config, spec_of_config};
use moot_models::tokenizer::{Message, Role};
use moot_models::weights::{RandomOptions, Weights, storage_of, type_name, type_named};
use moot_models::{DecoderSpec, LoadOptions, Model, ModelError, footprint};
use serde_json::{Value, json};
use std::path::Path;

fn spec(value: Value) -> Result<DecoderSpec, ModelError> {
    spec_of_config(&Config::of(Path::new("the catalog"), value)?)
}

fn small() -> DecoderSpec {
    spec(json!({
        "model_type": "qwen3", "vocab_size": 300, "hidden_size": 256, "num_hidden_layers": 3, "head_dim": 64,
        "num_attention_heads": 6, "num_key_value_heads": 2, "intermediate_size": 512, "max_position_embeddings": 512,
        "rms_norm_eps": 1e-6, "rope_theta": 1e6,
    }))
    .unwrap()
}

const STORAGES: [GgmlDType; 13] = [
    GgmlDType::F32,
    GgmlDType::F16,
    GgmlDType::BF16,
    GgmlDType::Q4_0,
    GgmlDType::Q4_1,
    GgmlDType::Q5_0,
    GgmlDType::Q5_1,
    GgmlDType::Q8_0,
    GgmlDType::Q2K,
    GgmlDType::Q3K,
    GgmlDType::Q4K,
    GgmlDType::Q5K,
    GgmlDType::Q6K,
];

#[test]
fn numbers_have_the_deviation_of_their_width() {
    for storage in STORAGES {
        let weights = Weights::random(&small(), RandomOptions { seed: 1, storage });
        assert_eq!(weights.stored_type("blk.1.ffn_down.weight").unwrap(), type_name(storage));
        assert_eq!(type_named(&type_name(storage).to_lowercase()), Some(storage));
        let rows = weights.rows("blk.1.ffn_down.weight", 256, 512).unwrap();
        let numbers = rows.dense(DType::F32, &Device::Cpu).unwrap().flatten_all().unwrap().to_vec1::<f32>().unwrap();
        let count = numbers.len() as f32;
        let (mean, square) = (numbers.iter().sum::<f32>() / count, numbers.iter().map(|x| x * x).sum::<f32>() / count);
        let deviation = (square - mean * mean).sqrt() * 512f32.sqrt();
        assert!((deviation - 1.0).abs() < 0.03, "{storage:?}: {deviation}");
        assert!((mean * 512f32.sqrt()).abs() < 0.12, "{storage:?}: mean {mean}");
        let mut row = vec![0.0; 512];
        rows.read(7, &mut row);
        assert_eq!(row, numbers[7 * 512..8 * 512], "{storage:?}");
        assert!(rows.check_read().is_ok());
    }
}

#[test]
fn a_seed_says_which() {
    let row = |seed, name| {
        let weights = Weights::random(&small(), RandomOptions { seed, storage: GgmlDType::Q4K });
        weights.rows(name, 512, 256).unwrap().stored(5).into_owned()
    };
    assert_eq!(row(1, "blk.0.ffn_up.weight"), row(1, "blk.0.ffn_up.weight"));
    assert_ne!(row(1, "blk.0.ffn_up.weight"), row(2, "blk.0.ffn_up.weight"));
    assert_ne!(row(1, "blk.0.ffn_up.weight"), row(1, "blk.1.ffn_up.weight"));
}

#[test]
fn a_random_model_takes_text_and_stays_finite() {
    for storage in STORAGES {
        let random = RandomOptions { seed: 3, storage };
        let model = Model::random(&small(), random, &LoadOptions::default()).unwrap();
        let segments = model.template.render(&[Message::new(Role::User, "Who built the bridge?")], true).unwrap();
        let ids = model.tokenizer.encode_prompt(&segments).unwrap();
        let logits = model.decoder.forward_alone(&ids).unwrap();
        assert_eq!(logits[0].len(), 300);
        let spread = |row: &[f32]| row.iter().fold(0f32, |most, x| most.max(x.abs()));
        assert!(logits.iter().all(|row| row.iter().all(|x| x.is_finite()) && spread(row) < 20.0), "{storage:?}");
        assert!(logits.iter().all(|row| spread(row) > 0.5), "{storage:?}");
    }
    let few = DecoderSpec { vocab: 100, ..small() };
    let random = RandomOptions { seed: 3, storage: GgmlDType::F32 };
    let error = Model::random(&few, random, &LoadOptions::default()).unwrap_err();
    assert!(error.to_string().contains("vocab_size: expected at least 258"), "{error}");
}

#[test]
fn rows_that_are_no_whole_blocks_take_another_type() {
    assert_eq!(storage_of(GgmlDType::Q4K, 4096), GgmlDType::Q4K);
    assert_eq!(storage_of(GgmlDType::Q4K, 896), GgmlDType::Q5_0);
    assert_eq!(storage_of(GgmlDType::Q6K, 896), GgmlDType::Q8_0);
    assert_eq!(storage_of(GgmlDType::Q6K, 100), GgmlDType::F16);
    assert_eq!(storage_of(GgmlDType::F32, 1), GgmlDType::F32);
}

/// Published numbers of parameters.
#[test]
fn the_footprint_of_known_models() {
    let llama3_8b = spec(json!({
        "model_type": "llama", "vocab_size": 128_256, "hidden_size": 4096, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336,
        "max_position_embeddings": 131_072, "rms_norm_eps": 1e-5, "rope_theta": 500_000.0,
        "rope_scaling": { "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8192 },
    }))
    .unwrap();
    assert_eq!(footprint::parameters(&llama3_8b), 8_030_261_248);
    assert_eq!(footprint::weight_bytes(&llama3_8b, GgmlDType::BF16), 2 * 8_030_261_248 + 2 * 4096 * 65);
    assert_eq!(footprint::kv_bytes(&llama3_8b, DType::F16), 128 << 10);
    let qwen3_06b = spec(json!({
        "model_type": "qwen3", "vocab_size": 151_936, "hidden_size": 1024, "num_hidden_layers": 28, "head_dim": 128,
        "num_attention_heads": 16, "num_key_value_heads": 8, "intermediate_size": 3072,
        "max_position_embeddings": 40960, "rms_norm_eps": 1e-6, "rope_theta": 1e6, "tie_word_embeddings": true,
    }))
    .unwrap();
    assert_eq!(footprint::parameters(&qwen3_06b), 596_049_920);
    let phi3_mini = spec(json!({
        "model_type": "phi3", "vocab_size": 32064, "hidden_size": 3072, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 32, "intermediate_size": 8192,
        "max_position_embeddings": 4096, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "sliding_window": 2047,
    }))
    .unwrap();
    assert_eq!(footprint::parameters(&phi3_mini), 3_821_079_552);
    assert_eq!(phi3_mini.context, 2047);
}

/// A footprint is the sum of what the tensors themselves take.
#[test]
fn the_footprint_is_that_of_the_tensors() {
    let spec = small();
    for storage in STORAGES {
        let weights = Weights::random(&spec, RandomOptions { seed: 1, storage });
        let bytes = |name: &str| {
            let shape = weights.shape(name).unwrap();
            let inputs = *shape.last().unwrap();
            let kind = type_named(&weights.stored_type(name).unwrap()).unwrap();
            shape.iter().product::<usize>() / inputs * (inputs / kind.block_size()) * kind.type_size()
        };
        let total: usize = weights.names().map(bytes).sum();
        assert_eq!(footprint::weight_bytes(&spec, storage), total as u64, "{storage:?}");
    }
}
