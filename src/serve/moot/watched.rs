//! Events of a stream while a question is answered.

use crate::cancel::Cancel;
use crate::protocol::ctx::Observer;
use crate::question::{Document, Question};
use crate::serve::moot::running::{Entry, Gate};
use crate::serve::moot::sink::Sink;
use crate::serve::state::State;
use crate::transcript::{CallRecord, Event, Parsed};
use crate::workspace::Watch;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, PoisonError};

/// Sends what happens, and waits between stages while the question is paused.
pub(super) struct Watched {
    sink: Sink,
    gate: Arc<Gate>,
    cancel: Cancel,
}

/// A question that is answered from here on: listed as running, and announced.
pub(super) fn begin<'a>(
    state: &'a State,
    id: &str,
    method: &str,
    question: &Question,
    cancel: &Cancel,
    sink: &Sink,
) -> (Entry<'a>, Watched) {
    let documents: Vec<Value> = question.documents.iter().map(shown).collect();
    sink.send("open", &json!({ "id": id, "method": method, "question": question.text, "documents": documents }));
    let entry = state.records.running.enter(id, cancel);
    let watched = Watched { sink: sink.clone(), gate: entry.gate.clone(), cancel: cancel.clone() };
    (entry, watched)
}

/// A document as the first event shows it.
pub(super) fn shown(document: &Document) -> Value {
    let Document { name, text, title, source, date, url, notes, .. } = document;
    json!({ "name": name, "text": text, "title": title, "source": source, "date": date, "url": url, "notes": notes })
}

impl Observer for Watched {
    fn stage(&self, stage: usize, count: usize) {
        self.gate.pass(&self.cancel, |paused| self.sink.send("paused", &json!({ "paused": paused, "stage": stage })));
        self.sink.send("stage", &json!({ "stage": stage, "calls": count }));
    }

    fn call(&self, index: usize, call: &CallRecord) {
        self.sink.send("call", &call_fields(index, call));
    }

    fn taken_up(&self, document: &Document) {
        let Document { name, text, source, date, url, .. } = document;
        self.sink.send("document", &json!({ "name": name, "text": text, "source": source, "date": date, "url": url }));
    }

    fn event(&self, event: &Event) {
        let value = match event {
            Event::Retrieval { queries, hits, seconds, .. } => json!({
                "event": "retrieval", "queries": queries, "passages": hits.iter().map(Vec::len).sum::<usize>(),
                "seconds": seconds
            }),
            Event::Entailment { pairs, by, seconds, .. } => {
                json!({ "event": "entailment", "pairs": pairs.len(), "by": by, "seconds": seconds })
            }
            Event::Embedding { texts, by, seconds, .. } => {
                json!({ "event": "embedding", "texts": texts, "by": by, "seconds": seconds })
            }
            Event::Failure { what, error, .. } => json!({ "event": "failure", "what": what, "error": error }),
            Event::Fallback { what, .. } => json!({ "event": "fallback", "what": what }),
        };
        self.sink.send("event", &value);
    }
}

/// A call that was answered, for a reader.
pub(super) fn call_fields(index: usize, call: &CallRecord) -> Value {
    let answers = match &call.parsed {
        Parsed::Answers { answers, .. } => Some(answers),
        _ => None,
    };
    json!({
        "index": index,
        "number": call.number,
        "stage": call.stage,
        "round": call.round,
        "role": call.role,
        "document": call.document.map(|number| number + 1),
        "about": call.about,
        "answer": call.answer(),
        "answers": answers,
        "chosen": call.chosen(),
        "unknown": matches!(call.parsed, Parsed::Answer { answer: None, .. }),
        "malformed": call.parsed == Parsed::Malformed,
        "explanation": call.explanation(),
        "reply": call.reply,
        "thoughts": call.thoughts.as_ref().map(|thoughts| &thoughts.text),
        "usage": call.usage,
        "seconds": call.seconds,
    })
}

/// Notes of the workspace, as events and for the answer.
pub(super) struct Notes {
    pub sink: Sink,
    pub lines: Arc<Mutex<Vec<String>>>,
}

impl Watch for Notes {
    fn note(&self, line: &str) {
        self.sink.send("note", &json!({ "line": line }));
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).push(line.to_owned());
    }
}
