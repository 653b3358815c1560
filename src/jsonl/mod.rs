//! JSON from outside: lines written by users, whose errors name the file, the line and the field, and [`parse`], which
//! bounds the memory of any JSON.

mod unique;

use crate::charset::{self, Transcoder};
use crate::error::{MootError, Result};
use crate::escape;
use crate::files;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
pub(crate) use unique::Unique;

/// Bytes that one line may have. No real question comes near it; without a limit a file that is not JSONL at all (a
/// disk image, `/dev/zero`) would be read into memory before anything could be said.
pub(crate) const MAX_LINE: u64 = 256 << 20;

/// Values that one JSON text may hold: each takes about 100 bytes of memory and may be two bytes of text (`0,`), so without a
/// limit a text could take some 30 times its bytes.
pub const MAX_VALUES: usize = 1 << 20;

/// The byte-order mark that some editors put before UTF-8.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// The lines of a file, with their numbers from 1; blank ones are left out.
pub struct Lines {
    reader: BufReader<Transcoder<File>>,
    path: Arc<Path>,
    number: usize,
    offset: usize,
    /// A line had no end within the limit: what follows is a part of it.
    broken: bool,
    /// Whether lines without text are items too.
    blank: bool,
}

impl Lines {
    /// Opens `path`.
    ///
    /// # Errors
    /// [`MootError::Io`] where it cannot be opened; [`MootError::Input`] for anything but a regular file.
    pub fn open(path: &Path) -> Result<Self> {
        let text = charset::transcoder(files::open(path)?).map_err(|e| MootError::io(path, "read", e))?;
        let wrong = |found| MootError::Input { path: path.into(), line: None, expected: "text".into(), found };
        let reader = BufReader::new(text.map_err(wrong)?);
        Ok(Self { reader, path: path.into(), number: 0, offset: 0, broken: false, blank: false })
    }

    /// The same lines, with those that have no text, where the number of a line is its meaning.
    #[must_use]
    pub(crate) fn with_blank(self) -> Self {
        Self { blank: true, ..self }
    }

    /// Notes on the character set of the file: assumptions and losses.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        self.reader.get_ref().notes()
    }

    /// Bytes of the file behind the last line.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.offset as u64
    }

    /// One raw line without its end, or `None` at the end of the file.
    fn raw(&mut self) -> Result<Option<Vec<u8>>> {
        if self.broken {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        let read = (&mut self.reader)
            .take(MAX_LINE)
            .read_until(b'\n', &mut bytes)
            .map_err(|e| MootError::io(&self.path, "read", e))?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        if bytes.last() != Some(&b'\n') && read as u64 == MAX_LINE {
            self.broken = true;
            return Err(self.complaint("a line of JSON", format!("more than {MAX_LINE} bytes without a line end")));
        }
        Ok(Some(bytes))
    }

    fn text(&self, mut bytes: Vec<u8>) -> Result<String> {
        let start = self.offset;
        if self.number == 1 && bytes.starts_with(BOM) {
            bytes.drain(..BOM.len());
        }
        if let Some(at) = bytes.iter().position(|&b| b == 0) {
            return Err(self.complaint("UTF-8 text", format!("a binary file (NUL byte at byte {})", start + at)));
        }
        String::from_utf8(bytes).map_err(|e| {
            let at = start + e.utf8_error().valid_up_to();
            self.complaint("UTF-8 text", format!("an invalid byte at byte {at}"))
        })
    }

    fn complaint(&self, expected: &str, found: String) -> MootError {
        MootError::Input { path: self.path.to_path_buf(), line: Some(self.number), expected: expected.into(), found }
    }
}

impl Iterator for Lines {
    type Item = Result<(usize, String)>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let bytes = match self.raw() {
                Ok(bytes) => bytes?,
                Err(e) => return Some(Err(e)),
            };
            let length = bytes.len();
            let text = self.text(bytes);
            self.offset += length;
            match text {
                Ok(text) if text.trim().is_empty() && !self.blank => {}
                Ok(text) => return Some(Ok((self.number, text))),
                Err(e) => return Some(Err(e)),
            }
        }
    }
}

/// Parses JSON that this program did not write, to a [`Value`] or to a type of the caller's. Every reader of files and
/// of servers' replies calls it instead of `serde_json::from_slice` and `from_str`. Values are counted before memory is
/// taken for them; [`json_fault`] puts the error into words.
///
/// ```
/// let lists = format!("[{}0]", "[],".repeat(moot::jsonl::MAX_VALUES));
/// let refused = moot::jsonl::parse::<serde_json::Value>(lists.as_bytes()).unwrap_err();
/// assert_eq!(moot::jsonl::json_fault(&refused), "more than 1048576 values");
/// ```
///
/// # Errors
/// Text that is not JSON or not of the type; more than [`MAX_VALUES`] values.
pub fn parse<'a, T: Deserialize<'a>>(text: &'a [u8]) -> serde_json::Result<T> {
    parse_within(text, MAX_VALUES)
}

/// As [`parse`], with at most `most` values.
///
/// # Errors
/// As [`parse`].
pub(crate) fn parse_within<'a, T: Deserialize<'a>>(text: &'a [u8], most: usize) -> serde_json::Result<T> {
    if holds_more_values(text, most) {
        return Err(serde::de::Error::custom(format!("more than {most} values")));
    }
    serde_json::from_slice(text)
}

/// Whether JSON holds more than `most` values. Each value but the first follows a comma or an opening bracket outside of
/// strings, so these are counted; an empty list counts as two.
pub(crate) fn holds_more_values(text: &[u8], most: usize) -> bool {
    let (mut count, mut in_string, mut escaped) = (1_usize, false, false);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b',' | b'[' | b'{' if !in_string => {
                count += 1;
                if count > most {
                    return true;
                }
            }
            _ => {}
        }
    }
    false
}

/// A JSON object with its file and line.
pub struct Object {
    path: PathBuf,
    line: usize,
    /// Prefix of its fields' names: empty, or "documents[2].".
    prefix: String,
    fields: Map<String, Value>,
}

impl Object {
    /// Reads one line.
    ///
    /// # Errors
    /// [`MootError::Input`] for text that is not JSON, or JSON that is not an object; for a name that is twice in one object.
    pub fn parse(path: &Path, line: usize, text: &str) -> Result<Self> {
        let wrong =
            |found| MootError::Input { path: path.into(), line: Some(line), expected: "a JSON object".into(), found };
        match parse(text.trim().as_bytes()) {
            Ok(Unique(Value::Object(fields))) => Ok(Self { path: path.into(), line, prefix: String::new(), fields }),
            Ok(Unique(other)) => Err(wrong(describe(&other))),
            Err(e) => Err(wrong(json_fault(&e))),
        }
    }

    /// An object that was parsed elsewhere; `prefix` comes before its fields' names in errors: empty, or `[2].`.
    #[must_use]
    pub fn new(path: &Path, line: usize, prefix: String, fields: Map<String, Value>) -> Self {
        Self { path: path.into(), line, prefix, fields }
    }

    /// Whether `field` is there and not null.
    #[must_use]
    pub fn has(&self, field: &str) -> bool {
        self.value(field).is_some()
    }

    /// The names of all fields, in the order written.
    pub fn fields(&self) -> impl Iterator<Item = &str> {
        self.fields.keys().map(String::as_str)
    }

    /// The value of `field`; `None` where it is missing or null.
    #[must_use]
    pub fn value(&self, field: &str) -> Option<&Value> {
        self.fields.get(field).filter(|value| !value.is_null())
    }

    /// The names of the first fields, comma-separated.
    #[must_use]
    pub fn names(&self) -> String {
        const SHOWN: usize = 12;
        if self.fields.is_empty() {
            return "none".into();
        }
        let named: Vec<_> =
            self.fields.keys().take(SHOWN).map(|name| format!("`{}`", shortened(&escape::line(name)))).collect();
        let more = if self.fields.len() > SHOWN { ", ..." } else { "" };
        format!("{}{more}", named.join(", "))
    }

    /// A string that must be there.
    ///
    /// # Errors
    /// [`MootError::Input`] where it is missing or something else.
    pub fn string(&self, field: &str) -> Result<String> {
        match self.value(field) {
            Some(Value::String(text)) => Ok(text.clone()),
            other => Err(self.wrong("a string", field, other)),
        }
    }

    /// A string that must be there and hold more than white space.
    ///
    /// # Errors
    /// [`MootError::Input`] where it is missing, empty or something else.
    pub(crate) fn full_string(&self, field: &str) -> Result<String> {
        let text = self.string(field)?;
        if text.trim().is_empty() {
            return Err(self.complaint(&format!("text in `{}{field}`", self.prefix), "an empty string".into()));
        }
        Ok(text)
    }

    /// A string that may be missing or null.
    ///
    /// # Errors
    /// [`MootError::Input`] where it is something else.
    pub(crate) fn optional_string(&self, field: &str) -> Result<Option<String>> {
        if self.has(field) { self.string(field).map(Some) } else { Ok(None) }
    }

    /// A date: a string, or a number for a year; may be missing or null.
    ///
    /// # Errors
    /// [`MootError::Input`] where it is something else.
    pub(crate) fn optional_date(&self, field: &str) -> Result<Option<String>> {
        match self.value(field) {
            Some(Value::Number(year)) => Ok(Some(year.to_string())),
            _ => self.optional_string(field),
        }
    }

    /// A list of strings that must be there.
    ///
    /// # Errors
    /// [`MootError::Input`] where it is missing or holds something else.
    pub fn strings(&self, field: &str) -> Result<Vec<String>> {
        let item = |(i, value): (usize, &Value)| match value {
            Value::String(text) => Ok(text.clone()),
            other => Err(self.wrong("a string", &format!("{field}[{i}]"), Some(other))),
        };
        self.list("a list of strings", field)?.iter().enumerate().map(item).collect()
    }

    /// A list of objects that must be there.
    ///
    /// # Errors
    /// [`MootError::Input`] where it is missing or holds something else.
    pub fn objects(&self, field: &str) -> Result<Vec<Self>> {
        let item = |(i, value): (usize, &Value)| match value {
            Value::Object(fields) => Ok(self.within(&format!("{field}[{i}]."), fields.clone())),
            other => Err(self.wrong("an object", &format!("{field}[{i}]"), Some(other))),
        };
        self.list("a list of objects", field)?.iter().enumerate().map(item).collect()
    }

    /// As [`Object::objects`]; a text among them becomes an object with the text in its field `text`.
    ///
    /// # Errors
    /// As [`Object::objects`].
    pub(crate) fn objects_or_texts(&self, field: &str) -> Result<Vec<Self>> {
        let item = |(i, value): (usize, &Value)| {
            let fields = match value {
                Value::Object(fields) => fields.clone(),
                Value::String(_) => Map::from_iter([("text".to_owned(), value.clone())]),
                other => return Err(self.wrong("text or an object", &format!("{field}[{i}]"), Some(other))),
            };
            Ok(self.within(&format!("{field}[{i}]."), fields))
        };
        self.list("a list of texts or objects", field)?.iter().enumerate().map(item).collect()
    }

    /// The object in `field`, where there is one.
    #[must_use]
    pub fn object(&self, field: &str) -> Option<Self> {
        let Some(Value::Object(fields)) = self.value(field) else { return None };
        let prefix = format!("{}{field}.", self.prefix);
        Some(Self { path: self.path.clone(), line: self.line, prefix, fields: fields.clone() })
    }

    /// An object within this one, whose fields' names are written behind `prefix` (`documents[2].`).
    #[must_use]
    pub fn within(&self, prefix: &str, fields: Map<String, Value>) -> Self {
        Self { path: self.path.clone(), line: self.line, prefix: self.prefix.clone() + prefix, fields }
    }

    /// An error about this line.
    #[must_use]
    pub fn complaint(&self, expected: &str, found: String) -> MootError {
        MootError::Input { path: self.path.clone(), line: Some(self.line), expected: expected.into(), found }
    }

    fn list(&self, expected: &str, field: &str) -> Result<&Vec<Value>> {
        match self.value(field) {
            Some(Value::Array(items)) => Ok(items),
            other => Err(self.wrong(expected, field, other)),
        }
    }

    /// An error about `field`: `expected` there, but `found` this value.
    #[must_use]
    pub fn wrong(&self, expected: &str, field: &str, found: Option<&Value>) -> MootError {
        let found = found.map_or_else(|| "no such field".to_owned(), describe);
        self.complaint(&format!("{expected} in `{}{field}`", self.prefix), found)
    }
}

/// The parser's message, without the "at line 1" that would contradict the file's own line.
#[must_use]
pub fn json_fault(e: &serde_json::Error) -> String {
    let text = e.to_string();
    // The position is at the end; a string that is quoted in the message may hold the same words.
    let reason = text.rsplit_once(" at line ").map_or(text.as_str(), |(reason, _)| reason);
    // An unknown name is repeated unchanged, line ends included.
    let reason = escape::excerpt(reason);
    match e.classify() {
        serde_json::error::Category::Eof => format!("JSON that ends too early ({reason})"),
        serde_json::error::Category::Data => reason,
        _ => format!("broken JSON ({reason} at column {})", e.column()),
    }
}

/// A value in a few words.
pub(crate) fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(b) => format!("{b}"),
        Value::Number(n) => format!("the number {n}"),
        Value::String(s) => format!("the string {:?}", shortened(s)),
        Value::Array(items) => format!("a list of {}", items.len()),
        Value::Object(_) => "an object".into(),
    }
}

/// The first 40 characters, so that a complaint stays one line.
#[must_use]
pub fn shortened(text: &str) -> String {
    escape::beginning(text, 40)
}
