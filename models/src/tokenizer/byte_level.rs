//! A byte-level BPE vocabulary inside a GGUF file (`tokenizer.ggml.model = "gpt2"`): Llama 3, Qwen, Mistral Nemo.

use super::blueprint::{Blueprint, Locations, Subwords};
use super::normalizer::NormalizerStep;
use super::splitter::{SPLITTERS, Splitter};
use super::table::{Spelling, TokenKind};
use super::vocabulary::{MERGES, TOKENS, Vocabulary, add_bos, merges, vocabulary};
use crate::error::{ModelError, Result, SPLITTER_FIELD};
use crate::weights::Metadata;
use std::collections::BTreeMap;
use tokenizers::normalizers::NFC;

/// Reads the vocabulary of `metadata`.
pub(super) fn read(metadata: &Metadata) -> Result<Blueprint> {
    let splitter = splitter(metadata)?;
    let Vocabulary { entries, bos, eos } = vocabulary(metadata, kind_of)?;
    let steps = splitter.steps().map_err(|reason| ModelError::Field {
        path: metadata.path().to_owned(),
        field: SPLITTER_FIELD.into(),
        expected: "a splitter that compiles".into(),
        found: reason.to_string(),
    })?;
    Ok(Blueprint {
        path: metadata.path().to_owned(),
        locations: Locations { tokens: TOKENS, merges: MERGES },
        entries,
        flags: BTreeMap::new(),
        spelling: Spelling::ByteLevel,
        subwords: Subwords::Bpe {
            merges: merges(metadata)?,
            ignore_merges: splitter.ignore_merges,
            byte_fallback: false,
            fuse_unknown: false,
        },
        normalizers: if splitter.nfc { vec![NormalizerStep::Known(NFC.into())] } else { Vec::new() },
        splitters: steps,
        metaspace: None,
        recased: false,
        leading_space: false,
        add_bos: add_bos(metadata, bos, splitter.add_bos)?,
        bos,
        eos,
    })
}

fn splitter(metadata: &Metadata) -> Result<&'static Splitter> {
    let name = metadata.optional_str(SPLITTER_FIELD)?;
    name.and_then(Splitter::find).ok_or_else(|| {
        let known: Vec<String> = SPLITTERS.iter().map(|row| format!("{:?}", row.name)).collect();
        metadata.wrong(SPLITTER_FIELD, &format!("one of {}", known.join(", ")))
    })
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
