//! Calls of a method in Python: chats that it composed.

use crate::engine::generated::{Turn, sampling};
use moot::generation::Schema;
use moot::generation::{Message, Role};
use moot::prompts::File;
use moot::protocol::Ask;
use moot::protocol::formats::Format;
use moot::transcript::Parsed;
use moot::{MootError, Result};
use serde::Deserialize;
use serde_json::{Value, json};

/// The last message of a chat. White space at its end is dropped, as in every prompt.
pub(super) const CHAT: File = File {
    name: "python/chat.jinja",
    text: "{#- The last message of a chat that a method in Python composed. -#}\n{{ message }}\n",
};

/// A JSON value that keeps the schema of the call.
pub(super) static SCHEMA: Format = Format {
    name: "schema",
    about: "a JSON value that keeps a schema of the caller's",
    explains_first: false,
    grammar: Some(File {
        name: "python/schema.lark",
        text: "// A schema of the caller's.\nstart: %json {{ schema }}\n",
    }),
    schema: Some(File { name: "python/schema.jsonc", text: "// A schema of the caller's.\n{{ schema }}\n" }),
    line: |_| None,
    parse: |text, _, _| match serde_json::from_str(text).ok()? {
        Value::Object(fields) => Some(Parsed::Fields(fields)),
        _ => Some(Parsed::Text(text.trim().to_owned())),
    },
};

/// A call as `moot.Ask` says it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    messages: Vec<Turn>,
    role: String,
    round: usize,
    /// From 1.
    document: Option<usize>,
    format: String,
    options: Vec<String>,
    schema: Option<Value>,
    prefill: String,
    scored: bool,
    max_tokens: Option<usize>,
    temperature: Option<f32>,
    top_k: usize,
    top_p: f32,
    samples: usize,
    stop: Vec<String>,
}

impl Asked {
    /// The call, the one of this index in its stage, of a question with so many documents.
    ///
    /// # Errors
    /// A chat without a last message of the user's; an unknown format; a number out of range.
    pub(super) fn ask(self, index: usize, documents: usize) -> Result<Ask> {
        let field = |name: &str| format!("asks[{index}].{name}");
        let wrong = |name: &str, expected: &str, found: String| {
            MootError::Usage(format!("{}: expected {expected}, found {found}", field(name)))
        };
        let mut turns: Vec<Message> = self.messages.into_iter().map(Message::from).collect();
        let last = turns.pop().filter(|turn| turn.role == Role::User && !turn.content.trim().is_empty());
        let last = last.ok_or_else(|| wrong("messages", "a last message of role user", "none".into()))?;
        if self.round == 0 || self.samples == 0 {
            let name = if self.round == 0 { "round" } else { "samples" };
            return Err(wrong(name, "at least 1", "0".into()));
        }
        let format = if self.schema.is_some() { &SCHEMA } else { Format::named(&self.format)? };
        let mut ask = Ask::new(self.role, CHAT, json!({ "message": last.content }), format)
            .after(turns)
            .round(self.round)
            .samples(self.samples)
            .stop(self.stop);
        if let Some(schema) = &self.schema {
            ask = ask.format_values(json!({ "schema": Schema::spaced(schema).to_string() }));
        } else if !self.options.is_empty() {
            ask = ask.options(&self.options);
        }
        if let Some(number) = self.document {
            if !(1..=documents).contains(&number) {
                return Err(wrong("document", &format!("a number from 1 to {documents}"), number.to_string()));
            }
            ask = ask.document(number - 1);
        }
        if !self.prefill.is_empty() {
            ask = ask.prefill(self.prefill);
        }
        if let Some(temperature) = self.temperature {
            ask = ask.sampling(sampling(&field(""), temperature, self.top_k, self.top_p)?);
        }
        if let Some(tokens) = self.max_tokens {
            ask = ask.max_tokens(tokens);
        }
        Ok(if self.scored { ask.scored() } else { ask })
    }
}
