//! CSV and TSV: one document per record. Its text is the column `text` (or `contents`, ...), in DPR's form or under other column
//! names; in a table without such a column, the record's values with their columns' names.

mod bounded;
mod columns;
mod form;

use super::bad::{Bad, without_text};
use super::document::{Document, Position};
use super::entry::Entry;
use super::notes::Notes;
use super::reader::Reader;
use crate::error::{MootError, Result};
use crate::retrieval::text::input;
use bounded::{Bounded, Unclosed};
pub(super) use columns::Columns;
use csv::{ByteRecord, ErrorKind};
use form::Form;
use std::io;

/// Read buffer in bytes.
const BUFFER: usize = 1 << 18;
/// Lines with a quotation mark that is not closed and behind which the table is read on; each takes a reading from the beginning.
const MOST_UNCLOSED: usize = 16;

/// A table being read.
pub(super) struct Table {
    entry: Entry,
    reader: csv::Reader<Bounded>,
    form: Form,
    record: ByteRecord,
    /// Records without text.
    empty: u64,
    /// Records that are shorter than the header.
    short: Bad,
    bad: Bad,
    /// Lines with a quotation mark that is not closed.
    dropped: Vec<usize>,
    good: u64,
    ended: bool,
    /// The current record ends with a line feed, not with a carriage return or the end of the file.
    ends_line: bool,
}

impl Table {
    pub(super) fn open(entry: &Entry) -> Result<Self> {
        // A table that is bad from its first records on is refused before a document of it is returned.
        let mut ahead = Self::begin(entry)?;
        for _ in 0..Bad::AHEAD {
            if ahead.document()?.is_none() {
                break;
            }
        }
        ahead.bad.refuse(&entry.path, ahead.good)?;
        Self::begin(entry)
    }

    /// The table before its first record.
    fn begin(entry: &Entry) -> Result<Self> {
        let form = form::detect(&entry.path, entry.kind)?;
        let (short, bad) = (Bad::default(), Bad::default());
        let reader = reader(entry, &form, &[])?;
        let (entry, record, dropped) = (entry.clone(), ByteRecord::new(), Vec::new());
        let mut table = Self {
            entry,
            reader,
            form,
            record,
            empty: 0,
            short,
            bad,
            dropped,
            good: 0,
            ended: false,
            ends_line: false,
        };
        table.skip_header()?;
        Ok(table)
    }

    /// Reads the text before the first record.
    fn skip_header(&mut self) -> Result<()> {
        let lines = self.form.before + usize::from(self.form.headed);
        for _ in 0..lines {
            self.advance()?;
        }
        self.unclosed().map_or(Ok(()), |unclosed| Err(self.complaint(&unclosed)))
    }

    /// The quotation mark that made one field of the current record of its own and what follows. The reader takes the end of
    /// the table for the end of the field, and of all records within it.
    fn unclosed(&mut self) -> Option<Unclosed> {
        let until = self.reader.position().line() + u64::from(!self.ends_line);
        self.reader.get_mut().unclosed(until)
    }

    fn complaint(&self, unclosed: &Unclosed) -> MootError {
        let found = if unclosed.at_end { "the end of the file" } else { "one in front of text, on another line" };
        input(&self.entry.path, Some(unclosed.opened), "a quotation mark that closes the one on this line", found)
    }

    /// Leaves out the line of a quotation mark that is not closed, and reads on behind it: `false` where too many were left
    /// out already, and all lines that the mark took are lost.
    fn read_on(&mut self, unclosed: &Unclosed) -> Result<bool> {
        let wrong = self.complaint(unclosed);
        if self.dropped.len() == MOST_UNCLOSED {
            self.bad.add(unclosed.lines, &wrong);
            return Ok(!unclosed.at_end);
        }
        self.bad.add(1, &wrong);
        self.dropped.push(unclosed.opened);
        self.reader = reader(&self.entry, &self.form, &self.dropped)?;
        self.skip_header()?;
        Ok(true)
    }

    /// Reads the next record into `self.record`. Returns whether there was one.
    fn advance(&mut self) -> Result<bool> {
        self.reader.get_ref().returned();
        let read = self.reader.read_byte_record(&mut self.record).map_err(|e| fault(&self.entry, &e))?;
        let end = self.reader.position().byte();
        self.ends_line = self.reader.get_mut().pass(end);
        Ok(read)
    }

    /// The line on which the current record begins, counted from its end. The position of a record is where the one before it
    /// ended: the second half of `\r\n` and blank lines are still to come there.
    fn line(&self) -> u64 {
        let within = self.record.iter().flatten().filter(|byte| **byte == b'\n').count() as u64;
        self.reader.position().line().saturating_sub(within + u64::from(self.ends_line))
    }

    /// The next record that has text; `None` at the end.
    fn document(&mut self) -> Result<Option<Document>> {
        while self.advance()? {
            let line = self.line();
            if let Some(unclosed) = self.unclosed() {
                match self.read_on(&unclosed)? {
                    true => continue,
                    false => break,
                }
            }
            // Read before the last line was left out.
            if self.dropped.iter().any(|dropped| line <= *dropped as u64) {
                continue;
            }
            if let Some(wrong) = self.wrong(line) {
                self.bad.add(1, &wrong);
                continue;
            }
            if self.record.len() < self.form.columns.count() {
                let (expected, found) =
                    (format!("{} columns", self.form.columns.count()), self.record.len().to_string());
                self.short.add(1, &input(&self.entry.path, usize::try_from(line).ok(), &expected, found));
            }
            self.good += 1;
            let value = |column: usize| String::from_utf8_lossy(self.record.get(column).unwrap_or_default());
            match self.form.columns.document(value) {
                Some((mut fields, text)) => {
                    fields.title = fields.title.or_else(|| self.form.caption.clone());
                    let position = Position::Record { line, characters: 0 };
                    return Ok(Some(Document::new(&self.entry, fields, text, position)));
                }
                None => self.empty += 1,
            }
        }
        self.ended = true;
        Ok(None)
    }

    /// Why the current record cannot be read: which of its values belongs to which column is not known.
    fn wrong(&self, line: u64) -> Option<MootError> {
        let complaint =
            |expected: &str, found: String| Some(input(&self.entry.path, usize::try_from(line).ok(), expected, found));
        let (count, columns) = (self.record.len(), self.form.columns.count());
        if self.record.iter().skip(columns).any(|value| !value.trim_ascii().is_empty()) {
            let found = format!("{count} (is a delimiter or quotation mark in a field not quoted?)");
            return complaint(&format!("{columns} columns as in the first line"), found);
        }
        for (at, value) in self.record.iter().enumerate() {
            if let Err(e) = std::str::from_utf8(value) {
                let found = format!("an invalid byte after {} bytes of column {}", e.valid_up_to(), at + 1);
                return complaint("UTF-8 text", found);
            }
        }
        None
    }
}

impl Reader for Table {
    fn next(&mut self) -> Option<Result<Document>> {
        match self.document() {
            Ok(None) => self.bad.refuse(&self.entry.path, self.good).err().map(Err),
            document => document.transpose(),
        }
    }

    fn bytes(&self) -> u64 {
        self.reader.position().byte()
    }

    fn left_out(&self) -> Vec<String> {
        let bad = self.bad.note("line cannot be read", "lines cannot be read");
        without_text(self.empty).into_iter().chain(bad).collect()
    }

    /// Those on lines are there at the end: they concern the table, not each of its records.
    fn notes(&self) -> Notes {
        let mut notes = Notes::default();
        self.reader.get_ref().notes().iter().for_each(|note| notes.add(note));
        let short = self.short.note("line is shorter than the header", "lines are shorter than the header");
        short.filter(|_| self.ended).iter().for_each(|note| notes.add(note));
        notes
    }
}

/// The records of a table, `dropped` lines left out.
fn reader(entry: &Entry, form: &Form, dropped: &[usize]) -> Result<csv::Reader<Bounded>> {
    let quoted = form.quoted.then_some(form.delimiter);
    let text = Bounded::new(form::open(&entry.path)?, quoted, form.returns, dropped);
    let mut builder = csv::ReaderBuilder::new();
    builder.has_headers(false).flexible(true).delimiter(form.delimiter).quoting(form.quoted).buffer_capacity(BUFFER);
    Ok(builder.from_reader(text))
}

/// Converts an error of the csv reader.
fn fault(entry: &Entry, error: &csv::Error) -> MootError {
    match error.kind() {
        ErrorKind::Io(e) if e.kind() == io::ErrorKind::InvalidData => {
            input(&entry.path, None, "records of a table", e.to_string())
        }
        ErrorKind::Io(e) => MootError::io(&entry.path, "read", io::Error::new(e.kind(), e.to_string())),
        _ => {
            let line = error.position().and_then(|position| usize::try_from(position.line()).ok());
            input(&entry.path, line, "a record of a table", error.to_string())
        }
    }
}
