//! The result of reading a PDF file, in the form in which a worker process returns it.

use serde::{Deserialize, Serialize};

/// The text of a file.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct PdfText {
    pub(super) title: Option<String>,
    pub(super) pages: Vec<PageText>,
    /// Pages that the file has by its page tree, damaged ones included.
    pub(super) counted: usize,
    /// The file has no end: it was cut.
    pub(super) is_cut: bool,
}

/// The text of a page.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct PageText {
    pub(super) text: String,
    /// Letters without a Unicode value in their font.
    pub(super) unknown: usize,
    /// Pictures that the page draws.
    pub(super) pictures: usize,
    /// Share of the page that pictures cover, at most 1.
    pub(super) pictured: f64,
    /// Whether its text may be out of order.
    pub(super) is_uncertain: bool,
}

/// Why a file was not read: the pair of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Refusal {
    pub(super) expected: String,
    pub(super) found: String,
}

impl Refusal {
    pub(super) fn new(expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self { expected: expected.into(), found: found.into() }
    }
}

/// The answer to one file.
pub(super) type Reply = Result<PdfText, Refusal>;
