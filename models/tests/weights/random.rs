//! Random weights: as many as the spec says, as wide as they should be, and a forward that stays finite.

use candle_core::quantized::GgmlDType;
use candle_core::{DType, Device};
use moot_models::arch::{Config, spec_of_config};
use moot_models::memory::Footprint;
use moot_models::source::Catalog;
use moot_models::tokenizer::{Message, Role, Thinking};
use moot_models::weights::{RandomOptions, Weights, storage_of, type_name, type_named};
use moot_models::{DecoderSpec, FeedForwards, LoadOptions, Model, ModelError};
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
fn a_seed_determines_the_weights() {
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
        let ids = model.prompt(&[Message::new(Role::User, "Who built the bridge?")], Thinking::Off).unwrap();
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

/// Two groups of rows and two chunks of inner activations are enough tasks for one thread; a row alone is not.
#[test]
fn feed_forward_layers_of_many_rows_are_computed_in_one_pass() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let counts = |storage| {
        let random = RandomOptions { seed: 3, storage };
        let decoder = Model::random(&small(), random, &LoadOptions::default()).unwrap().decoder;
        [&[1][..], &[7; 200]].map(|tokens| {
            pool.install(|| decoder.forward_alone(tokens)).unwrap();
            let FeedForwards { applied, in_one_pass, .. } = decoder.feed_forwards();
            (applied, in_one_pass)
        })
    };
    assert_eq!(counts(GgmlDType::Q4K), [(3, 0), (6, 3)]);
    assert_eq!(counts(GgmlDType::F32), [(3, 0), (6, 0)]);
}

#[test]
fn rows_that_are_no_whole_blocks_take_another_type() {
    assert_eq!(storage_of(GgmlDType::Q4K, 4096), GgmlDType::Q4K);
    assert_eq!(storage_of(GgmlDType::Q4K, 896), GgmlDType::Q5_0);
    assert_eq!(storage_of(GgmlDType::Q6K, 896), GgmlDType::Q8_0);
    assert_eq!(storage_of(GgmlDType::Q6K, 100), GgmlDType::F16);
    assert_eq!(storage_of(GgmlDType::F32, 1), GgmlDType::F32);
}

/// Random weights have the tensors that a row is planned by. That these are the models' is checked against the counts of model
/// cards (`memory`).
#[test]
fn every_alias_of_the_catalog_has_a_spec_and_its_tensors() {
    for entry in Catalog::embedded().models {
        let spec = spec(entry.shape.config()).unwrap_or_else(|error| panic!("{}: {error}", entry.alias));
        let weights = Weights::random(&spec, RandomOptions { seed: 1, storage: GgmlDType::Q4K });
        let footprint = Footprint::of(&weights).unwrap();
        let planned = Footprint::planned(&entry.shape, &entry.quant);
        assert_eq!(footprint.parameters(), planned.parameters(), "{}", entry.alias);
        assert_eq!(footprint.kv_token_bytes, planned.kv_token_bytes, "{}", entry.alias);
        assert_eq!(footprint.groups, planned.groups, "{}", entry.alias);
        let bytes = |footprint: &Footprint| footprint.kv_bytes(3, 9000, 512);
        assert_eq!(bytes(&footprint), bytes(&planned), "{}", entry.alias);
    }
}
