//! The form of a table, from its first records: delimiter, header.

use super::columns::Columns;
use crate::charset::{self, Transcoder};
use crate::error::{MootError, Result};
use crate::retrieval::corpus::entry::Kind;
use crate::retrieval::corpus::flow::first_words;
use crate::retrieval::text::{self, input};
use csv::ByteRecord;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Bytes from which the form is taken.
const SAMPLE: usize = 64 << 10;
/// Records of the sample that are compared.
const RECORDS: usize = 20;
/// Lines among which a table's caption is looked for.
const MAX_CAPTION: usize = 5;
/// Delimiters, the likelier first.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];
/// A delimiter that no text has: a table of one column.
const NONE: u8 = 0x1f;

/// How a table is read.
#[derive(Debug, Clone)]
pub(super) struct Form {
    pub(super) delimiter: u8,
    /// Quotation marks mean something: files without a header do not quote, and MS MARCO's collection has many bare marks.
    pub(super) quoted: bool,
    pub(super) columns: Columns,
    /// The first record names the columns.
    pub(super) headed: bool,
    /// Lines before the first record: Excel's `sep=;`.
    pub(super) before: usize,
    /// The text above the table.
    pub(super) caption: Option<String>,
    /// Lines end with a carriage return alone.
    pub(super) returns: bool,
}

impl Form {
    /// The form of the table that begins with `sample`; `None` for one that is empty.
    pub(super) fn of(sample: &[u8], kind: Kind) -> Option<Self> {
        let returns = sample.contains(&b'\r') && !sample.contains(&b'\n');
        let (stated, before, sample) = stated(sample);
        let own = if kind == Kind::Tab { b'\t' } else { b',' };
        let (caption, above, sample) = captioned(sample, own).filter(|_| stated.is_none()).unwrap_or((None, 0, sample));
        let before = before + above;
        let delimiter = stated.unwrap_or_else(|| delimiter(sample, own));
        let records = records(sample, delimiter, true);
        let first = records.first()?.clone();
        if let Some(columns) = numbered(&first, kind) {
            return Some(Self { delimiter, quoted: false, columns, headed: false, before, caption, returns });
        }
        let headed = first.iter().any(|name| !name.trim_ascii().is_empty() && !is_number(name)) && !is_data(&records);
        let columns = if headed {
            Columns::of_header(
                &first.iter().map(|name| String::from_utf8_lossy(name).trim().to_owned()).collect::<Vec<_>>(),
            )
        } else {
            Columns::unnamed(first.len())
        };
        Some(Self { delimiter, quoted: true, columns, headed, before, caption, returns })
    }
}

/// The columns of a TSV file without a header, from its first record.
fn numbered(first: &ByteRecord, kind: Kind) -> Option<Columns> {
    let is_id = first.get(0).is_some_and(|id| std::str::from_utf8(id).is_ok_and(|id| id.trim().parse::<u64>().is_ok()));
    let is_text = first.get(1).is_some_and(|text| !is_number(text));
    (kind == Kind::Tab && is_id && is_text && matches!(first.len(), 2 | 3)).then(|| Columns::numbered(first.len()))
}

/// Whether the first record is one like the others and names no columns: it has numbers where all the others have numbers.
/// Successive numbers may be names, and years above other numbers.
fn is_data(records: &[ByteRecord]) -> bool {
    let Some((first, rest)) = records.split_first().filter(|(_, rest)| !rest.is_empty()) else { return false };
    let number = |value: &[u8]| std::str::from_utf8(value).ok().and_then(|value| value.trim().parse::<f64>().ok());
    let numbers: Vec<f64> = first.iter().filter_map(number).collect();
    let succeed = numbers.len() > 1 && numbers.windows(2).all(|pair| pair[0] + 1.0 == pair[1]);
    let is_year = |value: f64| value.fract() == 0.0 && (1000.0..3000.0).contains(&value);
    let names: Vec<String> = first.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
    let all = |column: usize, is: &dyn Fn(&[u8]) -> bool| rest.iter().all(|record| record.get(column).is_some_and(is));
    let are_years = |column: usize| all(column, &|value| number(value).is_some_and(is_year));
    let mut columns = first.iter().enumerate();
    !succeed
        && !Columns::of_header(&names).has_text()
        && columns.any(|(column, value)| {
            number(value).is_some_and(|value| (!is_year(value) && all(column, &is_number)) || are_years(column))
        })
}

fn is_number(value: &[u8]) -> bool {
    std::str::from_utf8(value).is_ok_and(|value| value.trim().replace(',', ".").parse::<f64>().is_ok())
}

/// Excel's first line `sep=;`: the delimiter, the number of its lines, and what follows.
fn stated(sample: &[u8]) -> (Option<u8>, usize, &[u8]) {
    let bare = sample.strip_prefix(b"\xef\xbb\xbf").unwrap_or(sample);
    match bare {
        [b's' | b'S', b'e' | b'E', b'p' | b'P', b'=', delimiter, b'\r', b'\n', rest @ ..]
        | [b's' | b'S', b'e' | b'E', b'p' | b'P', b'=', delimiter, b'\n', rest @ ..] => (Some(*delimiter), 1, rest),
        _ => (None, 0, bare),
    }
}

/// The text above a table, its records, and the table: one line or some that nothing divides, in front of lines that are
/// divided evenly, behind a blank line or into three columns and more.
fn captioned(sample: &[u8], own: u8) -> Option<(Option<String>, usize, &[u8])> {
    if delimiter(sample, own) != NONE {
        return None;
    }
    let (mut rest, mut lines) = (sample, Vec::new());
    for _ in 0..MAX_CAPTION {
        let end = rest.iter().position(|byte| *byte == b'\n')?;
        let line = String::from_utf8_lossy(rest[..end].trim_ascii()).into_owned();
        rest = &rest[end + 1..];
        let is_apart = line.is_empty();
        lines.extend(Some(line).filter(|line| !line.is_empty()));
        let records = records(rest, delimiter(rest, own), true);
        let width = records.first().map_or(0, ByteRecord::len);
        let is_table = records.len() > 1 && records.iter().all(|record| record.len() == width);
        if is_table && (width > 2 || (width > 1 && is_apart)) && !Columns::of_header(&lines).has_text() {
            return Some((Some(first_words(&lines.join(" "))), lines.len(), rest));
        }
    }
    None
}

/// The delimiter that divides the records of `sample` most evenly; `own` where it does so well enough.
fn delimiter(sample: &[u8], own: u8) -> u8 {
    let evenness = |delimiter: u8| {
        let records = records(sample, delimiter, true);
        let count = records.first().map_or(0, ByteRecord::len);
        let even = records.iter().filter(|record| record.len() == count).count();
        (count > 1).then(|| (100 * even / records.len().max(1), count))
    };
    let named = |delimiter: u8| {
        let first = records(sample, delimiter, true).into_iter().next();
        let names = first.iter().flat_map(ByteRecord::iter).map(|name| String::from_utf8_lossy(name).into_owned());
        Columns::of_header(&names.collect::<Vec<_>>()).has_text()
    };
    if evenness(own).is_some_and(|(even, _)| even >= 80 || named(own)) {
        return own;
    }
    // Of equals the likelier one: `max_by_key` gives the last.
    let best = DELIMITERS.into_iter().rev().filter_map(|delimiter| Some((evenness(delimiter)?, delimiter)));
    best.max_by_key(|(evenness, _)| *evenness).map_or(NONE, |(_, delimiter)| delimiter)
}

/// The first records of `sample`.
fn records(sample: &[u8], delimiter: u8, quoted: bool) -> Vec<ByteRecord> {
    let mut builder = csv::ReaderBuilder::new();
    let mut reader = builder.has_headers(false).flexible(true).delimiter(delimiter).quoting(quoted).from_reader(sample);
    let mut records: Vec<ByteRecord> = reader.byte_records().flatten().take(RECORDS + 1).collect();
    // The sample may end within a record.
    if sample.len() >= SAMPLE / 2 && records.len() > 1 {
        records.pop();
    }
    records.truncate(RECORDS);
    records
}

/// A table from its beginning.
///
/// # Errors
/// [`MootError::Io`]; [`MootError::Input`] for a file that is not text.
pub(super) fn open(path: &Path) -> Result<Transcoder<File>> {
    let opened = charset::transcoder(text::open(path)?).map_err(|e| MootError::io(path, "read", e))?;
    opened.map_err(|found| input(path, None, "text", found))
}

/// The form of the table at `path`.
///
/// # Errors
/// As [`open`]; an empty table.
pub(super) fn detect(path: &Path, kind: Kind) -> Result<Form> {
    let mut sample = Vec::new();
    open(path)?.take(SAMPLE as u64).read_to_end(&mut sample).map_err(|e| MootError::io(path, "read", e))?;
    Form::of(&sample, kind).ok_or_else(|| input(path, None, "a header line", "an empty file"))
}

#[cfg(test)]
mod tests {
    use super::{Form, Kind, NONE};

    #[test]
    fn the_delimiter_is_the_one_that_divides_evenly() {
        for (sample, kind, expected) in [
            ("a,b\n1,2\n", Kind::Comma, b','),
            ("id;text\n1;\"two, three; four\"\n2;a, b\n", Kind::Comma, b';'),
            ("Name;Price\nRope;4,20\nAnchor;31,00\n", Kind::Comma, b';'),
            ("a\tb, c\n1\t2\n", Kind::Comma, b'\t'),
            ("a|b|c\n1|2,5|3\n", Kind::Comma, b'|'),
            ("a,b,c\n1,2,3\n", Kind::Tab, b','),
            ("0\tOne, two\n1\tthree, four\n", Kind::Tab, b'\t'),
            ("sep=|\r\na|b\r\n", Kind::Comma, b'|'),
            ("text\nHello, world\n", Kind::Comma, NONE),
            // A comma in one field is not quoted: the header still divides by it.
            ("id,title,text\n1,One,a\n2,Two\n3,Three,b,c\n", Kind::Comma, b','),
        ] {
            assert_eq!(
                char::from(Form::of(sample.as_bytes(), kind).unwrap().delimiter),
                char::from(expected),
                "{sample}"
            );
        }
    }

    #[test]
    fn the_text_above_a_table_is_its_caption() {
        let form = |sample: &str| Form::of(sample.as_bytes(), Kind::Comma).unwrap();
        for sample in ["Prices of 1931\n\nRope,Price\nTar,4\n", "Prices\nof 1931\nRope;Price;Since\nTar;4,5;1930\n"] {
            assert_eq!(form(sample).caption.as_deref(), Some("Prices of 1931"), "{sample}");
        }
        for sample in
            ["Name\nAnna, Berta\nCarl, Dora\n", "text\nOne, two, three\nA, b, c\n", "a,b\n1,2\n", "One\n\nTwo\n"]
        {
            assert_eq!(form(sample).caption, None, "{sample}");
        }
    }

    #[test]
    fn a_first_record_of_numbers_names_no_column() {
        let form = |sample: &str, kind| Form::of(sample.as_bytes(), kind).unwrap();
        assert!(!form("1,2.5\n3,4\n", Kind::Comma).headed);
        assert!(!form("0\tOne\n1\tTwo\n", Kind::Tab).quoted);
        assert!(form("2019,Town\n1,2\n", Kind::Comma).headed);
        assert!(!form("Rope,4,1931\nSail,12,1932\n", Kind::Comma).headed, "a price in the first line as in the second");
        assert!(!form("Orrin,1788,Sand\nMaddock,1801,Rell\n", Kind::Comma).headed, "a year above years");
        for names in
            ["Toll,1931,1932\nCart,4,5\n", "Name,1,2,3\nAnna,4,5,9\n", "Town,4\nOrrin,none\n", "id,text,4\n1,a,4\n"]
        {
            assert!(form(names, Kind::Comma).headed, "{names}");
        }
        assert!(Form::of(b"\n\n", Kind::Comma).is_none());
    }
}
