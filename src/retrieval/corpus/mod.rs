//! A corpus: files of many kinds as one stream of documents, split into one stream of `Passage`s.
//!
//! Only file names are kept in memory: a file is opened when it is reached, tables and JSONL are read record by record. So
//! memory is bounded by the largest document.

mod bad;
mod document;
mod documents;
mod entry;
mod flow;
mod html;
mod mail;
mod marks;
mod metadata;
mod notebook;
mod notes;
mod package;
mod pdf;
mod position;
mod reader;
mod record;
mod rtf;
mod sheets;
mod skipped;
mod source;
mod spans;
mod table;
mod walk;
mod whole;

pub use document::Document;
pub(super) use document::Fields;
pub use documents::{Documents, Passages};
pub(super) use entry::{Entry, Kind};
pub use entry::{file_name, listed_endings};
pub(crate) use marks::Marks;
pub(crate) use metadata::bounded;
pub use notes::Noted;
pub use pdf::{PDF_WORKER, PdfWorkers, pdf_workers, read_pdf_in, serve_pdf};
pub use skipped::{Skipped, note_lines, skipped_lines};
pub(crate) use walk::is_index;

use crate::cancel::Cancel;
use crate::error::Result;
use crate::retrieval::chunk::Chunking;
use crate::units::hex;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use walk::Listing;

/// The files of a corpus, in order.
#[derive(Debug, Clone)]
pub struct Corpus {
    entries: Vec<Entry>,
    skipped: Vec<Skipped>,
    /// A part of a corpus: it may be without text.
    part: bool,
    /// Ends the reading.
    cancel: Cancel,
}

impl Corpus {
    /// Lists the files that `paths` name, without reading them. A path is a file of a supported kind, a line of one
    /// (`file.jsonl:17`), a folder (recursively, without hidden files), a glob, or `-`: standard input as one text or HTML
    /// page, which is read at once. Files come in the order given, those of a folder sorted by name, each once.
    ///
    /// # Errors
    /// `MootError::Input` or `MootError::Io` for the first path that is missing, of an unsupported kind or without any
    /// file to read.
    pub fn open(paths: &[String]) -> Result<Self> {
        Ok(Self::of(walk::walk(paths)?))
    }

    /// As [`Corpus::open`], of those of `paths` that still exist. Also returns the others: paths that do not
    /// exist, folders and patterns without a file to read. Of a pattern, the folder before its first wildcard is returned.
    ///
    /// # Errors
    /// As [`Corpus::open`], for paths that exist.
    pub fn existing(paths: &[String]) -> Result<(Self, Vec<PathBuf>)> {
        let (listing, gone) = walk::existing(paths)?;
        Ok((Self::of(listing), gone))
    }

    fn of(listing: Listing) -> Self {
        Self { entries: listing.entries, skipped: listing.skipped, part: false, cancel: Cancel::default() }
    }

    /// The same files; reading them ends with [`MootError::Interrupted`](crate::MootError::Interrupted) once `cancel` is
    /// cancelled: before the next document, and while another process reads a PDF.
    #[must_use]
    pub fn until(self, cancel: &Cancel) -> Self {
        Self { cancel: cancel.clone(), ..self }
    }

    /// Cancels the reading.
    pub(in crate::retrieval) fn cancel(&self) -> &Cancel {
        &self.cancel
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
        hex(&hash.finalize()[..16])
    }

    /// Paths of its files, in order, without standard input.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.entries.iter().filter(|entry| entry.content.is_none()).map(|entry| entry.path.as_path())
    }

    /// The files that `keep` admits, without standard input. A part without any text is not an error.
    #[must_use]
    pub fn part(&self, keep: impl Fn(&Path) -> bool) -> Self {
        let admitted = |entry: &&Entry| entry.content.is_none() && keep(&entry.path);
        let entries = self.entries.iter().filter(admitted).cloned().collect();
        Self { entries, skipped: Vec::new(), part: true, cancel: self.cancel.clone() }
    }

    /// Number of files that were changed after `time`, without standard input.
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
        Documents::new(self.entries.clone(), self.part, &self.cancel)
    }

    /// Its documents, split by `chunking`.
    #[must_use]
    pub fn passages(&self, chunking: Chunking) -> Passages {
        Passages::new(self.documents(), chunking)
    }
}
