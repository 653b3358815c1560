//! A file of a corpus, its kind, and its name.

use crate::charset::Decoded;
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

/// The supported extensions, for messages.
pub(super) const KINDS: &str =
    ".txt, .md, .html, .pdf, .docx, .odt, .rtf, .epub, .pptx, .eml, .ipynb, .xlsx, .xls, .ods, .csv, .tsv or .jsonl";

impl Kind {
    pub(in crate::retrieval) fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "txt" => Some(Self::Text),
            "md" | "markdown" => Some(Self::Markdown),
            "html" | "htm" | "xhtml" => Some(Self::Html),
            "pdf" => Some(Self::Pdf),
            "docx" | "docm" => Some(Self::Docx),
            "odt" => Some(Self::Odt),
            "epub" => Some(Self::Epub),
            "pptx" | "pptm" | "ppsx" => Some(Self::Pptx),
            "rtf" => Some(Self::Rtf),
            "eml" => Some(Self::Mail),
            "ipynb" => Some(Self::Notebook),
            "xlsx" | "xlsm" => Some(Self::Xlsx),
            "xls" => Some(Self::Xls),
            "ods" => Some(Self::Ods),
            "jsonl" | "ndjson" => Some(Self::Jsonl),
            "csv" => Some(Self::Comma),
            "tsv" => Some(Self::Tab),
            _ => None,
        }
    }
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
    pub(super) fn new(path: &Path, kind: Kind, length: u64) -> Self {
        Self { path: path.to_owned(), kind, folder: None, found: false, length, line: None, content: None }
    }

    /// Whether its documents are rows of sheets, whose ids are the sheets' names.
    pub(in crate::retrieval) fn is_workbook(&self) -> bool {
        matches!(self.kind, Kind::Xlsx | Kind::Xls | Kind::Ods)
    }

    /// Whether its documents are parts of one text: pages, chapters or slides.
    pub(in crate::retrieval) fn is_divided(&self) -> bool {
        matches!(self.kind, Kind::Pdf | Kind::Epub | Kind::Pptx)
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
