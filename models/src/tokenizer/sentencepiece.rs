//! A SentencePiece vocabulary inside a GGUF file (`tokenizer.ggml.model = "llama"`): Llama 2, Mistral, Phi-3.
//!
//! Such a vocabulary has a score for every piece and no merges: the two neighbours whose union has the highest score
//! are joined first. Hugging Face runs it as BPE whose merges are all the ways to join two pieces into a third, by
//! descending score (`generate_merges` in transformers' `convert_slow_tokenizer.py`). This does the same, in the order of
//! the published files. Characters without a piece become one token a byte.

use super::added::Flags;
use super::blueprint::{Blueprint, Locations, Subwords};
use super::entry::Entry;
use super::metaspace::{Metaspace, Prefix};
use super::table::{Spelling, TokenKind};
use super::vocabulary::{TOKENS, Vocabulary, add_bos, vocabulary, wrong_item};
use crate::error::Result;
use crate::weights::{Metadata, Value};
use std::collections::{BTreeMap, HashMap, HashSet};

const SCORES: &str = "tokenizer.ggml.scores";
const ADD_SPACE: &str = "tokenizer.ggml.add_space_prefix";
const COLLAPSE: &str = "tokenizer.ggml.remove_extra_whitespaces";
/// Bytes of a piece at most: SentencePiece's own default is 16 characters. What is longer would make the search for
/// merges quadratic.
const LONGEST_PIECE: usize = 256;
/// Merges a token at most. Llama 2 and Mistral have 1.9, Gemma 2.3; a vocabulary made for it could have hundreds.
const MERGES_A_TOKEN: usize = 8;

/// Settings of a family's published `tokenizer.json` that GGUF has no field for. The first family that matches is used.
struct Family {
    /// Added tokens by which it is known.
    marks: &'static [&'static str],
    prefix: Prefix,
    /// Whether added tokens absorb the white space after them, except `KEEPERS`.
    swallows: bool,
}

const FAMILIES: [Family; 3] = [
    // Phi-3.
    Family { marks: &["<|user|>", "<|assistant|>", "<|end|>"], prefix: Prefix::Always, swallows: true },
    // Mistral v0.2 (of the tokenizer) and later.
    Family { marks: &["[INST]", "[/INST]"], prefix: Prefix::First, swallows: false },
    // Llama 2 and all that use its vocabulary.
    Family { marks: &[], prefix: Prefix::Always, swallows: false },
];
const KEEPERS: [&str; 3] = ["<unk>", "<s>", "<|endoftext|>"];

/// Reads the vocabulary of `metadata`.
pub(super) fn read(metadata: &Metadata) -> Result<Blueprint> {
    let Vocabulary { mut entries, bos, eos } = vocabulary(metadata, kind_of)?;
    let added = |kind| matches!(kind, TokenKind::Control | TokenKind::Marker);
    for entry in entries.iter_mut().filter(|entry| entry.kind == TokenKind::Marker) {
        // User-defined pieces are stored as they are matched, spaces spelled.
        entry.text = entry.text.replace('\u{2581}', " ");
    }
    let texts: HashSet<&str> = entries.iter().filter(|entry| added(entry.kind)).map(|e| e.text.as_str()).collect();
    let fits = |family: &&Family| family.marks.iter().all(|mark| texts.contains(mark));
    let family = FAMILIES.iter().find(fits).expect("the last family has no marks (bug)");
    let spaced = metadata.optional_bool(ADD_SPACE)?.unwrap_or(true);
    let metaspace = Metaspace {
        prefix: if spaced { family.prefix } else { Prefix::Never },
        split: false,
        collapse: metadata.optional_bool(COLLAPSE)?.unwrap_or(false),
    };
    let mut flags = BTreeMap::new();
    for (id, entry) in (0u32..).zip(&entries) {
        if family.swallows && added(entry.kind) && !KEEPERS.contains(&entry.text.as_str()) {
            flags.insert(id, Flags { rstrip: true, ..Flags::default() });
        }
    }
    check_bytes(metadata, &entries)?;
    let merges = merges(metadata, &entries, &scores(metadata, entries.len())?)?;
    Ok(Blueprint {
        path: metadata.path().to_owned(),
        locations: Locations { tokens: TOKENS, merges: SCORES },
        add_bos: add_bos(metadata, bos, true)?,
        entries,
        flags,
        spelling: Spelling::Metaspace,
        subwords: Subwords::Bpe { merges, ignore_merges: false, byte_fallback: true, fuse_unknown: true },
        normalizers: Vec::new(),
        splitters: Vec::new(),
        metaspace: Some(metaspace),
        recased: false,
        leading_space: spaced,
        bos,
        eos,
    })
}

/// `enum llama_token_type`: normal, unknown, control, user-defined, unused, byte.
pub(super) fn kind_of(token_type: i64) -> Option<TokenKind> {
    Some(match token_type {
        1 | 6 => TokenKind::Text,
        2 => TokenKind::Unknown,
        3 => TokenKind::Control,
        4 => TokenKind::Marker,
        5 => TokenKind::Absent,
        _ => return None,
    })
}

/// Without a token for every byte or an unknown token, characters would be dropped silently.
pub(super) fn check_bytes(metadata: &Metadata, entries: &[Entry]) -> Result<()> {
    let mut bytes: HashSet<&str> = HashSet::new();
    for entry in entries {
        match entry.kind {
            TokenKind::Unknown => return Ok(()),
            TokenKind::Text if entry.text.starts_with("<0x") => _ = bytes.insert(&entry.text),
            _ => {}
        }
    }
    let missing = (0..=255u8).map(|byte| format!("<0x{byte:02X}>")).find(|byte| !bytes.contains(byte.as_str()));
    let expected = "a token for every byte, or one for the unknown";
    missing.map_or(Ok(()), |byte| Err(wrong_item(metadata, TOKENS, expected, &format!("no {byte:?}"))))
}

/// A score for each of `tokens`, none of which is NaN.
pub(super) fn scores(metadata: &Metadata, tokens: usize) -> Result<Vec<f64>> {
    let Some(Value::FloatArray(scores)) = metadata.get(SCORES) else {
        return Err(metadata.wrong(SCORES, "an array of floats"));
    };
    if scores.len() != tokens {
        let expected = format!("{tokens} values, one a token");
        return Err(wrong_item(metadata, SCORES, &expected, &scores.len().to_string()));
    }
    if let Some(at) = scores.iter().position(|score| score.is_nan()) {
        return Err(wrong_item(metadata, &format!("{SCORES}[{at}]"), "a number", "NaN"));
    }
    Ok(scores.clone())
}

/// One way to join two pieces, by ids.
struct Join {
    score: f64,
    product: u32,
    left: u32,
    right: u32,
}

/// All ways to join two pieces to a third: by falling score, and where scores are equal (runs of spaces all have
/// -1e9) by the ids of the product, the left and the right piece. The order of equals matters to long runs of spaces.
fn merges(metadata: &Metadata, entries: &[Entry], scores: &[f64]) -> Result<Vec<(String, String)>> {
    let pieces = || (0u32..).zip(entries).filter(|(_, entry)| entry.kind == TokenKind::Text);
    let ids: HashMap<&str, u32> = pieces().map(|(id, entry)| (entry.text.as_str(), id)).collect();
    let most = MERGES_A_TOKEN * entries.len();
    let mut joins: Vec<Join> = Vec::new();
    for (product, entry) in pieces() {
        let (text, score) = (entry.text.as_str(), scores[product as usize]);
        if text.len() > LONGEST_PIECE {
            let expected = format!("at most {LONGEST_PIECE} bytes");
            let found = text.len().to_string();
            return Err(wrong_item(metadata, &format!("{TOKENS}[{product}]"), &expected, &found));
        }
        for (at, _) in text.char_indices().skip(1) {
            if let (Some(&left), Some(&right)) = (ids.get(&text[..at]), ids.get(&text[at..])) {
                joins.push(Join { score, product, left, right });
            }
        }
        if joins.len() > most {
            let expected = format!("at most {most} ways to join two tokens to a third");
            return Err(wrong_item(metadata, TOKENS, &expected, "more"));
        }
    }
    joins.sort_by(|a, b| {
        let by_score = b.score.partial_cmp(&a.score).expect("no score is NaN (bug)");
        by_score.then_with(|| (a.product, a.left, a.right).cmp(&(b.product, b.left, b.right)))
    });
    let text = |id: u32| entries[id as usize].text.clone();
    Ok(joins.into_iter().map(|join| (text(join.left), text(join.right))).collect())
}
