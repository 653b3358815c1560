//! `/v1/models`: the models, and the methods as models.

use crate::methods::METHODS;
use crate::serve::moot::as_model;
use crate::serve::openai::reply::now;
use crate::serve::refusal::{Answer, Refusal};
use crate::serve::state::State;
use axum::Json;
use axum::extract::{Path, State as Extract};
use serde_json::{Value, json};
use std::sync::Arc;

pub(super) async fn list(Extract(state): Extract<Arc<State>>) -> Answer<Json<Value>> {
    Ok(Json(json!({ "object": "list", "data": all(&state)? })))
}

pub(super) async fn one(Extract(state): Extract<Arc<State>>, Path(name): Path<String>) -> Answer<Json<Value>> {
    let found = all(&state)?.into_iter().find(|model| model["id"] == name.as_str());
    let shown = crate::escape::beginning(&name, 100);
    found.map(Json).ok_or_else(|| Refusal::missing(format!("model: expected one of /v1/models, found {shown:?}")))
}

fn all(state: &State) -> Answer<Vec<Value>> {
    let workspace = state.workspace()?;
    let models = workspace.models().models().map(|model| {
        let identity = model.identity();
        json!({
            "id": State::served(identity), "object": "model", "created": now(), "owned_by": "moot",
            "max_model_len": identity.context, "sha256": identity.sha256, "recipe": identity.recipe,
        })
    });
    let methods = METHODS.iter().flat_map(|row| as_model::names(row)).map(|(name, about)| {
        json!({ "id": name, "object": "model", "created": now(), "owned_by": "moot", "description": about })
    });
    Ok(models.chain(methods).collect())
}
