//! Steps of a `tokenizer.json` that make a text longer, or that match nothing: an error, soon and in little memory.

use super::fixture::json;
use moot_models::ModelError;
use moot_models::tokenizer::{SpecialTokens, Tokenizer};
use serde_json::{Value, json};
use std::path::Path;

const TEXT: &str = "The bee sees three trees. Ünïcödé text, 12 345\n\n";

fn tokenizer(change: impl FnOnce(&mut Value)) -> Result<Tokenizer, ModelError> {
    let mut document = json("tiny.tokenizer.json");
    change(&mut document);
    Tokenizer::from_json(Path::new("tokenizer.json"), &document.to_string(), &SpecialTokens::default())
}

#[allow(clippy::needless_pass_by_value)]
fn with_normalizers(steps: Vec<Value>) -> Result<Tokenizer, ModelError> {
    tokenizer(|document| document["normalizer"] = json!({"type": "Sequence", "normalizers": steps}))
}

#[allow(clippy::needless_pass_by_value)]
fn with_splitters(steps: Vec<Value>) -> Result<Tokenizer, ModelError> {
    tokenizer(|document| document["pre_tokenizer"] = json!({"type": "Sequence", "pretokenizers": steps}))
}

fn replace(pattern: &Value, content: &str) -> Value {
    json!({"type": "Replace", "pattern": pattern, "content": content})
}

fn byte_level() -> Value {
    json!({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true})
}

fn says(outcome: Result<impl Sized, ModelError>, expected: &str) {
    let message = outcome.err().unwrap().to_string();
    assert!(message.contains(expected) && message.len() < 500, "{message}");
}

#[test]
fn steps_and_their_insertions_are_bounded_at_load() {
    let e = json!({"String": "e"});
    says(with_normalizers(vec![replace(&e, "ee"); 40]), "normalizer: expected at most 16 steps, found 40");
    says(with_splitters(vec![byte_level(); 30]), "pre_tokenizer: expected at most 16 steps, found 30");
    let nested = (0..20)
        .fold(json!({"type": "NFC"}), |inner, _| json!({"type": "Sequence", "normalizers": [inner, {"type": "NFC"}]}));
    says(with_normalizers(vec![nested]), "expected at most 16 steps, found 21");
    let long = "x".repeat(1 << 20);
    says(with_normalizers(vec![replace(&e, &long)]), "at most 32 bytes that a Replace step puts into a text");
    let prepend = json!({"type": "Prepend", "prepend": long});
    says(with_normalizers(vec![prepend]), "at most 32 bytes that a Prepend step puts into a text");
}

#[test]
fn replacements_of_a_charsmap_are_bounded() {
    // An empty table, then a replacement of 100 bytes.
    let table = json!({"type": "Precompiled", "precompiled_charsmap": format!("AAAAAGFh{}", "YWFh".repeat(33))});
    says(with_normalizers(vec![table]), "normalizer.precompiled_charsmap");
}

#[test]
fn growth_that_shows_on_a_text_is_an_error() {
    let e = json!({"String": "e"});
    let doubled = with_normalizers(vec![replace(&e, "ee"); 16]).unwrap();
    says(doubled.encode_text(TEXT), "expected steps that make a text at most 16 times longer");
    assert!(doubled.encode_text("no such sound").is_ok_and(|ids| !ids.is_empty()));
    let wide = with_splitters(vec![byte_level(); 16]).unwrap();
    says(wide.encode_text(&"é".repeat(4096)), "expected steps that make a text at most 16 times longer");
    // An added token that is matched in the normalised text is normalised when it is read.
    let added = tokenizer(|document| {
        document["normalizer"] = json!({"type": "Sequence", "normalizers": vec![replace(&e, "eeee"); 8]});
        let id = document["model"]["vocab"].as_object().unwrap().len() + 20;
        let token = json!({"id": id, "content": "eeee", "normalized": true, "special": false});
        document["added_tokens"].as_array_mut().unwrap().push(token);
    });
    says(added, "normalizer: expected steps that can take an added token");
}

#[test]
fn patterns_that_match_nothing_are_no_panic() {
    let texts = [TEXT, "", "e", "é", "\n"];
    let patterns = ["", "x*", "e*", "(?=e)", "\\b", "^", "$", "(?<!\\n)^", "e??", "|e", "()", "(?m)$", "\\B"];
    for pattern in patterns.map(|pattern| json!({"Regex": pattern})).iter().chain([&json!({"String": ""})]) {
        for content in ["", "y", "▁", "e e"] {
            if let Ok(tokenizer) = with_normalizers(vec![replace(pattern, content)]) {
                texts.iter().for_each(|text| drop(tokenizer.encode_text(text)));
            }
        }
        for behavior in ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"] {
            for invert in [false, true] {
                let split = json!({"type": "Split", "pattern": pattern, "behavior": behavior, "invert": invert});
                if let Ok(tokenizer) = with_splitters(vec![split, byte_level()]) {
                    texts.iter().for_each(|text| drop(tokenizer.encode_text(text)));
                }
            }
        }
    }
}
