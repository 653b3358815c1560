//! `/moot/v1/records`: earlier questions, as a list, as records, as reports.

use crate::assess::{self, Answered, Assessment, Neither};
use crate::contradictions::html;
use crate::report::{self, Input, Options};
use crate::serve::file::FileBody;
use crate::serve::moot::kept::{Comparison, Kind, Listed, is_comparison};
use crate::serve::moot::records::Records;
use crate::serve::moot::watched::{self, call_fields};
use crate::serve::refusal::{Answer, Refusal};
use crate::serve::state::{State, run};
use crate::transcript::QuestionRecord;
use axum::Json;
use axum::body::Body;
use axum::extract::{Path, Query, State as Extract};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::IntoResponse;
use serde::Deserialize;
use serde_json::{Value, json};
use std::fmt::Write;
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
    let path = path(&state, &id).await?;
    match form.format.as_deref() {
        None | Some("jsonl") => {
            let kind = if is_comparison(&path) { "application/json" } else { "application/jsonl" };
            Ok(([(CONTENT_TYPE, kind)], Body::new(FileBody::open(&path).await?)).into_response())
        }
        Some("json") => run(state, move |_, _| shown(&id, &path)).await.map(|shown| Json(shown).into_response()),
        Some(other) => Err(Refusal::field("format", "jsonl or json", crate::escape::beginning(other, 40))),
    }
}

/// The report of one record, a page to download.
pub(super) async fn report(Extract(state): Extract<Arc<State>>, Path(id): Path<String>) -> Answer {
    let path = path(&state, &id).await?;
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
    let file = attachment(&format!("moot-{id}.html"));
    // The page brings its own policy; this one holds where the browser shows it instead of storing it.
    let policy = "sandbox allow-scripts";
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CONTENT_DISPOSITION, file.as_str()),
        (CONTENT_SECURITY_POLICY, policy),
    ];
    Ok((headers, page).into_response())
}

/// A download under `name` (RFC 6266).
fn attachment(name: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    let plain: String = name.chars().map(|c| if u8::try_from(c).is_ok_and(is_plain) { c } else { '_' }).collect();
    let mut header = format!("attachment; filename=\"{plain}\"");
    if plain != name {
        header.push_str("; filename*=UTF-8''");
        for byte in name.bytes() {
            if is_plain(byte) {
                header.push(char::from(byte));
            } else {
                let _ = write!(header, "%{byte:02X}");
            }
        }
    }
    header
}

/// The file of a record.
///
/// # Errors
/// 404 for an id that no record has.
pub(super) async fn path(state: &Arc<State>, id: &str) -> Answer<PathBuf> {
    let (state, name) = (state.clone(), id.to_owned());
    // On a thread of its own, since the beginning of the file is read.
    let found = tokio::task::spawn_blocking(move || state.records.path(&name)).await;
    let missing = || Refusal::missing(format!("no record is called {:?}", crate::escape::beginning(id, 60)));
    found.ok().flatten().ok_or_else(missing)
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
