//! A published form of questions.

use super::input::Item;
use crate::error::Result;
use crate::jsonl::Object;
use crate::question::Question;

/// A row of [`DATASETS`](super::DATASETS): one published form of questions.
pub struct Row {
    /// The name that `--format` takes.
    pub name: &'static str,
    /// A description, one line.
    pub about: &'static str,
    /// Paper, and the address of the data.
    pub paper: &'static str,
    /// The licence found upstream.
    pub licence: &'static str,
    /// Whether a file's first item is of this form. Loose: an item with one field missing is still of its form, so that
    /// the error names the field.
    pub detect: fn(&Object) -> bool,
    /// Reads one item.
    pub read: fn(&Item) -> Result<Question>,
    /// The publisher's files hold the bare words `NaN` or `Infinity`, which are read as null.
    pub bare_nan: bool,
    /// Items of the same id are documents of one question, which are named once all are read; otherwise a second one is
    /// an error.
    pub merge: bool,
    /// Titles are put before the texts of documents, as RAMDocs has them: the title alone tells which entity a text is about.
    /// [`DatasetIdentity`](crate::eval::record::DatasetIdentity) records it.
    pub titled: bool,
}
