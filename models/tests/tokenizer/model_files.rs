//! The vocabularies of the fixtures are those of the real files.

use super::fixture::{lines, model};
use crate::cached;
use moot_models::tokenizer::{ChatTemplate, Message, Role, Thinking, Tokenizer};
use moot_models::weights::{Gguf, Value};

/// A fixture, and the short name of a model that has its vocabulary.
const MODELS: [(&str, &str); 3] =
    [("qwen2", "qwen2.5-coder-0.5b"), ("qwen2", "qwen2.5-coder-1.5b"), ("smollm", "smollm2-135m")];

#[test]
#[ignore = "needs the real model files: cargo test --release -- --include-ignored"]
fn fixtures_have_the_files_own_vocabularies() {
    for (name, alias) in MODELS {
        let gguf = Gguf::open(&cached(alias)).unwrap();
        for (field, expected) in model(name).0.iter() {
            // The two Qwen files' templates differ in a brace of the part for tools.
            let same = gguf.metadata().get(field) == Some(expected) || matches!(expected, Value::String(_));
            assert!(same, "{alias}: {field}");
        }
    }
}

#[test]
#[ignore = "needs the real model files: cargo test --release -- --include-ignored"]
fn the_files_give_the_fixtures_ids_and_prompts() {
    let chat = [Message::new(Role::System, "s"), Message::new(Role::User, "u\n")];
    for (name, alias) in MODELS {
        let gguf = Gguf::open(&cached(alias)).unwrap();
        let (metadata, fixture) = model(name);
        let tokenizer = Tokenizer::from_gguf(gguf.metadata()).unwrap();
        for line in lines().iter().step_by(50) {
            assert_eq!(tokenizer.encode_text(line).unwrap(), fixture.encode_text(line).unwrap(), "{alias}: {line:?}");
        }
        let rendered =
            ChatTemplate::from_gguf(gguf.metadata(), &tokenizer).unwrap().render(&chat, true, Thinking::Off).unwrap();
        let expected = ChatTemplate::from_gguf(metadata, fixture).unwrap().render(&chat, true, Thinking::Off).unwrap();
        assert_eq!(rendered, expected, "{alias}");
    }
}

#[test]
#[ignore = "needs the real model files: cargo test --release -- --include-ignored"]
fn an_embedder_has_its_word_pieces() {
    let dir = moot_models::source::default_cache().unwrap().join("models/all-MiniLM-L6-v2");
    let tokenizer = Tokenizer::from_dir(&dir).unwrap();
    let mut reference = tokenizers::Tokenizer::from_file(dir.join("tokenizer.json")).unwrap();
    reference.with_padding(None).with_truncation(None).unwrap();
    for line in lines().iter().step_by(5) {
        let expected = reference.encode(line.as_str(), false).unwrap();
        assert_eq!(tokenizer.encode_text(line).unwrap(), expected.get_ids(), "{line:?}");
    }
    assert!(tokenizer.is_special(101) && !tokenizer.encode_text("[CLS] [SEP]").unwrap().contains(&101));
    let words = tokenizer.encode_text("Unbelievable tokenization").unwrap();
    assert_eq!(tokenizer.decode_text(&words), "unbelievable tokenization");
}
