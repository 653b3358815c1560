//! `/moot/v1/documents`: files as the texts that agents will read, so that a person sees what was read before asking.

use crate::serve::body::{self, list};
use crate::serve::moot::given::{self, GivenDocument};
use crate::serve::moot::watched::shown;
use crate::serve::refusal::Answer;
use crate::serve::state::{State, run};
use axum::Json;
use axum::body::Body as Raw;
use axum::extract::State as Extract;
use axum::http::Request;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Body {
    #[serde(deserialize_with = "list")]
    documents: Vec<GivenDocument>,
}

pub(super) async fn read(Extract(state): Extract<Arc<State>>, request: Request<Raw>) -> Answer<Json<Value>> {
    let Body { documents } = body::json(&state, request).await?;
    run(state, move |state, cancel| {
        let (documents, notes) = given::documents(state, documents, cancel)?;
        Ok(Json(json!({ "documents": documents.iter().map(shown).collect::<Vec<_>>(), "notes": notes })))
    })
    .await
}
