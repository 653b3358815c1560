//! JSONL: one document per line, with FlashRAG's, BEIR's or moot's own field names.

use super::bad::{Bad, without_text};
use super::document::{Document, Fields, Position};
use super::entry::Entry;
use super::notes::Notes;
use super::reader::Reader;
use crate::error::{MootError, Result};
use crate::jsonl::{Lines, Object};
use crate::retrieval::text::input;

/// Field names of the text, in order of preference.
pub(super) const TEXT: &[&str] = &["text", "contents", "content", "passage", "body"];
/// Field names of the metadata, in order of preference.
pub(super) const TITLE: &[&str] = &["title"];
pub(super) const SOURCE: &[&str] = &["source"];
pub(super) const DATE: &[&str] = &["date", "published"];
pub(super) const URL: &[&str] = &["url", "link"];
pub(super) const ID: &[&str] = &["_id", "id", "docid", "pid"];

/// A JSONL file being read.
pub(super) struct Jsonl {
    entry: Entry,
    lines: Lines,
    empty: u64,
    bad: Bad,
    good: u64,
}

impl Jsonl {
    pub(super) fn open(entry: &Entry) -> Result<Self> {
        // A file that is bad from its first lines on is refused before a document of it is returned.
        let mut ahead = Self::begin(entry)?;
        for _ in 0..if entry.line.is_none() { Bad::AHEAD } else { 0 } {
            if ahead.next_document()?.is_none() {
                break;
            }
        }
        ahead.bad.refuse(&entry.path, ahead.good)?;
        Self::begin(entry)
    }

    fn begin(entry: &Entry) -> Result<Self> {
        let lines = Lines::open(&entry.path)?;
        Ok(Self { entry: entry.clone(), lines, empty: 0, bad: Bad::default(), good: 0 })
    }

    /// The next document; `None` at the end.
    fn next_document(&mut self) -> Result<Option<Document>> {
        while let Some(line) = self.lines.next() {
            let read = match line {
                Ok((number, _)) if self.entry.line.is_some_and(|wanted| wanted != number) => continue,
                Ok((number, line)) => self.document(number, &line),
                Err(MootError::Input { line, .. }) if self.entry.line.is_some() && line != self.entry.line => continue,
                Err(e) => Err(e),
            };
            match read {
                Ok(document) => {
                    self.good += 1;
                    self.empty += u64::from(document.is_none());
                    if document.is_some() {
                        return Ok(document);
                    }
                }
                // A line that was named itself must be sound.
                Err(e @ MootError::Input { .. }) if self.entry.line.is_none() => self.bad.add(1, &e),
                Err(e) => return Err(e),
            }
        }
        match self.entry.line {
            Some(_) if self.good == 0 => {
                Err(input(&self.entry.path, self.entry.line, "a line of JSON", "a blank line or the end of the file"))
            }
            None if self.good == 0 && self.bad.is_empty() => {
                Err(input(&self.entry.path, None, "one JSON object a line", "an empty file"))
            }
            _ => self.bad.refuse(&self.entry.path, self.good).map(|()| None),
        }
    }

    /// The document of one line; `None` if it has no text.
    fn document(&self, number: usize, line: &str) -> Result<Option<Document>> {
        let object = Object::parse(&self.entry.path, number, line)?;
        let Some(name) = TEXT.iter().find(|name| object.has(name)) else {
            if object.has("documents") {
                let found = "a question with `documents`, which `moot ask --docs` and `moot run` read";
                return Err(object.complaint("an object with `text` or `contents`", found.into()));
            }
            let expected = "an object with `text` or `contents`";
            return Err(object.complaint(expected, format!("the fields {}", object.names())));
        };
        let text = object.string(name)?;
        let mut fields = fields(&object)?;
        let mut start = 0;
        if fields.title.is_none() && *name == "contents" {
            (fields.title, start) = first_line(&text);
        }
        if text[start..].trim().is_empty() {
            return Ok(None);
        }
        let characters = text[..start].chars().count() as u64;
        let position = Position::Record { line: number as u64, characters };
        Ok(Some(Document::new(&self.entry, fields, text[start..].to_owned(), position)))
    }
}

impl Reader for Jsonl {
    fn next(&mut self) -> Option<Result<Document>> {
        self.next_document().transpose()
    }

    fn bytes(&self) -> u64 {
        self.lines.bytes()
    }

    fn notes(&self) -> Notes {
        let mut notes = Notes::default();
        self.lines.notes().iter().for_each(|note| notes.add(note));
        notes
    }

    fn left_out(&self) -> Vec<String> {
        let bad = self.bad.note("line cannot be read", "lines cannot be read");
        without_text(self.empty).into_iter().chain(bad).collect()
    }
}

/// A record's metadata, from its own fields or BEIR's `metadata`.
fn fields(object: &Object) -> Result<Fields> {
    let metadata = object.object("metadata");
    let find = |names: &[&str], read: fn(&Object, &str) -> Result<Option<String>>| -> Result<Option<String>> {
        for object in [Some(object), metadata.as_ref()].into_iter().flatten() {
            if let Some(name) = names.iter().find(|name| object.has(name)) {
                return Ok(read(object, name)?.filter(|value| !value.trim().is_empty()));
            }
        }
        Ok(None)
    };
    Ok(Fields {
        title: find(TITLE, Object::optional_string)?,
        source: find(SOURCE, Object::optional_string)?,
        date: find(DATE, Object::optional_date)?,
        url: find(URL, Object::optional_string)?,
        // An id may be a number too.
        id: find(ID, Object::optional_date)?,
    })
}

/// FlashRAG's title: the first of several lines, often in quotation marks; and the byte where the text begins.
fn first_line(text: &str) -> (Option<String>, usize) {
    let Some((title, _)) = text.split_once('\n') else { return (None, 0) };
    let bare = title.trim();
    let bare = bare.strip_prefix('"').and_then(|bare| bare.strip_suffix('"')).unwrap_or(bare);
    (Some(bare.to_owned()).filter(|title| !title.is_empty()), title.len() + 1)
}
