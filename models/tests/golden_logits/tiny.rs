//! Every form of the tiny models: folder, shards, GGUF.

use super::{Reference, TOLERANCES, argmax, assert_close, golden, logits, open, reference, tokens};
use safetensors::SafeTensors;

/// The logits of transformers for one sequence, and the tokens that follow it, each the one with the largest logit.
fn expected(architecture: &str) -> Vec<(Reference, Vec<u32>)> {
    let bytes = std::fs::read(golden("tiny").join(format!("{architecture}.expected.safetensors"))).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    (0..3).map(|number| (reference(&file, number), tokens(&file, &format!("greedy.{number}")))).collect()
}

/// Opens `form` (a file or folder under `golden/tiny`) and compares it with transformers' numbers for `architecture`.
fn check(architecture: &str, form: &str) {
    for (residency, tolerance) in TOLERANCES {
        let model = open(&golden("tiny").join(form), residency);
        for (expected, greedy) in expected(architecture) {
            let what = format!("{form}, {residency:?}, {} tokens", expected.ids.len());
            assert_close(&logits(&model, &expected.ids), &expected.logits, tolerance, &what);
            let mut sequence = expected.ids.clone();
            for _ in &greedy {
                let rows = logits(&model, &sequence);
                sequence.push(argmax(rows.last().unwrap()));
            }
            assert_eq!(sequence[expected.ids.len()..], greedy, "{what}: greedy continuation");
        }
    }
}

#[test]
fn llama_folder() {
    check("llama", "llama");
}

/// The weights are bfloat16 numbers in every form, so widened to f32 the shards hold the very same model and are held
/// to the same tolerance.
#[test]
fn llama_sharded_bfloat16_folder() {
    check("llama", "llama-sharded");
}

#[test]
fn llama_gguf() {
    check("llama", "llama.gguf");
}

#[test]
fn qwen2_folder() {
    check("qwen2", "qwen2");
}

#[test]
fn qwen2_gguf() {
    check("qwen2", "qwen2.gguf");
}
