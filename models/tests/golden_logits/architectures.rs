//! A tiny model of every architecture and form of rope scaling, from a folder and from a GGUF file.

use super::{TOLERANCES, assert_close, golden, held, reference};
use moot_models::weights::Weights;
use moot_models::{ContextLimit, Decoder, DecoderSpec, Residency, arch};
use safetensors::SafeTensors;
use std::path::Path;

fn load(path: &Path, residency: Residency) -> Decoder {
    let weights = Weights::open(path).unwrap_or_else(|error| panic!("{error}"));
    let spec = arch::spec(&weights).unwrap_or_else(|error| panic!("{error}"));
    Decoder::load(spec, &weights, &held(residency)).unwrap_or_else(|error| panic!("{error}"))
}

/// Compares the model at `path` with transformers' logits of `name`; returns its spec.
fn assert_golden(path: &Path, name: &str) -> DecoderSpec {
    let bytes = std::fs::read(golden("architectures").join(name).join("expected.safetensors")).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let [spec, _] = TOLERANCES.map(|(residency, tolerance)| {
        let decoder = load(path, residency);
        for expected in (0..3).map(|number| reference(&file, number)) {
            let what = format!("{}, {residency:?}, {} tokens", path.display(), expected.ids.len());
            assert_close(&decoder.forward_alone(&expected.ids).unwrap(), &expected.logits, tolerance, &what);
        }
        decoder.spec().clone()
    });
    spec
}

/// Compares both forms of the model with transformers' logits; returns the specs of the folder and of the GGUF.
fn check(name: &str) -> (DecoderSpec, DecoderSpec) {
    let folder = golden("architectures");
    (assert_golden(&folder.join(name), name), assert_golden(&folder.join(format!("{name}.gguf")), name))
}

#[test]
fn llama3_rope_scaling_beyond_the_original_context() {
    check("llama3");
}

#[test]
fn llama_linear_rope_scaling_and_attention_biases() {
    check("llama-linear");
}

#[test]
fn mistral() {
    let (folder, gguf) = check("mistral");
    assert_eq!((folder.architecture, gguf.architecture), ("mistral", "llama"));
    assert_eq!((folder.context, folder.note()), (256, None));
}

#[test]
fn qwen3() {
    let (folder, _) = check("qwen3");
    assert_ne!(folder.heads * folder.head_dim, folder.hidden);
}

#[test]
fn qwen3_yarn_rope_scaling() {
    check("qwen3-yarn");
}

/// The window is as wide as the longest sequence.
#[test]
fn phi3_up_to_its_window() {
    let (folder, gguf) = check("phi3");
    for spec in [folder, gguf] {
        assert_eq!((spec.context, spec.window, spec.limit), (256, 61, ContextLimit::Trained));
    }
}

#[test]
fn phi3_longrope_on_a_part_of_the_head() {
    let (folder, gguf) = check("phi3-long");
    for spec in [folder, gguf] {
        assert_eq!((spec.context, spec.rope.dims), (64, 24));
        assert_eq!(spec.limit, ContextLimit::ShortRope { claimed: 256 });
    }
}

#[test]
fn any_file_of_a_split_model_loads_all() {
    for number in 1..=3 {
        let path = golden("architectures/split").join(format!("qwen3-{number:05}-of-00003.gguf"));
        assert_golden(&path, "qwen3");
        assert_eq!(Weights::open(&path).unwrap().files().count(), 3);
    }
}

/// Every row of the table has a model here or in `tiny`.
#[test]
fn every_architecture_has_golden_logits() {
    let covered = ["llama", "mistral", "qwen2", "qwen3", "phi3", "gemma3", "smollm3"];
    assert!(arch::ARCHS.iter().all(|arch| covered.contains(&arch.name) && !arch.about.is_empty()));
}
