//! OpenDocument spreadsheets (ISO/IEC 26300).

use super::grid::{Book, MAX_COLUMNS, MAX_ROWS, MAX_SHEETS};
use crate::retrieval::corpus::flow::{Flow, Gap};
use crate::retrieval::corpus::package::odt::refuse_encrypted;
use crate::retrieval::corpus::package::xml::{self, Tag, Visit};
use crate::retrieval::corpus::package::{Fault, MAX_TEXT, Package, fault};
use std::collections::HashSet;

const CONTENT: &str = "content.xml";
/// Elements of a cell that are no part of its value.
const LEFT_OUT: &[&str] = &["annotation", "frame", "custom-shape", "tracked-changes", "forms", "shapes", "ruby-text"];

/// The sheets of a spreadsheet.
///
/// # Errors
/// An archive that is not a spreadsheet, that is encrypted, broken or exceeds the limits.
pub(super) fn read(bytes: Vec<u8>) -> Result<Book, Fault> {
    const WHAT: &str = "an OpenDocument spreadsheet (.ods)";
    let mut package = Package::open(bytes, WHAT)?;
    refuse_encrypted(&mut package)?;
    let content = package.needed(CONTENT, WHAT)?;
    let mut cells = Cells::default();
    xml::read(CONTENT, &content, &mut cells)?;
    if let Some(fault) = cells.fault {
        return Err(fault);
    }
    let mut book = cells.book;
    package.note_unread(&["Pictures/", "media/"], &mut book.notes);
    Ok(book)
}

#[derive(Default)]
struct Cells {
    book: Book,
    /// The style being defined, and styles of hidden sheets.
    style: Option<String>,
    hidden: HashSet<String>,
    /// Sheets so far, hidden ones included.
    count: usize,
    /// Open elements that are left out.
    out: usize,
    /// Open sheets that are seen: a sheet within a cell is a part of it.
    sheets: usize,
    /// Rows before the open one, whether it is visible, and its number of repetitions.
    row: u64,
    hidden_row: bool,
    rows: u64,
    /// Columns before the open cell, and its number of repetitions.
    column: u32,
    columns: u32,
    /// Ranges of hidden columns, and columns defined so far.
    hidden_columns: Vec<(u32, u32)>,
    defined: u32,
    /// The date of the open cell.
    date: Option<String>,
    value: Flow,
    paragraphs: usize,
    /// Filled cells of the open row: column, value.
    cells: Vec<(u32, String)>,
    /// Bytes of the values read so far.
    bytes: usize,
    /// A limit that was exceeded.
    fault: Option<Fault>,
}

impl Cells {
    fn start_sheet(&mut self, tag: &Tag<'_>) {
        self.count += 1;
        if self.count > MAX_SHEETS {
            self.fault = Some(fault(format!("at most {MAX_SHEETS} sheets"), "more"));
            self.out = 1;
            return;
        }
        let name = tag.value("name").unwrap_or_default();
        let style = tag.value("style-name").unwrap_or_default();
        if self.hidden.contains(&style) {
            self.book.hide(&name);
            self.out = 1;
            return;
        }
        self.sheets = 1;
        self.book.start(&name);
        (self.row, self.defined) = (0, 0);
        self.hidden_columns.clear();
    }

    fn define_columns(&mut self, tag: &Tag<'_>) {
        let count = repeated(tag, "number-columns-repeated");
        let end = self.defined.saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
        if is_hidden(tag) && self.hidden_columns.len() < 1000 {
            self.hidden_columns.push((self.defined, end));
            self.book.hidden += 1;
        }
        self.defined = end;
    }

    fn start_cell(&mut self, tag: &Tag<'_>) {
        self.columns = u32::try_from(repeated(tag, "number-columns-repeated")).unwrap_or(MAX_COLUMNS);
        let date = tag.value("date-value");
        self.date = date.map(|date| date.strip_suffix("T00:00:00").unwrap_or(&date).replace('T', " "));
        self.value = Flow::default();
        let last = self.row.saturating_add(repeated(tag, "number-rows-spanned"));
        self.book.merge(self.column, self.row.saturating_add(1), last);
    }

    fn end_cell(&mut self) {
        let shown = std::mem::take(&mut self.value).finish();
        let value = self.date.take().unwrap_or(shown);
        let (from, to) = (self.column, self.column.saturating_add(self.columns).min(MAX_COLUMNS));
        self.column = to;
        if value.is_empty() || self.hidden_row || self.fault.is_some() {
            return;
        }
        // A long value that is repeated is not copied beyond the limit.
        self.bytes = self.bytes.saturating_add(value.len().saturating_mul((to - from) as usize));
        if self.bytes > MAX_TEXT {
            self.fault = Some(fault(format!("at most {MAX_TEXT} bytes of text in one workbook"), "more"));
            return;
        }
        for column in from..to {
            if !self.hidden_columns.iter().any(|(from, to)| (*from..*to).contains(&column)) {
                self.cells.push((column, value.clone()));
            }
        }
    }

    fn end_row(&mut self) {
        let cells = std::mem::take(&mut self.cells);
        let (from, to) = (self.row, self.row.saturating_add(self.rows).min(MAX_ROWS));
        self.row = to;
        if cells.is_empty() {
            return;
        }
        for row in from..to {
            for (column, value) in &cells {
                if self.fault.is_none() {
                    self.fault = self.book.push(row + 1, *column, value).err();
                }
            }
            if self.fault.is_some() {
                return;
            }
        }
    }
}

/// The number of repetitions of a cell or row.
fn repeated(tag: &Tag<'_>, name: &str) -> u64 {
    tag.value(name).and_then(|count| count.parse().ok()).unwrap_or(1)
}

fn is_hidden(tag: &Tag<'_>) -> bool {
    tag.value("visibility").is_some_and(|how| matches!(how.as_str(), "collapse" | "filter"))
}

impl Visit for Cells {
    fn start(&mut self, tag: &Tag<'_>) {
        let name = tag.name();
        if self.out > 0 || LEFT_OUT.contains(&name.as_str()) {
            self.out += 1;
            return;
        }
        match name.as_str() {
            "style" => self.style = tag.value("name"),
            "table-properties" if tag.value("display").is_some_and(|display| display == "false") => {
                self.hidden.extend(self.style.clone());
            }
            "table" if self.sheets > 0 => self.sheets += 1,
            "table" => self.start_sheet(tag),
            "table-column" => self.define_columns(tag),
            "table-row" if self.sheets == 1 => {
                self.rows = repeated(tag, "number-rows-repeated");
                self.hidden_row = is_hidden(tag);
                self.column = 0;
            }
            "table-cell" | "covered-table-cell" if self.sheets == 1 => self.start_cell(tag),
            "p" => self.paragraphs += 1,
            "s" | "tab" => self.value.widen(Gap::Space),
            "line-break" => self.value.widen(Gap::Line),
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        if self.out > 0 {
            self.out -= 1;
            return;
        }
        match name {
            "style" => self.style = None,
            "table" => {
                if self.sheets == 1 {
                    self.book.end();
                }
                self.sheets = self.sheets.saturating_sub(1);
            }
            "table-row" if self.sheets == 1 => {
                self.book.hidden += usize::from(self.hidden_row);
                self.end_row();
            }
            "table-cell" | "covered-table-cell" if self.sheets == 1 => self.end_cell(),
            "p" => {
                self.paragraphs = self.paragraphs.saturating_sub(1);
                self.value.widen(Gap::Line);
            }
            _ => {}
        }
    }

    fn letters(&mut self, text: &str) {
        if self.out == 0 && self.paragraphs > 0 {
            self.value.push(text);
        }
    }
}
