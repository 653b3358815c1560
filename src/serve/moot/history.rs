//! `/moot/v1/records`: earlier questions, as a list, as records, as reports.

use crate::assess::{self, Answered, Assessment, Neither};
use crate::contradictions::html;
use crate::error::MootError;
use crate::report::{self, Input, Options};
use crate::serve::moot::kept::{Comparison, Kind, Listed, is_comparison};
use crate::serve::moot::records::Records;
use crate::serve::moot::watched::{self, call_fields};
use crate::serve::refusal::{Answer, Refusal};
use crate::serve::state::{State, run};
use crate::transcript::QuestionRecord;
use axum::Json;
use axum::extract::{Path, Query, State as Extract};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::IntoResponse;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::{Path as FilePath, PathBuf};
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
            let kind = if is_comparison(&path) { "application/json" } else { "application/jsonl" };
            Ok(([(CONTENT_TYPE, kind)], bytes).into_response())
        }
        Some("json") => run(state, move |_, _| shown(&id, &path)).await.map(|shown| Json(shown).into_response()),
        Some(other) => Err(Refusal::field("format", "jsonl or json", crate::escape::beginning(other, 40))),
    }
}

/// The report of one record, a page to download.
pub(super) async fn report(Extract(state): Extract<Arc<State>>, Path(id): Path<String>) -> Answer {
    let path = path(&state, &id)?;
    let page = run(state, move |_, _| {
        if is_comparison(&path) {
            return Ok(html::page(&Comparison::read(&path)?.report));
        }
        let (record, ledger) = Records::read(&path)?;
        if let (Kind::Check, Some(check)) = (Kind::of(&record.header), record.questions.first().and_then(assessment)) {
            return Ok(assess::html::page(&check));
        }
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

fn assessment(question: &QuestionRecord) -> Option<Assessment> {
    Assessment::of(question, Neither::default())
}

/// A record as a page shows it.
fn shown(id: &str, path: &FilePath) -> Answer<Value> {
    if is_comparison(path) {
        let Comparison { report, read, documents, .. } = Comparison::read(path)?;
        let documents: Vec<Value> = documents.iter().map(watched::shown).collect();
        return Ok(json!({
            "id": id, "kind": Kind::Contradictions, "answered": null, "documents": documents, "calls": [],
            "contradictions": report, "read": read,
        }));
    }
    let (record, _) = Records::read_single(path)?;
    let question = record.questions.first().ok_or_else(|| Refusal::missing("the record has no question"))?;
    let kind = Kind::of(&record.header);
    let documents = question.question.documents.iter().chain(&question.retrieved);
    let documents: Vec<Value> = documents.map(watched::shown).collect();
    let calls: Vec<Value> = question.calls.iter().enumerate().map(|(index, call)| call_fields(index, call)).collect();
    let answered = Answered::of(&record.header.method, question).filter(|_| kind == Kind::Question);
    let mut shown = json!({
        "id": id, "kind": kind, "answered": answered, "documents": documents, "calls": calls,
        "forked": record.header.forked,
    });
    if let Some(assessment) = assessment(question).filter(|_| kind == Kind::Check) {
        shown["assessment"] = json!(assessment);
    }
    Ok(shown)
}
