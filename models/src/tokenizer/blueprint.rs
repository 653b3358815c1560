//! A vocabulary as read, whatever the file.

use super::added::Flags;
use super::entry::Entry;
use super::metaspace::Metaspace;
use super::normalizer::NormalizerStep;
use super::table::Spelling;
use super::unigram::Scores;
use std::collections::BTreeMap;
use std::path::PathBuf;
use tokenizers::PreTokenizerWrapper;

/// Locations of the parts in their file, for messages.
#[derive(Debug, Clone, Copy)]
pub(super) struct Locations {
    pub(super) tokens: &'static str,
    pub(super) merges: &'static str,
}

/// How words become tokens.
#[derive(Debug)]
pub(super) enum Subwords {
    Bpe {
        merges: Vec<(String, String)>,
        /// A word that is itself a token is not built by merges.
        ignore_merges: bool,
        /// Characters without a token become `<0xNN>` tokens.
        byte_fallback: bool,
        fuse_unknown: bool,
    },
    /// The longest token that a word begins with, then the longest `##` token that the rest begins with.
    WordPiece {
        /// Words of more characters are unknown.
        longest_word: usize,
    },
    /// The likeliest cut, by the pieces' scores.
    Unigram(Scores),
}

/// All parts of a tokenizer as read, unchecked.
#[derive(Debug)]
pub(super) struct Blueprint {
    pub(super) path: PathBuf,
    pub(super) locations: Locations,
    /// By id.
    pub(super) entries: Vec<Entry>,
    /// Of added tokens that have any.
    pub(super) flags: BTreeMap<u32, Flags>,
    pub(super) spelling: Spelling,
    pub(super) subwords: Subwords,
    pub(super) normalizers: Vec<NormalizerStep>,
    pub(super) splitters: Vec<PreTokenizerWrapper>,
    /// Instead of both, where spaces are all there is to do.
    pub(super) metaspace: Option<Metaspace>,
    /// Whether files beside the vocabulary changed the normaliser.
    pub(super) recased: bool,
    /// Whether a text's first space is the tokenizer's own.
    pub(super) leading_space: bool,
    /// Below `entries.len()`, as are `eos`.
    pub(super) bos: Option<u32>,
    /// The one that templates call `eos_token` first.
    pub(super) eos: Vec<u32>,
    pub(super) add_bos: bool,
}
