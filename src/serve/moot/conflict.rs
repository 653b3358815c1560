//! `/moot/v1/conflict`: the claims of a text, and the documents that support and that contradict each.

use crate::assess::{Assessment, Neither};
use crate::cancel::Cancel;
use crate::generation::Usage;
use crate::methods::conflict_score;
use crate::question::Question;
use crate::serve::body::{self, list};
use crate::serve::moot::ask::{self, Named, Search};
use crate::serve::moot::given::{self, GivenDocument};
use crate::serve::moot::reply::reply;
use crate::serve::moot::sink::Sink;
use crate::serve::moot::watched::begin;
use crate::serve::refusal::{Answer, Refusal};
use crate::serve::state::{State, refused};
use crate::workspace::PlanOptions;
use axum::body::Body as Raw;
use axum::extract::State as Extract;
use axum::http::Request;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A text to be checked against documents.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(in crate::serve) struct Body {
    text: String,
    /// The question that the text answers.
    question: String,
    #[serde(deserialize_with = "list")]
    documents: Vec<GivenDocument>,
    method: Option<Named>,
    /// The model of every role. Without one, the models of the roles as the server was started.
    model: Option<String>,
    search: Search,
    stream: bool,
}

/// The assessment, and lines on what was read and left out.
#[derive(Serialize)]
pub(in crate::serve) struct Reply {
    /// The id of the record: `/moot/v1/records/{id}`. `None` where the record could not be written.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(flatten)]
    pub assessment: Assessment,
    read: Vec<String>,
}

pub(super) async fn label(Extract(state): Extract<Arc<State>>, request: Request<Raw>) -> Answer {
    let body: Body = body::json(&state, request).await?;
    reply(state, body.stream, "answer", move |state, cancel, sink| assessed(state, body, cancel, sink)).await
}

/// Labels the claims of a text.
pub(in crate::serve) fn assessed(state: &State, body: Body, cancel: &Cancel, sink: &Sink) -> Answer<Reply> {
    if body.text.trim().is_empty() {
        return Err(Refusal::field("text", "a text", "none"));
    }
    let (documents, read) = given::documents(state, body.documents, cancel)?;
    let id = state.records.new_id();
    let question =
        Question { id: id.clone(), text: body.question, documents, responses: vec![body.text], ..Question::default() };
    let named = body.method.unwrap_or_default().options()?.for_claims();
    let options = PlanOptions { method: named, corpus: body.search.options(), ..PlanOptions::default() };
    let (control, lines) = ask::control(cancel, sink);
    let searched = question.documents.is_empty();
    let workspace = state.on_model(body.model.as_deref(), |open| open.share(options, searched, &control))??;
    let (_running, watched) = begin(state, &id, conflict_score::ROW.name, &question, cancel, sink);
    let record = workspace.answer(&question, &watched).map_err(|error| refused(error, &state.limits, cancel))?;
    let assessment = Assessment::of(&record, Neither::default())
        .ok_or_else(|| Refusal::field("text", "a text with claims", "one without"))?;
    let kept = state.records.keep(&workspace.header(), &record, Vec::new());
    let mut usage = Usage::default();
    record.calls.iter().for_each(|call| usage += call.usage);
    state.metrics.used(usage);
    state.metrics.question();
    let mut read: Vec<String> = read.into_iter().chain(ask::taken(&lines)).collect();
    Ok(Reply { id: ask::recorded(state, id, kept, &mut read), assessment, read })
}
