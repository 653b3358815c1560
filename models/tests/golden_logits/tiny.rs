//! Every form of the tiny models: folder, shards, GGUF.

use super::{argmax, golden, logits, open};
use safetensors::{Dtype, SafeTensors};

/// Largest difference allowed to any logit. The logits spread over about [-4, 4] and both sides compute in f32, which
/// leaves some 1e-6; the slips that `make.py` tries on purpose (rope base, epsilon, a bias, the order of the key rows)
/// move a logit by 0.07 and more.
const TOLERANCE: f32 = 1e-4;

/// What transformers says of one sequence.
struct Expected {
    ids: Vec<u32>,
    /// `[tokens][vocab]`
    logits: Vec<Vec<f32>>,
    /// The tokens that follow `ids`, each the one with the largest logit.
    greedy: Vec<u32>,
}

fn words(file: &SafeTensors, name: &str, dtype: Dtype) -> (Vec<usize>, Vec<[u8; 4]>) {
    let tensor = file.tensor(name).unwrap();
    assert_eq!(tensor.dtype(), dtype, "{name}");
    let words = tensor.data().chunks_exact(4).map(|bytes| bytes.try_into().unwrap());
    (tensor.shape().to_vec(), words.collect())
}

fn expected(architecture: &str) -> Vec<Expected> {
    let bytes = std::fs::read(golden("tiny").join(format!("{architecture}.expected.safetensors"))).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let tokens = |name: String| words(&file, &name, Dtype::U32).1.into_iter().map(u32::from_le_bytes).collect();
    let sequence = |number: usize| {
        let (shape, numbers) = words(&file, &format!("logits.{number}"), Dtype::F32);
        let numbers: Vec<f32> = numbers.into_iter().map(f32::from_le_bytes).collect();
        Expected {
            ids: tokens(format!("ids.{number}")),
            logits: numbers.chunks_exact(shape[1]).map(<[f32]>::to_vec).collect(),
            greedy: tokens(format!("greedy.{number}")),
        }
    };
    (0..3).map(sequence).collect()
}

fn assert_close(found: &[Vec<f32>], expected: &[Vec<f32>], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}: rows");
    for (position, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert_eq!(found.len(), expected.len(), "{what}, position {position}: logits");
        for (token, (found, expected)) in found.iter().zip(expected).enumerate() {
            let close = (found - expected).abs() <= TOLERANCE; // false for NaN
            assert!(close, "{what}, position {position}, token {token}: expected {expected}, found {found}");
        }
    }
}

/// Opens `form` (a file or folder under `golden/tiny`) and holds it to what transformers says of `architecture`.
fn check(architecture: &str, form: &str) {
    let model = open(&golden("tiny").join(form));
    for expected in expected(architecture) {
        let what = format!("{form}, {} tokens", expected.ids.len());
        assert_close(&logits(&model, &expected.ids), &expected.logits, &what);
        let mut sequence = expected.ids.clone();
        for _ in &expected.greedy {
            let rows = logits(&model, &sequence);
            sequence.push(argmax(rows.last().unwrap()));
        }
        assert_eq!(sequence[expected.ids.len()..], expected.greedy, "{what}: greedy continuation");
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
