//! Events while something is opened or answered, as lines of JSON: `moot.Event` is made of them.

use crate::call;
use moot::eval::runner::Progress;
use moot::protocol::ctx::Observer;
use moot::question::Document;
use moot::retrieval::index::BuildProgress;
use moot::transcript::{CallRecord, Event};
use moot::workspace::Watch;
use moot::workspace::models::Opening;
use moot_models::source::FetchEvent;
use serde_json::{Value, json};
use std::sync::mpsc::Sender;

/// To the thread that waits.
pub(crate) enum Message {
    /// Something happened.
    Told(String),
    /// The work is done.
    Ended,
}

/// Tells the thread that waits what happens.
#[derive(Clone)]
pub(crate) struct Teller(Sender<Message>);

/// Tells that the work is done, however it ended.
pub(crate) struct Ends(Sender<Message>);

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = self.0.send(Message::Ended);
    }
}

impl Teller {
    pub(crate) fn new(sender: Sender<Message>) -> Self {
        Self(sender)
    }

    pub(crate) fn ends(&self) -> Ends {
        Ends(self.0.clone())
    }

    /// Sends an event to the thread that waits. The event is lost if that thread has stopped waiting.
    pub(crate) fn tell(&self, event: &Value) {
        let _ = self.0.send(Message::Told(event.to_string()));
    }
}

impl Watch for Teller {
    fn note(&self, line: &str) {
        self.tell(&json!({ "kind": "note", "text": line }));
    }

    fn opening(&self, step: &Opening<'_>) {
        let line = |name: &str, text: String| json!({ "kind": "opening", "name": name, "text": text });
        self.tell(&match step {
            Opening::Finding(name, FetchEvent::Bytes { done, total }) => {
                json!({ "kind": "fetching", "name": name, "done": done, "total": total })
            }
            Opening::Finding(name, FetchEvent::Using { source }) => line(name, format!("from {source}")),
            Opening::Finding(..) => return,
            Opening::Note(name, note) => json!({ "kind": "note", "text": format!("{name}: {note}") }),
            Opening::Plan(plan) => json!({ "kind": "note", "text": plan.to_string() }),
            Opening::Loading(name) => line(name, "loading".into()),
            Opening::Loaded { name, .. } => line(name, "loaded".into()),
            Opening::Elsewhere(address) => line(address, "answers".into()),
        });
    }

    fn indexing(&self, total: u64, progress: Option<&BuildProgress>) {
        let (done, total) = match progress {
            Some(BuildProgress::Resumed(done) | BuildProgress::Indexed(done)) => (*done, total),
            Some(BuildProgress::Grouping { done, total }) => (*done as u64, *total as u64),
            None => (total, total),
        };
        self.tell(&json!({ "kind": "indexing", "done": done, "total": total }));
    }

    fn running(&self, progress: Option<&Progress>) {
        if let Some(progress) = progress {
            self.tell(
                &json!({ "kind": "running", "done": progress.done, "total": progress.total, "data": counts(progress) }),
            );
        }
    }
}

/// The counts of a run.
pub(crate) fn counts(progress: &Progress) -> Value {
    json!({
        "total": progress.total, "done": progress.done, "before": progress.before, "calls": progress.calls,
        "malformed": progress.malformed, "errors": progress.errors, "usage": progress.usage,
        "seconds": progress.elapsed.as_secs_f64(),
    })
}

impl Observer for Teller {
    fn stage(&self, stage: usize, count: usize) {
        self.tell(&json!({ "kind": "stage", "stage": stage, "calls": count }));
    }

    fn call(&self, _: usize, call: &CallRecord) {
        self.tell(&json!({ "kind": "call", "stage": call.stage, "call": call::json(call) }));
    }

    fn taken_up(&self, document: &Document) {
        self.tell(&json!({ "kind": "document", "name": document.name, "text": document.text }));
    }

    fn event(&self, event: &Event) {
        self.tell(&match event {
            Event::Retrieval { stage, queries, hits, .. } => {
                let passages: usize = hits.iter().map(Vec::len).sum();
                json!({ "kind": "retrieval", "stage": stage, "data": { "queries": queries, "passages": passages } })
            }
            Event::Entailment { stage, pairs, by, .. } => {
                json!({ "kind": "entailment", "stage": stage, "data": { "pairs": pairs.len(), "by": by } })
            }
            Event::Embedding { stage, texts, by, .. } => {
                json!({ "kind": "embedding", "stage": stage, "data": { "texts": texts, "by": by } })
            }
            Event::Failure { stage, what, error, .. } => {
                json!({ "kind": "failure", "stage": stage, "text": format!("{what}: {error}") })
            }
            Event::Fallback { stage, what, .. } => json!({ "kind": "fallback", "stage": stage, "text": what }),
        });
    }
}
