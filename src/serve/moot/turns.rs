//! Agents' replies, as the reasoning of a streamed chat completion.

use crate::serve::stream::Events;
use serde_json::{Value, json};

/// Writes the chunks of one completion.
#[derive(Clone)]
pub(in crate::serve) struct Turns {
    events: Events,
    /// The fields that every chunk shares.
    head: Value,
}

impl Turns {
    pub(super) fn new(events: &Events, id: &str, created: u64, model: &str) -> Self {
        let id = format!("chatcmpl-{id}");
        let head = json!({ "id": id, "object": "chat.completion.chunk", "created": created, "model": model });
        Self { events: events.clone(), head }
    }

    /// A part of the message.
    pub(super) fn delta(&self, delta: &Value) {
        self.chunk(json!([{ "index": 0, "delta": delta, "logprobs": null, "finish_reason": null }]), &[]);
    }

    /// The last part, with the answer's structure.
    pub(super) fn end(&self, moot: Value) {
        let choice = json!([{ "index": 0, "delta": {}, "logprobs": null, "finish_reason": "stop" }]);
        self.chunk(choice, &[("moot", moot)]);
    }

    /// The chunk after the last part.
    pub(super) fn usage(&self, usage: Value) {
        self.chunk(json!([]), &[("usage", usage)]);
    }

    fn chunk(&self, choices: Value, fields: &[(&str, Value)]) {
        let mut chunk = self.head.clone();
        chunk["choices"] = choices;
        fields.iter().for_each(|(name, value)| chunk[*name] = value.clone());
        self.events.data(&chunk);
    }

    /// An event of the question, where it is something that a reader follows: a line of the reasoning.
    pub(super) fn event(&self, name: &str, value: &Value) {
        if let Some(line) = line(name, value) {
            self.delta(&json!({ "reasoning_content": format!("{line}\n") }));
        }
    }
}

/// An event of a question as one line, where it is something that a reader follows.
pub(in crate::serve) fn line(name: &str, value: &Value) -> Option<String> {
    let text = |field: &str| value[field].as_str().unwrap_or_default().trim();
    match name {
        "call" => {
            let document = value["document"].as_u64().map(|number| format!(" of document {number}"));
            let round = value["round"].as_u64().unwrap_or(1);
            let role = format!("{}{}, round {round}", text("role"), document.unwrap_or_default());
            Some(format!("{role}: {}", text("reply").replace('\n', " ")))
        }
        "note" => Some(text("line").to_owned()),
        _ => None,
    }
}
