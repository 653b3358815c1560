//! The vocabulary inside a GGUF file (`tokenizer.ggml.*`,
//! <https://github.com/ggml-org/ggml/blob/master/docs/gguf.md>).

use super::pipeline::{Blueprint, Entry, Places, Subwords};
use super::sentencepiece;
use super::splitter::{SPLITTERS, Splitter};
use super::table::{Spelling, TokenKind};
use crate::error::{ModelError, Result, quoted};
use crate::weights::{Metadata, Value};
use std::collections::BTreeMap;
use tokenizers::NormalizerWrapper;
use tokenizers::normalizers::NFC;

const MODEL: &str = "tokenizer.ggml.model";
const SPLITTER: &str = "tokenizer.ggml.pre";
pub(super) const TOKENS: &str = "tokenizer.ggml.tokens";
const TYPES: &str = "tokenizer.ggml.token_type";
const MERGES: &str = "tokenizer.ggml.merges";
const BOS: &str = "tokenizer.ggml.bos_token_id";
/// All name tokens that end a turn.
const EOS: [&str; 3] = ["tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"];

/// Tokens at most; the largest vocabularies have a quarter of it. What is built for each takes up to 1 KiB.
const MOST_TOKENS: usize = 1 << 20;

/// Reads the vocabulary of `metadata`.
pub(super) fn read(metadata: &Metadata) -> Result<Blueprint> {
    match metadata.str(MODEL)? {
        "gpt2" => byte_level(metadata),
        "llama" => sentencepiece::read(metadata),
        _ => Err(metadata.wrong(MODEL, "\"gpt2\" (byte-level BPE) or \"llama\" (SentencePiece)")),
    }
}

fn byte_level(metadata: &Metadata) -> Result<Blueprint> {
    let splitter = splitter(metadata)?;
    let Vocabulary { entries, bos, eos } = vocabulary(metadata, kind_of)?;
    let steps = splitter.steps().map_err(|reason| ModelError::Field {
        path: metadata.path().to_owned(),
        field: SPLITTER.into(),
        expected: "a splitter that compiles".into(),
        found: reason.to_string(),
    })?;
    Ok(Blueprint {
        path: metadata.path().to_owned(),
        places: Places { tokens: TOKENS, merges: MERGES },
        entries,
        flags: BTreeMap::new(),
        spelling: Spelling::ByteLevel,
        subwords: Subwords::Bpe {
            merges: merges(metadata)?,
            ignore_merges: splitter.ignore_merges,
            byte_fallback: false,
            fuse_unknown: false,
        },
        normalizer: splitter.nfc.then_some(NormalizerWrapper::NFC(NFC)),
        splitter: Some(steps),
        metaspace: None,
        recased: false,
        leading_space: false,
        add_bos: add_bos(metadata, bos, splitter.add_bos)?,
        bos,
        eos,
    })
}

/// Fields of every kind of vocabulary.
pub(super) struct Vocabulary {
    pub(super) entries: Vec<Entry>,
    pub(super) bos: Option<u32>,
    pub(super) eos: Vec<u32>,
}

/// Tokens and the ids of special ones; `kind_of` knows what a token type means.
pub(super) fn vocabulary(metadata: &Metadata, kind_of: fn(i64) -> Option<TokenKind>) -> Result<Vocabulary> {
    let entries = entries(metadata, kind_of)?;
    let bos = id(metadata, BOS, entries.len())?;
    let mut eos = Vec::new();
    for field in EOS {
        eos.extend(id(metadata, field, entries.len())?);
    }
    Ok(Vocabulary { entries, bos, eos })
}

/// Whether BOS goes in front; `otherwise` where the file does not say.
pub(super) fn add_bos(metadata: &Metadata, bos: Option<u32>, otherwise: bool) -> Result<bool> {
    let add_bos = metadata.optional_bool("tokenizer.ggml.add_bos_token")?.unwrap_or(otherwise);
    if add_bos && bos.is_none() {
        return Err(metadata.wrong(BOS, "the id of the token that add_bos_token asks for"));
    }
    Ok(add_bos)
}

fn splitter(metadata: &Metadata) -> Result<&'static Splitter> {
    let name = metadata.optional_str(SPLITTER)?;
    name.and_then(Splitter::find).ok_or_else(|| {
        let known: Vec<String> = SPLITTERS.iter().map(|row| format!("{:?}", row.name)).collect();
        metadata.wrong(SPLITTER, &format!("one of {}", known.join(", ")))
    })
}

fn entries(metadata: &Metadata, kind_of: fn(i64) -> Option<TokenKind>) -> Result<Vec<Entry>> {
    let texts = metadata.strings(TOKENS)?;
    if texts.is_empty() || texts.len() > MOST_TOKENS {
        let expected = format!("1 to {MOST_TOKENS} tokens");
        return Err(out_of_place(metadata, TOKENS, &expected, &texts.len().to_string()));
    }
    let types = types(metadata)?;
    if types.len() != texts.len() {
        let expected = format!("{} values, one a token", texts.len());
        return Err(out_of_place(metadata, TYPES, &expected, &types.len().to_string()));
    }
    let rows = texts.iter().zip(types).enumerate();
    rows.map(|(index, (text, kind))| {
        let text = String::from_utf8(text.clone()).map_err(|_| {
            out_of_place(metadata, &format!("{TOKENS}[{index}]"), "UTF-8", &String::from_utf8_lossy(text))
        })?;
        let kind = kind_of(kind).ok_or_else(|| {
            out_of_place(metadata, &format!("{TYPES}[{index}]"), "a token type from 1 to 6", &kind.to_string())
        })?;
        Ok(Entry { text, kind })
    })
    .collect()
}

fn types(metadata: &Metadata) -> Result<Vec<i64>> {
    match metadata.get(TYPES) {
        Some(Value::SignedArray(types)) => Ok(types.clone()),
        Some(Value::UnsignedArray(types)) => Ok(types.iter().map(|&t| i64::try_from(t).unwrap_or(-1)).collect()),
        _ => Err(metadata.wrong(TYPES, "an array of integers")),
    }
}

/// `enum llama_token_type`: normal, unknown, control, user-defined, unused, byte.
fn kind_of(token_type: i64) -> Option<TokenKind> {
    Some(match token_type {
        1 | 6 => TokenKind::Text,
        // Byte-level BPE has a token for every byte, so an "unknown" token here is a marker by another name.
        2 | 3 => TokenKind::Control,
        4 => TokenKind::Marker,
        5 => TokenKind::Absent,
        _ => return None,
    })
}

fn merges(metadata: &Metadata) -> Result<Vec<(String, String)>> {
    let rows = metadata.strings(MERGES)?.iter().enumerate();
    rows.map(|(index, row)| {
        let pair = std::str::from_utf8(row).ok().and_then(|row| row.split_once(' '));
        match pair.filter(|(left, right)| !left.is_empty() && !right.is_empty() && !right.contains(' ')) {
            Some((left, right)) => Ok((left.to_owned(), right.to_owned())),
            None => {
                let field = format!("{MERGES}[{index}]");
                let found = format!("{:?}", String::from_utf8_lossy(row));
                Err(out_of_place(metadata, &field, "two tokens with a space between", &found))
            }
        }
    })
    .collect()
}

fn id(metadata: &Metadata, field: &str, tokens: usize) -> Result<Option<u32>> {
    let id = metadata.optional_usize(field)?;
    if id.is_some_and(|id| id >= tokens) {
        return Err(metadata.wrong(field, &format!("an id below {tokens}, the number of tokens")));
    }
    Ok(id.and_then(|id| u32::try_from(id).ok()))
}

pub(super) fn out_of_place(metadata: &Metadata, field: &str, expected: &str, found: &str) -> ModelError {
    ModelError::Field {
        path: metadata.path().to_owned(),
        field: field.to_owned(),
        expected: expected.to_owned(),
        found: quoted(&found.chars().take(80).collect::<String>()),
    }
}
