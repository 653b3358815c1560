//! `/moot/v1/contradictions`: where documents contradict each other, without a question.

use crate::cancel::Cancel;
use crate::contradictions::{Event, Folder, Follow, Options, Report};
use crate::serve::body::{self, list};
use crate::serve::moot::ask;
use crate::serve::moot::given::{self, GivenDocument};
use crate::serve::moot::sink::Sink;
use crate::serve::refusal::{Answer, Refusal};
use crate::serve::state::{State, refused, run, run_streamed};
use axum::Json;
use axum::body::Body as Raw;
use axum::extract::State as Extract;
use axum::http::Request;
use axum::response::IntoResponse;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;

/// Documents to be compared with each other.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(in crate::serve) struct Body {
    #[serde(deserialize_with = "list")]
    documents: Vec<GivenDocument>,
    /// The least probability of what is reported.
    least: Option<f64>,
    stream: bool,
}

/// The report, and lines on what was read.
#[derive(Serialize)]
pub(in crate::serve) struct Reply {
    #[serde(flatten)]
    pub report: Report,
    read: Vec<String>,
}

pub(super) async fn find(Extract(state): Extract<Arc<State>>, request: Request<Raw>) -> Answer {
    let body: Body = body::json(&state, request).await?;
    if body.stream {
        return run_streamed(state, move |state, cancel, events| {
            let reply = found(state, body, cancel, &Sink::Events(events.clone()))?;
            events.named("answer", &reply);
            Ok(())
        })
        .await;
    }
    let reply = run(state, move |state, cancel| found(state, body, cancel, &Sink::Discard));
    reply.await.map(|reply| Json(reply).into_response())
}

/// Compares the documents of a request.
pub(in crate::serve) fn found(state: &State, body: Body, cancel: &Cancel, sink: &Sink) -> Answer<Reply> {
    let least = body.least.unwrap_or(Options::default().least);
    if !(0.0..=1.0).contains(&least) {
        return Err(Refusal::field("least", "a probability from 0 to 1", least));
    }
    let (documents, read) = given::documents(body.documents)?;
    if documents.len() < 2 {
        return Err(Refusal::field("documents", "two documents or more", documents.len()));
    }
    let folder = Folder::of(&documents);
    let folder = folder.map_err(|_| Refusal::field("documents", "sentences that state something", "none"))?;
    let (control, lines) = ask::control(cancel, sink);
    let workspace = state.workspace()?.share_contradictions(&control)?;
    let options = Options { least, ..Options::default() };
    let told = Told { sink: sink.clone(), cancel: cancel.clone() };
    let report = workspace.contradictions(&folder, &options, &told);
    let report = report.map_err(|error| refused(error, &state.limits, cancel))?;
    state.metrics.question();
    let by_words = workspace.tools().embedder.is_none().then(|| BY_WORDS.to_owned());
    Ok(Reply { report, read: read.into_iter().chain(ask::taken(&lines)).chain(by_words).collect() })
}

/// Told where the server has no embedder.
const BY_WORDS: &str =
    "pairs are found by words alone: start the server with --embedder NAME to find them by meaning too";

/// Sends what happens as events, each by its own name.
struct Told {
    sink: Sink,
    cancel: Cancel,
}

impl Follow for Told {
    fn event(&self, event: &Event) {
        let mut value = json!(event);
        let name = value.as_object_mut().and_then(|fields| fields.remove("event"));
        let name = name.as_ref().and_then(Value::as_str).unwrap_or("event").to_owned();
        self.sink.send(&name, &value);
    }

    fn note(&self, line: &str) {
        self.sink.send("note", &json!({ "line": line }));
    }

    fn is_stopped(&self) -> bool {
        self.cancel.is_cancelled()
    }
}
