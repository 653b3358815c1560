//! A call of a tool, on a thread of its own.

use crate::cancel::Cancel;
use crate::serve::mcp::dispatch::{Call, complete};
use crate::serve::mcp::revision::Revision;
use crate::serve::mcp::rpc;
use crate::serve::mcp::tools::{self, Given};
use crate::serve::moot::sink::Sink;
use crate::serve::refusal::{Answer, Refusal};
use crate::serve::state::{State, count_cancelled};
use axum::body::Bytes;
use axum::http::StatusCode;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;

/// Interval at which a call looks whether the models are loaded.
const TICK: Duration = Duration::from_millis(50);

/// Does `call`, which `message` is, once the models are loaded; the response says what it gave or why it failed. An error is a
/// result too, so that the model that called the tool reads it.
pub(super) async fn response(
    state: Arc<State>,
    permit: OwnedSemaphorePermit,
    call: Call,
    message: Bytes,
    cancel: Cancel,
    sink: Sink,
) -> Value {
    let Call { id, tool, revision, .. } = call;
    let work = move || {
        let _permit = permit;
        let given = loaded(&state, &cancel, &sink).and_then(|()| tools::call(&state, tool, &message, &cancel, &sink));
        count_cancelled(&state, &cancel);
        given
    };
    let given = tokio::task::spawn_blocking(work).await.unwrap_or_else(|panic| {
        Err(Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, format!("the call's thread ended: {panic} (bug)")))
    });
    let value = match given {
        Ok(Given { text, fields }) => {
            json!({ "content": [{ "type": "text", "text": text }], "structuredContent": fields })
        }
        Err(refusal) => refused(&refusal),
    };
    rpc::result(&id, &if revision == Revision::Stateless { complete(value) } else { value })
}

/// The result of a call that failed.
pub(super) fn refused(refusal: &Refusal) -> Value {
    json!({ "content": [{ "type": "text", "text": refusal.message() }], "isError": true })
}

/// Waits for the models.
fn loaded(state: &State, cancel: &Cancel, sink: &Sink) -> Answer<()> {
    if state.workspace().is_err() {
        sink.send("loading", &Value::Null);
    }
    loop {
        // Polled, because a wait for the `OnceLock` could not be cancelled.
        match state.workspace() {
            Ok(_) => return Ok(()),
            Err(refusal) if cancel.is_cancelled() => return Err(refusal),
            Err(_) => std::thread::sleep(TICK),
        }
    }
}
