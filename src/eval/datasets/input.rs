//! The items of a dataset file: JSON lines, a JSON array, a JSON object of objects, CSV or TSV.

use super::scan::{self, Fault, Member};
use crate::error::{MootError, Result};
use crate::files;
use crate::jsonl::{self, Lines, Object, Unique, json_fault, shortened};
use csv::ErrorKind;
use serde_json::{Map, Value};
use std::io::Read;
use std::path::Path;

/// How a file's items are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// One object a line.
    JsonLines,
    /// One value: an array of objects, an object whose values are objects (keyed by id), an object with such an array
    /// under `data`, or a single object.
    Json,
    /// Comma-separated values under a header line, quoted as in RFC 4180.
    Csv,
    /// The same, separated by tabs.
    Tsv,
}

impl Form {
    /// Every form, by the name that `--format` takes.
    pub const NAMES: &[(&str, Self)] =
        &[("jsonl", Self::JsonLines), ("json", Self::Json), ("csv", Self::Csv), ("tsv", Self::Tsv)];
}

/// One item: a question in most datasets, one document of a question in some.
pub struct Item {
    /// The line in JSON lines; elsewhere the item's number, from 1. Ids are made of it.
    pub number: usize,
    /// Its fields. In CSV every value is a string, and an empty cell is null.
    pub object: Object,
}

/// Items as they are read; an item that cannot be read is an error of its own.
pub(in crate::eval) type Items = Box<dyn Iterator<Item = Result<Item>>>;

/// Opens the items of `path`. `bare_nan` reads the bare words `NaN` and `Infinity` as null.
///
/// # Errors
/// [`MootError::Io`]; [`MootError::Input`] for a file that cannot be split into items. The items' own errors name
/// line and field.
pub(super) fn items(path: &Path, form: Form, bare_nan: bool) -> Result<Items> {
    match form {
        Form::JsonLines => {
            let owned = path.to_path_buf();
            Ok(Box::new(Lines::open(path)?.map(move |line| {
                let (number, text) = line?;
                let object = parse(&owned, number, String::new(), &text, bare_nan)?;
                Ok(Item { number, object })
            })))
        }
        Form::Json => document(path, bare_nan),
        Form::Csv => table(path, b','),
        Form::Tsv => table(path, b'\t'),
    }
}

/// The form of `path`, from its content. `names` are those of the datasets, for the error.
///
/// # Errors
/// [`MootError::Io`]; [`MootError::Input`] for an empty file, or text that is neither JSON nor a table.
pub(super) fn detect(path: &Path, names: &str) -> Result<Form> {
    if starts_with(path, PARQUET)? {
        let expected = "JSON lines, a JSON array, or a table with a header line";
        return Err(complaint(path, None, expected, "a Parquet file (docs/data.md has the line that converts it)"));
    }
    let mut lines = Lines::open(path)?;
    let Some(first) = lines.next() else {
        return Err(complaint(path, None, &format!("a dataset ({names})"), "an empty file"));
    };
    let (number, first) = first?;
    match first.trim_start().chars().next() {
        Some('[') => Ok(Form::Json),
        Some('{') if value(&first, true).is_ok() => {
            // A single line may be an object of objects; then it is no question itself.
            let alone = lines.next().is_none();
            let whole = alone && inner(&first).is_some_and(|members| !members.is_empty());
            Ok(if whole { Form::Json } else { Form::JsonLines })
        }
        // A value of several lines, or JSON lines whose first one is broken: the reader reports that line.
        Some('{') => {
            let text = read(path)?;
            Ok(if scan::members(&text, 0..text.len()).is_ok() { Form::Json } else { Form::JsonLines })
        }
        // Before commas, which cells of a TSV may hold.
        _ if first.contains('\t') => Ok(Form::Tsv),
        _ if first.contains(',') => Ok(Form::Csv),
        _ => {
            let expected = "JSON lines, a JSON array, or a table with a header line";
            Err(complaint(path, Some(number), expected, &format!("{:?}", shortened(first.trim()))))
        }
    }
}

/// The first bytes of a Parquet file.
const PARQUET: &[u8] = b"PAR1";

fn starts_with(path: &Path, bytes: &[u8]) -> Result<bool> {
    let mut first = Vec::new();
    files::open(path)?.take(bytes.len() as u64).read_to_end(&mut first).map_err(|e| MootError::io(path, "read", e))?;
    Ok(first == bytes)
}

fn complaint(path: &Path, line: Option<usize>, expected: &str, found: &str) -> MootError {
    MootError::Input { path: path.into(), line, expected: expected.into(), found: found.into() }
}

/// The whole file, without a byte-order mark.
fn read(path: &Path) -> Result<String> {
    let mut bytes = Vec::new();
    files::open(path)?.read_to_end(&mut bytes).map_err(|e| MootError::io(path, "read", e))?;
    let text = String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        complaint(path, None, "UTF-8 text", &format!("an invalid byte at byte {at}"))
    })?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

fn value(text: &str, bare_nan: bool) -> std::result::Result<Unique, serde_json::Error> {
    // Most items are strict JSON; only others are searched for bare words.
    let strict = jsonl::parse(text.trim().as_bytes());
    match strict {
        Err(_) if bare_nan => jsonl::parse(scan::without_bare_numbers(text.trim()).as_bytes()),
        other => other,
    }
}

fn parse(path: &Path, line: usize, prefix: String, text: &str, bare_nan: bool) -> Result<Object> {
    match value(text, bare_nan) {
        Ok(Unique(Value::Object(fields))) => Ok(Object::new(path, line, prefix, fields)),
        Ok(Unique(other)) => {
            let at = prefix.trim_end_matches('.');
            let expected = if at.is_empty() { "a JSON object".to_owned() } else { format!("a JSON object in `{at}`") };
            Err(complaint(path, Some(line), &expected, &jsonl::describe(&other)))
        }
        Err(e) => Err(complaint(path, Some(line), "a JSON object", &json_fault(&e))),
    }
}

/// The items within a top-level object: its values where all are objects, else the array under `data`, as TriviaQA's
/// `Data`. `None` where the object is itself an item.
fn inner(text: &str) -> Option<Vec<Member>> {
    let members = scan::members(text, 0..text.len()).ok()?;
    let starts = |member: &Member, with: u8| text.as_bytes()[member.span.start] == with;
    if !members.is_empty() && members.iter().all(|member| starts(member, b'{')) {
        return Some(members);
    }
    let named = |member: &&Member| member.key.as_deref().is_some_and(|key| key.eq_ignore_ascii_case("data"));
    let list = members.iter().find(named).filter(|member| starts(member, b'['))?;
    scan::members(text, list.span.clone()).ok()
}

fn document(path: &Path, bare_nan: bool) -> Result<Items> {
    let text = read(path)?;
    let broken = |fault: Fault| complaint(path, Some(fault.line), "a JSON array of objects", &fault.found);
    let members = if text.trim_start().starts_with('[') {
        scan::members(&text, 0..text.len()).map_err(broken)?
    } else {
        let start = text.len() - text.trim_start().len();
        let line = 1 + text[..start].matches('\n').count();
        inner(&text).unwrap_or_else(|| vec![Member { key: None, line, span: start..text.trim_end().len() }])
    };
    let path = path.to_path_buf();
    let single = members.len() == 1 && members[0].key.is_none() && text.trim_start().starts_with('{');
    Ok(Box::new(members.into_iter().enumerate().map(move |(i, member)| {
        let prefix = match &member.key {
            Some(key) => format!("{}.", shortened(key)),
            None if single => String::new(),
            None => format!("[{i}]."),
        };
        let object = parse(&path, member.line, prefix, &text[member.span], bare_nan)?;
        Ok(Item { number: i + 1, object })
    })))
}

fn table(path: &Path, delimiter: u8) -> Result<Items> {
    let text = read(path)?;
    let bytes = std::io::Cursor::new(text.into_bytes());
    let mut reader = csv::ReaderBuilder::new().delimiter(delimiter).from_reader(bytes);
    let header = reader.headers().map_err(|e| table_fault(path, &e))?.clone();
    if header.len() < 2 {
        return Err(complaint(path, Some(1), "a header line of two columns or more", "one column"));
    }
    let path = path.to_path_buf();
    Ok(Box::new(reader.into_records().enumerate().map(move |(i, record)| {
        let record = record.map_err(|e| table_fault(&path, &e))?;
        let line = record.position().map_or(i + 2, |position| position.line() as usize);
        let cell = |text: &str| if text.is_empty() { Value::Null } else { Value::String(text.to_owned()) };
        let fields: Map<String, Value> =
            header.iter().zip(&record).map(|(name, text)| (name.trim().to_owned(), cell(text))).collect();
        Ok(Item { number: i + 1, object: Object::new(&path, line, String::new(), fields) })
    })))
}

fn table_fault(path: &Path, e: &csv::Error) -> MootError {
    let line = e.position().map(|position| position.line() as usize);
    match e.kind() {
        ErrorKind::UnequalLengths { expected_len, len, .. } => {
            complaint(path, line, &format!("{expected_len} columns, as in the header"), &format!("{len}"))
        }
        _ => complaint(path, line, "a table of text", &e.to_string().replace('\n', " ")),
    }
}
