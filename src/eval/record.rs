//! The record: one JSON object a line, a header first; whatever can change a number is in it.

use crate::llm::{Finish, Message, ModelIdentity, Thoughts, Usage};
use crate::methods::ctx::Settings;
use crate::question::{Conclusion, Question};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub mod reader;
pub mod writer;

pub use reader::Reader;
pub use writer::Writer;

/// Raised when a field changes its meaning; a reader refuses versions it does not know.
pub const VERSION: u32 = 1;

/// A record's first line: everything that the questions below it have in common.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// [`VERSION`]; also marks the line as a header.
    pub moot_record: u32,
    /// The program's version.
    pub program: String,
    /// The dataset, or `None` for a question asked by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dataset: Option<DatasetIdentity>,
    /// The method's name.
    pub method: String,
    /// Its switches as resolved.
    pub switches: serde_json::Value,
    /// Seed, token limit, sampling, grammar.
    pub settings: Settings,
    /// The model; of several, the one whose role is not among `roles`, or the first role's.
    pub model: ModelIdentity,
    /// Where several models are at work, whose calls each answers, by role; empty where one does everything.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub roles: BTreeMap<String, ModelIdentity>,
    /// Hex SHA-256 of each prompt and grammar file the method may use.
    pub prompts: BTreeMap<String, String>,
}

impl Header {
    /// The model that answered the calls of `role`.
    #[must_use]
    pub fn model_of(&self, role: &str) -> &ModelIdentity {
        self.roles.get(role).unwrap_or(&self.model)
    }
}

/// Which questions were asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DatasetIdentity {
    /// File name without folders.
    pub name: String,
    /// Hex SHA-256 of the file.
    pub sha256: String,
    /// Questions in it.
    pub questions: usize,
}

/// One question's line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QuestionRecord {
    /// With its documents, so that the record stands alone.
    pub question: Question,
    /// What was concluded; `None` where `error` says why not.
    pub conclusion: Option<Conclusion>,
    /// Why there is no conclusion; such a question scores wrong and is never dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Every call, in the order asked.
    pub calls: Vec<CallRecord>,
    /// Wall time, waiting for neighbours included.
    pub seconds: f64,
}

/// One call and its reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallRecord {
    /// "agent", "aggregator", "reader".
    pub role: String,
    /// From 1.
    pub round: usize,
    /// From 0; calls of one stage depend only on earlier stages.
    pub stage: usize,
    /// The document that this agent speaks for, as a place in [`Question::documents`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<usize>,
    /// The prompt file.
    pub prompt: String,
    /// The grammar file that held the reply, or the schema file where a server did; absent where nothing did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grammar: Option<String>,
    /// As sent.
    pub messages: Vec<Message>,
    /// As sent.
    pub max_tokens: usize,
    /// As sent.
    pub seed: u64,
    /// As it came, without thoughts; of a reply held by a schema, the line that says the same.
    pub reply: String,
    /// As it came, where `reply` is a line made of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
    /// What was thought before the reply; no parser and no other agent reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thoughts: Option<Thoughts>,
    /// The ids of everything generated, thoughts first; none where the model does not tell them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tokens: Vec<u32>,
    /// Why it ended.
    pub finish: Finish,
    /// What was read from it.
    pub parsed: Parsed,
    /// Its tokens.
    pub usage: Usage,
    /// From submission to the last token.
    pub seconds: f64,
}

/// What was read from a reply. Data, not truth.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Parsed {
    /// One answer; `None` is "unknown".
    Answer {
        /// As given, trimmed.
        answer: Option<String>,
        /// The reasons.
        explanation: String,
    },
    /// A list of answers; empty is "unknown".
    Answers {
        /// As given, trimmed, without repeats.
        answers: Vec<String>,
        /// The reasons.
        explanation: String,
    },
    /// The reply does not keep its format.
    Malformed,
}
