//! The decoder against Hugging Face transformers: the tiny random models at every position, the real files by loss and
//! greedy continuation. The reference numbers and the scripts that made them lie in `tests/golden/`.

mod real;
mod tiny;

use moot_models::{LoadOptions, Model};
use std::path::{Path, PathBuf};

/// A folder of fixtures.
fn golden(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(folder)
}

fn open(path: &Path) -> Model {
    Model::open(path, &LoadOptions::default()).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Logits `[tokens][vocab]` of one sequence from an empty cache: the one place that knows how the decoder is called.
fn logits(model: &Model, ids: &[u32]) -> Vec<Vec<f32>> {
    model.decoder.forward_alone(ids).unwrap()
}

/// The first of the largest, as the reference takes it.
fn argmax(row: &[f32]) -> u32 {
    assert!(row.iter().all(|logit| logit.is_finite()), "a logit is not finite");
    let best = (0..row.len()).reduce(|best, next| if row[next] > row[best] { next } else { best });
    best.expect("a row has logits (bug)") as u32
}
