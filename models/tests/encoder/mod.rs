//! Encoders against what transformers computes for the same folders (golden/encoders, made by the script there).

mod causal;
mod damaged;
mod families;
mod gguf;
mod one_text;
mod rerankers;
mod settings;

use moot_models::encoder::{EmbeddingModel, EncoderOptions, Precision};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};

/// One text and what became of it.
#[derive(Deserialize)]
struct Text {
    text: String,
    ids: Vec<u32>,
    vector: Vec<f32>,
}

#[derive(Deserialize)]
struct Texts {
    texts: Vec<Text>,
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/encoders").join(name)
}

fn expected<T: DeserializeOwned>(file: &Path) -> T {
    serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

fn options(precision: Precision) -> EncoderOptions {
    EncoderOptions { precision, ..EncoderOptions::default() }
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

fn farthest(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

/// All of `texts` at once, in rows.
fn vectors(model: &EmbeddingModel, texts: &[Text]) -> Vec<Vec<f32>> {
    let all: Vec<&str> = texts.iter().map(|text| text.text.as_str()).collect();
    let embedded = model.embed("", &all).unwrap();
    embedded.vectors.chunks(model.dimension()).map(<[f32]>::to_vec).collect()
}
