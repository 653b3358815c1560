//! A corpus read file by file: its documents, and their passages.

use super::document::Document;
use super::entry::{Entry, Kind};
use super::notes::{Noted, Notes};
use super::reader::Reader;
use super::skipped::Skipped;
use super::{package, pdf, record, sheets, table, whole};
use crate::cancel::Cancel;
use crate::error::{MootError, Result};
use crate::escape::excerpt;
use crate::question::Passage;
use crate::retrieval::chunk::Chunking;
use std::collections::VecDeque;

/// A file being read.
struct Open {
    entry: Entry,
    reader: Box<dyn Reader>,
    /// Documents returned from it.
    taken: u64,
    /// Those of a divided file, read before the first one is returned: the notes on one page belong to all pages, and a file
    /// that breaks at a later page is left out as a whole.
    ahead: VecDeque<Document>,
    notes: Notes,
}

impl Open {
    /// The next document, with the notes on the file.
    fn next(&mut self) -> Option<Result<Document>> {
        let next = if self.entry.is_divided() {
            while let Some(document) = self.reader.next() {
                match document {
                    Ok(document) => self.ahead.push_back(document),
                    Err(e) => return Some(Err(e)),
                }
            }
            self.ahead.pop_front().map(Ok)
        } else {
            self.reader.next()
        };
        self.notes = self.reader.notes();
        next.map(|document| document.map(|document| Document { notes: self.notes.lines(), ..document }))
    }
}

/// Iterator over the documents of a `Corpus`; ends after the first error. A corpus without any text is an error.
pub struct Documents {
    entries: std::vec::IntoIter<Entry>,
    open: Option<Open>,
    skipped: Vec<Skipped>,
    notes: Vec<Noted>,
    /// Bytes of finished files.
    finished: u64,
    /// Files opened, and documents returned.
    read: u64,
    taken: u64,
    done: bool,
    /// No document at all is not an error.
    may_be_empty: bool,
    /// Ends the reading.
    cancel: Cancel,
}

impl Documents {
    /// The documents of some files, until `cancel` is cancelled. With `may_be_empty` it is not an error that there is
    /// none.
    pub(in crate::retrieval) fn new(entries: Vec<Entry>, may_be_empty: bool, cancel: &Cancel) -> Self {
        Self {
            entries: entries.into_iter(),
            open: None,
            skipped: Vec::new(),
            notes: Vec::new(),
            finished: 0,
            read: 0,
            taken: 0,
            done: false,
            may_be_empty,
            cancel: cancel.clone(),
        }
    }

    /// Bytes read so far, of `Corpus::bytes`.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.finished + self.open.as_ref().map_or(0, |open| open.reader.bytes().min(open.entry.length))
    }

    /// Items skipped since the last call: unreadable files found in a folder, and records without text; to be shown to
    /// the user.
    pub fn skipped(&mut self) -> Vec<Skipped> {
        std::mem::take(&mut self.skipped)
    }

    /// Notes on files since the last call, to be shown to the user; those of a file come when it was read.
    pub fn notes(&mut self) -> Vec<Noted> {
        std::mem::take(&mut self.notes)
    }

    /// The next document of the current file, or of the next file.
    pub(in crate::retrieval) fn advance(&mut self) -> Result<Option<Document>> {
        loop {
            if self.cancel.is_cancelled() {
                return Err(MootError::Interrupted);
            }
            let Some(open) = &mut self.open else {
                let Some(entry) = self.entries.next() else { return Ok(None) };
                self.open(entry)?;
                continue;
            };
            match open.next() {
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
        match reader(&entry, &self.cancel) {
            Ok(reader) => {
                self.open = Some(Open { entry, reader, taken: 0, ahead: VecDeque::new(), notes: Notes::default() });
            }
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
        if open.taken > 0 {
            let path = &open.entry.path;
            self.notes.extend(open.notes.lines().into_iter().map(|note| Noted { path: path.clone(), note }));
        }
        for why in open.reader.left_out() {
            self.skipped.push(Skipped { path: open.entry.path.clone(), why, unread: false });
        }
    }

    /// Skips a file that was found, not named, and of which no document was read; any other error is returned.
    fn leave_out(&mut self, entry: &Entry, taken: u64, error: MootError) -> Result<()> {
        let why = match &error {
            _ if !entry.found || taken > 0 => return Err(error),
            MootError::Input { line: Some(line), expected, found, .. } => {
                format!("line {line}: expected {}, found {}", excerpt(expected), excerpt(found))
            }
            MootError::Input { expected, found, .. } => {
                format!("expected {}, found {}", excerpt(expected), excerpt(found))
            }
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

fn reader(entry: &Entry, cancel: &Cancel) -> Result<Box<dyn Reader>> {
    Ok(match entry.kind {
        Kind::Text | Kind::Markdown | Kind::Html | Kind::Rtf | Kind::Mail | Kind::Notebook => {
            Box::new(whole::Whole::new(entry.clone()))
        }
        Kind::Pdf => Box::new(pdf::Pages::new(entry.clone(), cancel)),
        Kind::Docx | Kind::Odt | Kind::Epub | Kind::Pptx => Box::new(package::Parts::new(entry.clone())),
        Kind::Xlsx | Kind::Xls | Kind::Ods => Box::new(sheets::Sheets::new(entry.clone())),
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

impl Drop for Documents {
    fn drop(&mut self) {
        // Workers that wait for another file hold memory.
        pdf::end_idle();
    }
}

/// Iterator over the passages of a `Corpus`, in the order of its documents; ends after the first error.
pub struct Passages {
    documents: Documents,
    chunking: Chunking,
    current: std::vec::IntoIter<Passage>,
}

impl Passages {
    pub(super) fn new(documents: Documents, chunking: Chunking) -> Self {
        Self { documents, chunking, current: Vec::new().into_iter() }
    }

    /// As [`Documents::bytes`].
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.documents.bytes()
    }

    /// As [`Documents::skipped`].
    pub fn skipped(&mut self) -> Vec<Skipped> {
        self.documents.skipped()
    }

    /// As [`Documents::notes`].
    pub fn notes(&mut self) -> Vec<Noted> {
        self.documents.notes()
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
