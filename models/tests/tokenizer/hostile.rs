//! Broken and malicious vocabularies are refused with the field's name, never with a panic.

use super::fixture::{json, path, small_sentencepiece, tiny_metadata, with};
use moot_models::tokenizer::{SpecialTokens, Tokenizer};
use moot_models::weights::{Gguf, Metadata, Value, Weights};
use moot_models::{LoadOptions, Model, ModelError};
use proptest::prelude::*;
use std::path::Path;

fn strings(list: &[&str]) -> Value {
    Value::StringArray(list.iter().map(|s| s.as_bytes().to_vec()).collect())
}

/// The message when `field` of the tiny vocabulary is `value`.
fn message(field: &str, value: Option<Value>) -> String {
    Tokenizer::from_gguf(&with(&tiny_metadata("qwen2"), field, value)).unwrap_err().to_string()
}

fn tokens_and_types(tokens: &[&str], types: Vec<i64>, merges: &[&str]) -> Result<Tokenizer, ModelError> {
    let metadata = with(&tiny_metadata("qwen2"), "tokenizer.ggml.tokens", Some(strings(tokens)));
    let metadata = with(&metadata, "tokenizer.ggml.token_type", Some(Value::SignedArray(types)));
    Tokenizer::from_gguf(&with(&metadata, "tokenizer.ggml.merges", Some(strings(merges))))
}

#[test]
fn fields_that_are_wrong_are_named() {
    let text = |s: &str| Some(Value::String(s.into()));
    for (field, value, expected) in [
        (
            "tokenizer.ggml.model",
            text("rwkv"),
            r#"expected "gpt2" (byte-level BPE), "llama" (SentencePiece), "gemma4", "bert" (WordPiece) or "t5" (Unigram), found "rwkv""#,
        ),
        ("tokenizer.ggml.model", text("llama"), "a token for every byte"),
        ("tokenizer.ggml.model", text("bert"), "the id of the token for unknown text"),
        ("tokenizer.ggml.model", text("t5"), "the id of the token for unknown text"),
        ("tokenizer.ggml.model", None, "found nothing"),
        (
            "tokenizer.ggml.pre",
            text("chatglm"),
            r#"one of "qwen2", "smollm", "llama-bpe", "tekken", "gpt-2", "default", "gpt-4o", "glm4", "dbrx", "qwen35""#,
        ),
        (
            "tokenizer.ggml.pre",
            None,
            r#"one of "qwen2", "smollm", "llama-bpe", "tekken", "gpt-2", "default", "gpt-4o", "glm4", "dbrx", "qwen35", found nothing"#,
        ),
        ("tokenizer.ggml.tokens", None, "an array of strings"),
        ("tokenizer.ggml.tokens", Some(Value::StringArray(vec![])), "1 to 1048576 tokens"),
        ("tokenizer.ggml.tokens", Some(Value::StringArray(vec![b"a\xff".to_vec()])), "values, one a token"),
        ("tokenizer.ggml.token_type", Some(Value::SignedArray(vec![1])), "one a token, found 1"),
        ("tokenizer.ggml.token_type", text("1"), "an array of integers"),
        ("tokenizer.ggml.merges", Some(strings(&["Ġt"])), "merges[0]: expected two tokens"),
        ("tokenizer.ggml.merges", Some(strings(&["t h", "a b c"])), "merges[1]: expected two tokens"),
        ("tokenizer.ggml.merges", Some(strings(&[" a"])), "merges[0]: expected two tokens"),
        ("tokenizer.ggml.merges", Some(strings(&["t zzzz"])), "merges[0]: expected tokens of the vocabulary"),
        ("tokenizer.ggml.bos_token_id", Some(Value::Unsigned(u64::MAX)), "an id below"),
        ("tokenizer.ggml.eos_token_id", Some(Value::Unsigned(4096)), "an id below"),
        ("tokenizer.ggml.eos_token_id", Some(Value::Signed(-1)), "non-negative"),
        ("tokenizer.ggml.add_bos_token", text("yes"), "a boolean"),
    ] {
        let message = message(field, value);
        let named = !field.starts_with("tokenizer.ggml.token") || message.contains("tokenizer.ggml.token");
        assert!(named && message.contains(expected) && message.starts_with("model.gguf: "), "{field}: {message}");
        assert!(message.len() < 400 && !message.contains('\n'), "{message}");
    }
    let missing = Tokenizer::from_gguf(&with(&tiny_metadata("qwen2"), "tokenizer.ggml.pre", None)).unwrap_err();
    let hint = missing.hint().unwrap();
    assert!(hint.contains("splits text into words") && hint.contains("convert_hf_to_gguf.py"), "{hint}");
    let metadata = with(&tiny_metadata("llama-bpe"), "tokenizer.ggml.bos_token_id", None);
    assert!(Tokenizer::from_gguf(&metadata).unwrap_err().to_string().contains("add_bos_token"));
}

#[test]
fn merges_and_texts_that_would_break_the_builder() {
    // A product longer than every token.
    let error = tokens_and_types(&["aaaa", "b", "c"], vec![1, 1, 1], &["aaaa aaaa"]).unwrap_err();
    assert!(error.to_string().contains("merges[0]"), "{error}");
    let error = tokens_and_types(&["a", "b", "a"], vec![1, 1, 1], &[]).unwrap_err();
    assert!(error.to_string().contains("ids 0 and 2 with \"a\""), "{error}");
    let error = tokens_and_types(&["a", "b"], vec![1, 7], &[]).unwrap_err();
    assert!(error.to_string().contains("token_type[1]"), "{error}");
}

#[test]
fn merges_cannot_spell_a_control_token() {
    // 0 and 1 are the tiny vocabulary's bos_token_id and eos_token_id.
    let tokens = ["<s>", "</s>", "<", "x", "<x", "<x<"];
    let tokenizer = tokens_and_types(&tokens, vec![3, 3, 1, 1, 3, 3], &["< x", "<x <"]).unwrap();
    assert_eq!(tokenizer.encode_text("<x<").unwrap(), [2, 3, 2]);
    assert!(tokenizer.is_special(4) && tokenizer.is_special(5));
}

#[test]
fn an_ill_typed_end_of_turn_token_is_still_special() {
    let tokenizer = tokens_and_types(&["<", "x", "<|eot_id|>", "</s>"], vec![1; 4], &[]).unwrap();
    assert_eq!(tokenizer.eos_ids(), [1, 2]);
    assert!(tokenizer.is_special(2) && !tokenizer.is_special(3));
}

#[test]
fn tokens_in_messages_are_one_line() {
    let bytes = Value::StringArray(vec![b"a\n\xff\x1b[31m".to_vec()]);
    let metadata = with(&tiny_metadata("llama-bpe"), "tokenizer.ggml.tokens", Some(bytes));
    let metadata = with(&metadata, "tokenizer.ggml.token_type", Some(Value::SignedArray(vec![1])));
    let message = Tokenizer::from_gguf(&metadata).unwrap_err().to_string();
    let said = "tokens[0]: expected UTF-8, found a\\n\u{fffd}\\u{1b}[31m";
    assert!(message.ends_with(said), "{message:?}");
}

#[test]
fn sentencepiece_fields_that_are_wrong_are_named() {
    let (floats, nan) = (|n| Some(Value::FloatArray(vec![0.0; n])), Some(Value::FloatArray(vec![f64::NAN; 260])));
    let types = |kind| Some(Value::SignedArray(vec![kind; 260]));
    for (field, value, expected) in [
        ("scores", None, "an array of floats, found nothing"),
        ("scores", floats(3), "260 values, one a token, found 3"),
        ("scores", nan, "scores[0]: expected a number, found NaN"),
        ("token_type", types(7), "token_type[0]: expected a token type"),
        ("token_type", types(5), "a token for every byte, or one for the unknown, found no \"<0x00>\""),
        ("add_space_prefix", Some(Value::Unsigned(1)), "a boolean"),
        ("remove_extra_whitespaces", floats(1), "a boolean"),
        ("bos_token_id", None, "the id of the token that add_bos_token asks for"),
    ] {
        let metadata = with(&small_sentencepiece(&["a"], &[]), &format!("tokenizer.ggml.{field}"), value);
        let message = Tokenizer::from_gguf(&metadata).unwrap_err().to_string();
        assert!(message.contains(expected) && message.starts_with("model.gguf: "), "{field}: {message}");
    }
    let long = "a".repeat(257);
    let message = Tokenizer::from_gguf(&small_sentencepiece(&["a", &long], &[])).unwrap_err().to_string();
    assert!(message.contains("tokens[260]: expected at most 256 bytes, found 257"), "{message}");
    let runs: Vec<String> = (1..256).map(|n| "a".repeat(n)).collect();
    let runs: Vec<&str> = runs.iter().map(String::as_str).collect();
    let message = Tokenizer::from_gguf(&small_sentencepiece(&runs, &[])).unwrap_err().to_string();
    assert!(message.contains("ways to join two tokens"), "{message}");
}

/// The message when `change` was done to the tiny `tokenizer.json`.
fn json_message(change: impl FnOnce(&mut serde_json::Value)) -> String {
    let mut document = json("tiny.tokenizer.json");
    change(&mut document);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("tokenizer.json");
    std::fs::write(&file, document.to_string()).unwrap();
    Tokenizer::from_file(&file, &SpecialTokens::default()).unwrap_err().to_string()
}

#[test]
fn tokenizer_json_that_is_wrong() {
    use serde_json::json;
    assert!(
        json_message(|d| d["model"]["type"] = json!("WordLevel"))
            .contains("expected \"BPE\", \"WordPiece\" or \"Unigram\", found WordLevel")
    );
    assert!(json_message(|d| d["model"]["type"] = json!("Unigram")).contains("a Unigram model"));
    let pieces = |vocab: serde_json::Value, unk_id: serde_json::Value| {
        json_message(|d| {
            d["model"] = json!({"type": "Unigram", "unk_id": unk_id, "vocab": vocab});
            d["added_tokens"] = json!([]);
            d["pre_tokenizer"] = json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"});
        })
    };
    assert!(pieces(json!([["<unk>", 0.0], ["a", -1.0], ["a", -2.0]]), json!(0)).contains("texts that differ"));
    assert!(pieces(json!([["<unk>", 0.0], ["a", -1.0]]), json!(2)).contains("model.unk_id"));
    assert!(pieces(json!([["<unk>", 0.0], ["a", -1.0]]), json!(null)).contains("model.unk_id"));
    let spaced = json_message(|d| {
        d["model"] = json!({"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["<s>", 0.0]]});
        d["added_tokens"] = json!([{"id": 1, "content": "<s>", "special": true}]);
        let space = json!({"type": "Metaspace", "replacement": " ", "prepend_scheme": "always"});
        d["pre_tokenizer"] = json!({"type": "Sequence", "pretokenizers": [space]});
    });
    assert!(spaced.contains("pre_tokenizer.replacement: expected \"▁\""), "{spaced}");
    let charsmap = json!({"type": "Precompiled", "precompiled_charsmap": "AAAAAA=="});
    assert!(json_message(|d| d["normalizer"] = charsmap).contains("leads outside itself"));
    assert!(json_message(|d| d["model"]["continuing_subword_prefix"] = json!("##")).contains("affixes"));
    assert!(json_message(|d| d["model"]["merges"] = json!([["a", "qqq"]])).contains("model.merges[0]"));
    assert!(json_message(|d| d["model"]["merges"] = json!(["a b c"])).contains("model.merges[0]"));
    assert!(json_message(|d| d["model"]["vocab"]["far"] = json!(4_000_000_000_u32)).contains("ids near"));
    assert!(json_message(|d| d["model"]["vocab"]["twin"] = json!(5)).contains("one token an id"));
    assert!(json_message(|d| d["model"]["vocab"] = json!([])).contains("a BPE model"));
    assert!(json_message(|d| d["added_tokens"][0]["content"] = json!("other")).contains("added_tokens"));
    assert!(json_message(|d| d["model"]["unk_token"] = json!("<none>")).contains("model.unk_token"));
    assert!(json_message(|d| d["pre_tokenizer"] = json!({"type": "FixedLength", "length": 0})).contains("FixedLength"));
    assert!(json_message(|d| d["normalizer"] = json!({"type": "Precompiled"})).contains("normalizer"));
    assert!(json_message(|d| d["decoder"] = json!(null)).contains("decoder"));
    let bad = json!({"type": "Split", "pattern": {"Regex": "("}, "behavior": "Isolated", "invert": false});
    assert!(json_message(|d| d["pre_tokenizer"] = bad).contains("pre_tokenizer: expected a sound Split step"));
    let deep = (0..200).fold(json!({"type": "NFC"}), |inner, _| json!({"type": "Sequence", "normalizers": [inner]}));
    assert!(json_message(|d| d["normalizer"] = deep).contains("line 1"));
}

/// Whatever a file holds, a message about it is a short line.
#[test]
fn messages_do_not_repeat_a_file() {
    use serde_json::json;
    let long = "long\n".repeat(200_000);
    let text = || json!(long);
    let changes: [&dyn Fn(&mut serde_json::Value); 16] = [
        &|d| d["model"]["type"] = text(),
        &|d| d["model"] = text(),
        &|d| d["model"] = json!({"type": "Unigram", "vocab": text()}),
        &|d| d["model"] = json!({"type": "Unigram", "unk_id": 0, "vocab": [[long, 0.0], [long, 0.0]]}),
        &|d| {
            d["model"] = json!({"type": "WordPiece", "continuing_subword_prefix": long, "vocab": {}, "max_input_chars_per_word": 9});
        },
        &|d| d["model"]["continuing_subword_prefix"] = text(),
        &|d| d["model"]["unk_token"] = text(),
        &|d| d["model"]["merges"] = json!([[long, long]]),
        &|d| d["model"]["merges"] = json!([format!("a b {long}")]),
        &|d| d["model"]["vocab"] = json!({long.clone(): 0, format!("{long}x"): 0}),
        &|d| d["normalizer"] = json!({"type": long}),
        &|d| d["normalizer"] = json!({"type": "Replace", "pattern": {"Regex": format!("({long}")}, "content": ""}),
        &|d| {
            d["pre_tokenizer"] =
                json!({"type": "Split", "pattern": {"Regex": format!("({long}")}, "behavior": long, "invert": false});
        },
        &|d| d["pre_tokenizer"] = json!({"type": "Digits", "individual_digits": long}),
        &|d| d["decoder"] = json!({"type": long}),
        &|d| d["added_tokens"][0] = json!({"id": 0, "content": long}),
    ];
    for (index, change) in changes.into_iter().enumerate() {
        let message = json_message(change);
        assert!(message.len() < 2000 && !message.contains('\n'), "{index}: {} bytes", message.len());
    }
    let special = SpecialTokens { bos: Some(long.clone()), ..SpecialTokens::default() };
    let error = Tokenizer::from_file(&path("tiny.tokenizer.json"), &special).unwrap_err();
    assert!(error.to_string().len() < 1000);
    let metadata = with(&tiny_metadata("llama-bpe"), "tokenizer.ggml.tokens", Some(strings(&[&long, &long])));
    let metadata = with(&metadata, "tokenizer.ggml.token_type", Some(Value::SignedArray(vec![1, 1])));
    let error = Tokenizer::from_gguf(&metadata).unwrap_err().to_string();
    assert!(error.len() < 1000 && error.contains("ids 0 and 1 with"), "{error}");
    for field in ["model", "pre", "bos_token_id"] {
        let error = message(&format!("tokenizer.ggml.{field}"), Some(Value::String(long.clone())));
        assert!(error.len() < 1000 && !error.contains('\n'), "{error}");
    }
}

#[test]
fn special_tokens_beside_tokenizer_json() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
    std::fs::copy(path("tiny.tokenizer.json"), dir.path().join("tokenizer.json")).unwrap();
    write(
        "tokenizer_config.json",
        r#"{"bos_token": {"content": "<s>"}, "eos_token": "<|im_end|>", "add_bos_token": false}"#,
    );
    write("generation_config.json", r#"{"eos_token_id": [1, 3]}"#);
    let tokenizer = Tokenizer::from_dir(dir.path()).unwrap();
    assert_eq!((tokenizer.bos_id(), tokenizer.eos_id(), tokenizer.eos_ids()), (Some(0), Some(3), &[1, 3][..]));
    assert!(!tokenizer.add_bos());
    for (name, text, expected) in [
        ("generation_config.json", r#"{"eos_token_id": "x"}"#, "eos_token_id"),
        ("tokenizer_config.json", r#"{"bos_token": 3}"#, "bos_token"),
        ("tokenizer_config.json", r#"{"bos_token": "<none>"}"#, "a token of the vocabulary, found <none>"),
        ("tokenizer_config.json", "{", "line 1"),
        ("tokenizer.json", "[]", "line 1"),
    ] {
        let before = std::fs::read(dir.path().join(name)).unwrap();
        write(name, text);
        let error = Tokenizer::from_dir(dir.path()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        std::fs::write(dir.path().join(name), before).unwrap();
    }
    std::fs::remove_file(dir.path().join("tokenizer.json")).unwrap();
    assert!(matches!(Tokenizer::from_dir(dir.path()), Err(ModelError::Io { .. })));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_gguf_vocabulary_gives_a_tokenizer_or_an_error(
        tokens in proptest::collection::btree_map("[ab<|>Ġ]{0,3}", 1..7_i64, 1..12),
        merges in proptest::collection::vec("[ab<|>Ġ]{0,2} [ab<|>Ġ]{0,2}", 0..4),
        eos in 0..10_u64,
        text in "[ab<|> ]{0,12}",
    ) {
        let list = |list: &[String]| Value::StringArray(list.iter().map(|s| s.clone().into_bytes()).collect());
        let mut metadata: Metadata = tiny_metadata("llama-bpe");
        let (texts, types): (Vec<String>, Vec<i64>) = tokens.into_iter().unzip();
        for (field, value) in [
            ("tokens", list(&texts)), ("token_type", Value::SignedArray(types)), ("merges", list(&merges)),
            ("eos_token_id", Value::Unsigned(eos)),
        ] {
            metadata = with(&metadata, &format!("tokenizer.ggml.{field}"), Some(value));
        }
        if let Ok(tokenizer) = Tokenizer::from_gguf(&metadata) {
            let ids = tokenizer.encode_text(&text).unwrap();
            prop_assert!(ids.iter().all(|&id| !tokenizer.is_special(id) && tokenizer.token_bytes(id).is_some()));
        }
    }
}

/// Every reply would run to its limit.
#[test]
fn a_model_whose_replies_would_not_end_is_refused() {
    let file = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/tiny/llama.gguf")).unwrap();
    let load = |file: &[u8]| {
        let gguf = Gguf::from_bytes(Path::new("model.gguf"), file.to_vec()).unwrap();
        Model::load(&Weights::Gguf(gguf), &LoadOptions::default()).map(|_| ()).map_err(|error| error.to_string())
    };
    load(&file).unwrap();
    // Neither named by a field nor there under a name of its own. Of equal length, so that all offsets stay.
    let mut endless = file;
    for (from, to) in
        [("eos_token_id", "eos_token_xx"), ("<|im_end|>", "<|im_xxx|>"), ("<|endoftext|>", "<|xxxxxxxxx|>")]
    {
        let positions: Vec<usize> =
            (0..endless.len()).filter(|&at| endless[at..].starts_with(from.as_bytes())).collect();
        positions.into_iter().for_each(|at| endless[at..at + to.len()].copy_from_slice(to.as_bytes()));
    }
    let refused = load(&endless).unwrap_err();
    assert!(refused.contains("end-of-text token") && refused.contains("found none"), "{refused}");
}
