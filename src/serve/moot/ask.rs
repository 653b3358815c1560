//! `/moot/v1/ask`: a question of documents or of the server's corpus, answered by any method.

use crate::assess::Answered;
use crate::cancel::Cancel;
use crate::eval::record::Header;
use crate::methods::METHODS;
use crate::protocol::ctx::Observer;
use crate::question::Question;
use crate::retrieval::Wanted;
use crate::serve::body::{self, list};
use crate::serve::moot::given::{self, GivenDocument};
use crate::serve::moot::sink::Sink;
use crate::serve::moot::watched::{Notes, begin};
use crate::serve::refusal::{Answer, Refusal};
use crate::serve::state::{State, refused, run, run_streamed};
use crate::transcript::QuestionRecord;
use crate::workspace::{Control, CorpusOptions, MethodOptions, PlanOptions};
use axum::Json;
use axum::body::Body as Raw;
use axum::extract::State as Extract;
use axum::http::Request;
use axum::response::IntoResponse;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

/// A question.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(in crate::serve) struct Body {
    pub question: String,
    #[serde(deserialize_with = "list")]
    pub documents: Vec<GivenDocument>,
    /// The options of a multiple-choice question.
    #[serde(deserialize_with = "list")]
    pub options: Vec<String>,
    /// Without one, that of the server.
    pub method: Option<Named>,
    /// The model of every role. Without one, the models of the roles as the server was started.
    pub model: Option<String>,
    pub search: Search,
    pub stream: bool,
}

/// A method by its name, or with its settings.
#[derive(Deserialize)]
#[serde(untagged)]
pub(in crate::serve) enum Named {
    Name(String),
    Options(Box<MethodOptions>),
}

impl Default for Named {
    fn default() -> Self {
        Self::Options(Box::default())
    }
}

impl Named {
    /// The method's options.
    ///
    /// # Errors
    /// Options that name files of the server.
    pub(super) fn options(self) -> Answer<MethodOptions> {
        let options = match self {
            Self::Name(name) => MethodOptions { name: Some(name), ..MethodOptions::default() },
            Self::Options(options) => *options,
        };
        let files = [("method.prompts", &options.prompts), ("method.source_weights", &options.source_weights)];
        match files.iter().find(|(_, path)| path.is_some()) {
            Some((field, _)) => Err(Refusal::unsupported(field, "a request names no files of the server")),
            None => Ok(options),
        }
    }
}

/// Search settings of the request. A request that sets any of them replaces all those of the server.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(in crate::serve) struct Search {
    pub top: Option<usize>,
    pub by_source: bool,
    #[serde(deserialize_with = "list")]
    pub sources: Vec<String>,
    pub from: Option<String>,
    pub until: Option<String>,
    pub fold: bool,
}

impl Default for Search {
    fn default() -> Self {
        let (top, from, until) = (None, None, None);
        Self { top, by_source: false, sources: Vec::new(), from, until, fold: true }
    }
}

impl Search {
    /// Every field of both is named: a new one is either of a search or of how a corpus is opened.
    pub(super) fn options(self) -> CorpusOptions {
        let Self { top, by_source, sources, from, until, fold } = self;
        let CorpusOptions {
            paths,
            cutoff,
            exact_search,
            retriever,
            embedder,
            embedder_device,
            reranker,
            reranker_device,
            reranker_candidates,
            ..
        } = CorpusOptions::default();
        CorpusOptions {
            paths,
            cutoff,
            top,
            by_source,
            sources,
            from,
            until,
            fold,
            exact_search,
            retriever,
            embedder,
            embedder_device,
            reranker,
            reranker_device,
            reranker_candidates,
        }
    }

    /// As a retriever takes it.
    ///
    /// # Errors
    /// An invalid date, no passages.
    pub(super) fn wanted(self) -> Answer<Wanted> {
        let options = self.options();
        options.check()?;
        Ok(options.wanted())
    }
}

/// An answered question with its record.
#[derive(Serialize)]
pub(in crate::serve) struct Reply {
    /// The id of the record: `/moot/v1/records/{id}`.
    pub id: String,
    #[serde(flatten)]
    pub answered: Answered,
    /// Lines on what was read and left out.
    pub notes: Vec<String>,
}

pub(super) async fn ask(Extract(state): Extract<Arc<State>>, request: Request<Raw>) -> Answer {
    let body: Body = body::json(&state, request).await?;
    if body.stream {
        return run_streamed(state, move |state, cancel, events| {
            let reply = answer(state, body, cancel, &Sink::Events(events.clone()))?;
            events.named("answer", &reply);
            Ok(())
        })
        .await;
    }
    run(state, move |state, cancel| answer(state, body, cancel, &Sink::Discard))
        .await
        .map(|reply| Json(reply).into_response())
}

/// Answers, and keeps the record.
pub(in crate::serve) fn answer(state: &State, body: Body, cancel: &Cancel, sink: &Sink) -> Answer<Reply> {
    if body.question.trim().is_empty() {
        return Err(Refusal::field("question", "a text", "none"));
    }
    let (documents, read) = given::documents(state, body.documents, cancel)?;
    let id = state.records.new_id();
    let asked =
        Question { id: id.clone(), text: body.question, documents, options: body.options, ..Question::default() };
    let method = match body.method {
        Some(named) => named.options()?,
        None => state.workspace()?.plan().options().method.clone(),
    };
    let options = PlanOptions { method, corpus: body.search.options(), ..PlanOptions::default() };
    let (control, lines) = control(cancel, sink);
    let searched = asked.documents.is_empty();
    let workspace = state.on_model(body.model.as_deref(), |open| open.share(options, searched, &control))??;
    let (question, found) = workspace.gather(&asked).map_err(|error| refused(error, &state.limits, cancel))?;
    let (_running, watched) = begin(state, &id, workspace.plan().method().row().name, &question, cancel, sink);
    found.iter().for_each(|event| watched.event(event));
    let record = workspace.answer_gathered(&question, found, &watched);
    let record = record.map_err(|error| refused(error, &state.limits, cancel))?;
    finish(state, &workspace.header(), record, read.into_iter().chain(taken(&lines)).collect())
}

/// Lines that were noted.
pub(super) type Lines = Arc<Mutex<Vec<String>>>;

pub(super) fn taken(lines: &Lines) -> Vec<String> {
    std::mem::take(&mut lines.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The control of one question, and the notes that it will make.
pub(super) fn control(cancel: &Cancel, sink: &Sink) -> (Control, Lines) {
    let lines = Lines::default();
    let watch = Arc::new(Notes { sink: sink.clone(), lines: lines.clone() });
    // A flag of its own: the server's is set by a signal, after which requests in flight may still end.
    (Control { stop: Arc::new(AtomicBool::new(false)), cancel: cancel.clone(), watch }, lines)
}

/// Keeps the record, counts, and makes the reply.
pub(super) fn finish(state: &State, header: &Header, record: QuestionRecord, notes: Vec<String>) -> Answer<Reply> {
    let answered = Answered::of(&header.method, &record)
        .ok_or_else(|| Refusal::from(crate::error::MootError::Question("the method concluded nothing (bug)".into())))?;
    let answers = answered.answers.iter().map(|answer| answer.text.clone()).collect();
    state.records.keep(header, &record, answers)?;
    state.metrics.used(answered.usage);
    state.metrics.question();
    Ok(Reply { id: record.question.id, answered, notes })
}

/// `/moot/v1/methods`: names, what they need, and their presets and switches.
pub(super) async fn methods(Extract(state): Extract<Arc<State>>) -> Answer<Json<Value>> {
    let row = |row: &&'static crate::protocol::Row| {
        let presets: Vec<Value> =
            row.presets.iter().map(|preset| json!({ "name": preset.name, "about": preset.about })).collect();
        let switches: Vec<Value> =
            row.switches.iter().map(|switch| json!({ "name": switch.name, "about": switch.about })).collect();
        json!({
            "name": row.name, "about": row.about, "paper": row.paper, "calls": row.calls, "roles": row.roles,
            "needs": { "documents": row.needs.documents, "corpus": row.needs.retriever },
            "presets": presets, "switches": switches,
        })
    };
    let default = state.workspace()?.plan().method().row().name;
    Ok(Json(json!({ "default": default, "methods": METHODS.iter().map(row).collect::<Vec<_>>() })))
}
