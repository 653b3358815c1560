//! The vocabularies that llama.cpp tests its own tokenizer with, and what Hugging Face's tokenizers make of its texts; and
//! chat templates of which it has copies.

use super::fixture::{json, takes_system};
use super::templates::check_gemma4;
use moot_models::tokenizer::{ChatTemplate, Message, Segment, Thinking, Tokenizer};
use moot_models::weights::Gguf;
use std::path::PathBuf;

const SEPARATOR: &str = "\n__ggml_vocab_test__\n";

/// Vocabularies that are read; the others are of splitters that are refused.
const READ: [&str; 9] =
    ["bert-bge", "gemma-4", "gpt-2", "llama-bpe", "llama-spm", "phi-3", "qwen2", "qwen35", "refact"];

fn folder() -> PathBuf {
    let folder = std::env::var_os("MOOT_LLAMA_CPP_VOCABULARIES");
    PathBuf::from(folder.expect("MOOT_LLAMA_CPP_VOCABULARIES names the folder `models` of llama.cpp"))
}

/// Published templates against Hugging Face's rendering of one conversation.
#[test]
#[ignore = "needs MOOT_LLAMA_CPP_VOCABULARIES, the folder `models` of llama.cpp's source"]
fn published_templates_render_as_by_hugging_face() {
    let golden = json("published.json");
    let messages: Vec<Message> = serde_json::from_value(golden["messages"].clone()).unwrap();
    for (name, expected) in golden["templates"].as_object().unwrap() {
        let source = std::fs::read_to_string(folder().join(format!("templates/{name}.jinja"))).unwrap();
        let template = ChatTemplate::new(&source, name, Some("<s>"), Some("</s>")).unwrap_or_else(|e| panic!("{e}"));
        let marks = template.thought_marks();
        assert!(takes_system(&template), "{name}");
        for (thinking, key) in [(Thinking::On, "on"), (Thinking::Off, "off")] {
            // The channel of a turn is begun here.
            let begun =
                marks.channels.map_or("", |channel| if thinking == Thinking::On { marks.open } else { channel });
            let segments = template.render(&messages, true, thinking).unwrap_or_else(|e| panic!("{e}"));
            let found: String = segments.iter().map(Segment::text).collect();
            assert_eq!(found, format!("{}{begun}", expected[key].as_str().unwrap()), "{name}, {key}");
            let contents = segments.iter().filter(|segment| matches!(segment, Segment::Content(_))).count();
            assert_eq!(contents, messages.len(), "{name}: {segments:?}");
        }
    }
}

#[test]
#[ignore = "needs MOOT_LLAMA_CPP_VOCABULARIES, the folder `models` of llama.cpp's source"]
fn llama_cpp_vocabularies_give_the_ids_of_hugging_face() {
    let folder = folder();
    for name in READ {
        let path = folder.join(format!("ggml-vocab-{name}.gguf"));
        let file = Gguf::open(&path).unwrap();
        let tokenizer = Tokenizer::from_gguf(file.metadata()).unwrap_or_else(|e| panic!("{e}"));
        if name == "gemma-4" {
            check_gemma4(&ChatTemplate::from_gguf(file.metadata(), &tokenizer).unwrap());
        }
        let beside = |end: &str| std::fs::read_to_string(format!("{}.{end}", path.display())).unwrap();
        let (texts, expected) = (beside("inp"), beside("out"));
        let texts: Vec<&str> = texts.split(SEPARATOR).collect();
        let expected: Vec<&str> = expected.lines().collect();
        assert!(
            texts.len() >= expected.len() && expected.len() > 40,
            "{name}: {} of {} texts",
            expected.len(),
            texts.len()
        );
        // llama.cpp does not compose characters first, as Hugging Face's Qwen3.5 does.
        let composed = |text: &str| name != "qwen35" || !text.contains(|c| ('\u{300}'..='\u{36f}').contains(&c));
        for (text, expected) in texts.iter().zip(expected).filter(|(text, _)| composed(text)) {
            let ids = tokenizer.encode_text(text).unwrap();
            let found = ids.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
            assert_eq!(found, expected.trim(), "{name}: {text:?}");
            // Encoders lose case and white space.
            assert!(name.contains("bert") || tokenizer.decode_text(&ids) == *text, "{name}: {text:?}");
        }
    }
}
