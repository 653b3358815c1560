//! A corpus: files of many kinds as one stream of documents, split into one stream of `Passage`s.
//!
//! Only file names are kept in memory: a file is opened when it is reached, tables and JSONL are read record by record. So
//! memory is bounded by the largest document.

mod bad;
mod document;
mod documents;
mod flow;
mod html;
mod mail;
mod metadata;
mod notebook;
mod notes;
mod package;
mod pdf;
mod position;
mod record;
mod rtf;
mod sheets;
mod skipped;
mod source;
mod table;
mod walk;
mod whole;

pub use document::Document;
pub(super) use document::Fields;
pub use documents::{Documents, Passages};
pub(crate) use metadata::bounded;
pub use notes::Noted;
pub use pdf::{PDF_WORKER, PdfWorkers, pdf_workers, read_pdf_in, serve_pdf};
pub use skipped::{told_notes, told_skipped};
pub use walk::Skipped;
pub(crate) use walk::is_index;

use crate::charset::Decoded;
use crate::error::Result;
use crate::retrieval::chunk::Chunking;
use notes::Notes;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// File kinds, by file name extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
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
pub(super) const KINDS: &str = ".txt, .md, .html, .pdf, .docx, .odt, .rtf, .epub, .pptx, .eml, .ipynb, .xlsx, .xls, .ods, .csv, .tsv or \
    .jsonl";

impl Kind {
    pub(super) fn of(path: &Path) -> Option<Self> {
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
pub(super) struct Entry {
    pub(super) path: PathBuf,
    pub(super) kind: Kind,
    /// Source of its documents if they name none: the folder below the given one.
    folder: Option<String>,
    /// Found in a folder or by a glob, not named explicitly: skipped, not refused, if it cannot be read.
    pub(super) found: bool,
    /// In bytes.
    length: u64,
    /// The only line to be read, of JSONL.
    pub(super) line: Option<usize>,
    /// The content, where it was read already: that of standard input.
    content: Option<Arc<Decoded>>,
}

impl Entry {
    /// Whether its documents are rows of sheets, whose ids are the sheets' names.
    pub(super) fn is_workbook(&self) -> bool {
        matches!(self.kind, Kind::Xlsx | Kind::Xls | Kind::Ods)
    }

    /// Whether its documents are parts of one text: pages, chapters or slides.
    pub(super) fn is_divided(&self) -> bool {
        matches!(self.kind, Kind::Pdf | Kind::Epub | Kind::Pptx)
    }
}

/// The files of a corpus, in order.
#[derive(Debug, Clone)]
pub struct Corpus {
    entries: Vec<Entry>,
    skipped: Vec<Skipped>,
    /// A part of a corpus: it may be without text.
    part: bool,
}

impl Corpus {
    /// Lists the files that `paths` name, without reading them. A path is a file of a supported kind, a line of one (`file.jsonl:17`), a folder (recursively, without hidden files), a glob, or `-`:
    /// standard input as one text or HTML page, which is read at once. Files come in the order given, those of a folder
    /// sorted by name, each once.
    ///
    /// # Errors
    /// `MootError::Input` or `MootError::Io` for the first path that is missing, of an unsupported kind or without any
    /// file to read.
    pub fn open(paths: &[String]) -> Result<Self> {
        walk::walk(paths)
    }

    /// As [`Corpus::open`], of those of `paths` that are still there. Returned beside it are the others: paths that do not
    /// exist, folders and patterns without a file to read. Of a pattern, the folder before its first wildcard is returned.
    ///
    /// # Errors
    /// As [`Corpus::open`], for paths that exist.
    pub fn existing(paths: &[String]) -> Result<(Self, Vec<PathBuf>)> {
        walk::existing(paths)
    }

    /// Number of files to read.
    #[must_use]
    pub fn files(&self) -> usize {
        self.entries.len()
    }

    /// Bytes of all files, as [`Documents::bytes`] counts them.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.entries.iter().map(|entry| entry.length).sum()
    }

    /// A hash of the files' paths, lengths and modification times, not of their contents.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let mut hash = Sha256::new();
        for entry in &self.entries {
            if let Some(content) = &entry.content {
                hash.update(Sha256::digest(content.text.as_bytes()));
                continue;
            }
            let modified = std::fs::metadata(&entry.path).and_then(|meta| meta.modified()).ok();
            let since = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
            let path = std::fs::canonicalize(&entry.path).unwrap_or_else(|_| entry.path.clone());
            hash.update(format!("{}\0{}\0{}\n", path.display(), entry.length, since.as_nanos()));
        }
        hash.finalize()[..16].iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Paths of its files, in order; standard input is none.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.entries.iter().filter(|entry| entry.content.is_none()).map(|entry| entry.path.as_path())
    }

    /// The files that `keep` admits, without standard input. A part without any text is no error.
    #[must_use]
    pub fn part(&self, keep: impl Fn(&Path) -> bool) -> Self {
        let admitted = |entry: &&Entry| entry.content.is_none() && keep(&entry.path);
        Self { entries: self.entries.iter().filter(admitted).cloned().collect(), skipped: Vec::new(), part: true }
    }

    /// Number of files that were changed after `time`; standard input is none.
    #[must_use]
    pub fn newer_than(&self, time: SystemTime) -> usize {
        let changed = |entry: &&Entry| {
            let modified = std::fs::metadata(&entry.path).and_then(|meta| meta.modified());
            entry.content.is_none() && modified.is_ok_and(|modified| modified > time)
        };
        self.entries.iter().filter(changed).count()
    }

    /// Files skipped because of their name, with the reason; to be shown to the user.
    #[must_use]
    pub fn skipped(&self) -> &[Skipped] {
        &self.skipped
    }

    /// Its files, in order.
    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Its documents, read lazily.
    #[must_use]
    pub fn documents(&self) -> Documents {
        Documents::new(self.entries.clone(), self.part)
    }

    /// Its documents, split by `chunking`.
    #[must_use]
    pub fn passages(&self, chunking: Chunking) -> Passages {
        Passages::new(self.documents(), chunking)
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

/// Reads the documents of one file.
trait Reader: Send {
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
