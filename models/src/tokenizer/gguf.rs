//! The vocabulary inside a GGUF file (`tokenizer.ggml.*`,
//! <https://github.com/ggml-org/ggml/blob/master/docs/gguf.md>).

use super::pipeline::{Blueprint, BpeOptions, Entry, Places};
use super::table::{Spelling, TokenKind};
use crate::error::{ModelError, Result};
use crate::weights::{Metadata, Value};
use std::collections::BTreeMap;
use tokenizers::normalizers::NFC;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::digits::Digits;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::tokenizer::SplitDelimiterBehavior;
use tokenizers::{NormalizerWrapper, PreTokenizerWrapper};

const MODEL: &str = "tokenizer.ggml.model";
const SPLITTER: &str = "tokenizer.ggml.pre";
const TOKENS: &str = "tokenizer.ggml.tokens";
const TYPES: &str = "tokenizer.ggml.token_type";
const MERGES: &str = "tokenizer.ggml.merges";
const BOS: &str = "tokenizer.ggml.bos_token_id";
/// All name tokens that end a turn.
const EOS: [&str; 3] = ["tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"];

/// How text is cut into the words that BPE works on. GGUF stores but the name.
#[derive(Debug)]
pub struct Splitter {
    /// `tokenizer.ggml.pre`.
    pub name: &'static str,
    /// The model family whose published `tokenizer.json` this row repeats.
    pub family: &'static str,
    /// Whether text is brought to Unicode normal form C first.
    pub nfc: bool,
    /// The cut itself.
    pub rule: SplitRule,
    /// Whether a word that is itself a token is taken whole, merges or not.
    pub ignore_merges: bool,
    /// What an absent `tokenizer.ggml.add_bos_token` means.
    pub add_bos: bool,
}

/// The cut of a [`Splitter`].
#[derive(Debug, Clone, Copy)]
pub enum SplitRule {
    /// Matches of a pattern, each a word, and what lies between them.
    Pattern(&'static str),
    /// Every digit alone, then GPT-2's own pattern.
    DigitsThenGpt2,
}

/// Known splitters. A new one is a row here; the test over this table asks for its golden ids.
pub static SPLITTERS: [Splitter; 3] = [
    Splitter {
        name: "qwen2",
        family: "Qwen2, Qwen2.5",
        nfc: true,
        rule: SplitRule::Pattern(concat!(
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}",
            r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        )),
        ignore_merges: false,
        add_bos: false,
    },
    Splitter {
        name: "smollm",
        family: "SmolLM, SmolLM2",
        nfc: false,
        rule: SplitRule::DigitsThenGpt2,
        ignore_merges: false,
        add_bos: false,
    },
    Splitter {
        name: "llama-bpe",
        family: "Llama 3",
        nfc: false,
        rule: SplitRule::Pattern(concat!(
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}",
            r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        )),
        ignore_merges: true,
        add_bos: true,
    },
];

impl Splitter {
    fn steps(&self) -> std::result::Result<PreTokenizerWrapper, tokenizers::Error> {
        let (cut, gpt2_pattern): (PreTokenizerWrapper, bool) = match self.rule {
            SplitRule::Pattern(pattern) => {
                let pattern = SplitPattern::Regex(pattern.to_owned());
                (Split::new(pattern, SplitDelimiterBehavior::Isolated, false)?.into(), false)
            }
            SplitRule::DigitsThenGpt2 => (Digits::new(true).into(), true),
        };
        let to_alphabet = ByteLevel::new(false, true, gpt2_pattern);
        Ok(Sequence::new(vec![cut, to_alphabet.into()]).into())
    }
}

/// Reads the vocabulary of `metadata`.
pub(super) fn read(metadata: &Metadata) -> Result<Blueprint> {
    let model = metadata.str(MODEL)?;
    if model != "gpt2" {
        // "llama" (SentencePiece) would be a second reader beside `entries`: its scores order the merges.
        return Err(metadata.wrong(MODEL, "\"gpt2\" (byte-level BPE, the only vocabulary supported)"));
    }
    let splitter = splitter(metadata)?;
    let entries = entries(metadata)?;
    let bos = id(metadata, BOS, entries.len())?;
    let mut eos = Vec::new();
    for field in EOS {
        eos.extend(id(metadata, field, entries.len())?);
    }
    let add_bos = metadata.optional_bool("tokenizer.ggml.add_bos_token")?.unwrap_or(splitter.add_bos);
    if add_bos && bos.is_none() {
        return Err(metadata.wrong(BOS, "the id of the token that add_bos_token asks for"));
    }
    let steps = splitter.steps().map_err(|reason| ModelError::Field {
        path: metadata.path().to_owned(),
        field: SPLITTER.into(),
        expected: "a splitter that compiles".into(),
        found: reason.to_string(),
    })?;
    Ok(Blueprint {
        path: metadata.path().to_owned(),
        places: Places { tokens: TOKENS, merges: MERGES },
        merges: merges(metadata)?,
        entries,
        flags: BTreeMap::new(),
        spelling: Spelling::ByteLevel,
        bpe: BpeOptions { ignore_merges: splitter.ignore_merges, ..BpeOptions::default() },
        normalizer: splitter.nfc.then_some(NormalizerWrapper::NFC(NFC)),
        splitter: Some(steps),
        bos,
        eos,
        add_bos,
    })
}

fn splitter(metadata: &Metadata) -> Result<&'static Splitter> {
    let name = metadata.optional_str(SPLITTER)?;
    SPLITTERS.iter().find(|row| Some(row.name) == name).ok_or_else(|| {
        let known: Vec<String> = SPLITTERS.iter().map(|row| format!("{:?}", row.name)).collect();
        metadata.wrong(SPLITTER, &format!("one of {}", known.join(", ")))
    })
}

fn entries(metadata: &Metadata) -> Result<Vec<Entry>> {
    let texts = metadata.strings(TOKENS)?;
    // Ids are u32, and half of that range is more than any vocabulary.
    if texts.is_empty() || texts.len() > i32::MAX as usize {
        return Err(out_of_place(metadata, TOKENS, "at least one token", &format!("{} tokens", texts.len())));
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

fn out_of_place(metadata: &Metadata, field: &str, expected: &str, found: &str) -> ModelError {
    ModelError::Field {
        path: metadata.path().to_owned(),
        field: field.to_owned(),
        expected: expected.to_owned(),
        found: found.chars().take(80).collect(),
    }
}
