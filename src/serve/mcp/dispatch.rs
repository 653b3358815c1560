//! Classifies messages: a result that is known at once, a call of a tool, or the end of one.

use crate::serve::mcp::revision::{self, Revision};
use crate::serve::mcp::rpc::{Failure, INVALID_PARAMS, INVALID_REQUEST, Id, METHOD_NOT_FOUND, Message, Params};
use crate::serve::mcp::tools::{self, Tool};
use axum::http::StatusCode;
use serde_json::{Value, json};

/// Milliseconds for which a client may keep the list of tools: it is that of the program.
const KEPT: u64 = 3_600_000;

/// The action that a message requests.
#[derive(Debug)]
pub(super) enum Asked {
    /// This result.
    Result(Id, Value),
    /// A tool's.
    Call(Call),
    /// The client cancelled a call.
    Cancel(Id),
    /// Nothing: a notification.
    Nothing,
}

/// A call of a tool.
#[derive(Debug)]
pub(super) struct Call {
    pub id: Id,
    pub tool: Tool,
    /// The token of its progress, where the client follows it.
    pub progress: Option<Id>,
    pub revision: Revision,
}

/// The action that `message` requests.
///
/// # Errors
/// An unknown method or tool.
pub(super) fn asked(message: Message, revision: Revision) -> Result<Asked, Failure> {
    let Message { id, method, params } = message;
    let Some(id) = id else {
        let cancelled = params.request_id.filter(|_| method == "notifications/cancelled");
        return Ok(cancelled.map_or(Asked::Nothing, Asked::Cancel));
    };
    let value = match (method.as_str(), revision) {
        ("tools/call", _) => return call(id, params, revision),
        ("tools/list", _) => json!({ "tools": tools::listed() }),
        ("server/discover", _) => {
            let mut value = about();
            value["supportedVersions"] = json!(revision::ALL);
            return Ok(Asked::Result(id, cacheable(value)));
        }
        ("initialize", Revision::Initialized) => initialized(&id, &params)?,
        ("ping", Revision::Initialized) => json!({}),
        _ => {
            // Over HTTP, 404 tells an initialized client that its session has ended.
            let status = if revision == Revision::Stateless { StatusCode::NOT_FOUND } else { StatusCode::OK };
            let wrong = format!("method: this server has no {:?}", crate::escape::beginning(&method, 60));
            return Err(Failure::new(Some(id), METHOD_NOT_FOUND, wrong).answered(status));
        }
    };
    let stateless = revision == Revision::Stateless;
    Ok(Asked::Result(id, if stateless { cacheable(value) } else { value }))
}

fn call(id: Id, params: Params, revision: Revision) -> Result<Asked, Failure> {
    let Params { name, meta, .. } = params;
    let name = name.unwrap_or_default();
    let Some(tool) = Tool::named(&name) else {
        let names = Tool::ALL.map(Tool::name).join(", ");
        let wrong = format!("name: expected one of {names}, found {:?}", crate::escape::beginning(&name, 60));
        return Err(Failure::new(Some(id), INVALID_PARAMS, wrong).answered(StatusCode::OK));
    };
    Ok(Asked::Call(Call { id, tool, progress: meta.and_then(|meta| meta.progress), revision }))
}

fn initialized(id: &Id, params: &Params) -> Result<Value, Failure> {
    if params.protocol_version.is_none() {
        let wrong = "params.protocolVersion: expected a text, found none";
        return Err(Failure::new(Some(id.clone()), INVALID_REQUEST, wrong).answered(StatusCode::OK));
    }
    let mut value = about();
    value["protocolVersion"] = revision::agreed(params.protocol_version.as_deref()).into();
    value["serverInfo"] = server();
    Ok(value)
}

fn server() -> Value {
    json!({ "name": "moot", "title": "moot", "version": env!("CARGO_PKG_VERSION") })
}

fn about() -> Value {
    json!({
        "capabilities": { "tools": {} },
        "instructions": "Answers questions from documents that contradict each other. Give the documents with the question, or \
            leave them out to search this server's corpus. A call may take minutes; it can be cancelled.",
    })
}

/// A result of the stateless revision.
pub(super) fn complete(mut value: Value) -> Value {
    value["resultType"] = "complete".into();
    value["_meta"] = json!({ "io.modelcontextprotocol/serverInfo": server() });
    value
}

fn cacheable(value: Value) -> Value {
    let mut value = complete(value);
    value["ttlMs"] = KEPT.into();
    value["cacheScope"] = "public".into();
    value
}
