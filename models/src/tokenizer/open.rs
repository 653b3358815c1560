//! Tokenizers from files.

use super::casing::Casing;
use super::coder::Tokenizer;
use super::files::read_text;
use super::special::SpecialTokens;
use super::{gguf, json};
use crate::error::Result;
use crate::weights::Metadata;
use std::path::Path;

impl Tokenizer {
    /// Reads a Hugging Face `tokenizer.json`, with the special tokens that the files beside it name.
    ///
    /// # Errors
    /// `ModelError::Io` when unreadable, `ModelError::Format` and `ModelError::Field` when it is no sound BPE or
    /// WordPiece tokenizer or uses a pipeline step this program does not know.
    pub fn from_file(path: &Path, special: &SpecialTokens) -> Result<Self> {
        Self::from_json(path, &read_text(path)?, special)
    }

    /// As [`Self::from_file`], from the file's `text`; `path` is for messages.
    ///
    /// # Errors
    /// As [`Self::from_file`], but for those of reading.
    pub fn from_json(path: &Path, text: &str, special: &SpecialTokens) -> Result<Self> {
        json::read(path, text, special, &Casing::default())?.build()
    }

    /// Reads `tokenizer.json`, the special tokens and the casing of a model folder.
    ///
    /// # Errors
    /// As [`Self::from_file`], [`SpecialTokens::from_dir`] and [`Casing::from_dir`].
    pub fn from_dir(dir: &Path) -> Result<Self> {
        Self::from_dir_in(dir, &Casing::from_dir(dir)?)
    }

    /// As [`Self::from_dir`], with `casing` in the position of the folder's own.
    ///
    /// # Errors
    /// As [`Self::from_file`] and [`SpecialTokens::from_dir`].
    pub fn from_dir_in(dir: &Path, casing: &Casing) -> Result<Self> {
        let path = dir.join("tokenizer.json");
        json::read(&path, &read_text(&path)?, &SpecialTokens::from_dir(dir)?, casing)?.build()
    }

    /// Builds the tokenizer from a GGUF file's own vocabulary.
    ///
    /// # Errors
    /// `ModelError::Field` naming the field: an unknown model or splitter (with the known ones), arrays of unequal
    /// length, a merge of unknown tokens, an id out of range.
    pub fn from_gguf(metadata: &Metadata) -> Result<Self> {
        gguf::read(metadata)?.build()
    }
}
