//! The tools: their names, their schemas, and what each does.
//!
//! Fields are described once, in `docs/serve.openapi.json`: a tool takes and gives what the path of the same name does.

use crate::assess::markdown;
use crate::cancel::Cancel;
use crate::contradictions::markdown as compared;
use crate::question::Hit;
use crate::serve::body;
use crate::serve::mcp::rpc;
use crate::serve::moot::sink::Sink;
use crate::serve::moot::{as_model, ask, conflict, contradictions, search};
use crate::serve::refusal::{Answer, Refusal};
use crate::serve::state::State;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};
use std::fmt::Write;

const DESCRIPTION: &str = include_str!("../../../docs/serve.openapi.json");

/// A tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tool {
    Ask,
    Conflict,
    Contradictions,
    Search,
    Sources,
}

impl Tool {
    pub(super) const ALL: [Self; 5] = [Self::Ask, Self::Conflict, Self::Contradictions, Self::Search, Self::Sources];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Conflict => "conflict",
            Self::Contradictions => "contradictions",
            Self::Search => "search",
            Self::Sources => "sources",
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    fn title(self) -> &'static str {
        match self {
            Self::Ask => "Answer a question from documents that may contradict each other",
            Self::Conflict => "Check the claims of a text against documents",
            Self::Contradictions => "Show where documents contradict each other",
            Self::Search => "Search the corpus",
            Self::Sources => "List the sources of the corpus",
        }
    }

    fn description(self) -> &'static str {
        match self {
            Self::Ask => {
                "Answers a question from documents, also where they contradict each other: every document is read by an agent \
                 of its own, and each answer comes with the documents for and against it, quotes, and dates. Give the \
                 documents as `documents`; without them the server's corpus is searched. Documents with `source` and `date` \
                 are weighed better. Takes seconds to minutes."
            }
            Self::Conflict => {
                "Splits a text into claims and says for each which documents support and which contradict it, with quotes. Give \
                 the documents as `documents`; without them the server's corpus is searched. Takes seconds to minutes."
            }
            Self::Contradictions => {
                "Compares two or more documents with each other, without a question, and lists where they contradict each other: \
                 the statements of each side with quotes and positions, what differs, a probability, and which side more documents \
                 are on. Without documents the files of the server's corpus are compared. Takes seconds to minutes."
            }
            Self::Search => {
                "Finds passages of the server's corpus for a query, best first, with source, date and position. Near-duplicates \
                 are folded into one."
            }
            Self::Sources => {
                "Lists the sources of the server's corpus with the number of passages of each: the names that \
                 `search.sources` takes."
            }
        }
    }

    /// Schemas of the tool's arguments and of its result.
    fn schemas(self) -> (Value, Value) {
        match self {
            Self::Ask => (described("Ask"), described("Answer")),
            Self::Conflict => (described("Conflicts"), described("Assessment")),
            Self::Contradictions => (described("Compare"), described("Contradictions")),
            Self::Search => (
                json!({
                    "type": "object", "required": ["query"], "additionalProperties": false,
                    "properties": { "query": { "type": "string" }, "search": described("Search") },
                }),
                object(&json!({ "passages": { "type": "array", "items": described("Hit") } })),
            ),
            Self::Sources => (
                json!({ "type": "object", "properties": {}, "additionalProperties": false }),
                object(&json!({
                    "corpus": { "type": "array", "items": { "type": "string" }, "description": "Paths, as they were named" },
                    "passages": { "type": "integer" },
                    "sources": { "type": "array", "items": object(&json!({
                        "source": { "type": ["string", "null"], "description": "null: passages without a source" },
                        "passages": { "type": "integer" },
                    })) },
                })),
            ),
        }
    }
}

/// An object that has all of these fields.
fn object(properties: &Value) -> Value {
    let names: Vec<&String> = properties.as_object().into_iter().flat_map(Map::keys).collect();
    json!({ "type": "object", "required": names, "properties": properties })
}

/// All tools, as a client lists them.
pub(super) fn listed() -> Vec<Value> {
    let entry = |tool: Tool| {
        let (input, output) = tool.schemas();
        json!({
            "name": tool.name(), "title": tool.title(), "description": tool.description(),
            "inputSchema": input, "outputSchema": output,
            "annotations": {
                "title": tool.title(), "readOnlyHint": true, "destructiveHint": false, "idempotentHint": true,
                "openWorldHint": false,
            },
        })
    };
    Tool::ALL.map(entry).into()
}

/// A schema of the description, with what it refers to in place. Streams are of HTTP alone.
fn described(name: &str) -> Value {
    let all: Value = serde_json::from_str(DESCRIPTION).unwrap_or_default();
    let mut schema = resolved(&all["components"]["schemas"][name], &all);
    if let Some(properties) = schema["properties"].as_object_mut() {
        // Not `remove`, which would put the last field in its place.
        properties.shift_remove("stream");
    }
    schema
}

fn resolved(schema: &Value, all: &Value) -> Value {
    match schema {
        Value::Object(fields) => match fields.get("$ref").and_then(Value::as_str) {
            Some(name) => resolved(all.pointer(name.trim_start_matches('#')).unwrap_or(&Value::Null), all),
            None => Value::Object(fields.iter().map(|(name, field)| (name.clone(), resolved(field, all))).collect()),
        },
        Value::Array(entries) => entries.iter().map(|entry| resolved(entry, all)).collect(),
        other => other.clone(),
    }
}

/// A tool's result: text for readers, and the same as fields.
pub(super) struct Given {
    pub text: String,
    pub fields: Value,
}

/// Does the call that `message` is.
pub(super) fn call(state: &State, tool: Tool, message: &[u8], cancel: &Cancel, sink: &Sink) -> Answer<Given> {
    match tool {
        Tool::Ask => {
            let reply = ask::answer(state, arguments(message)?, cancel, sink)?;
            Ok(Given { text: as_model::text(&reply.answered), fields: json!(reply) })
        }
        Tool::Conflict => {
            let reply = conflict::assessed(state, arguments(message)?, cancel, sink)?;
            Ok(Given { text: markdown::page(&reply.assessment), fields: json!(reply) })
        }
        Tool::Contradictions => {
            let reply = contradictions::found(state, arguments(message)?, cancel, sink)?;
            Ok(Given { text: compared::page(&reply.report), fields: json!(reply) })
        }
        Tool::Search => {
            let hits = search::found(state, arguments(message)?)?;
            Ok(Given { text: passages(&hits), fields: json!({ "passages": hits }) })
        }
        Tool::Sources => {
            let Nothing {} = arguments(message)?;
            sources(state)
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

fn arguments<T: DeserializeOwned + Default>(message: &[u8]) -> Answer<T> {
    rpc::arguments(message).map_err(|(field, reason)| body::unread(&field, "what the tool's schema says", &reason))
}

fn passages(hits: &[Hit]) -> String {
    let mut text = String::new();
    for (number, Hit { passage, .. }) in (1..).zip(hits) {
        let known: Vec<&str> = [&passage.source, &passage.date].into_iter().flatten().map(String::as_str).collect();
        let known = if known.is_empty() { String::new() } else { format!(" ({})", known.join(", ")) };
        let _ = writeln!(text, "[{number}] {}{known}\n{}\n", passage.origin, passage.text.trim());
    }
    if text.is_empty() { "No passage was found.\n".into() } else { text }
}

fn sources(state: &State) -> Answer<Given> {
    let workspace = state.workspace()?;
    let retriever = search::retriever(state)?;
    let known = retriever.sources()?.ok_or_else(|| Refusal::missing("this corpus does not list its sources"))?;
    let passages: u64 = known.iter().map(|source| source.passages).sum();
    let mut text = String::new();
    for source in &known {
        let _ = writeln!(text, "{}: {}", source.source.as_deref().unwrap_or("(no source)"), source.passages);
    }
    let corpus = &workspace.plan().options().corpus.paths;
    Ok(Given { text, fields: json!({ "corpus": corpus, "passages": passages, "sources": known }) })
}
