//! Documents that are zip archives of XML: docx, odt and epub.
//!
//! A file's lengths and an archive's own sizes are not trusted: every part is decoded up to a limit, and all parts of a
//! file up to another, so a zip bomb is refused after a bounded amount of work.

mod epub;
mod odt;
mod word;
mod xml;

use super::document::{Fields, Position};
use super::{Document, Entry, Kind, Reader};
use crate::error::Result;
use crate::escape;
use crate::retrieval::text::{self, input};
use std::io::{Cursor, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use zip::ZipArchive;
use zip::result::ZipError;

/// Maximum bytes of a file: pictures make it long.
const MAX_FILE: u64 = 512 << 20;
/// Maximum decoded bytes of one part.
const MAX_PART: u64 = 64 << 20;
/// Maximum decoded bytes of the parts that are read of a file.
const MAX_TOTAL: u64 = 256 << 20;
/// Maximum bytes of text of a file.
const MAX_TEXT: usize = 64 << 20;

/// The pair (expected, found) of a message.
pub(super) type Fault = (String, String);

/// Names of parts and elements stand in both, and those may be long and hold anything.
fn fault(expected: impl AsRef<str>, found: impl AsRef<str>) -> Fault {
    (escape::excerpt(expected.as_ref()), escape::excerpt(found.as_ref()))
}

/// The text of a part of a package.
struct Text {
    fields: Fields,
    text: String,
}

/// An archive whose parts are decoded within the limits.
struct Package {
    archive: ZipArchive<Cursor<Vec<u8>>>,
    /// Decoded bytes that are left.
    left: u64,
}

impl Package {
    fn open(bytes: Vec<u8>, what: &str) -> std::result::Result<Self, Fault> {
        let archive = ZipArchive::new(Cursor::new(bytes))
            .map_err(|e| fault(what, format!("something else, or a broken archive ({e})")))?;
        Ok(Self { archive, left: MAX_TOTAL })
    }

    /// The part `name` as text; `None` if there is no such part.
    fn part(&mut self, name: &str) -> std::result::Result<Option<String>, Fault> {
        let part = match self.archive.by_name(name) {
            Ok(part) => part,
            Err(ZipError::FileNotFound) => return Ok(None),
            Err(e) => return Err(fault(format!("a part {name} that can be read"), e.to_string())),
        };
        let most = MAX_PART.min(self.left);
        let mut bytes = Vec::new();
        let read = part.take(most + 1).read_to_end(&mut bytes);
        read.map_err(|e| fault(format!("a part {name} that can be decoded"), e.to_string()))?;
        let length = bytes.len() as u64;
        if length > MAX_PART {
            return Err(fault(format!("parts that decode to at most {} MiB each", MAX_PART >> 20), "more in one"));
        }
        if length > self.left {
            return Err(fault(format!("a file that decodes to at most {} MiB", MAX_TOTAL >> 20), "more"));
        }
        self.left -= length;
        let found =
            |e: &std::string::FromUtf8Error| format!("an invalid byte at byte {}", e.utf8_error().valid_up_to());
        String::from_utf8(bytes).map(Some).map_err(|e| fault(format!("UTF-8 text in {name}"), found(&e)))
    }

    /// The part `name`, which `what` must have.
    fn needed(&mut self, name: &str, what: &str) -> std::result::Result<String, Fault> {
        self.part(name)?.ok_or_else(|| fault(what, format!("an archive without {name}")))
    }
}

/// The documents of a package: one, or one a chapter.
pub(super) struct Parts {
    entry: Entry,
    /// The remaining documents, once the file was read.
    documents: Option<std::vec::IntoIter<Document>>,
}

impl Parts {
    pub(super) fn new(entry: Entry) -> Self {
        Self { entry, documents: None }
    }

    fn read(&self) -> Result<Vec<Document>> {
        let path = &self.entry.path;
        let wrong = |(expected, found): Fault| input(path, None, &expected, found);
        let bytes = text::bytes(path, MAX_FILE)?;
        let read = match self.entry.kind {
            Kind::Docx => word::read,
            Kind::Odt => odt::read,
            _ => epub::read,
        };
        // A panic in the archive's reader fails this file alone.
        let parts = match catch_unwind(AssertUnwindSafe(|| read(bytes))) {
            Ok(parts) => parts.map_err(wrong)?,
            Err(_) => return Err(wrong(fault("an archive that can be read", "one that makes the reader panic"))),
        };
        if parts.iter().map(|part| part.text.len()).sum::<usize>() > MAX_TEXT {
            return Err(wrong(fault(format!("at most {MAX_TEXT} bytes of text in one document"), "more")));
        }
        let full = parts.into_iter().filter(|part| !part.text.trim().is_empty());
        let documents: Vec<Document> =
            full.map(|part| Document::new(&self.entry, part.fields, part.text, Position::Extracted)).collect();
        if documents.is_empty() { Err(wrong(fault("text", "an empty document"))) } else { Ok(documents) }
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
}
