//! Fuzzing on stable Rust: seeded, structure-aware mutations of a corpus, with every allocation counted. README.md says
//! how to run it for longer than `cargo test` does.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

mod allocator;
/// The tokenizers' entries, which their own tests call with damage of another kind.
#[path = "../tests/tokenizer/fuzz_entry.rs"]
mod fuzz_entry;
mod json;
mod mutate;
mod random;
mod run;
mod targets;

#[test]
fn gguf_header() {
    run::target("gguf");
}

#[test]
fn safetensors_header() {
    run::target("safetensors");
}

#[test]
fn config_json() {
    run::target("config");
}

#[test]
fn gguf_vocabulary() {
    run::target("vocabulary");
}

#[test]
fn tokenizer_json() {
    run::target("tokenizer");
}

#[test]
fn chat_template() {
    run::target("template");
}

/// A target without a test above would never run.
#[test]
fn every_target_has_a_test_and_a_corpus() {
    let tested = ["gguf", "safetensors", "config", "vocabulary", "tokenizer", "template"];
    assert!(targets::TARGETS.iter().map(|target| target.name).eq(tested));
    assert!(targets::TARGETS.iter().all(|target| run::corpus(target).len() >= 3));
}

/// Of each architecture that GGUF files name, a sound file that fuzzing starts from.
#[test]
fn every_architecture_has_a_sound_gguf() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/gguf");
    for arch in moot_models::arch::ARCHS.iter().filter(|arch| arch.from_gguf.is_some()) {
        let path = folder.join(format!("{}.gguf", arch.name));
        let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        targets::gguf(&bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
}
