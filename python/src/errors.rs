//! Errors as exceptions: `moot.errors` has their classes, and the field of an option instead of its name on the command line.

use moot::MootError;
use moot::error::with_options_spelled;
use moot::workspace::{field_of, field_of_message};
use pyo3::prelude::*;
use serde::de::DeserializeOwned;

/// The parts of an exception; `moot.errors.of` takes them.
#[derive(Default)]
struct Told<'a> {
    /// The class: a key of `moot.errors.KINDS`.
    kind: &'static str,
    message: String,
    hint: Option<String>,
    field: Option<String>,
    path: Option<&'a std::path::Path>,
    line: Option<usize>,
}

impl Told<'_> {
    fn exception(self, py: Python<'_>) -> PyErr {
        let Self { kind, message, hint, field, path, line } = self;
        let made = py
            .import("moot.errors")
            .and_then(|module| module.call_method1("of", (kind, message, hint, field, path, line)));
        made.map_or_else(|error| error, PyErr::from_value)
    }
}

/// `error` as an exception.
pub(crate) fn exception(py: Python<'_>, error: &MootError) -> PyErr {
    let message = with_options_spelled(&error.to_string(), field_of);
    let told = Told {
        kind: kind(error),
        hint: error.hint().map(|hint| with_options_spelled(&hint, field_of)),
        field: field(error, &message),
        message,
        ..Told::default()
    };
    match error {
        MootError::Input { path, line, .. } => Told { path: Some(path), line: *line, ..told },
        MootError::Io { path, .. } | MootError::Index { path, .. } => Told { path: Some(path), ..told },
        _ => told,
    }
    .exception(py)
}

fn kind(error: &MootError) -> &'static str {
    match error {
        MootError::Usage(_) | MootError::UnknownName { .. } | MootError::Arguments { .. } => "option",
        MootError::Input { .. } | MootError::Index { .. } => "input",
        MootError::Io { .. } => "file",
        MootError::Model(_) | MootError::Memory { .. } => "model",
        MootError::Question(_) | MootError::NothingFound { .. } | MootError::TooLong { .. } => "question",
        MootError::Remote { .. } | MootError::Collection { .. } => "remote",
        MootError::Interrupted => "interrupted",
        _ => "moot",
    }
}

/// The field that the error concerns: the one that the message begins with, or the one that takes the name.
fn field(error: &MootError, message: &str) -> Option<String> {
    match error {
        MootError::UnknownName { kind: "method", .. } => Some("method.name".into()),
        MootError::UnknownName { kind: "preset", .. } => Some("method.preset".into()),
        MootError::Model(_) | MootError::Memory { .. } => Some("model".into()),
        MootError::Usage(_) => field_of_message(message).map(str::to_owned),
        _ => None,
    }
}

/// An argument whose value cannot be used.
pub(crate) fn of_field(py: Python<'_>, field: &str, expected: &str, found: impl std::fmt::Display) -> PyErr {
    let message = format!("{field}: expected {expected}, found {found}");
    Told { kind: "option", message, field: Some(field.to_owned()), ..Told::default() }.exception(py)
}

/// Reads a request of the package; an error names the field.
pub(crate) fn read<T: DeserializeOwned>(py: Python<'_>, request: &str) -> PyResult<T> {
    let json = &mut serde_json::Deserializer::from_str(request);
    serde_path_to_error::deserialize(json).map_err(|error| {
        let path = error.path().to_string();
        // A group of fields that callers know without it; the only list that is read is one of asks.
        let field = match path.strip_prefix("with.") {
            Some(field) => field.to_owned(),
            None if path.starts_with('[') => format!("asks{path}"),
            None => path,
        };
        let reason = error.inner().to_string();
        // The position in the JSON text says nothing to a caller who wrote none.
        let reason = reason.rsplit_once(" at line ").map_or(reason.as_str(), |(reason, _)| reason);
        let message = format!("{field}: {reason}");
        Told { kind: "option", message, field: Some(field), ..Told::default() }.exception(py)
    })
}
