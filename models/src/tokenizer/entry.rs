//! An entry of a vocabulary.

use super::table::TokenKind;

/// A vocabulary entry as the file has it.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) text: String,
    pub(super) kind: TokenKind,
}

impl Entry {
    pub(super) fn absent() -> Self {
        Self { text: String::new(), kind: TokenKind::Absent }
    }
}
