//! Pauses a running question before its next stage, resumes it, or cancels it.

use crate::serve::body;
use crate::serve::refusal::{Answer, Refusal};
use crate::serve::state::State;
use axum::Json;
use axum::body::Body as Raw;
use axum::extract::{Path, State as Extract};
use axum::http::Request;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// The action on a running question.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Action {
    Pause,
    Resume,
    Cancel,
}

#[derive(Deserialize)]
struct Body {
    action: Action,
}

/// `POST /moot/v1/asks/{id}` with `{"action": "pause" | "resume" | "cancel"}`.
pub(super) async fn control(
    Extract(state): Extract<Arc<State>>,
    Path(id): Path<String>,
    request: Request<Raw>,
) -> Answer<Json<Value>> {
    let Body { action } = body::json(&state, request).await?;
    let Some(question) = state.records.running.get(&id) else {
        let id = crate::escape::beginning(&id, 60);
        return Err(Refusal::missing(format!("no question is being answered as {id:?}")));
    };
    match action {
        Action::Pause => question.gate.set(true),
        Action::Resume => question.gate.set(false),
        Action::Cancel => question.cancel.cancel(),
    }
    Ok(Json(json!({ "id": id })))
}
