//! Files of a model folder that a tokenizer is read from, and the errors of their fields.

use crate::error::{ModelError, Result};
use serde::de::DeserializeOwned;
use std::path::Path;

const FORMAT: &str = "tokenizer.json";
/// Several times the size of the largest published file (Gemma's, 33 MB).
const LARGEST_FILE: u64 = 256 << 20;

/// The JSON in `path`; `None` where there is no such file.
pub(super) fn read_optional<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    match read_text(path) {
        Ok(text) => parse(path, &text).map(Some),
        Err(ModelError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

pub(super) fn read_text(path: &Path) -> Result<String> {
    let io = |source| ModelError::Io { path: path.to_owned(), action: "read", source };
    let size = std::fs::metadata(path).map_err(io)?.len();
    if size > LARGEST_FILE {
        return Err(unsound(path, "size", &format!("at most {LARGEST_FILE} bytes"), size.to_string()));
    }
    std::fs::read_to_string(path).map_err(io)
}

pub(super) fn parse<T: DeserializeOwned>(path: &Path, text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|reason| {
        let location = format!("line {} column {}", reason.line(), reason.column());
        unsound(path, &location, "JSON as Hugging Face writes it", reason.to_string())
    })
}

pub(super) fn wrong(path: &Path, field: &str, expected: &str, found: &str) -> ModelError {
    ModelError::Field {
        path: path.to_owned(),
        field: field.to_owned(),
        expected: expected.to_owned(),
        found: found.chars().take(120).collect(),
    }
}

pub(super) fn unsound(path: &Path, location: &str, expected: &str, found: String) -> ModelError {
    ModelError::Format {
        path: path.to_owned(),
        format: FORMAT,
        location: location.to_owned(),
        expected: expected.to_owned(),
        found,
    }
}
