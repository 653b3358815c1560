//! The continuation of 200 tokens that every row of the table of architectures has in some fixture.

use super::architectures::load;
use super::{argmax, golden, tokens};
use moot_models::{Residency, arch};
use safetensors::SafeTensors;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Tokens of a continuation.
const STEPS: usize = 200;

/// Fixtures without a continuation: no seed was chosen for them under which each of its tokens is far ahead of the second
/// one. Other fixtures of the same rows have one.
const LOGITS_ALONE: [&str; 5] = ["llama-linear", "mistral", "phi3", "phi3-long", "qwen3-yarn"];

/// Rows with a continuation from a folder alone: GGUF has no key for the windows of `qwen2-window`. `tiny/qwen2.gguf` has
/// continuations of 20 tokens.
const FOLDER_ALONE: [&str; 1] = ["qwen2"];

/// The continuation of `ids.1` in `file`, the numbers of fixture `name`. Only the fixtures of [`LOGITS_ALONE`] have none.
pub(super) fn continuation(name: &str, file: &SafeTensors<'_>) -> Option<Vec<u32>> {
    let stored = file.names().into_iter().any(|tensor| tensor == "greedy.1");
    assert_eq!(stored, !LOGITS_ALONE.contains(&name), "{name}: whether greedy.1 is stored");
    let found = stored.then(|| tokens(file, "greedy.1"));
    assert!(found.iter().all(|found| found.len() == STEPS), "{name}: greedy.1 has another length");
    found
}

/// Every folder with a config.json and every GGUF file that is no part of a split one.
fn fixtures() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(golden("architectures")).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.join("config.json").is_file() || path.extension().is_some_and(|of| of == "gguf"));
    paths.sort();
    paths
}

/// Compares the continuation of the fixture at `path`; returns its row by its own header or config.json, and whether it is a
/// GGUF. `None` where it has no continuation.
///
/// One pass has the logits of all steps, since a row's bits do not depend on the rows behind it. Where the largest logit
/// behind every token of the reference is its next token, a decoder that continues from its own tokens gives the same.
fn compared(path: &Path) -> Option<(&'static str, bool)> {
    let name = path.file_stem().unwrap().to_str().unwrap();
    let bytes = std::fs::read(golden("architectures").join(name).join("expected.safetensors")).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let expected = continuation(name, &file)?;
    let given = tokens(&file, "ids.1");
    let decoder = load(path, Residency::Dense);
    let logits = decoder.forward_alone(&[&given[..], &expected[..]].concat()).unwrap();
    assert_eq!(logits.len(), given.len() + STEPS, "{}", path.display());
    for (step, (row, token)) in logits[given.len() - 1..].iter().zip(&expected).enumerate() {
        assert_eq!(argmax(row), *token, "{}, token {step} of the continuation", path.display());
    }
    Some((decoder.spec().architecture, path.is_file()))
}

#[test]
fn every_architecture_has_a_continuation() {
    let found: BTreeSet<(&str, bool)> = fixtures().iter().filter_map(|path| compared(path)).collect();
    for arch in arch::ARCHS {
        assert!(!arch.about.is_empty(), "{}", arch.name);
        assert!(found.contains(&(arch.name, false)), "{}: no folder with a continuation", arch.name);
        let wanted = arch.from_gguf.is_some() && !FOLDER_ALONE.contains(&arch.name);
        assert_eq!(found.contains(&(arch.name, true)), wanted, "{}: a GGUF with a continuation", arch.name);
    }
}
