//! Workbooks: the sheets of xlsx, xls and ods files, each read as a table with a header, one document per row.
//!
//! Left out is what a reader does not see: hidden sheets, rows and columns.

mod format;
mod grid;
mod number;
mod ods;
mod xls;
mod xlsx;

use super::document::{Document, Position};
use super::entry::{Entry, Kind};
use super::notes::Notes;
use super::package::{Fault, MAX_FILE, fault};
use super::reader::Reader;
use super::table::Columns;
use crate::error::{MootError, Result};
use crate::retrieval::text::{self, input};
use grid::{Book, Row, Sheet};
use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The rows of a workbook's sheets.
pub(super) struct Sheets {
    entry: Entry,
    /// The sheets, once the file was read; the last one is read first.
    sheets: Option<Vec<Sheet>>,
    /// Whether the workbook has several sheets that are seen.
    several: bool,
    open: Option<OpenSheet>,
    /// A row gave a document.
    any: bool,
    notes: Notes,
}

/// A sheet whose rows are being returned.
struct OpenSheet {
    columns: Columns,
    rows: std::vec::IntoIter<Row>,
    /// The text above the header, else the name of the sheet where there are several.
    title: Option<String>,
    name: Option<String>,
}

impl Sheets {
    pub(super) fn new(entry: Entry) -> Self {
        Self { entry, sheets: None, several: false, open: None, any: false, notes: Notes::default() }
    }

    fn wrong(&self, (expected, found): Fault) -> MootError {
        input(&self.entry.path, None, &expected, found)
    }

    /// Reads the file.
    fn read(&mut self) -> Result<Vec<Sheet>> {
        let bytes = text::bytes(&self.entry.path, MAX_FILE)?;
        let read = match self.entry.kind {
            Kind::Ods => ods::read,
            Kind::Xls => xls::read,
            Kind::Xlsx => xlsx::read,
            _ => return Err(self.entry.misrouted()),
        };
        // A panic in the archive's reader fails this file alone.
        let read = catch_unwind(AssertUnwindSafe(|| read(bytes)));
        let panicked = |_| Err(fault("a workbook that can be read", "one that makes the reader panic"));
        let Book { mut sheets, notes, .. } = read.unwrap_or_else(panicked).map_err(|fault| self.wrong(fault))?;
        self.notes = notes;
        self.several = sheets.len() > 1;
        sheets.reverse();
        Ok(sheets)
    }

    /// The next row that has text; `None` at the end.
    fn document(&mut self) -> Result<Option<Document>> {
        if self.sheets.is_none() {
            // Nothing is left after an error.
            self.sheets = Some(Vec::new());
            self.sheets = Some(self.read()?);
        }
        loop {
            let Some(open) = &mut self.open else {
                match self.sheets.as_mut().and_then(Vec::pop) {
                    Some(sheet) => self.open = Some(OpenSheet::new(sheet, self.several)),
                    None if self.any => return Ok(None),
                    None => {
                        self.any = true;
                        return Err(self.wrong(fault("text", "an empty workbook")));
                    }
                }
                continue;
            };
            let Some(row) = open.rows.next() else {
                self.open = None;
                continue;
            };
            if let Some((mut fields, text)) = open.columns.document(|column| Cow::Borrowed(row.value(column))) {
                fields.title = fields.title.or_else(|| open.title.clone());
                fields.id = fields.id.or_else(|| open.name.clone());
                self.any = true;
                let position = Position::Record { line: row.number, characters: 0 };
                return Ok(Some(Document::new(&self.entry, fields, text, position)));
            }
        }
    }
}

impl OpenSheet {
    fn new(mut sheet: Sheet, several: bool) -> Self {
        let header = sheet.header();
        let name = several.then(|| sheet.name.clone());
        let title = sheet.caption(header).or_else(|| name.clone());
        let columns = match header {
            Some(at) => Columns::of_header(&sheet.values(at)),
            None => Columns::unnamed(sheet.width()),
        };
        let rows = sheet.rows.split_off(header.map_or(0, |at| at + 1)).into_iter();
        Self { columns, rows, title, name }
    }
}

impl Reader for Sheets {
    fn next(&mut self) -> Option<Result<Document>> {
        self.document().transpose()
    }

    fn bytes(&self) -> u64 {
        if self.sheets.is_some() { self.entry.length } else { 0 }
    }

    fn notes(&self) -> Notes {
        self.notes.clone()
    }
}
