//! `/moot/v1/search`: passages of the server's corpus.

use crate::question::Hit;
use crate::retrieval::Retriever;
use crate::serve::body;
use crate::serve::debate::ask::Search;
use crate::serve::refusal::{Answer, Refusal};
use crate::serve::state::{State, run};
use axum::Json;
use axum::body::Body as Raw;
use axum::extract::State as Extract;
use axum::http::Request;
use serde::Deserialize;
use std::sync::Arc;

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Body {
    query: String,
    search: Search,
}

pub(super) async fn search(Extract(state): Extract<Arc<State>>, request: Request<Raw>) -> Answer<Json<Vec<Hit>>> {
    let Body { query, search } = body::json(&state, request).await?;
    if query.trim().is_empty() {
        return Err(Refusal::field("query", "a text", "none"));
    }
    run(state, move |state, _| {
        let retriever = state.workspace()?.tools().retriever;
        let missing = || Refusal::missing("no corpus is searched: expected moot serve --corpus PATH");
        let retriever: &dyn Retriever = retriever.ok_or_else(missing)?;
        let options = search.options();
        options.check()?;
        let hits = retriever.retrieve(&query, &options.wanted())?;
        Ok(Json(hits))
    })
    .await
}
