//! `/moot/v1/contradictions`: where documents contradict each other, without a question.

use crate::cancel::Cancel;
use crate::contradictions::{Event, Folder, Follow, JUDGE, Options, READER, Report};
use crate::error::MootError;
use crate::generation::Usage;
use crate::llm::Llm;
use crate::question::Document;
use crate::retrieval::corpus::Corpus;
use crate::serve::body::{self, list};
use crate::serve::metrics::Metrics;
use crate::serve::moot::ask;
use crate::serve::moot::given::{self, GivenDocument};
use crate::serve::moot::kept::Comparison;
use crate::serve::moot::reply::reply;
use crate::serve::moot::sink::Sink;
use crate::serve::refusal::{Answer, Refusal};
use crate::serve::state::{State, refused};
use axum::body::Body as Raw;
use axum::extract::State as Extract;
use axum::http::Request;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;

/// Documents to be compared with each other.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(in crate::serve) struct Body {
    #[serde(deserialize_with = "list")]
    documents: Vec<GivenDocument>,
    /// The model that reads and judges. Without one, the models of these roles as the server was started.
    model: Option<String>,
    /// The least probability of a finding.
    least: Option<f64>,
    stream: bool,
}

/// The report, and lines on what was read.
#[derive(Serialize)]
pub(in crate::serve) struct Reply {
    /// The id of the record: `/moot/v1/records/{id}`. `None` where the record could not be written.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(flatten)]
    pub report: Report,
    read: Vec<String>,
}

pub(super) async fn find(Extract(state): Extract<Arc<State>>, request: Request<Raw>) -> Answer {
    let body: Body = body::json(&state, request).await?;
    reply(state, body.stream, "answer", move |state, cancel, sink| found(state, body, cancel, sink)).await
}

/// Compares the documents of a request, or those of the server's corpus, and keeps the record.
pub(in crate::serve) fn found(state: &State, body: Body, cancel: &Cancel, sink: &Sink) -> Answer<Reply> {
    let options = Options::of_least(body.least)?;
    let (control, lines) = ask::control(cancel, sink);
    let workspace = state.on_model(body.model.as_deref(), |open| open.share_contradictions(&control))??;
    let (folder, documents, read) = compared(state, body.documents, cancel)?;
    let told = Told { sink: sink.clone(), cancel: cancel.clone(), metrics: &state.metrics };
    let report = workspace.contradictions(&folder, &options, &told);
    let report = report.map_err(|error| refused(error, &state.limits, cancel))?;
    state.metrics.question();
    let embedder = workspace.tools().embedder.map(|embedder| embedder.identity().to_owned());
    let by_words = embedder.is_none().then(|| BY_WORDS.to_owned());
    let identity = |role: &&str| ((*role).to_owned(), json!(workspace.models().identity_of(role)));
    let comparison = Comparison {
        version: env!("CARGO_PKG_VERSION").into(),
        models: [READER, JUDGE].iter().map(identity).collect(),
        embedder,
        least: options.least,
        report,
        read: read.into_iter().chain(ask::taken(&lines)).chain(by_words).collect(),
        documents,
    };
    let id = state.records.new_id();
    let kept = state.records.keep_comparison(&id, &comparison);
    let Comparison { report, mut read, .. } = comparison;
    Ok(Reply { id: ask::recorded(state, id, kept, &mut read), report, read })
}

/// The folder to compare, the documents of the request, and notes on the reading. Without documents the server's corpus
/// is compared.
fn compared(state: &State, given: Vec<GivenDocument>, cancel: &Cancel) -> Answer<(Folder, Vec<Document>, Vec<String>)> {
    let empty = |error| match error {
        MootError::Usage(_) => Refusal::field("documents", "sentences that state something", "none"),
        error => refused(error, &state.limits, cancel),
    };
    let workspace = state.workspace()?;
    if given.is_empty() && workspace.tools().retriever.is_some() {
        let corpus = &workspace.plan().options().corpus;
        if corpus.is_built(false) {
            let expected = "two documents or more, or a server whose --corpus is files";
            return Err(Refusal::field("documents", expected, "none, and a corpus of passages"));
        }
        let files = Corpus::open(&corpus.paths)?.until(cancel);
        let folder = Folder::of_corpus(&files, &corpus.paths, None);
        return Ok((folder.map_err(|error| refused(error, &state.limits, cancel))?, Vec::new(), Vec::new()));
    }
    let (documents, read) = given::documents(state, given, cancel)?;
    if documents.len() < 2 {
        return Err(Refusal::field("documents", "two documents or more", documents.len()));
    }
    Ok((Folder::of(&documents).map_err(empty)?, documents, read))
}

/// Told where the server has no embedder.
const BY_WORDS: &str =
    "pairs are found by words alone: start the server with --embedder NAME to find them by meaning too";

/// Sends what happens as events, each by its own name, and counts tokens.
struct Told<'a> {
    sink: Sink,
    cancel: Cancel,
    metrics: &'a Metrics,
}

impl Follow for Told<'_> {
    fn event(&self, event: &Event) {
        let mut value = json!(event);
        let name = value.as_object_mut().and_then(|fields| fields.remove("event"));
        let name = name.as_ref().and_then(Value::as_str).unwrap_or("event").to_owned();
        self.sink.send(&name, &value);
    }

    fn note(&self, line: &str) {
        self.sink.send("note", &json!({ "line": line }));
    }

    fn used(&self, usage: Usage) {
        self.metrics.used(usage);
    }

    fn is_stopped(&self) -> bool {
        self.cancel.is_cancelled()
    }
}
