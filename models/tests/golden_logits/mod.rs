//! The decoder against Hugging Face transformers: the tiny random models at every position, the real files by loss and
//! greedy continuation. The reference numbers and the scripts that made them lie in `tests/golden/`.

mod architectures;
mod continuations;
mod experts;
mod gemma4;
mod images;
mod real;
mod recurrent;
mod tiny;
mod windows;

use moot_models::{LoadOptions, Model, Residency};
use safetensors::{Dtype, SafeTensors};
use std::path::{Path, PathBuf};

/// Largest difference allowed to any logit of a tiny model. The logits spread over about [-4, 4]. Widened, both sides
/// compute in f32, which leaves some 1e-6; as stored, keys and values are f16, which leaves some 0.01. The slips that the
/// makers try on purpose (a rope base or its scaling, a bias, a norm, the order of rows) move a logit by 0.07 and more.
const TOLERANCES: [(Residency, f32); 2] = [(Residency::Dense, 1e-4), (Residency::AsStored, 0.02)];

/// A folder of fixtures.
fn golden(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(folder)
}

fn held(residency: Residency) -> LoadOptions {
    LoadOptions { residency, ..LoadOptions::default() }
}

fn open(path: &Path, residency: Residency) -> Model {
    Model::open(path, &held(residency)).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Logits `[tokens][vocab]` of one sequence from an empty cache: the one function that calls the decoder.
fn logits(model: &Model, ids: &[u32]) -> Vec<Vec<f32>> {
    model.decoder.forward_alone(ids).unwrap()
}

/// The first of the largest, as the reference takes it.
fn argmax(row: &[f32]) -> u32 {
    assert!(row.iter().all(|logit| logit.is_finite()), "a logit is not finite");
    let best = (0..row.len()).reduce(|best, next| if row[next] > row[best] { next } else { best });
    best.expect("a row has logits (bug)") as u32
}

/// A sequence and its logits, `[tokens][vocab]`.
struct Reference {
    ids: Vec<u32>,
    logits: Vec<Vec<f32>>,
}

fn words(file: &SafeTensors, name: &str, dtype: Dtype) -> (Vec<usize>, Vec<[u8; 4]>) {
    let tensor = file.tensor(name).unwrap();
    assert_eq!(tensor.dtype(), dtype, "{name}");
    let words = tensor.data().chunks_exact(4).map(|bytes| bytes.try_into().unwrap());
    (tensor.shape().to_vec(), words.collect())
}

fn tokens(file: &SafeTensors, name: &str) -> Vec<u32> {
    words(file, name, Dtype::U32).1.into_iter().map(u32::from_le_bytes).collect()
}

/// Sequence `number` of an `expected.safetensors`.
fn reference(file: &SafeTensors, number: usize) -> Reference {
    let (shape, numbers) = words(file, &format!("logits.{number}"), Dtype::F32);
    let numbers: Vec<f32> = numbers.into_iter().map(f32::from_le_bytes).collect();
    Reference {
        ids: tokens(file, &format!("ids.{number}")),
        logits: numbers.chunks_exact(shape[1]).map(<[f32]>::to_vec).collect(),
    }
}

fn assert_close(found: &[Vec<f32>], expected: &[Vec<f32>], tolerance: f32, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}: rows");
    for (position, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert_eq!(found.len(), expected.len(), "{what}, position {position}: logits");
        for (token, (found, expected)) in found.iter().zip(expected).enumerate() {
            let close = (found - expected).abs() <= tolerance; // false for NaN
            assert!(close, "{what}, position {position}, token {token}: expected {expected}, found {found}");
        }
    }
}
