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
    /// The last one: in a decoder it is the only one that attends to the whole text.
    Last,
    /// The mean over [`MASKS`] mask tokens after the text, at whose positions the model predicts an answer (InBedder).
    /// A text that is too long loses its beginning, because the instruction and the mask tokens are at its end.
    Masks,
}

/// Mask tokens after a text, for [`Pooling::Masks`].
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
