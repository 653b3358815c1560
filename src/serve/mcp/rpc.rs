//! JSON-RPC 2.0 as MCP uses it: one object a message, no batches.
//!
//! Only what every message has is read here. The arguments of a tool are read from the same bytes by the types of that tool, so
//! no part of a message is held as untyped JSON.

use crate::jsonl::{MAX_VALUES, holds_more_values};
use axum::http::StatusCode;
use serde::de::{DeserializeOwned, IgnoredAny, MapAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};
use std::fmt;
use std::marker::PhantomData;

pub(super) const PARSE_ERROR: i32 = -32700;
pub(super) const INVALID_REQUEST: i32 = -32600;
pub(super) const METHOD_NOT_FOUND: i32 = -32601;
pub(super) const INVALID_PARAMS: i32 = -32602;

/// The id of a request, or the token of its progress.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a text or a whole number")]
pub(super) enum Id {
    Number(i64),
    Text(String),
}

/// A request, or a notification, which has no id.
#[derive(Debug)]
pub(super) struct Message {
    pub id: Option<Id>,
    pub method: String,
    pub params: Params,
}

/// Parameters of the methods that are known here. Others are ignored.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Params {
    /// Of a tool.
    pub name: Option<String>,
    /// The revision of a client that calls `initialize`.
    pub protocol_version: Option<String>,
    /// The request that is cancelled.
    pub request_id: Option<Id>,
    #[serde(rename = "_meta")]
    pub meta: Option<Meta>,
}

/// Metadata of a request and its client.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Meta {
    #[serde(rename = "progressToken")]
    pub progress: Option<Id>,
    #[serde(rename = "io.modelcontextprotocol/protocolVersion")]
    pub version: Option<String>,
    #[serde(rename = "io.modelcontextprotocol/clientCapabilities")]
    pub capabilities: Option<IgnoredAny>,
}

/// Why a message has no result.
#[derive(Debug)]
pub(super) struct Failure {
    pub id: Option<Id>,
    code: i32,
    message: String,
    data: Option<Value>,
    /// Over HTTP.
    pub status: StatusCode,
}

impl Failure {
    /// A message that breaks the protocol.
    pub(super) fn new(id: Option<Id>, code: i32, message: impl Into<String>) -> Self {
        Self { id, code, message: message.into(), data: None, status: StatusCode::BAD_REQUEST }
    }

    pub(super) fn with(self, data: Value) -> Self {
        Self { data: Some(data), ..self }
    }

    /// A request that the protocol allows and that cannot be answered: over HTTP it is answered with this status.
    pub(super) fn answered(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }

    pub(super) fn json(&self) -> Value {
        let mut error = json!({ "code": self.code, "message": self.message });
        if let Some(data) = &self.data {
            error["data"] = data.clone();
        }
        json!({ "jsonrpc": "2.0", "id": self.id, "error": error })
    }
}

pub(super) fn result(id: &Id, result: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

pub(super) fn notification(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
}

/// A message as it is sent.
#[derive(Deserialize)]
struct Wire {
    jsonrpc: String,
    #[serde(default, deserialize_with = "present")]
    id: Option<Id>,
    method: Option<String>,
    #[serde(default)]
    params: Option<Object<Params>>,
    /// Of a response.
    #[serde(default)]
    result: Option<IgnoredAny>,
    #[serde(default)]
    error: Option<IgnoredAny>,
}

/// A present id; `null` is not an id.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Id>, D::Error> {
    Id::deserialize(deserializer).map(Some)
}

/// A JSON object as a struct, which serde would also read from a list of its fields' values.
struct Object<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Fields<T> {
            type Value = T;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map))
            }
        }

        deserializer.deserialize_map(Fields(PhantomData)).map(Self)
    }
}

/// Reads a message; `None` for a response, which nothing here waits for.
///
/// # Errors
/// Text that is not JSON, or not a message; more than [`MAX_VALUES`] values. The id is that of the message where it can be read.
pub(super) fn read(bytes: &[u8]) -> Result<Option<Message>, Failure> {
    if holds_more_values(bytes, MAX_VALUES) {
        let wrong = format!("expected a message of at most {MAX_VALUES} values, found more");
        return Err(Failure::new(None, INVALID_REQUEST, wrong));
    }
    let Object(wire) = typed::<Object<Wire>>(bytes).map_err(|(error, path)| {
        if error.is_syntax() || error.is_eof() {
            return Failure::new(None, PARSE_ERROR, format!("expected JSON, found {}", shown(&error)));
        }
        let at = if path.is_empty() { String::new() } else { format!("{path}: ") };
        Failure::new(
            id_of(bytes),
            INVALID_REQUEST,
            format!("{at}expected a message of JSON-RPC 2.0, {}", shown(&error)),
        )
    })?;
    let Wire { jsonrpc, id, method, params, result, error } = wire;
    if jsonrpc != "2.0" {
        let found = crate::escape::beginning(&jsonrpc, 20);
        return Err(Failure::new(id, INVALID_REQUEST, format!("jsonrpc: expected \"2.0\", found {found:?}")));
    }
    let Some(method) = method else {
        let is_response = id.is_some() && (result.is_some() || error.is_some());
        let missing = || Failure::new(id, INVALID_REQUEST, "method: expected a text, found none");
        return if is_response { Ok(None) } else { Err(missing()) };
    };
    Ok(Some(Message { id, method, params: params.map(|Object(params)| params).unwrap_or_default() }))
}

/// The id of something that is not a message.
fn id_of(bytes: &[u8]) -> Option<Id> {
    #[derive(Deserialize)]
    struct Only {
        id: Option<Id>,
    }
    serde_json::from_slice::<Object<Only>>(bytes).ok()?.0.id
}

/// The arguments of the tool that a message calls.
///
/// # Errors
/// The field that is wrong, and why.
pub(super) fn arguments<T: DeserializeOwned + Default>(bytes: &[u8]) -> Result<T, (String, String)> {
    #[derive(Deserialize)]
    struct Called<T> {
        params: Arguments<T>,
    }
    #[derive(Deserialize)]
    struct Arguments<T> {
        arguments: Option<Object<T>>,
    }
    let called = typed::<Called<T>>(bytes).map_err(|(error, path)| {
        let field = path.strip_prefix("params.").map(|path| path.strip_prefix("arguments.").unwrap_or(path));
        (field.unwrap_or("arguments").to_owned(), shown(&error))
    })?;
    Ok(called.params.arguments.map(|Object(arguments)| arguments).unwrap_or_default())
}

/// The value, or the error and the path of the wrong field.
fn typed<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, (serde_json::Error, String)> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        let path = if path == "." || path.contains('?') { String::new() } else { path };
        (error.into_inner(), path)
    })?;
    reader.end().map_err(|error| (error, String::new()))?;
    Ok(value)
}

/// The reason of the error without line and column, which do not help: a program wrote the message.
fn shown(error: &serde_json::Error) -> String {
    let error = error.to_string();
    crate::escape::line(error.rsplit_once(" at line ").map_or(error.as_str(), |(reason, _)| reason))
}
