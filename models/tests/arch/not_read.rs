//! Architectures that are known and not read: each is refused with its reason, in both spellings.

use crate::weights::{Builder, file};
use moot_models::arch::{ARCHS, Config, NOT_READ, spec, spec_of_config};
use moot_models::weights::Weights;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;

fn of_config(config: Value) -> String {
    spec_of_config(&Config::of(Path::new("config.json"), config).unwrap()).unwrap_err().to_string()
}

/// Of a file whose architecture is `name`; with ` with experts` behind it, of one that has eight.
fn of_gguf(name: &str) -> String {
    let architecture = name.strip_suffix(" with experts").unwrap_or(name);
    let mut builder = Builder::new().string("general.architecture", architecture);
    if architecture != name {
        builder = builder.value(&format!("{architecture}.expert_count"), 4, &8u32.to_le_bytes());
    }
    let (_folder, path) = file("model.gguf", &builder.tensor("output_norm.weight", &[4], 0, &[0; 16]).build());
    spec(&Weights::open(&path).unwrap()).unwrap_err().to_string()
}

#[test]
fn what_is_known_and_not_read_is_refused_with_the_reason() {
    for row in NOT_READ {
        let in_gguf = row.gguf.iter().map(|&name| (name, of_gguf(name)));
        let in_config = row.model_types.iter().map(|&name| (name, of_config(json!({ "model_type": name }))));
        for (name, message) in in_gguf.chain(in_config) {
            let says = format!("architecture {name:?} is not supported: {} (supported: llama, ", row.reason);
            assert!(message.contains(&says) && !message.contains('\n'), "{message}");
        }
    }
    assert!(of_gguf("other").contains("architecture \"other\" is not supported (supported: llama, "));
    // Another row's refusal of experts names the field.
    assert!(of_gguf("qwen2 with experts").contains("qwen2.expert_count"));
}

#[test]
fn nothing_is_both_read_and_not_read() {
    let gguf: Vec<&str> = NOT_READ.iter().flat_map(|row| row.gguf).copied().collect();
    let model_types: Vec<&str> = NOT_READ.iter().flat_map(|row| row.model_types).copied().collect();
    for names in [&gguf, &model_types] {
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{names:?}");
    }
    for arch in ARCHS {
        assert!(!gguf.contains(&arch.name) && !model_types.contains(&arch.model_type), "{}", arch.name);
    }
}

/// Folders of Mistral Small 4 are `mistral3` with this text.
#[test]
fn a_text_that_is_not_read_is_refused_by_its_own_name() {
    let message = of_config(json!({ "model_type": "mistral3", "text_config": { "model_type": "mistral4" } }));
    assert!(message.contains("architecture \"mistral4\" is not supported: latent attention"), "{message}");
}
