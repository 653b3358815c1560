//! The vocabularies of the fixtures are those of the real files.

use super::fixture::{lines, model};
use moot_models::tokenizer::{ChatTemplate, Message, Role, Tokenizer};
use moot_models::weights::{Gguf, Value};
use std::path::PathBuf;

const FILES: [(&str, &str); 3] = [
    ("qwen2", "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"),
    ("qwen2", "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"),
    ("smollm", "SmolLM2-135M-Instruct.Q4_1.gguf"),
];

/// Where fetched models lie: `$MOOT_CACHE`, else `$XDG_CACHE_HOME/moot`, else `~/.cache/moot`.
fn models() -> PathBuf {
    let folder = |variable: &str| std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = folder("MOOT_CACHE").or_else(|| folder("XDG_CACHE_HOME").map(|cache| cache.join("moot")));
    cache.or_else(|| folder("HOME").map(|home| home.join(".cache/moot"))).unwrap().join("models")
}

#[test]
#[ignore = "needs the real model files: cargo test --release -- --include-ignored"]
fn fixtures_have_the_files_own_vocabularies() {
    for (name, file) in FILES {
        let gguf = Gguf::open(&models().join(file)).unwrap();
        for (field, expected) in model(name).0.iter() {
            // The two Qwen files' templates differ in a brace of the part for tools.
            let same = gguf.metadata().get(field) == Some(expected) || matches!(expected, Value::String(_));
            assert!(same, "{file}: {field}");
        }
    }
}

#[test]
#[ignore = "needs the real model files: cargo test --release -- --include-ignored"]
fn the_files_give_the_fixtures_ids_and_prompts() {
    let chat = [Message::new(Role::System, "s"), Message::new(Role::User, "u\n")];
    for (name, file) in FILES {
        let gguf = Gguf::open(&models().join(file)).unwrap();
        let (metadata, fixture) = model(name);
        let tokenizer = Tokenizer::from_gguf(gguf.metadata()).unwrap();
        for line in lines().iter().step_by(50) {
            assert_eq!(tokenizer.encode_text(line).unwrap(), fixture.encode_text(line).unwrap(), "{file}: {line:?}");
        }
        let rendered = ChatTemplate::from_gguf(gguf.metadata(), &tokenizer).unwrap().render(&chat, true).unwrap();
        let expected = ChatTemplate::from_gguf(metadata, fixture).unwrap().render(&chat, true).unwrap();
        assert_eq!(rendered, expected, "{file}");
    }
}
