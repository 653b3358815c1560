//! `/moot/v1/calls`: a whole call of another moot, which has this server's model answer for it.

use crate::llm::remote::SentCall;
use crate::llm::{Call, Reply};
use crate::serve::body;
use crate::serve::refusal::{Answer, Refusal};
use crate::serve::state::{State, refused_call, run};
use axum::body::Body as Raw;
use axum::extract::State as Extract;
use axum::http::{Request, StatusCode};
use axum::routing::post;
use axum::{Json, Router};
use std::sync::Arc;

pub(super) fn routes() -> Router<Arc<State>> {
    Router::new().route("/moot/v1/calls", post(answer))
}

async fn answer(Extract(state): Extract<Arc<State>>, request: Request<Raw>) -> Answer<Json<Reply>> {
    let sent: SentCall = body::json(&state, request).await?;
    run(state, move |state, cancel| {
        let llm = state.model(Some(&sent.model))?;
        let call: Call = sent.call(cancel).map_err(|wrong| Refusal::new(StatusCode::BAD_REQUEST, wrong))?;
        let mut replies =
            llm.ask_all(&[call], &mut |_, _| {}).map_err(|error| refused_call(error, &state.limits, cancel))?;
        let reply = replies.swap_remove(0);
        state.metrics.used(reply.usage);
        Ok(Json(reply))
    })
    .await
}
