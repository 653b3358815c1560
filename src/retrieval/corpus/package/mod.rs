//! Documents that are zip archives of XML: docx, odt, pptx and epub; workbooks are read with the same means.
//!
//! A file's lengths and an archive's own sizes are not trusted: every part is decoded up to a limit, and all parts of a
//! file up to another, so a zip bomb is refused after a bounded amount of work.

mod archive;
mod epub;
pub(super) mod odt;
mod read;
pub(super) mod relations;
mod slides;
mod styles;
mod symbols;
mod word;
pub(super) mod xml;

pub(super) use archive::{Fault, Package, fault};

use super::document::Document;
use super::entry::{Entry, Kind};
use super::notes::Notes;
use super::reader::Reader;
use crate::error::Result;
use crate::retrieval::text::{self, input};
use read::{Read, Text};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Maximum bytes of a file: pictures make it long.
pub(super) const MAX_FILE: u64 = 512 << 20;
/// Maximum bytes of text of a file.
pub(super) const MAX_TEXT: usize = 64 << 20;

/// The documents of a package: one, or one a chapter or slide.
pub(super) struct Parts {
    entry: Entry,
    /// The remaining documents, once the file was read.
    documents: Option<std::vec::IntoIter<Document>>,
    notes: Notes,
}

impl Parts {
    pub(super) fn new(entry: Entry) -> Self {
        Self { entry, documents: None, notes: Notes::default() }
    }

    fn read(&mut self) -> Result<Vec<Document>> {
        let path = &self.entry.path;
        let wrong = |(expected, found): Fault| input(path, None, &expected, found);
        let bytes = text::bytes(path, MAX_FILE)?;
        let read = match self.entry.kind {
            Kind::Docx => word::read,
            Kind::Odt => odt::read,
            Kind::Pptx => slides::read,
            Kind::Epub => epub::read,
            _ => return Err(self.entry.misrouted()),
        };
        // A panic in the archive's reader fails this file alone.
        let read = match catch_unwind(AssertUnwindSafe(|| read(bytes))) {
            Ok(read) => read.map_err(wrong)?,
            Err(_) => return Err(wrong(fault("an archive that can be read", "one that makes the reader panic"))),
        };
        if read.texts.iter().map(|part| part.text.len()).sum::<usize>() > MAX_TEXT {
            return Err(wrong(fault(format!("at most {MAX_TEXT} bytes of text in one document"), "more")));
        }
        let full = read.texts.into_iter().filter(|part| !part.text.trim().is_empty());
        let documents: Vec<Document> = full
            .map(|Text { fields, text, position, marks }| Document {
                marks,
                ..Document::new(&self.entry, fields, text, position)
            })
            .collect();
        if documents.is_empty() {
            let why = read.notes.lines().into_iter().next().map(|note| format!(" ({note})")).unwrap_or_default();
            return Err(wrong(fault("text", format!("an empty document{why}"))));
        }
        self.notes = read.notes;
        Ok(documents)
    }
}

impl Reader for Parts {
    fn next(&mut self) -> Option<Result<Document>> {
        if self.documents.is_none() {
            match self.read() {
                Ok(documents) => self.documents = Some(documents.into_iter()),
                Err(e) => {
                    self.documents = Some(Vec::new().into_iter());
                    return Some(Err(e));
                }
            }
        }
        self.documents.as_mut()?.next().map(Ok)
    }

    fn bytes(&self) -> u64 {
        if self.documents.is_some() { self.entry.length } else { 0 }
    }

    fn notes(&self) -> Notes {
        self.notes.clone()
    }
}
