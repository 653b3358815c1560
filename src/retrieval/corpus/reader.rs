//! The interface of the readers: one file in, its documents out.

use super::document::Document;
use super::notes::Notes;
use crate::error::Result;

/// Reads the documents of one file.
pub(super) trait Reader: Send {
    /// The next document; `None` after an error.
    ///
    /// # Errors
    /// A file that cannot be read or does not match its extension.
    fn next(&mut self) -> Option<Result<Document>>;

    /// Bytes of the file consumed so far.
    fn bytes(&self) -> u64;

    /// Notes on the file, for all of its documents: what is missing from the text, and what was assumed. Those of a PDF or an
    /// EPUB are complete once `next` has returned `None`; those of another file when it has returned a document.
    fn notes(&self) -> Notes {
        Notes::default()
    }

    /// Records and lines that were left out, one line each: "2 records without text".
    fn left_out(&self) -> Vec<String> {
        Vec::new()
    }
}
