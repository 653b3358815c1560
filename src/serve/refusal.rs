//! Errors as clients receive them: a status, and the error object of OpenAI's API.

use crate::error::{MootError, with_options_spelled};
use crate::fault::RemoteFault;
use crate::workspace::{field_of, field_of_message};
use axum::Json;
use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Why a request is not answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    status: StatusCode,
    /// One line that states the expected and the found value.
    message: String,
    /// The field that the error concerns.
    param: Option<String>,
    /// Seconds after which the client may try again.
    again: Option<u32>,
}

/// Result of a handler.
pub(super) type Answer<T = Response> = Result<T, Refusal>;

impl Refusal {
    pub(super) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), param: None, again: None }
    }

    /// What is wrong with a field.
    pub(super) fn of_field(param: &str, wrong: impl std::fmt::Display) -> Self {
        Self { param: Some(param.into()), ..Self::new(StatusCode::BAD_REQUEST, format!("{param}: {wrong}")) }
    }

    /// A field whose value cannot be used.
    pub(super) fn field(param: &str, expected: &str, found: impl std::fmt::Display) -> Self {
        Self::of_field(param, format!("expected {expected}, found {found}"))
    }

    /// A field that asks for what this server does not do.
    pub(super) fn unsupported(param: &str, instead: &str) -> Self {
        Self::of_field(param, format!("not supported here; {instead}"))
    }

    /// Something that is not there.
    pub(super) fn missing(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, message)
    }

    /// Too much at once.
    pub(super) fn busy(status: StatusCode, message: &str, again: u32) -> Self {
        Self { again: Some(again), ..Self::new(status, message) }
    }

    /// One line that states the expected and the found value.
    pub(super) fn message(&self) -> &str {
        &self.message
    }

    /// The error object, as in a body and in a stream.
    pub(super) fn json(&self) -> Value {
        let kind = match self.status.as_u16() {
            401 => "authentication_error",
            403 => "permission_error",
            404 => "not_found_error",
            429 => "rate_limit_error",
            500.. => "server_error",
            _ => "invalid_request_error",
        };
        json!({ "error": {
            "message": self.message, "type": kind, "param": self.param, "code": self.status.as_u16()
        } })
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.json())).into_response();
        if let Some(seconds) = self.again {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

/// The body of a request, by which errors name what they concern.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    /// A question, or a task of documents.
    Question,
    /// A call of a model: OpenAI's API, and `/moot/v1/calls`.
    Call,
}

impl Asked {
    /// The field that the option `--option` fills. `None` for an option of the server's start: no request has it.
    fn field(self, option: &str) -> Option<String> {
        match self {
            Self::Question => field_of_question(option),
            Self::Call => (option == "max-tokens").then(|| "max_tokens".to_owned()),
        }
    }

    /// A remedy that a client can follow; options are spelled as fields.
    fn hint(self, error: &MootError) -> Option<String> {
        let hint = match error {
            MootError::TooLong { limit_name, .. } => {
                let given = if self == Self::Call { "a shorter prompt" } else { "fewer or shorter documents" };
                let in_memory = limit_name.contains("memory");
                let model = if in_memory { "" } else { ", or take a model with a longer context" };
                Some(format!("send {given}, or lower --max-tokens{model}"))
            }
            // A request cannot turn the cutoff off.
            MootError::NothingFound { method, filtered, .. } => {
                MootError::NothingFound { method: method.clone(), filtered: *filtered, cut_off: false }.hint()
            }
            other => other.hint(),
        };
        let hint = with_options_spelled(&hint?, |option| self.field(option));
        (!hint.contains("--")).then_some(hint)
    }
}

/// The field of a question's body that the option fills.
pub(super) fn field_of_question(option: &str) -> Option<String> {
    match option {
        "docs" => return Some("documents".to_owned()),
        "in-flight" => return Some("in_flight".to_owned()),
        _ => {}
    }
    let field = field_of(option)?;
    match field.split_once('.') {
        None | Some(("method", _)) => Some(field),
        Some(("corpus", setting)) if SEARCH.contains(&setting) => Some(format!("search.{setting}")),
        Some(_) => None,
    }
}

/// Settings of a corpus that a request has in `search`.
const SEARCH: [&str; 6] = ["top", "by_source", "sources", "from", "until", "fold"];

impl From<MootError> for Refusal {
    fn from(error: MootError) -> Self {
        Self::of(error, Asked::Question)
    }
}

impl Refusal {
    /// The refusal of an error, where the body of the request is a call of a model.
    pub(super) fn of_call(error: MootError) -> Self {
        Self::of(error, Asked::Call)
    }

    fn of(error: MootError, asked: Asked) -> Self {
        let status = match &error {
            MootError::Interrupted => StatusCode::SERVICE_UNAVAILABLE,
            MootError::Remote { kind: RemoteFault::Busy, .. } => StatusCode::SERVICE_UNAVAILABLE,
            MootError::Remote { .. } | MootError::Collection { .. } => StatusCode::BAD_GATEWAY,
            MootError::Engine(_) | MootError::Threads(_) | MootError::Io { .. } | MootError::Model(_) => {
                StatusCode::INTERNAL_SERVER_ERROR
            }
            _ => StatusCode::BAD_REQUEST,
        };
        let is_usage = matches!(error, MootError::Usage(_));
        let error = without_folders(error);
        let hint = asked.hint(&error).map(|hint| format!(" ({hint})")).unwrap_or_default();
        let text = error.to_string();
        let message = format!("{}{hint}", with_options_spelled(&text, |option| asked.field(option)));
        // `--in-flight 0: ...`: its field is one word, as those of other sentences may be.
        let option = text.strip_prefix("--").and_then(|text| text.split([' ', ':']).next());
        let named = || option.and_then(|option| asked.field(option));
        let param = field_of_message(&message).map(str::to_owned).or_else(named).filter(|_| is_usage);
        Self { param, ..Self::new(status, message) }
    }
}

/// `error` with the names of files alone: where they lie is the server's own.
fn without_folders(error: MootError) -> MootError {
    let name = |path: PathBuf| path.file_name().map_or_else(PathBuf::new, PathBuf::from);
    match error {
        MootError::Io { path, action, source } => MootError::Io { path: name(path), action, source },
        MootError::Input { path, line, expected, found } => {
            MootError::Input { path: name(path), line, expected, found }
        }
        MootError::Index { path, wrong, hint } => MootError::Index { path: name(path), wrong, hint },
        other => other,
    }
}
