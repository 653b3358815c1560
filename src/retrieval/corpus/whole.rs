//! Files that are one document: text, markdown, HTML, RTF, mail, notebooks.

use super::document::{Document, Fields, Position};
use super::entry::{Entry, Kind};
use super::marks::Marks;
use super::notes::Notes;
use super::position::Cursor;
use super::reader::Reader;
use super::{html, mail, marks, notebook, rtf};
use crate::charset;
use crate::error::Result;
use crate::retrieval::text::{self, BOM, FrontMatter, input};

/// A file that is one document, not yet read.
pub(super) struct Whole {
    entry: Entry,
    read: bool,
    notes: Notes,
}

impl Whole {
    pub(super) fn new(entry: Entry) -> Self {
        Self { entry, read: false, notes: Notes::default() }
    }

    /// The file's text, in any character set.
    fn decoded(&mut self) -> Result<String> {
        let declared = if self.entry.kind == Kind::Html { charset::in_markup } else { text::undeclared };
        let (text, notes) = match &self.entry.content {
            Some(content) => (content.text.clone(), content.notes.clone()),
            None => {
                let decoded = text::read(&self.entry.path, declared)?;
                (decoded.text, decoded.notes)
            }
        };
        notes.iter().for_each(|note| self.notes.add(note));
        Ok(text)
    }

    /// The file's bytes.
    fn bytes_of_file(&self) -> Result<Vec<u8>> {
        text::bytes(&self.entry.path, text::MAX_DOCUMENT)
    }

    fn document(&mut self) -> Result<Document> {
        let path = self.entry.path.clone();
        let wrong = |(expected, found): (String, String)| input(&path, None, &expected, found);
        let (mut marks, mut is_marked) = (Marks::default(), false);
        let (fields, text, position) = match self.entry.kind {
            Kind::Html => {
                let page = html::page(self.decoded()?).map_err(wrong)?;
                marks = page.marks;
                (page.fields, page.text, page.position)
            }
            Kind::Rtf => {
                let (fields, text) = rtf::read(&self.bytes_of_file()?).map_err(wrong)?;
                (fields, text, Position::Extracted)
            }
            Kind::Mail => {
                let (fields, text) = mail::read(&self.bytes_of_file()?, &mut self.notes).map_err(wrong)?;
                (fields, text, Position::Extracted)
            }
            Kind::Notebook => {
                let (title, text) = notebook::read(&self.decoded()?, &mut self.notes).map_err(wrong)?;
                is_marked = true;
                (Fields { title, ..Fields::default() }, text, Position::Extracted)
            }
            kind @ (Kind::Text | Kind::Markdown) => {
                let file = self.decoded()?;
                let (fields, body) = if kind == Kind::Markdown { markdown(&file) } else { plain(&file) };
                is_marked = kind == Kind::Markdown;
                let (characters, newlines) = Cursor::new(&file).at(body);
                (fields, file[body..].to_owned(), Position::File { characters, newlines })
            }
            _ => return Err(self.entry.misrouted()),
        };
        if text.trim().is_empty() {
            return Err(input(&self.entry.path, None, "text", "an empty document"));
        }
        if is_marked {
            marks = marks::markdown(&text);
        }
        let headed = is_marked && fields.title.is_none();
        let title = if headed { heading(&text) } else { fields.title };
        let by_heading = headed && title.is_some();
        Ok(Document { by_heading, marks, ..Document::new(&self.entry, Fields { title, ..fields }, text, position) })
    }
}

impl Reader for Whole {
    fn next(&mut self) -> Option<Result<Document>> {
        (!std::mem::replace(&mut self.read, true)).then(|| self.document())
    }

    fn notes(&self) -> Notes {
        self.notes.clone()
    }

    fn bytes(&self) -> u64 {
        if self.read { self.entry.length } else { 0 }
    }
}

/// No metadata, and the byte where the text begins.
fn plain(file: &str) -> (Fields, usize) {
    (Fields::default(), if file.starts_with(BOM) { BOM.len_utf8() } else { 0 })
}

/// The metadata of the front matter, and the byte where the text begins.
fn markdown(file: &str) -> (Fields, usize) {
    let (FrontMatter { title, source, date, url }, body) = FrontMatter::split(file);
    (Fields { title, source, date, url, id: None }, body)
}

/// The heading of level 1 that the text begins with, if it does.
fn heading(text: &str) -> Option<String> {
    let title = text.lines().find(|line| !line.trim().is_empty())?.trim().strip_prefix("# ")?.trim();
    (!title.is_empty()).then(|| title.to_owned())
}
