//! A model over two NVIDIA GPUs against the same on one:
//! `cargo test --release --package moot-models --features cuda --test gpus -- --ignored`.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use candle_core::quantized::GgmlDType;
use moot_models::arch::{Config, spec_of_config};
use moot_models::weights::{RandomOptions, Weights};
use moot_models::{DType, Decoder, DecoderSpec, Device, LoadOptions, kernels};
use serde_json::json;
use std::path::Path;

fn gpu(number: usize) -> Device {
    kernels::open_cuda(number).unwrap_or_else(|error| panic!("expected two NVIDIA GPUs: {error}"))
}

fn spec() -> DecoderSpec {
    let value = json!({
        "model_type": "qwen3", "vocab_size": 500, "hidden_size": 256, "num_hidden_layers": 4, "head_dim": 64,
        "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 512, "max_position_embeddings": 512,
        "rms_norm_eps": 1e-6, "rope_theta": 1e6, "tie_word_embeddings": false,
    });
    spec_of_config(&Config::of(Path::new("a test"), value).unwrap()).unwrap()
}

#[test]
#[ignore = "needs two NVIDIA GPUs and a build with --features cuda"]
fn layers_over_two_gpus_give_the_bits_of_one() {
    for (storage, exact) in [(GgmlDType::F16, false), (GgmlDType::F16, true), (GgmlDType::Q4K, false)] {
        let weights = Weights::random(&spec(), RandomOptions { seed: 5, storage });
        let load = |more_devices| {
            let options =
                LoadOptions { device: gpu(0), more_devices, dtype: DType::F16, exact, ..LoadOptions::default() };
            Decoder::load(spec(), &weights, &options).unwrap()
        };
        let (one, two) = (load(Vec::new()), load(vec![gpu(1)]));
        for length in [1, 7, 40, 150] {
            let ids: Vec<u32> = (0..length).map(|i| i * 7919 % 500).collect();
            let [one, two] = [&one, &two].map(|decoder| decoder.forward_alone(&ids).unwrap());
            assert!(one.iter().flatten().all(|logit| logit.is_finite()));
            assert!(one == two, "{storage:?}, exact {exact}, {length} tokens");
        }
    }
}
