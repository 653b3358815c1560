//! Fields of every kind of vocabulary inside a GGUF file: tokens, their types, the ids of special ones.

use super::entry::Entry;
use super::table::TokenKind;
use crate::error::{ModelError, Result};
use crate::weights::{Metadata, Value};

pub(super) const TOKENS: &str = "tokenizer.ggml.tokens";
pub(super) const MERGES: &str = "tokenizer.ggml.merges";
const TYPES: &str = "tokenizer.ggml.token_type";
const BOS: &str = "tokenizer.ggml.bos_token_id";
/// All name tokens that end a turn.
const EOS: [&str; 3] = ["tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"];

/// Tokens at most; the largest vocabularies have a quarter of it. What is built for each takes up to 1 KiB.
const MOST_TOKENS: usize = 1 << 20;

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

fn entries(metadata: &Metadata, kind_of: fn(i64) -> Option<TokenKind>) -> Result<Vec<Entry>> {
    let texts = metadata.strings(TOKENS)?;
    if texts.is_empty() || texts.len() > MOST_TOKENS {
        let expected = format!("1 to {MOST_TOKENS} tokens");
        return Err(wrong_item(metadata, TOKENS, &expected, &texts.len().to_string()));
    }
    let types = types(metadata)?;
    if types.len() != texts.len() {
        let expected = format!("{} values, one a token", texts.len());
        return Err(wrong_item(metadata, TYPES, &expected, &types.len().to_string()));
    }
    let rows = texts.iter().zip(types).enumerate();
    rows.map(|(index, (text, kind))| {
        let text = String::from_utf8(text.clone()).map_err(|_| {
            wrong_item(metadata, &format!("{TOKENS}[{index}]"), "UTF-8", &String::from_utf8_lossy(text))
        })?;
        let kind = kind_of(kind).ok_or_else(|| {
            wrong_item(metadata, &format!("{TYPES}[{index}]"), "a token type from 1 to 6", &kind.to_string())
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

fn id(metadata: &Metadata, field: &str, tokens: usize) -> Result<Option<u32>> {
    let id = metadata.optional_usize(field)?;
    if id.is_some_and(|id| id >= tokens) {
        return Err(metadata.wrong(field, &format!("an id below {tokens}, the number of tokens")));
    }
    Ok(id.and_then(|id| u32::try_from(id).ok()))
}

/// Pairs of tokens, the first to be joined first.
pub(super) fn merges(metadata: &Metadata) -> Result<Vec<(String, String)>> {
    let rows = metadata.strings(MERGES)?.iter().enumerate();
    rows.map(|(index, row)| {
        let pair = std::str::from_utf8(row).ok().and_then(|row| row.split_once(' '));
        match pair.filter(|(left, right)| !left.is_empty() && !right.is_empty() && !right.contains(' ')) {
            Some((left, right)) => Ok((left.to_owned(), right.to_owned())),
            None => {
                let field = format!("{MERGES}[{index}]");
                let found = format!("{:?}", String::from_utf8_lossy(row));
                Err(wrong_item(metadata, &field, "two tokens with a space between", &found))
            }
        }
    })
    .collect()
}

pub(super) fn wrong_item(metadata: &Metadata, field: &str, expected: &str, found: &str) -> ModelError {
    ModelError::Field {
        path: metadata.path().to_owned(),
        field: field.to_owned(),
        expected: expected.to_owned(),
        found: found.to_owned(),
    }
}
