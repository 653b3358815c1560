//! What is fuzzed. A target is one function from bytes to an outcome, so that any other fuzzer can call it too.

use super::json;
use super::mutate;
use super::random::Random;
use moot_models::arch::{self, Config};
use moot_models::weights::{Gguf, Safetensors, Weights};
use moot_models::{DType, Device, KvCache, ModelError};
use std::path::Path;

/// A row of [`TARGETS`].
pub(crate) struct Target {
    pub(crate) name: &'static str,
    /// The entry. An error is as good an outcome as any; only a panic, a hang and a greedy allocation are faults.
    pub(crate) entry: fn(&[u8]) -> Result<(), ModelError>,
    /// Changes an input a little, by what its format is.
    pub(crate) mutate: fn(&mut Vec<u8>, &mut Random),
    /// Files under `models/` that are in the corpus besides `fuzz/corpus/<name>`.
    pub(crate) more: &'static [&'static str],
}

const CONFIGS: &[&str] = &[
    "tests/golden/architectures/llama3/config.json",
    "tests/golden/architectures/llama-linear/config.json",
    "tests/golden/architectures/mistral/config.json",
    "tests/golden/architectures/qwen3/config.json",
    "tests/golden/architectures/qwen3-yarn/config.json",
    "tests/golden/architectures/phi3/config.json",
    "tests/golden/architectures/phi3-long/config.json",
    "tests/golden/tiny/qwen2/config.json",
];

/// Every target there is.
pub(crate) const TARGETS: &[Target] = &[
    Target { name: "gguf", entry: gguf, mutate: mutate::gguf, more: &[] },
    Target { name: "safetensors", entry: safetensors, mutate: json::safetensors, more: &[] },
    Target { name: "config", entry: config, mutate: json::document, more: CONFIGS },
];

/// A GGUF file: its header, its architecture, a row of every tensor.
pub(crate) fn gguf(bytes: &[u8]) -> Result<(), ModelError> {
    let gguf = Gguf::from_bytes(Path::new("fuzzed.gguf"), bytes.to_vec())?;
    let weights = Weights::Gguf(gguf);
    for name in weights.names() {
        read_row(&weights, name)?;
    }
    let spec = arch::spec(&weights)?;
    assert!(spec.file_row(spec.head_dim - 1) < spec.head_dim);
    Ok(())
}

/// A safetensors file: its header, a row of every tensor.
pub(crate) fn safetensors(bytes: &[u8]) -> Result<(), ModelError> {
    let weights = Weights::Safetensors(Safetensors::from_bytes(Path::new("fuzzed"), bytes.to_vec())?);
    weights.names().try_for_each(|name| read_row(&weights, name))
}

fn read_row(weights: &Weights, name: &str) -> Result<(), ModelError> {
    weights.stored_type(name)?;
    let shape = weights.shape(name)?;
    let &[outputs, inputs] = &shape[..] else {
        return weights.dense(name, &shape, DType::F32, &Device::Cpu).map(|_| ());
    };
    let rows = weights.rows(name, outputs, inputs)?;
    if outputs > 0 {
        rows.read(outputs - 1, &mut vec![0.0; inputs]);
    }
    rows.check_read()
}

/// A config.json.
pub(crate) fn config(bytes: &[u8]) -> Result<(), ModelError> {
    let spec = arch::spec_of_config(&Config::parse(Path::new("fuzzed"), bytes)?)?;
    assert!(spec.file_row(spec.head_dim * spec.heads - 1) < spec.head_dim * spec.heads);
    assert!(KvCache::page_bytes(&spec, DType::F32) > 0);
    assert!(spec.note().is_none_or(|note| note.len() < 300));
    Ok(())
}
