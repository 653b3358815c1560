//! Gemma 4's vocabulary inside a GGUF file (`tokenizer.ggml.model = "gemma4"`): BPE with merges, as a byte-level one, over texts
//! whose spaces are `▁` and that are not cut into words. A character without a token becomes one token a byte.

use super::blueprint::{Blueprint, Locations, Subwords};
use super::metaspace::{Metaspace, Prefix};
use super::sentencepiece::{check_bytes, kind_of};
use super::table::Spelling;
use super::vocabulary::{MERGES, TOKENS, Vocabulary, add_bos, merges, vocabulary};
use crate::error::Result;
use crate::weights::Metadata;
use std::collections::BTreeMap;

/// Reads the vocabulary of `metadata`.
pub(super) fn read(metadata: &Metadata) -> Result<Blueprint> {
    let Vocabulary { entries, bos, eos } = vocabulary(metadata, kind_of)?;
    check_bytes(metadata, &entries)?;
    // Files that say otherwise are mistaken: without it in front the model writes nonsense.
    let add_bos = bos.is_some() || add_bos(metadata, bos, true)?;
    Ok(Blueprint {
        path: metadata.path().to_owned(),
        locations: Locations { tokens: TOKENS, merges: MERGES },
        entries,
        flags: BTreeMap::new(),
        spelling: Spelling::Metaspace,
        subwords: Subwords::Bpe {
            merges: merges(metadata)?,
            ignore_merges: false,
            byte_fallback: true,
            fuse_unknown: true,
        },
        normalizers: Vec::new(),
        splitters: Vec::new(),
        metaspace: Some(Metaspace { prefix: Prefix::Never, split: false, collapse: false }),
        recased: false,
        leading_space: false,
        add_bos,
        bos,
        eos,
    })
}
