//! `/moot/v1/records/{id}/fork`: a recorded debate continues with a change: a document is removed or rewritten, or the
//! agents receive a message.

use crate::cancel::Cancel;
use crate::eval::fork::{Change, Fork};
use crate::serve::body;
use crate::serve::moot::ask::{self, Reply};
use crate::serve::moot::history;
use crate::serve::moot::kept::Kind;
use crate::serve::moot::records::Records;
use crate::serve::moot::reply::reply;
use crate::serve::moot::sink::Sink;
use crate::serve::moot::watched::begin;
use crate::serve::refusal::{Answer, Refusal};
use crate::serve::state::{State, refused};
use crate::workspace::HeldFork;
use axum::body::Body as Raw;
use axum::extract::{Path, State as Extract};
use axum::http::Request;
use serde::Deserialize;
use std::path::Path as FilePath;
use std::sync::Arc;

/// One change, from a round on.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    #[serde(default = "first")]
    round: usize,
    /// The number of a document that is left out, from 1.
    #[serde(default)]
    strike: Option<usize>,
    /// A text for the end of every prompt.
    #[serde(default)]
    tell: Option<String>,
    /// Another text of a document.
    #[serde(default)]
    edit: Option<Edit>,
    #[serde(default)]
    stream: bool,
}

fn first() -> usize {
    1
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Edit {
    /// Its number, from 1.
    document: usize,
    text: String,
}

impl Body {
    fn fork(&self) -> Answer<Fork> {
        let number = |field: &str, number: usize| {
            number.checked_sub(1).ok_or_else(|| Refusal::field(field, "the number of a document, from 1", 0))
        };
        let change = match (self.strike, &self.tell, &self.edit) {
            (Some(document), None, None) => Change::Drop(number("strike", document)?),
            (None, Some(text), None) if !text.trim().is_empty() => Change::Tell(text.clone()),
            (None, None, Some(edit)) => Change::Edit(number("edit.document", edit.document)?, edit.text.clone()),
            _ => {
                return Err(Refusal::field("strike, tell, edit", "one of the three", "none, an empty one, or several"));
            }
        };
        Ok(Fork { round: self.round, change })
    }
}

pub(super) async fn fork(Extract(state): Extract<Arc<State>>, Path(id): Path<String>, request: Request<Raw>) -> Answer {
    let path = history::path(&state, &id).await?;
    let body: Body = body::json(&state, request).await?;
    let fork = body.fork()?;
    reply(state, body.stream, "answer", move |state, cancel, sink| held(state, &path, &fork, cancel, sink)).await
}

/// Holds the debate again, and keeps its record.
fn held(state: &State, path: &FilePath, fork: &Fork, cancel: &Cancel, sink: &Sink) -> Answer<Reply> {
    let (record, ledger) = Records::read_single(path)?;
    if Kind::of(&record.header) != Kind::Question {
        return Err(Refusal::field("id", "the record of one question", "that of a text that was checked"));
    }
    let old = record.questions.first().ok_or_else(|| Refusal::missing("the record has no question"))?;
    fork.check(old)?;
    let (control, lines) = ask::control(cancel, sink);
    let workspace = state.workspace()?.share_recorded(&record, &control)?;
    let id = state.records.new_id();
    let changed = fork.question(&old.question);
    let (_running, watched) = begin(state, &id, &record.header.method, &changed, cancel, sink);
    let held = workspace.fork(&record, &ledger.chain, old, fork, &watched);
    let HeldFork { mut course, header } = held.map_err(|error| refused(error, &state.limits, cancel))?;
    if let Some(error) = course.record.error {
        return Err(Refusal::field("strike, tell, edit", "a change after which the question can be answered", error));
    }
    course.record.question.id = id;
    ask::finish(state, &header, course.record, ask::taken(&lines))
}
