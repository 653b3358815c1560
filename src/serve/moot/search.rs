//! `/moot/v1/search`: passages of the server's corpus.

use crate::question::Hit;
use crate::retrieval::Retriever;
use crate::serve::body;
use crate::serve::moot::ask::Search;
use crate::serve::refusal::{Answer, Refusal};
use crate::serve::state::{State, run};
use axum::Json;
use axum::body::Body as Raw;
use axum::extract::State as Extract;
use axum::http::Request;
use serde::Deserialize;
use std::sync::Arc;

/// A query.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(in crate::serve) struct Body {
    query: String,
    search: Search,
}

pub(super) async fn search(Extract(state): Extract<Arc<State>>, request: Request<Raw>) -> Answer<Json<Vec<Hit>>> {
    let body: Body = body::json(&state, request).await?;
    run(state, move |state, _| found(state, body).map(Json)).await
}

/// The passages for a query.
pub(in crate::serve) fn found(state: &State, body: Body) -> Answer<Vec<Hit>> {
    let Body { query, search } = body;
    if query.trim().is_empty() {
        return Err(Refusal::field("query", "a text", "none"));
    }
    let retriever = retriever(state)?;
    // Without settings, those of the server's start.
    let wanted =
        if search == Search::default() { state.workspace()?.tools().wanted.clone() } else { search.wanted()? };
    Ok(retriever.retrieve(&query, &wanted)?)
}

/// The retriever of the server's corpus.
pub(in crate::serve) fn retriever(state: &State) -> Answer<&dyn Retriever> {
    let missing = || Refusal::missing("no corpus is searched: expected --corpus PATH at the server's start");
    state.workspace()?.tools().retriever.ok_or_else(missing)
}
