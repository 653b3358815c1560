//! A file of a corpus, its kind, and its name.

use crate::charset::Decoded;
use crate::error::MootError;
use crate::retrieval::text::input;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// File kinds, by file name extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::retrieval) enum Kind {
    Text,
    Markdown,
    Html,
    Pdf,
    Docx,
    Odt,
    Epub,
    Pptx,
    Rtf,
    Mail,
    Notebook,
    Xlsx,
    Xls,
    Ods,
    Jsonl,
    Comma,
    Tab,
}

/// The endings of each kind, without the dot. Messages and help name the first of each, in this order.
pub(super) const KIND_ENDINGS: &[(Kind, &[&str])] = &[
    (Kind::Text, &["txt"]),
    (Kind::Markdown, &["md", "markdown"]),
    (Kind::Html, &["html", "htm", "xhtml"]),
    (Kind::Pdf, &["pdf"]),
    (Kind::Docx, &["docx", "docm"]),
    (Kind::Odt, &["odt"]),
    (Kind::Rtf, &["rtf"]),
    (Kind::Epub, &["epub"]),
    (Kind::Pptx, &["pptx", "pptm", "ppsx"]),
    (Kind::Mail, &["eml"]),
    (Kind::Notebook, &["ipynb"]),
    (Kind::Xlsx, &["xlsx", "xlsm"]),
    (Kind::Xls, &["xls"]),
    (Kind::Ods, &["ods"]),
    (Kind::Comma, &["csv"]),
    (Kind::Tab, &["tsv"]),
    (Kind::Jsonl, &["jsonl", "ndjson"]),
];

/// The endings of files that are read: ".txt, .md, ... or .jsonl".
#[must_use]
pub fn listed_endings() -> String {
    let mut names: Vec<String> = KIND_ENDINGS.iter().map(|(_, endings)| format!(".{}", endings[0])).collect();
    let last = names.pop().unwrap_or_default();
    format!("{} or {last}", names.join(", "))
}

impl Kind {
    pub(in crate::retrieval) fn of(path: &Path) -> Option<Self> {
        let ending = path.extension()?.to_str()?.to_ascii_lowercase();
        KIND_ENDINGS.iter().find(|(_, endings)| endings.contains(&ending.as_str())).map(|(kind, _)| *kind)
    }

    /// The parts that a file of this kind is divided into.
    fn shape(self) -> Shape {
        match self {
            Self::Text
            | Self::Markdown
            | Self::Html
            | Self::Docx
            | Self::Odt
            | Self::Rtf
            | Self::Mail
            | Self::Notebook => Shape::Whole,
            Self::Pdf | Self::Epub | Self::Pptx => Shape::Parts,
            Self::Jsonl | Self::Comma | Self::Tab => Shape::Records,
            Self::Xlsx | Self::Xls | Self::Ods => Shape::Sheets,
        }
    }

    /// Whether a file holds several documents, each a record or a row.
    pub(in crate::retrieval) fn holds_records(self) -> bool {
        matches!(self.shape(), Shape::Records | Shape::Sheets)
    }
}

/// The parts that a file is divided into.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// One document.
    Whole,
    /// Parts of one text: pages, chapters or slides.
    Parts,
    /// Documents, one a record.
    Records,
    /// Sheets whose rows are documents.
    Sheets,
}

/// A file of the corpus.
#[derive(Debug, Clone)]
pub(in crate::retrieval) struct Entry {
    pub(in crate::retrieval) path: PathBuf,
    pub(in crate::retrieval) kind: Kind,
    /// Source of its documents if they name none: the folder below the given one.
    pub(super) folder: Option<String>,
    /// Found in a folder or by a glob, not named explicitly: skipped, not refused, if it cannot be read.
    pub(in crate::retrieval) found: bool,
    /// In bytes.
    pub(super) length: u64,
    /// The only line to be read, of JSONL.
    pub(in crate::retrieval) line: Option<usize>,
    /// The content, where it was read already: that of standard input.
    pub(super) content: Option<Arc<Decoded>>,
}

impl Entry {
    /// A file that was named itself.
    pub(in crate::retrieval) fn new(path: &Path, kind: Kind, length: u64) -> Self {
        Self { path: path.to_owned(), kind, folder: None, found: false, length, line: None, content: None }
    }

    /// The error of a reader that was opened for a kind that it does not read.
    pub(super) fn misrouted(&self) -> MootError {
        input(&self.path, None, "a kind of file that its reader reads (bug)", format!("{:?}", self.kind))
    }

    /// Whether its documents are rows of sheets, whose ids are the sheets' names.
    pub(in crate::retrieval) fn is_workbook(&self) -> bool {
        self.kind.shape() == Shape::Sheets
    }

    /// Whether its documents are parts of one text: pages, chapters or slides.
    pub(in crate::retrieval) fn is_divided(&self) -> bool {
        self.kind.shape() == Shape::Parts
    }
}

/// The name of the file at `path` in positions and records: its path, with bytes that are not UTF-8 as `\xff`, so that two
/// files never have one name.
#[must_use]
pub fn file_name(path: &Path) -> String {
    let mut name = String::new();
    for chunk in path.as_os_str().as_encoded_bytes().utf8_chunks() {
        name.push_str(chunk.valid());
        name.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
    }
    name
}

#[cfg(test)]
mod tests {
    use super::{KIND_ENDINGS, Kind, listed_endings};
    use std::path::Path;

    #[test]
    fn endings_are_listed_once_and_in_one_order() {
        let all: Vec<&str> = KIND_ENDINGS.iter().flat_map(|(_, endings)| *endings).copied().collect();
        let different: std::collections::BTreeSet<&str> = all.iter().copied().collect();
        assert_eq!(all.len(), different.len());
        assert_eq!(
            listed_endings(),
            ".txt, .md, .html, .pdf, .docx, .odt, .rtf, .epub, .pptx, .eml, .ipynb, .xlsx, .xls, .ods, .csv, .tsv or .jsonl"
        );
        assert_eq!(Kind::of(Path::new("A.DOCM")), Some(Kind::Docx));
        assert_eq!((Kind::of(Path::new("a.png")), Kind::of(Path::new("txt"))), (None, None));
    }
}
