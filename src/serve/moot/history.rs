//! `/moot/v1/records`: what was asked, as a list, as records, as reports.

use crate::assess::Answered;
use crate::error::MootError;
use crate::report::{self, Input, Options};
use crate::serve::moot::records::{Listed, Records};
use crate::serve::moot::watched::call_fields;
use crate::serve::refusal::{Answer, Refusal};
use crate::serve::state::{State, run};
use axum::Json;
use axum::extract::{Path, Query, State as Extract};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::IntoResponse;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;

/// The newest records, newest first.
pub(super) async fn list(Extract(state): Extract<Arc<State>>) -> Json<Vec<Listed>> {
    Json(state.records.list())
}

#[derive(Deserialize)]
pub(super) struct Form {
    /// "jsonl", the file, or "json", the answer with documents and calls as a page shows them.
    format: Option<String>,
}

/// One record.
pub(super) async fn record(
    Extract(state): Extract<Arc<State>>,
    Path(id): Path<String>,
    Query(form): Query<Form>,
) -> Answer {
    let path = path(&state, &id)?;
    match form.format.as_deref() {
        None | Some("jsonl") => {
            let bytes = tokio::fs::read(&path).await.map_err(|e| MootError::io(&path, "read", e))?;
            Ok(([(CONTENT_TYPE, "application/jsonl")], bytes).into_response())
        }
        Some("json") => run(state, move |_, _| shown(&id, &path)).await.map(|shown| Json(shown).into_response()),
        Some(other) => Err(Refusal::field("format", "jsonl or json", crate::escape::beginning(other, 40))),
    }
}

/// The report of one record, a page to download.
pub(super) async fn report(Extract(state): Extract<Arc<State>>, Path(id): Path<String>) -> Answer {
    let path = path(&state, &id)?;
    let page = run(state, move |_, _| {
        let (record, ledger) = Records::read(&path)?;
        Ok(report::page(vec![Input { record, ledger }], &Options::default())?)
    });
    let page = page.await?;
    let file = format!("attachment; filename=\"moot-{id}.html\"");
    // The page brings its own policy; this one holds where the browser shows it instead of storing it.
    let policy = "sandbox allow-scripts";
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CONTENT_DISPOSITION, file.as_str()),
        (CONTENT_SECURITY_POLICY, policy),
    ];
    Ok((headers, page).into_response())
}

/// The file of a record.
pub(super) fn path(state: &State, id: &str) -> Answer<PathBuf> {
    let shown = crate::escape::beginning(id, 60);
    state.records.path(id).ok_or_else(|| Refusal::missing(format!("no record is called {shown:?}")))
}

fn shown(id: &str, path: &std::path::Path) -> Answer<Value> {
    let (record, _) = Records::read_single(path)?;
    let question = record.questions.first().ok_or_else(|| Refusal::missing("the record has no question"))?;
    let documents = question.question.documents.iter().chain(&question.retrieved);
    let documents: Vec<Value> =
        documents.map(|document| json!({ "name": document.name, "text": document.text })).collect();
    let calls: Vec<Value> = question.calls.iter().enumerate().map(|(index, call)| call_fields(index, call)).collect();
    let answered = Answered::of(&record.header.method, question);
    Ok(
        json!({ "id": id, "answered": answered, "documents": documents, "calls": calls, "forked": record.header.forked }),
    )
}
