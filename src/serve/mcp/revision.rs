//! Revisions of the protocol. Up to 2025-11-25 a client begins with `initialize`; from 2026-07-28 on every request says for itself
//! which revision it speaks, and over HTTP its headers repeat that.

use crate::serve::mcp::rpc::{Failure, INVALID_PARAMS, Message};
use axum::http::HeaderMap;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::json;

/// The revisions that are spoken here, newest first. Those before 2025-06-18 have batches.
pub(super) const ALL: [&str; 3] = [STATELESS, NEWEST_WITH_INITIALIZE, "2025-06-18"];
const STATELESS: &str = "2026-07-28";
const NEWEST_WITH_INITIALIZE: &str = "2025-11-25";

const HEADER_MISMATCH: i32 = -32020;
const UNSUPPORTED_VERSION: i32 = -32022;

/// The kind of revision that a request follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Revision {
    /// The client has called `initialize`, or is about to.
    Initialized,
    /// No session: each request carries its revision.
    Stateless,
}

/// The revision of an initialized client: what it asks for, or else the newest.
pub(super) fn agreed(asked: Option<&str>) -> &'static str {
    let with_initialize = ALL.iter().filter(|&&version| version != STATELESS);
    with_initialize.copied().find(|&version| Some(version) == asked).unwrap_or(NEWEST_WITH_INITIALIZE)
}

impl Revision {
    /// The revision of `message`; `headers` are those of a request over HTTP.
    ///
    /// # Errors
    /// A revision that is not spoken here, fields that a stateless request lacks, headers that differ from the message.
    pub(super) fn of(message: &Message, headers: Option<&HeaderMap>) -> Result<Self, Failure> {
        let meta = message.params.meta.as_ref();
        let version = meta.and_then(|meta| meta.version.as_deref());
        let header = headers.and_then(|headers| text(headers, "mcp-protocol-version"));
        if version.is_none() && (message.method == "initialize" || header.is_none_or(|header| header != STATELESS)) {
            // Before 2025-06-18 there was no such header.
            let agreed = message.method == "initialize" || header.is_none_or(|header| ALL.contains(&header));
            return if agreed { Ok(Self::Initialized) } else { Err(unsupported(message, header.unwrap_or_default())) };
        }
        let Some(version) = version else { return Err(lacks(message, "protocolVersion")) };
        if let Some(headers) = headers {
            repeats(message, headers, "MCP-Protocol-Version", version)?;
            repeats(message, headers, "Mcp-Method", &message.method)?;
            if let ("tools/call", Some(name)) = (message.method.as_str(), &message.params.name) {
                repeats(message, headers, "Mcp-Name", name)?;
            }
        }
        if version != STATELESS {
            return Err(unsupported(message, version));
        }
        if meta.is_none_or(|meta| meta.capabilities.is_none()) && message.id.is_some() {
            return Err(lacks(message, "clientCapabilities"));
        }
        Ok(Self::Stateless)
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).map(|value| value.to_str().unwrap_or("?"))
}

fn lacks(message: &Message, field: &str) -> Failure {
    let wrong = format!("params._meta: expected io.modelcontextprotocol/{field}, found none");
    Failure::new(message.id.clone(), INVALID_PARAMS, wrong)
}

fn unsupported(message: &Message, version: &str) -> Failure {
    let found = crate::escape::beginning(version, 40);
    let wrong = format!("protocol version: expected one of {}, found {found:?}", ALL.join(", "));
    Failure::new(message.id.clone(), UNSUPPORTED_VERSION, wrong).with(json!({ "supported": ALL, "requested": found }))
}

/// The header `name` must have `value`, which may be encoded.
fn repeats(message: &Message, headers: &HeaderMap, name: &str, value: &str) -> Result<(), Failure> {
    let sent = text(headers, &name.to_ascii_lowercase());
    let encoded = sent.and_then(|sent| sent.strip_prefix("=?base64?")).and_then(|sent| sent.strip_suffix("?="));
    let equal = match encoded {
        Some(encoded) => BASE64_STANDARD.decode(encoded).is_ok_and(|sent| sent == value.as_bytes()),
        None => sent == Some(value),
    };
    if equal {
        return Ok(());
    }
    let shown = |text: &str| format!("{:?}", crate::escape::beginning(text, 100));
    let found = sent.map_or("none".to_owned(), shown);
    let wrong = format!("{name}: expected {} as in the message, found {found}", shown(value));
    Err(Failure::new(message.id.clone(), HEADER_MISMATCH, wrong))
}
