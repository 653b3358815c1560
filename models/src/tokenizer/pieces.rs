//! Vocabularies of encoders inside a GGUF file: `tokenizer.ggml.model = "bert"` (WordPiece) and `"t5"` (Unigram, of XLM-R).
//!
//! A GGUF has the tokens and no steps of a normaliser or splitter. They are those of the families' published
//! `tokenizer.json`.

use super::blueprint::{Blueprint, Locations, Subwords};
use super::metaspace::Metaspace;
use super::sentencepiece::{kind_of, scores};
use super::steps::{normalizers, splitters};
use super::table::{Spelling, TokenKind};
use super::unigram::Scores;
use super::vocabulary::{MERGES, TOKENS, Vocabulary, vocabulary};
use crate::error::Result;
use crate::weights::{Metadata, Value};
use serde_json::json;
use std::collections::BTreeMap;

const UNKNOWN: &str = "tokenizer.ggml.unknown_token_id";
const CHARSMAP: &str = "tokenizer.ggml.precompiled_charsmap";
/// Longest word in characters, as BERT's `tokenizer.json` has it.
const LONGEST_WORD: usize = 100;
/// In front of a token that begins a word.
const BEGINS: char = '\u{2581}';

/// Reads BERT's WordPiece vocabulary: in a GGUF tokens that begin a word are marked, not those that continue one.
pub(super) fn word_pieces(metadata: &Metadata) -> Result<Blueprint> {
    let mut read = vocabulary(metadata, kind_of)?;
    for entry in read.entries.iter_mut().filter(|entry| entry.kind == TokenKind::Text) {
        entry.text = match entry.text.strip_prefix(BEGINS) {
            Some(word) => word.to_owned(),
            None => format!("##{}", entry.text),
        };
    }
    let unknown = unknown(metadata, &read)?;
    read.entries[unknown].kind = TokenKind::Unknown;
    // No field says whether texts are lower-cased. A cased vocabulary has capitals; BERT's uncased one has some of other
    // scripts too.
    let is_word = |text: &str| text.starts_with(|c: char| c.is_alphanumeric());
    let words = read.entries.iter().filter(|entry| entry.kind == TokenKind::Text && is_word(&entry.text));
    let cased = words.into_iter().any(|entry| entry.text.contains(|c: char| c.is_ascii_uppercase()));
    let normalizer = json!({
        "type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": !cased,
    });
    let splitter = json!({ "type": "BertPreTokenizer" });
    let subwords = Subwords::WordPiece { longest_word: LONGEST_WORD };
    blueprint(metadata, read, Spelling::WordPiece, subwords, [&normalizer, &splitter])
}

/// Reads XLM-R's Unigram vocabulary.
pub(super) fn unigrams(metadata: &Metadata) -> Result<Blueprint> {
    let mut read = vocabulary(metadata, kind_of)?;
    let unknown = unknown(metadata, &read)?;
    read.entries[unknown].kind = TokenKind::Unknown;
    let scores = scores(metadata, read.entries.len())?;
    if scores.iter().any(|score| !score.is_finite()) {
        return Err(metadata.wrong("tokenizer.ggml.scores", "scores that are finite"));
    }
    let mut steps = Vec::new();
    if let Some(table) = charsmap(metadata)? {
        steps.push(json!({ "type": "Precompiled", "precompiled_charsmap": base64(&table) }));
    }
    if metadata.optional_bool("tokenizer.ggml.remove_extra_whitespaces")?.unwrap_or(true) {
        steps.push(json!({ "type": "Replace", "pattern": { "Regex": " {2,}" }, "content": " " }));
    }
    let normalizer = json!({ "type": "Sequence", "normalizers": steps });
    let spaced = metadata.optional_bool("tokenizer.ggml.add_space_prefix")?.unwrap_or(true);
    let scheme = if spaced { "always" } else { "never" };
    let splitter = json!({ "type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": true });
    let subwords = Subwords::Unigram(Scores::of(scores, unknown));
    blueprint(metadata, read, Spelling::Metaspace, subwords, [&normalizer, &splitter])
}

fn blueprint(
    metadata: &Metadata,
    Vocabulary { entries, bos, eos }: Vocabulary,
    spelling: Spelling,
    subwords: Subwords,
    [normalizer, splitter]: [&serde_json::Value; 2],
) -> Result<Blueprint> {
    let path = metadata.path();
    Ok(Blueprint {
        path: path.to_owned(),
        locations: Locations { tokens: TOKENS, merges: MERGES },
        entries,
        flags: BTreeMap::new(),
        spelling,
        subwords,
        metaspace: Metaspace::of(Some(normalizer), Some(splitter)),
        normalizers: normalizers(path, Some(normalizer))?,
        splitters: splitters(path, Some(splitter))?,
        recased: false,
        leading_space: true,
        bos,
        eos,
        add_bos: false,
    })
}

/// The index of the token for unknown text: the one that is named, else the one of that type, else `[UNK]`.
fn unknown(metadata: &Metadata, read: &Vocabulary) -> Result<usize> {
    let of = |is: &dyn Fn(&super::entry::Entry) -> bool| read.entries.iter().position(is);
    let named = metadata.optional_usize(UNKNOWN)?;
    let found =
        named.or_else(|| of(&|entry| entry.kind == TokenKind::Unknown)).or_else(|| of(&|entry| entry.text == "[UNK]"));
    let expected = "the id of the token for unknown text";
    found.filter(|&id| id < read.entries.len()).ok_or_else(|| metadata.wrong(UNKNOWN, expected))
}

/// SentencePiece's table of replacements.
fn charsmap(metadata: &Metadata) -> Result<Option<Vec<u8>>> {
    let wrong = || metadata.wrong(CHARSMAP, "an array of bytes");
    match metadata.get(CHARSMAP) {
        None => Ok(None),
        Some(Value::UnsignedArray(bytes)) => {
            let bytes = bytes.iter().map(|&byte| u8::try_from(byte).ok()).collect::<Option<Vec<u8>>>();
            bytes.map(Some).ok_or_else(wrong)
        }
        Some(Value::SignedArray(bytes)) => {
            let byte = |&byte: &i64| i8::try_from(byte).ok().map(i8::cast_unsigned);
            bytes.iter().map(byte).collect::<Option<Vec<u8>>>().map(Some).ok_or_else(wrong)
        }
        Some(_) => Err(wrong()),
    }
}

/// Standard base64, padded.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let four = |three: &[u8]| {
        let bits = three.iter().fold(0_u32, |bits, &byte| bits << 8 | u32::from(byte)) << (8 * (3 - three.len()));
        let digit = |index: usize| match index <= three.len() {
            true => char::from(DIGITS[(bits >> (18 - 6 * index) & 63) as usize]),
            false => '=',
        };
        [digit(0), digit(1), digit(2), digit(3)]
    };
    bytes.chunks(3).flat_map(four).collect()
}

#[cfg(test)]
mod tests {
    use super::base64;

    #[test]
    fn base64_is_written() {
        for (bytes, text) in [("", ""), ("h", "aA=="), ("he", "aGU="), ("hel", "aGVs"), ("hello", "aGVsbG8=")] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
        assert_eq!(base64(&[0xff, 0xfe, 0xfd]), "//79");
    }
}
