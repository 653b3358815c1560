//! The fixtures of `golden/tokenizer`, as the tests want them.

use flate2::read::GzDecoder;
use moot_models::tokenizer::{ChatTemplate, SpecialTokens, Tokenizer};
use moot_models::weights::{Metadata, Value};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use tokenizers::normalizers::NFC;
use tokenizers::{NormalizedString, Normalizer};

/// Models whose whole vocabulary lies in the fixtures.
pub(crate) const MODELS: [&str; 3] = ["qwen2", "smollm", "mistral"];

static VOCABULARIES: LazyLock<Vec<(Metadata, Tokenizer)>> = LazyLock::new(|| {
    let metadata = MODELS.map(vocabulary);
    metadata.into_iter().map(|m| Tokenizer::from_gguf(&m).map(|t| (m, t)).unwrap()).collect()
});

/// GGUF metadata and tokenizer of one of [`MODELS`].
pub(crate) fn model(name: &str) -> &'static (Metadata, Tokenizer) {
    &VOCABULARIES[MODELS.iter().position(|model| *model == name).unwrap()]
}

/// Whether the template takes a system message: one that does not has a remark.
pub(crate) fn takes_system(template: &ChatTemplate) -> bool {
    template.remark().is_none()
}

/// The tiny vocabulary, with its special tokens named as a model folder would.
pub(crate) fn tiny() -> Tokenizer {
    let special = SpecialTokens { bos: Some("<s>".into()), eos: Some("</s>".into()), ..SpecialTokens::default() };
    Tokenizer::from_file(&path("tiny.tokenizer.json"), &special).unwrap()
}

/// The tiny vocabulary as a GGUF file would have it, with splitter `pre`.
pub(crate) fn tiny_metadata(pre: &str) -> Metadata {
    let json = json("tiny.tokenizer.json");
    let mut tokens: Vec<(u64, String)> = Vec::new();
    for (text, id) in json["model"]["vocab"].as_object().unwrap() {
        tokens.push((id.as_u64().unwrap(), text.clone()));
    }
    let mut types = BTreeMap::new();
    for token in json["added_tokens"].as_array().unwrap() {
        let id = token["id"].as_u64().unwrap();
        types.insert(id, if token["special"] == true { 3 } else { 4 });
        if tokens.iter().all(|(known, _)| *known != id) {
            tokens.push((id, token["content"].as_str().unwrap().to_owned()));
        }
    }
    tokens.sort();
    let merge = |pair: &serde_json::Value| format!("{} {}", pair[0].as_str().unwrap(), pair[1].as_str().unwrap());
    let merges = json["model"]["merges"].as_array().unwrap().iter().map(|m| merge(m).into_bytes()).collect();
    let types = tokens.iter().map(|(id, _)| types.get(id).copied().unwrap_or(1)).collect();
    let texts = tokens.into_iter().map(|(_, text)| text.into_bytes()).collect();
    metadata(pre, texts, types, merges, [("tokenizer.ggml.bos_token_id", 0), ("tokenizer.ggml.eos_token_id", 1)])
}

fn metadata<const N: usize>(
    pre: &str,
    tokens: Vec<Vec<u8>>,
    types: Vec<i64>,
    merges: Vec<Vec<u8>>,
    ids: [(&str, u64); N],
) -> Metadata {
    let mut values = BTreeMap::from([
        ("tokenizer.ggml.model".to_owned(), Value::String("gpt2".into())),
        ("tokenizer.ggml.pre".to_owned(), Value::String(pre.into())),
        ("tokenizer.ggml.tokens".to_owned(), Value::StringArray(tokens)),
        ("tokenizer.ggml.token_type".to_owned(), Value::SignedArray(types)),
        ("tokenizer.ggml.merges".to_owned(), Value::StringArray(merges)),
    ]);
    values.extend(ids.map(|(field, id)| (field.to_owned(), Value::Unsigned(id))));
    Metadata::new(PathBuf::from("model.gguf"), values)
}

/// Mistral v0.3's SentencePiece vocabulary; see `families.py` for the form.
fn mistral() -> Metadata {
    let head: serde_json::Value = serde_json::from_slice(&gunzip("mistral.pieces.gz")).unwrap();
    let list = |key: &str| head[key].as_array().unwrap().iter();
    let pieces = list("pieces").map(|piece| piece.as_str().unwrap().into()).collect();
    let scores = list("score+index").enumerate().map(|(i, sum)| sum.as_f64().unwrap() - i as f64).collect();
    let types = list("types").map(|kind| kind.as_i64().unwrap()).collect();
    let template = std::fs::read_to_string(path("templates/mistral-v0.3.jinja")).unwrap();
    sentencepiece(pieces, types, scores, &[("tokenizer.chat_template", Value::String(template))])
}

/// A GGUF file's SentencePiece vocabulary whose BOS is 1 and EOS 2.
pub(crate) fn sentencepiece(
    pieces: Vec<Vec<u8>>,
    types: Vec<i64>,
    scores: Vec<f64>,
    more: &[(&str, Value)],
) -> Metadata {
    let mut values = BTreeMap::from([
        ("tokenizer.ggml.model".to_owned(), Value::String("llama".into())),
        ("tokenizer.ggml.tokens".to_owned(), Value::StringArray(pieces)),
        ("tokenizer.ggml.token_type".to_owned(), Value::SignedArray(types)),
        ("tokenizer.ggml.scores".to_owned(), Value::FloatArray(scores)),
        ("tokenizer.ggml.bos_token_id".to_owned(), Value::Unsigned(1)),
        ("tokenizer.ggml.eos_token_id".to_owned(), Value::Unsigned(2)),
    ]);
    values.extend(more.iter().map(|(field, value)| ((*field).to_owned(), value.clone())));
    Metadata::new(PathBuf::from("model.gguf"), values)
}

/// A small SentencePiece vocabulary: `<unk>`, `<s>`, `</s>`, the 256 bytes, then `pieces`, the first the best.
pub(crate) fn small_sentencepiece(pieces: &[&str], more: &[(&str, Value)]) -> Metadata {
    let special = ["<unk>", "<s>", "</s>"].map(str::to_owned);
    let bytes = (0..=255u8).map(|byte| format!("<0x{byte:02X}>"));
    let texts: Vec<Vec<u8>> = special
        .into_iter()
        .chain(bytes)
        .chain(pieces.iter().map(|s| (*s).to_owned()))
        .map(String::into_bytes)
        .collect();
    let types = (0..texts.len()).map(|i| [2, 3, 3].get(i).copied().unwrap_or(if i < 259 { 6 } else { 1 })).collect();
    let scores = (0..texts.len()).map(|i| if i < 259 { 0.0 } else { 259.0 - i as f64 }).collect();
    sentencepiece(texts, types, scores, more)
}

/// Qwen3's vocabulary: Qwen2's and four markers where that has padding.
pub(crate) fn qwen3() -> Metadata {
    let qwen2 = vocabulary("qwen2");
    let (Some(Value::StringArray(tokens)), Some(Value::SignedArray(types))) =
        (qwen2.get("tokenizer.ggml.tokens"), qwen2.get("tokenizer.ggml.token_type"))
    else {
        panic!("no vocabulary");
    };
    let (mut tokens, mut types) = (tokens.clone(), types.clone());
    for (id, marker) in (151_665..).zip(["<tool_response>", "</tool_response>", "<think>", "</think>"]) {
        (tokens[id], types[id]) = (marker.into(), 4);
    }
    let qwen3 = with(&qwen2, "tokenizer.ggml.tokens", Some(Value::StringArray(tokens)));
    with(&qwen3, "tokenizer.ggml.token_type", Some(Value::SignedArray(types)))
}

/// `text` after encoding and decoding by a model of [`MODELS`] (or like it): the same except for losses of its
/// published tokenizer.
pub(crate) fn back(name: &str, text: &str) -> String {
    match name {
        // Brought to NFC.
        "qwen2" | "qwen3" | "tiny" => {
            let mut text = NormalizedString::from(text);
            NFC.normalize(&mut text).unwrap();
            text.get().to_owned()
        }
        // A space in front is taken for the one that Mistral's would put there.
        "mistral" => {
            let text = text.replace('\u{2581}', " ");
            text.strip_prefix(' ').unwrap_or(&text).to_owned()
        }
        "llama2" | "phi3" | "mistral1" => text.replace('\u{2581}', " "),
        _ => text.to_owned(),
    }
}

/// Rebuilds a model's vocabulary from its merges; see `make.py` for the form.
fn vocabulary(name: &str) -> Metadata {
    if name == "mistral" {
        return mistral();
    }
    let bytes = gunzip(&format!("{name}.vocab.gz"));
    let end = bytes.iter().position(|&byte| byte == b'\n').unwrap();
    let head: serde_json::Value = serde_json::from_slice(&bytes[..end]).unwrap();
    let size = usize::try_from(head["size"].as_u64().unwrap()).unwrap();
    let mut tokens: Vec<Option<Vec<u8>>> = vec![None; size];
    let mut types = vec![1; size];
    for row in head["rest"].as_array().unwrap() {
        let id = usize::try_from(row[0].as_u64().unwrap()).unwrap();
        types[id] = row[1].as_i64().unwrap();
        tokens[id] = Some(row[2].as_str().unwrap().into());
    }
    let free: Vec<usize> = (0..size).filter(|&id| tokens[id].is_none()).collect();
    let planes: Vec<&[u8]> = bytes[end + 1..].chunks_exact(free.len()).collect();
    let id = |side: usize, row: usize| (0..3).map(|p| usize::from(planes[3 * side + p][row]) << (8 * p)).sum::<usize>();
    let mut merges = Vec::with_capacity(free.len());
    for (row, product) in free.into_iter().enumerate() {
        let [left, right] = [0, 1].map(|side| tokens[id(side, row)].clone().unwrap());
        tokens[product] = Some([left.as_slice(), &right].concat());
        merges.push([left.as_slice(), b" ", &right].concat());
    }
    let tokens = tokens.into_iter().map(Option::unwrap).collect();
    let number = |key: &str| head[key].as_u64().unwrap();
    let ids = [("tokenizer.ggml.bos_token_id", number("bos")), ("tokenizer.ggml.eos_token_id", number("eos"))];
    let plain = metadata(head["pre"].as_str().unwrap(), tokens, types, merges, ids);
    let template = Value::String(head["chat_template"].as_str().unwrap().to_owned());
    let add_bos = Value::Bool(head["add_bos"].as_bool().unwrap());
    with(&with(&plain, "tokenizer.chat_template", Some(template)), "tokenizer.ggml.add_bos_token", Some(add_bos))
}

/// `metadata` with one field set, or removed.
pub(crate) fn with(metadata: &Metadata, field: &str, value: Option<Value>) -> Metadata {
    let mut values: BTreeMap<String, Value> = metadata.iter().map(|(k, v)| (k.to_owned(), v.clone())).collect();
    match value {
        Some(value) => values.insert(field.to_owned(), value),
        None => values.remove(field),
    };
    Metadata::new(metadata.path().to_owned(), values)
}

pub(crate) fn lines() -> Vec<String> {
    // Not `str::lines`: some lines are a carriage return.
    String::from_utf8(gunzip("lines.txt.gz")).unwrap().split('\n').map(str::to_owned).collect()
}

pub(crate) fn json(name: &str) -> serde_json::Value {
    serde_json::from_slice(&bytes(name)).unwrap()
}

pub(crate) fn ids(value: &serde_json::Value) -> Vec<u32> {
    serde_json::from_value(value.clone()).unwrap()
}

pub(crate) fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(path(name)).unwrap()
}

pub(crate) fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/tokenizer").join(name)
}

fn gunzip(name: &str) -> Vec<u8> {
    let mut plain = Vec::new();
    GzDecoder::new(bytes(name).as_slice()).read_to_end(&mut plain).unwrap();
    plain
}
