//! `/moot/v1/ask`: a question of documents or of the server's corpus, answered by any method.

use crate::assess::Answered;
use crate::cancel::Cancel;
use crate::error::{MootError, Result};
use crate::eval::record::Header;
use crate::methods::METHODS;
use crate::protocol::ctx::Observer;
use crate::question::Question;
use crate::retrieval::Wanted;
use crate::serve::body::{self, list};
use crate::serve::moot::given::{self, GivenDocument};
use crate::serve::moot::reply::reply;
use crate::serve::moot::sink::Sink;
use crate::serve::moot::watched::{Notes, begin};
use crate::serve::refusal::{Answer, Refusal};
use crate::serve::state::{State, refused};
use crate::transcript::QuestionRecord;
use crate::workspace::{Control, CorpusOptions, MethodOptions, PlanOptions};
use axum::Json;
use axum::body::Body as Raw;
use axum::extract::State as Extract;
use axum::http::Request;
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};
use std::fmt;
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
#[derive(Default)]
pub(in crate::serve) struct Named(Box<MethodOptions>);

// Not derived as an untagged enum, whose error would name neither the field nor what is expected there.
impl<'de> Deserialize<'de> for Named {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct NameOrFields;

        impl<'de> Visitor<'de> for NameOrFields {
            type Value = MethodOptions;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a method, or an object with its settings")
            }

            fn visit_str<E>(self, name: &str) -> std::result::Result<MethodOptions, E> {
                Ok(MethodOptions { name: Some(name.to_owned()), ..MethodOptions::default() })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> std::result::Result<MethodOptions, A::Error> {
                MethodOptions::deserialize(MapAccessDeserializer::new(map))
            }
        }

        deserializer.deserialize_any(NameOrFields).map(Self::from)
    }
}

impl From<MethodOptions> for Named {
    fn from(options: MethodOptions) -> Self {
        Self(Box::new(options))
    }
}

impl Named {
    /// The method's options.
    ///
    /// # Errors
    /// Options that name files of the server.
    pub(super) fn options(self) -> Answer<MethodOptions> {
        let options = *self.0;
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
    /// The id of the record: `/moot/v1/records/{id}`. `None` where the record could not be written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    #[serde(flatten)]
    pub answered: Answered,
    /// Lines on what was read and left out.
    pub notes: Vec<String>,
}

pub(super) async fn ask(Extract(state): Extract<Arc<State>>, request: Request<Raw>) -> Answer {
    let body: Body = body::json(&state, request).await?;
    reply(state, body.stream, "answer", move |state, cancel, sink| answer(state, body, cancel, sink)).await
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

/// The id of a record that was written. Where it could not be, the answer is not lost: it has a note and no id, and the
/// server's log has the reason.
pub(super) fn recorded(state: &State, id: String, kept: Result<()>, notes: &mut Vec<String>) -> Option<String> {
    let Err(error) = kept else { return Some(id) };
    state.log(&format!("record {id} was not written: {error}"));
    // Without the path, which is the server's own.
    let reason = if let MootError::Io { source, .. } = error { format!(": {source}") } else { String::new() };
    notes.push(format!("this answer is not recorded: its record cannot be written{reason}"));
    None
}

/// Keeps the record, counts, and makes the reply.
pub(super) fn finish(state: &State, header: &Header, record: QuestionRecord, mut notes: Vec<String>) -> Answer<Reply> {
    let answered = Answered::of(&header.method, &record)
        .ok_or_else(|| Refusal::from(MootError::Question("the method concluded nothing (bug)".into())))?;
    let answers = answered.answers.iter().map(|answer| answer.text.clone()).collect();
    let kept = state.records.keep(header, &record, answers);
    state.metrics.used(answered.usage);
    state.metrics.question();
    Ok(Reply { id: recorded(state, record.question.id, kept, &mut notes), answered, notes })
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

#[cfg(test)]
mod tests {
    use super::Search;
    use crate::serve::refusal::field_of_question;
    use std::collections::BTreeSet;

    #[test]
    fn errors_name_the_settings_of_a_search_and_no_others_of_a_corpus() {
        let error = serde_json::from_str::<Search>("{\"nothing\": 1}").unwrap_err().to_string();
        let (_, known) = error.split_once("expected one of ").unwrap();
        let known: BTreeSet<String> =
            known.split('`').skip(1).step_by(2).map(|name| format!("search.{name}")).collect();
        let options = ["top", "by-source", "source", "from", "until", "no-fold"];
        assert_eq!(options.iter().filter_map(|option| field_of_question(option)).collect::<BTreeSet<_>>(), known);
        for of_the_server in ["corpus", "cutoff", "embedder", "reranker", "classifier", "kv-memory", "output"] {
            assert_eq!(field_of_question(of_the_server), None, "{of_the_server}");
        }
    }
}
