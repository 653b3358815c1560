//! The filled cells of sheets, within limits.

use crate::retrieval::corpus::flow::first_words;
use crate::retrieval::corpus::notes::Notes;
use crate::retrieval::corpus::package::{Fault, MAX_TEXT, fault};

/// Maximum sheets of a workbook.
pub(super) const MAX_SHEETS: usize = 10_000;
/// Maximum filled cells of a workbook.
const MAX_CELLS: usize = 2_000_000;
/// Maximum columns and rows of a sheet, as Excel has them.
pub(super) const MAX_COLUMNS: u32 = 16_384;
pub(super) const MAX_ROWS: u64 = 1 << 20;
/// Maximum cells of a sheet that go on over several rows.
const MAX_MERGED: usize = 100_000;
/// Rows among which the header is looked for.
const HEAD: usize = 20;

/// A workbook being read.
#[derive(Debug, Default)]
pub(super) struct Book {
    /// The sheets that are seen, in order.
    pub(super) sheets: Vec<Sheet>,
    pub(super) notes: Notes,
    /// Hidden rows and columns of the last sheet.
    pub(super) hidden: usize,
    /// Formulas of the last sheet whose values the file does not have.
    pub(super) uncomputed: usize,
    /// Cells of the last sheet that are one over several rows.
    merged: Vec<Merged>,
    cells: usize,
    bytes: usize,
}

/// A cell that goes on over several rows.
#[derive(Debug)]
struct Merged {
    column: u32,
    /// From 1, inclusive.
    first: u64,
    last: u64,
}

/// A sheet: its filled rows.
#[derive(Debug, Default)]
pub(super) struct Sheet {
    pub(super) name: String,
    pub(super) rows: Vec<Row>,
}

/// A row: its filled cells.
#[derive(Debug, Default, Clone)]
pub(super) struct Row {
    /// From 1.
    pub(super) number: u64,
    /// Columns from 0, ascending, with their values.
    cells: Vec<(u32, String)>,
}

impl Book {
    /// Begins a sheet.
    pub(super) fn start(&mut self, name: &str) {
        self.sheets.push(Sheet { name: first_words(name), rows: Vec::new() });
    }

    /// Ends the last sheet, and notes what of it is left out.
    pub(super) fn end(&mut self) {
        let (hidden, uncomputed) = (std::mem::take(&mut self.hidden), std::mem::take(&mut self.uncomputed));
        let sheet = self.sheets.last_mut();
        let Some(sheet) = sheet else { return };
        // A file may list rows and cells in any order; they are looked up by binary search.
        sheet.rows.sort_by_key(|row| row.number);
        sheet.rows.iter_mut().for_each(|row| row.cells.sort_by_key(|(column, _)| *column));
        for merged in std::mem::take(&mut self.merged) {
            sheet.fill(&merged, &mut self.cells, &mut self.bytes);
        }
        if hidden > 0 {
            self.notes.add(format!("sheet {}: hidden rows and columns are left out: {hidden}", sheet.name));
        }
        if uncomputed > 0 {
            let formulas = format!("formulas whose values are not in the file are left out: {uncomputed}");
            self.notes.add(format!("sheet {}: {formulas}", sheet.name));
        }
    }

    /// Says that the cell of row `first`, from 1, goes on up to row `last` of the last sheet: its value is that of each of these
    /// rows.
    pub(super) fn merge(&mut self, column: u32, first: u64, last: u64) {
        if last > first && self.merged.len() < MAX_MERGED {
            self.merged.push(Merged { column, first, last });
        }
    }

    /// Notes that the sheet `name` is hidden.
    pub(super) fn hide(&mut self, name: &str) {
        self.notes.add(format!("sheet {name} is hidden and left out"));
    }

    /// Adds a cell to the last sheet: row from 1, column from 0.
    ///
    /// # Errors
    /// More cells or text than a workbook may have.
    pub(super) fn push(&mut self, row: u64, column: u32, value: &str) -> Result<(), Fault> {
        let value = value.trim();
        let Some(sheet) = self.sheets.last_mut().filter(|_| !value.is_empty()) else { return Ok(()) };
        if row > MAX_ROWS || column >= MAX_COLUMNS {
            return Ok(());
        }
        self.cells += 1;
        self.bytes += value.len();
        if self.cells > MAX_CELLS {
            return Err(fault(format!("at most {MAX_CELLS} filled cells in a workbook"), "more"));
        }
        if self.bytes > MAX_TEXT {
            return Err(fault(format!("at most {MAX_TEXT} bytes of text in one workbook"), "more"));
        }
        match sheet.rows.last_mut() {
            Some(last) if last.number == row => last.cells.push((column, value.to_owned())),
            _ => sheet.rows.push(Row { number: row, cells: vec![(column, value.to_owned())] }),
        }
        Ok(())
    }
}

impl Row {
    /// The value of a column; empty where there is none.
    pub(super) fn value(&self, column: usize) -> &str {
        let found = self.cells.binary_search_by_key(&column, |(column, _)| *column as usize);
        found.map_or("", |at| self.cells[at].1.as_str())
    }
}

impl Sheet {
    /// Gives filled rows the value of a cell that goes on over them, up to the limits of the workbook.
    fn fill(&mut self, merged: &Merged, cells: &mut usize, bytes: &mut usize) {
        let at = |row: u64| self.rows.partition_point(|other| other.number < row);
        let (first, later, end) = (at(merged.first), at(merged.first + 1), at(merged.last.saturating_add(1)));
        let column = merged.column as usize;
        let Some(value) = self.rows.get(first).filter(|_| first < later).map(|row| row.value(column).to_owned()) else {
            return;
        };
        for row in self.rows[later..end].iter_mut().filter(|_| !value.is_empty()) {
            if *cells >= MAX_CELLS || *bytes + value.len() > MAX_TEXT {
                return;
            }
            if let Err(gap) = row.cells.binary_search_by_key(&merged.column, |(column, _)| *column) {
                row.cells.insert(gap, (merged.column, value.clone()));
                *cells += 1;
                *bytes += value.len();
            }
        }
    }

    /// Number of columns up to the last filled one.
    pub(super) fn width(&self) -> usize {
        self.rows.iter().filter_map(|row| row.cells.last()).map(|(column, _)| *column as usize + 1).max().unwrap_or(0)
    }

    /// Index of the row that names the columns: the first one that fills more than half as many columns as the widest of the
    /// first rows, with a word among them; `None` for a sheet of one column or without words.
    pub(super) fn header(&self) -> Option<usize> {
        let head = &self.rows[..self.rows.len().min(HEAD)];
        let widest = head.iter().map(|row| row.cells.len()).max().filter(|widest| *widest > 1)?;
        let at = head.iter().position(|row| 2 * row.cells.len() > widest)?;
        let words = head[at].cells.iter().any(|(_, value)| value.parse::<f64>().is_err());
        (words && at + 1 < self.rows.len()).then_some(at)
    }

    /// The text above the header.
    pub(super) fn caption(&self, header: Option<usize>) -> Option<String> {
        let above = self.rows[..header?].iter().flat_map(|row| row.cells.iter().map(|(_, value)| value.as_str()));
        Some(first_words(&above.collect::<Vec<_>>().join(" "))).filter(|caption| !caption.is_empty())
    }

    /// The values of the row at `at`, empty cells included.
    pub(super) fn values(&self, at: usize) -> Vec<String> {
        (0..self.width()).map(|column| self.rows[at].value(column).to_owned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Book;

    fn book(rows: &[&[&str]]) -> Book {
        let mut book = Book::default();
        book.start("Prices");
        for (row, values) in rows.iter().enumerate() {
            for (column, value) in values.iter().enumerate() {
                book.push(row as u64 + 1, u32::try_from(column).unwrap(), value).unwrap();
            }
        }
        book.end();
        book
    }

    #[test]
    fn the_header_is_the_first_row_that_is_wide_enough() {
        let priced = book(&[&["Prices of 2024"], &[], &["Product", "", "Price"], &["Rope", "", "4.2"]]);
        let sheet = &priced.sheets[0];
        assert_eq!((sheet.header(), sheet.caption(Some(1)).as_deref()), (Some(1), Some("Prices of 2024")));
        assert_eq!((sheet.rows[2].number, sheet.rows[2].value(2), sheet.rows[2].value(1)), (4, "4.2", ""));
        assert_eq!(book(&[&["1", "2"], &["3", "4"]]).sheets[0].header(), None);
        assert_eq!(book(&[&["It opened."], &["It closed."]]).sheets[0].header(), None);
    }
}
