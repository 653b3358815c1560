//! moot's decoder against candle-transformers' on the same GGUF files: another reader, another decoder, other products.
#![allow(missing_docs)]

use moot_beside_candle::{Peer, argmax};
use moot_models::source::{Options, default_cache, locate};
use moot_models::{LoadOptions, Model, Residency};
use std::path::{Path, PathBuf};

fn golden(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/tests/golden").join(folder)
}

/// Logits `[tokens][vocab]` of one sequence. The peer gives those of the last position alone, so it is fed token by token.
fn logits(peer: &mut Peer, ids: &[u32]) -> Vec<Vec<f32>> {
    ids.iter().enumerate().map(|(position, &id)| peer.forward(&[id], position).unwrap()).collect()
}

/// Every logit of a tiny model, whose weights are numbers of bfloat16: widened, nothing is rounded on either side. The
/// logits spread over about [-4, 4].
fn check_tiny(file: &str) {
    let path = golden("tiny").join(file);
    let held = LoadOptions { residency: Residency::Dense, ..LoadOptions::default() };
    let (model, mut peer) = (Model::open(&path, &held).unwrap(), Peer::open(&path).unwrap());
    for tokens in [1, 17, 40] {
        let ids: Vec<u32> = (0..tokens).map(|i| (i * 37 + tokens) % 90).collect();
        let (found, expected) = (model.decoder.forward_alone(&ids).unwrap(), logits(&mut peer, &ids));
        assert_eq!(found.len(), expected.len(), "{file}: rows");
        for (position, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert_eq!(found.len(), expected.len(), "{file}, position {position}: logits");
            let largest = found.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(largest <= 1e-4, "{file}, {tokens} tokens, position {position}: logits differ by {largest}");
        }
    }
}

#[test]
fn llama() {
    check_tiny("llama.gguf");
}

#[test]
fn qwen2() {
    check_tiny("qwen2.gguf");
}

/// Greedy tokens of a real file, as stored: both sides bring activations to bytes, each in its own way, so a step counts
/// where the peer's two largest logits lie further apart than `GAP`.
fn check_real(alias: &str) {
    const GAP: f32 = 0.5;
    let options = Options { cache: default_cache().unwrap(), offline: true };
    let path = locate(alias, &options, &mut |_| {}).unwrap().path;
    let held = LoadOptions { residency: Residency::AsStored, ..LoadOptions::default() };
    let (model, mut peer) = (Model::open(&path, &held).unwrap(), Peer::open(&path).unwrap());
    let text = std::fs::read_to_string(golden("real").join(format!("{alias}.json"))).unwrap();
    let runs = serde_json::from_str::<serde_json::Value>(&text).unwrap()["greedy"].as_array().unwrap()[..10].to_vec();
    let (mut compared, mut steps) = (0, 0);
    for run in &runs {
        let ids =
            |name: &str| run[name].as_array().unwrap().iter().map(|id| id.as_u64().unwrap() as u32).collect::<Vec<_>>();
        let (prompt, fed) = (ids("ids"), [ids("ids"), ids("continuation")].concat());
        let (found, expected) = (model.decoder.forward_alone(&fed).unwrap(), logits(&mut peer, &fed));
        for (step, (found, expected)) in found.iter().zip(&expected).skip(prompt.len() - 1).enumerate() {
            let best = argmax(expected);
            let second = (0..expected.len()).filter(|&id| id != best).map(|id| expected[id]).fold(f32::MIN, f32::max);
            steps += 1;
            if expected[best] - second > GAP {
                compared += 1;
                assert_eq!(argmax(found), best, "{alias}: {}, step {step}", run["prompt"]);
            }
        }
    }
    assert!(compared * 100 >= 70 * steps, "{alias}: only {compared} of {steps} steps are clear enough to compare");
}

#[test]
#[ignore = "needs the real model in the cache"]
fn smollm2_135m() {
    check_real("smollm2-135m");
}

#[test]
#[ignore = "needs the real model in the cache"]
fn qwen25_coder_05b() {
    check_real("qwen2.5-coder-0.5b");
}

#[test]
#[ignore = "needs the real model in the cache"]
fn qwen25_coder_15b() {
    check_real("qwen2.5-coder-1.5b");
}
