//! Reading of text files and of their front matter.

use crate::charset::{self, Decoded};
use crate::error::{MootError, Result};
pub(super) use crate::files::{irregular, open};
use encoding_rs::Encoding;
use std::io::Read;
use std::path::Path;

/// Maximum size of a text document in bytes: some hundred times a model's context, and small enough that a wrong path
/// never fills the memory.
pub(super) const MAX_DOCUMENT: u64 = 64 << 20;

/// The byte-order mark that some editors put before UTF-8.
pub(super) const BOM: char = '\u{feff}';

/// The error for a file, or for a line of it.
pub(super) fn input(path: &Path, line: Option<usize>, expected: &str, found: impl Into<String>) -> MootError {
    MootError::Input { path: path.to_path_buf(), line, expected: expected.to_owned(), found: found.into() }
}

/// A whole file's bytes, `most` of them.
///
/// # Errors
/// [`MootError::Io`]; [`MootError::Input`] if there are more.
pub(super) fn bytes(path: &Path, most: u64) -> Result<Vec<u8>> {
    bounded(path, open(path)?, most)
}

fn bounded(path: &Path, from: impl Read, most: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(most + 1).read_to_end(&mut bytes).map_err(|e| MootError::io(path, "read", e))?;
    if bytes.len() as u64 > most {
        return Err(input(path, None, &format!("at most {most} bytes in one document"), "more"));
    }
    Ok(bytes)
}

/// The content of a text file in any character set, byte-order mark included. `declared` finds the one that its format
/// declares.
///
/// # Errors
/// As [`bytes`]; [`MootError::Input`] if it is binary.
pub(super) fn read(path: &Path, declared: Declared) -> Result<Decoded> {
    decode(path, bytes(path, MAX_DOCUMENT)?, declared)
}

/// Finds the character set that a file of some format declares.
pub(super) type Declared = fn(&[u8]) -> Option<&'static Encoding>;

/// Of formats that declare no character set.
pub(super) fn undeclared(_: &[u8]) -> Option<&'static Encoding> {
    None
}

/// The text on standard input, which messages call `name`.
///
/// # Errors
/// [`MootError::Input`] if it is a terminal, or not text as [`read`] takes it; [`MootError::Io`].
pub(super) fn standard_input(name: &Path) -> Result<Decoded> {
    use std::io::IsTerminal;
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        return Err(input(name, None, "a text, as in `moot ask Q --docs - < FILE`", "a terminal"));
    }
    let bytes = bounded(name, stdin.lock(), MAX_DOCUMENT)?;
    let is_markup = bytes.trim_ascii_start().starts_with(b"<");
    decode(name, bytes, if is_markup { charset::in_markup } else { undeclared })
}

fn decode(path: &Path, bytes: Vec<u8>, declared: Declared) -> Result<Decoded> {
    let declared = declared(&bytes);
    charset::decode(bytes, declared).map_err(|found| input(path, None, "text", found))
}

/// The front matter of a markdown file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FrontMatter {
    pub(super) title: Option<String>,
    pub(super) source: Option<String>,
    pub(super) date: Option<String>,
    pub(super) url: Option<String>,
}

impl FrontMatter {
    /// Parses lines `key: value`, keys in any case, between a first line `---` and the next one. Returns them and the byte
    /// of `text` where the body begins. A first line `---` without a second one is a rule, not front matter.
    pub(super) fn split(text: &str) -> (Self, usize) {
        let mark = if text.starts_with(BOM) { BOM.len_utf8() } else { 0 };
        let Some((front, body)) = parts(&text[mark..]) else { return (Self::default(), mark) };
        let mut this = Self::default();
        for line in front.lines() {
            // Lists and nested values are ignored.
            let Some((key, value)) = line.split_once(':') else { continue };
            let value = Some(value.trim().trim_matches(['"', '\'']).to_owned()).filter(|value| !value.is_empty());
            match key.trim_end().to_ascii_lowercase().as_str() {
                _ if value.is_none() => {}
                "source" => this.source = value,
                "date" => this.date = value,
                "url" => this.url = value,
                "title" => this.title = value,
                _ => {}
            }
        }
        (this, text.len() - body.len())
    }
}

/// The text between a first line `---` and the next one, and the text after it.
fn parts(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n"))?;
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Some((&rest[..at], rest[at + line.len()..].trim_start_matches(['\r', '\n'])));
        }
        at += line.len();
    }
    None
}
