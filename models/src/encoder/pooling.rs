//! Pooling of a text's token vectors into one, and what is put around a text.

use serde::Deserialize;

/// Pooling of a text's token vectors into one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pooling {
    /// The mean of all of them, special tokens included.
    Mean,
    /// The first one.
    Cls,
    /// The last one: of a decoder, the one that has read all of the text.
    Last,
    /// The mean over [`MASKS`] mask tokens behind the text, where the model writes an answer (InBedder). A text that is too
    /// long loses its beginning, the pattern around it standing at the end.
    Masks,
}

/// Mask tokens behind a text where vectors are taken from them.
pub const MASKS: usize = 3;

/// A prefix of a text, or a template with `{text}`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prefixes {
    /// Of a query.
    pub query: String,
    /// Of a passage.
    pub passage: String,
}

impl Prefixes {
    /// With `instruction` instead of `{instruction}`.
    #[must_use]
    pub fn instructed(&self, instruction: &str) -> Self {
        let put = |text: &str| text.replace("{instruction}", instruction);
        Self { query: put(&self.query), passage: put(&self.passage) }
    }
}
