//! A corpus: files of many kinds as one stream of documents, split into one stream of [`Passage`]s.
//!
//! Only file names are kept in memory: a file is opened when it is reached, tables and JSONL are read record by record. So
//! memory is bounded by the largest document.

mod document;
mod flow;
mod html;
mod package;
mod pdf;
mod position;
mod record;
mod rtf;
mod skipped;
mod source;
mod table;
mod walk;
mod whole;

pub use document::Document;
pub use skipped::told_skipped;
pub use walk::Skipped;

use crate::error::{MootError, Result};
use crate::question::Passage;
use crate::retrieval::chunk::Chunking;
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
    Rtf,
    Jsonl,
    Comma,
    Tab,
}

/// The supported extensions, for messages.
pub(super) const KINDS: &str = ".txt, .md, .html, .pdf, .docx, .odt, .epub, .rtf, .jsonl, .csv or .tsv";

impl Kind {
    pub(super) fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "txt" => Some(Self::Text),
            "md" | "markdown" => Some(Self::Markdown),
            "html" | "htm" | "xhtml" => Some(Self::Html),
            "pdf" => Some(Self::Pdf),
            "docx" => Some(Self::Docx),
            "odt" => Some(Self::Odt),
            "epub" => Some(Self::Epub),
            "rtf" => Some(Self::Rtf),
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
    found: bool,
    /// In bytes.
    length: u64,
    /// The only line to be read, of JSONL.
    pub(super) line: Option<usize>,
    /// The content, where it was read already: that of standard input.
    content: Option<Arc<str>>,
}

impl Entry {
    /// Whether its documents are parts of one text: pages or chapters.
    pub(super) fn is_divided(&self) -> bool {
        matches!(self.kind, Kind::Pdf | Kind::Epub)
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
    /// Lists the files that `paths` name, without reading them. A path is a file (txt, md, html, pdf, docx, odt, epub, rtf,
    /// jsonl, csv, tsv), a line of one (`file.jsonl:17`), a folder (recursively, without hidden files), a glob, or `-`:
    /// standard input as one text or HTML page, which is read at once. Files come in the order given, those of a folder
    /// sorted by name, each once.
    ///
    /// # Errors
    /// [`MootError::Input`] or [`MootError::Io`] for the first path that is missing, of an unsupported kind or without any
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
                hash.update(Sha256::digest(content.as_bytes()));
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
        Documents { may_be_empty: self.part, ..Documents::new(self.entries.clone()) }
    }

    /// Its documents, split by `chunking`.
    #[must_use]
    pub fn passages(&self, chunking: Chunking) -> Passages {
        Passages { documents: self.documents(), chunking, current: Vec::new().into_iter() }
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

    /// Number of records without text.
    fn empty(&self) -> u64 {
        0
    }
}

/// A file being read.
struct Open {
    entry: Entry,
    reader: Box<dyn Reader>,
    /// Documents read from it.
    taken: u64,
}

/// Iterator over the documents of a [`Corpus`]; ends after the first error. A corpus without any text is an error.
pub struct Documents {
    entries: std::vec::IntoIter<Entry>,
    open: Option<Open>,
    skipped: Vec<Skipped>,
    /// Bytes of finished files.
    finished: u64,
    /// Files opened, and documents returned.
    read: u64,
    taken: u64,
    done: bool,
    /// No document at all is no error.
    may_be_empty: bool,
}

impl Documents {
    /// The documents of some files.
    pub(super) fn new(entries: Vec<Entry>) -> Self {
        Self {
            entries: entries.into_iter(),
            open: None,
            skipped: Vec::new(),
            finished: 0,
            read: 0,
            taken: 0,
            done: false,
            may_be_empty: false,
        }
    }

    /// Bytes read so far, of [`Corpus::bytes`].
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.finished + self.open.as_ref().map_or(0, |open| open.reader.bytes().min(open.entry.length))
    }

    /// Items skipped since the last call: unreadable files found in a folder, and records without text; to be shown to
    /// the user.
    pub fn skipped(&mut self) -> Vec<Skipped> {
        std::mem::take(&mut self.skipped)
    }

    /// The next document of the current file, or of the next file.
    pub(super) fn advance(&mut self) -> Result<Option<Document>> {
        loop {
            let Some(open) = &mut self.open else {
                let Some(entry) = self.entries.next() else { return Ok(None) };
                self.open(entry)?;
                continue;
            };
            match open.reader.next() {
                Some(Ok(document)) => {
                    open.taken += 1;
                    self.taken += 1;
                    return Ok(Some(document));
                }
                Some(Err(e)) => {
                    let (taken, entry) = (open.taken, open.entry.clone());
                    self.close();
                    self.leave_out(&entry, taken, e)?;
                }
                None => self.close(),
            }
        }
    }

    /// Opens a file, or skips it.
    fn open(&mut self, entry: Entry) -> Result<()> {
        self.read += 1;
        match reader(&entry) {
            Ok(reader) => self.open = Some(Open { entry, reader, taken: 0 }),
            Err(e) => {
                self.finished += entry.length;
                self.leave_out(&entry, 0, e)?;
            }
        }
        Ok(())
    }

    fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        self.finished += open.entry.length;
        let empty = open.reader.empty();
        if empty > 0 {
            let records = if empty == 1 { "record" } else { "records" };
            let why = format!("{empty} {records} without text");
            self.skipped.push(Skipped { path: open.entry.path, why, unread: false });
        }
    }

    /// Skips a file that was found, not named, and of which no document was read; any other error is returned.
    fn leave_out(&mut self, entry: &Entry, taken: u64, error: MootError) -> Result<()> {
        let why = match &error {
            _ if !entry.found || taken > 0 => return Err(error),
            MootError::Input { line: Some(line), expected, found, .. } => {
                format!("line {line}: expected {expected}, found {found}")
            }
            MootError::Input { expected, found, .. } => format!("expected {expected}, found {found}"),
            MootError::Io { action, source, .. } => format!("cannot {action}: {source}"),
            _ => return Err(error),
        };
        self.skipped.push(Skipped { path: entry.path.clone(), why, unread: false });
        Ok(())
    }

    /// The error for a corpus without text.
    fn nothing(&self) -> MootError {
        let first = self.skipped.first().map(|skipped| format!(" ({skipped})")).unwrap_or_default();
        MootError::Usage(format!("no text in the corpus: none of {} files holds any{first}", self.read))
    }
}

fn reader(entry: &Entry) -> Result<Box<dyn Reader>> {
    Ok(match entry.kind {
        Kind::Text | Kind::Markdown | Kind::Html | Kind::Rtf => Box::new(whole::Whole::new(entry.clone())),
        Kind::Pdf => Box::new(pdf::Pages::new(entry.clone())),
        Kind::Docx | Kind::Odt | Kind::Epub => Box::new(package::Parts::new(entry.clone())),
        Kind::Jsonl => Box::new(record::Jsonl::open(entry)?),
        Kind::Comma | Kind::Tab => Box::new(table::Table::open(entry)?),
    })
}

impl Iterator for Documents {
    type Item = Result<Document>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let next = match self.advance() {
            Ok(None) if self.taken == 0 && !self.may_be_empty => Some(Err(self.nothing())),
            next => next.transpose(),
        };
        self.done = !matches!(next, Some(Ok(_)));
        next
    }
}

/// Iterator over the passages of a [`Corpus`], in the order of its documents; ends after the first error.
pub struct Passages {
    documents: Documents,
    chunking: Chunking,
    current: std::vec::IntoIter<Passage>,
}

impl Passages {
    /// As [`Documents::bytes`].
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.documents.bytes()
    }

    /// As [`Documents::skipped`].
    pub fn skipped(&mut self) -> Vec<Skipped> {
        self.documents.skipped()
    }
}

impl Iterator for Passages {
    type Item = Result<Passage>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(passage) = self.current.next() {
                return Some(Ok(passage));
            }
            match self.documents.next()? {
                Ok(document) => self.current = document.passages(&self.chunking).into_iter(),
                Err(e) => return Some(Err(e)),
            }
        }
    }
}
