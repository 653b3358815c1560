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

    /// A field whose value cannot be used.
    pub(super) fn field(param: &str, expected: &str, found: impl std::fmt::Display) -> Self {
        let message = format!("{param}: expected {expected}, found {found}");
        Self { param: Some(param.into()), ..Self::new(StatusCode::BAD_REQUEST, message) }
    }

    /// A field that asks for what this server does not do.
    pub(super) fn unsupported(param: &str, instead: &str) -> Self {
        let message = format!("{param}: not supported here; {instead}");
        Self { param: Some(param.into()), ..Self::new(StatusCode::BAD_REQUEST, message) }
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

impl From<MootError> for Refusal {
    fn from(error: MootError) -> Self {
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
        let hint = error.hint().map(|hint| format!(" ({hint})")).unwrap_or_default();
        let message = with_options_spelled(&format!("{error}{hint}"), field_of);
        let param = field_of_message(&message).filter(|_| is_usage).map(str::to_owned);
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
