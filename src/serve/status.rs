//! Whether the server is up, its counters, and the answer to paths that it does not have.

use crate::llm::roles::Assignment;
use crate::llm::{Llm, ModelIdentity};
use crate::serve::refusal::{Answer, Refusal};
use crate::serve::state::State;
use axum::extract::State as Extract;
use axum::http::header::CONTENT_TYPE;
use axum::http::{Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Value, json};
use std::sync::Arc;

pub(super) fn routes() -> Router<Arc<State>> {
    Router::new()
        .route("/health", get(health))
        .route("/metrics", get(metrics))
        .route("/moot/v1/server", get(server))
        .route("/openapi.json", get(description))
}

/// 200 once the models are loaded, else 503.
async fn health(Extract(state): Extract<Arc<State>>) -> Answer {
    state.workspace()?;
    Ok(Json(json!({ "status": "ok" })).into_response())
}

/// The description of this interface (OpenAPI).
async fn description() -> Response {
    ([(CONTENT_TYPE, "application/json")], include_str!("../../docs/serve.openapi.json")).into_response()
}

fn shown(model: &dyn Llm, roles: &[&str]) -> Value {
    let ModelIdentity { sha256, architecture, context, recipe, .. } = model.identity();
    json!({
        "name": State::served(model.identity()), "roles": roles, "sha256": sha256, "architecture": architecture,
        "context": context, "recipe": recipe,
    })
}

/// Version, models, corpus and tools of this server.
async fn server(Extract(state): Extract<Arc<State>>) -> Answer<Json<Value>> {
    let workspace = state.workspace()?;
    let (models, tools) = (workspace.models(), workspace.tools());
    let assignment = Assignment::parse(&workspace.plan().options().model)?;
    let models = models.models().enumerate().map(|(index, model)| shown(model, &assignment.roles_of(index)));
    Ok(Json(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "models": models.collect::<Vec<_>>(),
        "corpus": tools.retriever.map(|_| workspace.plan().options().corpus.paths.join(", ")),
        "embedder": tools.embedder.map(|embedder| embedder.identity().to_owned()),
        "reranker": workspace.reranker().map(|reranker| reranker.identity().to_owned()),
        "classifier": workspace.plan().options().classifier.name,
    })))
}

async fn metrics(Extract(state): Extract<Arc<State>>) -> Response {
    let engine = state.workspace().ok().and_then(|workspace| workspace.models().engine_stats());
    let text = state.metrics.text(state.admission.running(), state.admission.waiting(), engine);
    // The version of Prometheus' text format, by which a scraper chooses its parser.
    ([(CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response()
}

/// 404 for everything else.
pub(super) async fn no_such_path(uri: Uri) -> Refusal {
    Refusal::missing(format!("no such path: {}", crate::escape::beginning(uri.path(), 200)))
}

/// 405 for another method of a path; axum adds the header `Allow`.
pub(super) async fn no_such_method(method: Method, uri: Uri) -> Refusal {
    let (method, path) = (crate::escape::beginning(method.as_str(), 40), crate::escape::beginning(uri.path(), 200));
    let message = format!("{path}: expected a method of the header Allow, found {method}");
    Refusal::new(StatusCode::METHOD_NOT_ALLOWED, message)
}
