//! Questions of documents: own endpoints, and methods as models of OpenAI's API.

pub(super) mod as_model;
pub(super) mod ask;
pub(super) mod conflict;
pub(super) mod contradictions;
mod control;
mod fork;
pub(super) mod given;
mod history;
mod kept;
mod reading;
pub(super) mod records;
mod reply;
mod running;
mod runs;
pub(super) mod search;
pub(super) mod sink;
pub(super) mod turns;
mod watched;

use crate::serve::state::State;
use axum::Router;
use axum::routing::{get, post};
use std::sync::Arc;

pub(super) fn routes() -> Router<Arc<State>> {
    Router::new()
        .route("/moot/v1/ask", post(ask::ask))
        .route("/moot/v1/asks/{id}", post(control::control))
        .route("/moot/v1/runs", post(runs::run_all))
        .route("/moot/v1/runs/{id}", post(runs::control))
        .route("/moot/v1/conflict", post(conflict::label))
        .route("/moot/v1/contradictions", post(contradictions::find))
        .route("/moot/v1/documents", post(reading::read))
        .route("/moot/v1/search", post(search::search))
        .route("/moot/v1/methods", get(ask::methods))
        .route("/moot/v1/records", get(history::list))
        .route("/moot/v1/records/{id}", get(history::record))
        .route("/moot/v1/records/{id}/report", get(history::report))
        .route("/moot/v1/records/{id}/fork", post(fork::fork))
}
