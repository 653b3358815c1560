//! Workbooks of Excel 97 to 2003 ([MS-XLS], BIFF8): records of a stream in a compound file.

use super::format::Format;
use super::grid::{Book, MAX_SHEETS};
use super::number::plain;
use crate::retrieval::corpus::package::{Fault, fault};
use std::collections::{HashMap, HashSet};
use std::io::{Cursor, Read};

/// Maximum bytes of the workbook's stream.
const MAX_STREAM: u64 = 256 << 20;
const WHAT: &str = "a workbook of Excel 97 to 2003 (.xls)";

// Types of records, [MS-XLS] section 2.3.1.
const FORMULA: u16 = 0x0006;
const EOF: u16 = 0x000a;
const DATE_1904: u16 = 0x0022;
const FILE_PASS: u16 = 0x002f;
const CONTINUE: u16 = 0x003c;
const COL_INFO: u16 = 0x007d;
const BOUND_SHEET: u16 = 0x0085;
const MUL_RK: u16 = 0x00bd;
const XF: u16 = 0x00e0;
const MERGE_CELLS: u16 = 0x00e5;
const STRINGS: u16 = 0x00fc;
const LABEL_SST: u16 = 0x00fd;
const NUMBER: u16 = 0x0203;
const LABEL: u16 = 0x0204;
const BOOL_ERR: u16 = 0x0205;
const STRING: u16 = 0x0207;
const ROW: u16 = 0x0208;
const RK: u16 = 0x027e;
const FORMAT: u16 = 0x041e;
const BOF: u16 = 0x0809;

/// The sheets of a workbook.
///
/// # Errors
/// A file that is not a workbook of this kind, that is encrypted, broken or exceeds the limits.
pub(super) fn read(bytes: Vec<u8>) -> Result<Book, Fault> {
    let stream = stream(bytes)?;
    let globals = Globals::read(&stream)?;
    let mut book = Book::default();
    // Sheets do not overlap; in a damaged file many could name the same records.
    let mut left = 2 * stream.len();
    for sheet in &globals.sheets {
        match sheet.kind {
            Kind::Worksheet if sheet.hidden => book.hide(&sheet.name),
            Kind::Worksheet => {
                book.start(&sheet.name);
                let read = cells(&mut book, stream.get(sheet.at..).unwrap_or_default(), &globals)?;
                book.end();
                left = left.checked_sub(read).ok_or_else(|| fault(WHAT, "a workbook whose sheets overlap"))?;
            }
            Kind::Other => book.notes.add(format!("sheet {} holds no cells and is not read", sheet.name)),
        }
    }
    Ok(book)
}

/// The workbook's stream.
fn stream(bytes: Vec<u8>) -> Result<Vec<u8>, Fault> {
    let mut file = cfb::CompoundFile::open(Cursor::new(bytes))
        .map_err(|e| fault(WHAT, format!("something else, or a broken file ({e})")))?;
    if file.exists("/Book") && !file.exists("/Workbook") {
        return Err(fault(WHAT, "a workbook of Excel 95 or before"));
    }
    let mut stream = Vec::new();
    let part = file.open_stream("/Workbook").map_err(|e| fault(WHAT, format!("a file without a workbook ({e})")))?;
    part.take(MAX_STREAM + 1).read_to_end(&mut stream).map_err(|e| fault(WHAT, format!("a broken file ({e})")))?;
    if stream.len() as u64 > MAX_STREAM {
        return Err(fault(format!("a workbook of at most {} MiB", MAX_STREAM >> 20), "more"));
    }
    Ok(stream)
}

/// A record: its type, and its data with that of the records that continue it.
struct Record<'a> {
    kind: u16,
    data: &'a [u8],
    more: Vec<&'a [u8]>,
}

/// The records of a stream up to its end or a record that is cut.
struct Records<'a>(&'a [u8]);

impl<'a> Records<'a> {
    fn one(&mut self) -> Option<(u16, &'a [u8])> {
        let (head, rest) = self.0.split_at_checked(4)?;
        let (data, rest) = rest.split_at_checked(usize::from(u16_at(head, 2)?))?;
        self.0 = rest;
        Some((u16_at(head, 0)?, data))
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Record<'a>;

    fn next(&mut self) -> Option<Record<'a>> {
        let (kind, data) = self.one()?;
        let mut more = Vec::new();
        while u16_at(self.0, 0) == Some(CONTINUE) {
            let Some((_, data)) = self.one() else { break };
            more.push(data);
        }
        Some(Record { kind, data, more })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Worksheet,
    Other,
}

struct BoundSheet {
    name: String,
    kind: Kind,
    hidden: bool,
    /// Where its records begin in the stream.
    at: usize,
}

/// The content of the records before the sheets.
#[derive(Default)]
struct Globals {
    sheets: Vec<BoundSheet>,
    strings: Vec<String>,
    codes: HashMap<u16, Format>,
    /// The number format of each style of cells.
    styles: Vec<u16>,
    from_1904: bool,
}

impl Globals {
    fn read(stream: &[u8]) -> Result<Self, Fault> {
        let mut globals = Self::default();
        for (at, record) in Records(stream).enumerate() {
            let data = record.data;
            match record.kind {
                BOF if at == 0 && u16_at(data, 0) != Some(0x0600) => {
                    return Err(fault(WHAT, "a workbook of another version of Excel"));
                }
                FILE_PASS => return Err(fault("a workbook without a password", "an encrypted one")),
                DATE_1904 => globals.from_1904 = u16_at(data, 0) == Some(1),
                FORMAT => {
                    let code = u16_at(data, 0).zip(data.get(2..).and_then(|rest| Text::new(rest, &[]).string(2)));
                    globals.codes.extend(code.map(|(id, code)| (id, Format::of_code(&code))));
                }
                XF => globals.styles.push(u16_at(data, 2).unwrap_or_default()),
                BOUND_SHEET => globals.sheets.extend(bound_sheet(data)),
                STRINGS => globals.strings = shared(&record),
                EOF => break,
                _ => {}
            }
            if globals.sheets.len() > MAX_SHEETS {
                return Err(fault(format!("at most {MAX_SHEETS} sheets"), "more"));
            }
        }
        if globals.sheets.is_empty() { Err(fault(WHAT, "a workbook without sheets")) } else { Ok(globals) }
    }

    fn show(&self, style: u16, value: f64) -> String {
        let id = self.styles.get(usize::from(style)).copied().unwrap_or_default();
        let format = self.codes.get(&id).cloned().unwrap_or_else(|| Format::builtin(u32::from(id)));
        format.show(value, self.from_1904)
    }
}

fn bound_sheet(data: &[u8]) -> Option<BoundSheet> {
    let at = u32_at(data, 0)? as usize;
    let kind = if *data.get(5)? == 0 { Kind::Worksheet } else { Kind::Other };
    let name = Text::new(data.get(6..)?, &[]).string(1)?;
    Some(BoundSheet { name, kind, hidden: data.get(4)? & 3 != 0, at })
}

/// The strings that cells refer to by number.
fn shared(record: &Record<'_>) -> Vec<String> {
    let mut text = Text::new(record.data.get(8..).unwrap_or_default(), &record.more);
    std::iter::from_fn(|| text.rich_string()).collect()
}

/// Reads the cells of one sheet. Returns the bytes of its records.
fn cells(book: &mut Book, stream: &[u8], globals: &Globals) -> Result<usize, Fault> {
    let mut sheet =
        Cells { book, globals, hidden_rows: HashSet::new(), hidden_columns: Vec::new(), formula: None, depth: 0 };
    let mut records = Records(stream);
    for record in records.by_ref() {
        match record.kind {
            // Charts within a sheet have records of their own.
            BOF => sheet.depth += 1,
            EOF if sheet.depth <= 1 => break,
            EOF => sheet.depth -= 1,
            _ if sheet.depth == 1 => sheet.record(&record)?,
            _ => {}
        }
    }
    Ok(stream.len() - records.0.len())
}

struct Cells<'a> {
    book: &'a mut Book,
    globals: &'a Globals,
    /// Rows from 0.
    hidden_rows: HashSet<u16>,
    /// Ranges of columns from 0, inclusive.
    hidden_columns: Vec<(u16, u16)>,
    /// Row and column of the formula whose text comes in the next record.
    formula: Option<(u16, u16)>,
    /// Open substreams.
    depth: usize,
}

impl Cells<'_> {
    fn record(&mut self, record: &Record<'_>) -> Result<(), Fault> {
        // A cell that is cut has no value.
        self.cell(record).unwrap_or(Ok(()))
    }

    fn cell(&mut self, record: &Record<'_>) -> Option<Result<(), Fault>> {
        let data = record.data;
        let (row, column, style) = (u16_at(data, 0), u16_at(data, 2), u16_at(data, 4));
        let value = match record.kind {
            // Rows come before their cells.
            ROW if u32_at(data, 12)? & 0x20 != 0 => {
                self.hidden_rows.insert(row?);
                self.book.hidden += 1;
                return None;
            }
            COL_INFO if u16_at(data, 8)? & 1 != 0 && self.hidden_columns.len() < 1000 => {
                self.hidden_columns.push((row?, column?));
                self.book.hidden += 1;
                return None;
            }
            MERGE_CELLS => {
                for range in data.get(2..)?.chunks_exact(8) {
                    let rows = u16_at(range, 0).zip(u16_at(range, 2));
                    if let Some(((first, last), column)) = rows.zip(u16_at(range, 4)) {
                        self.book.merge(column.into(), u64::from(first) + 1, u64::from(last) + 1);
                    }
                }
                return None;
            }
            NUMBER => self.globals.show(style?, f64_at(data, 6)?),
            RK => self.globals.show(style?, rk(u32_at(data, 6)?)),
            MUL_RK => return Some(self.row_of_numbers(row?, column?, data)),
            LABEL_SST => self.globals.strings.get(u32_at(data, 6)? as usize)?.clone(),
            LABEL => Text::new(data.get(6..)?, &record.more).string(2)?,
            BOOL_ERR => truth(*data.get(6)?, *data.get(7)? != 0),
            // A FormulaValue that ends with ff ff is no number; its first byte says what it is.
            FORMULA => match data.get(6..14)? {
                [0, .., 0xff, 0xff] => {
                    self.formula = row.zip(column);
                    return None;
                }
                [1, _, value, .., 0xff, 0xff] => truth(*value, false),
                [2, _, value, .., 0xff, 0xff] => truth(*value, true),
                [3, .., 0xff, 0xff] => return None,
                _ => self.globals.show(style?, f64_at(data, 6)?),
            },
            STRING => {
                let (row, column) = self.formula.take()?;
                return Some(self.push(row, column, &Text::new(data, &record.more).string(2)?));
            }
            _ => return None,
        };
        Some(self.push(row?, column?, &value))
    }

    fn row_of_numbers(&mut self, row: u16, first: u16, data: &[u8]) -> Result<(), Fault> {
        let cells = data.get(4..data.len().saturating_sub(2)).unwrap_or_default();
        for (at, cell) in cells.chunks_exact(6).enumerate() {
            let number = u16_at(cell, 0).zip(u32_at(cell, 2)).map(|(style, bits)| self.globals.show(style, rk(bits)));
            let column = first.saturating_add(u16::try_from(at).unwrap_or(u16::MAX));
            self.push(row, column, &number.unwrap_or_default())?;
        }
        Ok(())
    }

    fn push(&mut self, row: u16, column: u16, value: &str) -> Result<(), Fault> {
        let hidden = self.hidden_rows.contains(&row)
            || self.hidden_columns.iter().any(|(from, to)| (*from..=*to).contains(&column));
        if hidden { Ok(()) } else { self.book.push(u64::from(row) + 1, u32::from(column), value) }
    }
}

/// A truth value or an error ([MS-XLS] section 2.5.10).
fn truth(value: u8, is_error: bool) -> String {
    match (is_error, value) {
        (false, 0) => "FALSE",
        (false, _) => "TRUE",
        (true, 0x00) => "#NULL!",
        (true, 0x07) => "#DIV/0!",
        (true, 0x0f) => "#VALUE!",
        (true, 0x17) => "#REF!",
        (true, 0x1d) => "#NAME?",
        (true, 0x24) => "#NUM!",
        (true, _) => "#N/A",
    }
    .to_owned()
}

/// A number of 30 bits: an integer or the upper half of a float, perhaps of hundredths ([MS-XLS] section 2.5.217).
fn rk(bits: u32) -> f64 {
    let number = match bits & 2 {
        0 => f64::from_bits(u64::from(bits & !3) << 32),
        _ => f64::from(bits.cast_signed() >> 2),
    };
    if bits & 1 == 0 { number } else { plain(number / 100.0).parse().unwrap_or(number) }
}

/// Strings in the data of a record and of those that continue it.
struct Text<'a> {
    data: &'a [u8],
    more: std::slice::Iter<'a, &'a [u8]>,
}

impl<'a> Text<'a> {
    fn new(data: &'a [u8], more: &'a [&'a [u8]]) -> Self {
        Self { data, more: more.iter() }
    }

    /// The next bytes, from one record.
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        while self.data.is_empty() {
            self.data = self.more.next()?;
        }
        let (taken, rest) = self.data.split_at_checked(count)?;
        self.data = rest;
        Some(taken)
    }

    /// Passes over bytes, from one or several records.
    fn skip(&mut self, mut count: usize) -> Option<()> {
        while count > 0 {
            while self.data.is_empty() {
                self.data = self.more.next()?;
            }
            let now = count.min(self.data.len());
            self.data = &self.data[now..];
            count -= now;
        }
        Some(())
    }

    /// A string whose number of characters takes `width` bytes.
    fn string(&mut self, width: usize) -> Option<String> {
        let count = self.take(width)?;
        let count = count.iter().rev().fold(0, |sum, byte| (sum << 8) | usize::from(*byte));
        let wide = self.take(1)?[0] & 1 != 0;
        self.characters(count, wide)
    }

    /// A string with the formats and readings that may follow it ([MS-XLS] section 2.5.293).
    fn rich_string(&mut self) -> Option<String> {
        let count = usize::from(u16_at(self.take(2)?, 0)?);
        let flags = self.take(1)?[0];
        let runs = if flags & 8 != 0 { usize::from(u16_at(self.take(2)?, 0)?) } else { 0 };
        let readings = if flags & 4 != 0 { u32_at(self.take(4)?, 0)? as usize } else { 0 };
        let text = self.characters(count, flags & 1 != 0)?;
        self.skip(4 * runs + readings)?;
        Some(text)
    }

    /// Characters; in each record that continues them a byte says again how wide they are.
    fn characters(&mut self, mut count: usize, mut wide: bool) -> Option<String> {
        let mut units: Vec<u16> = Vec::new();
        while count > 0 {
            if self.data.is_empty() {
                self.data = self.more.next()?;
                wide = self.take(1)?[0] & 1 != 0;
            }
            let size = if wide { 2 } else { 1 };
            let now = count.min(self.data.len() / size);
            if now == 0 {
                // Half a character at the end of a record.
                self.data = &[];
                continue;
            }
            let (taken, rest) = self.data.split_at(now * size);
            units.extend(
                taken.chunks_exact(size).map(|unit| u16::from(unit[0]) | u16::from(*unit.get(1).unwrap_or(&0)) << 8),
            );
            (self.data, count) = (rest, count - now);
        }
        Some(String::from_utf16_lossy(&units))
    }
}

fn u16_at(data: &[u8], at: usize) -> Option<u16> {
    data.get(at..at + 2)?.try_into().ok().map(u16::from_le_bytes)
}

fn u32_at(data: &[u8], at: usize) -> Option<u32> {
    data.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes)
}

fn f64_at(data: &[u8], at: usize) -> Option<f64> {
    data.get(at..at + 8)?.try_into().ok().map(f64::from_le_bytes)
}
