//! Replies in JSON: a request's schema becomes a grammar.

use super::fields::{Body, ResponseFormat};
use crate::cancel::Cancel;
use crate::error::MootError;
use crate::generation::{Grammar, Schema};
use crate::llm::remote::GRAMMAR_BYTES;
use crate::serve::options::Limits;
use crate::serve::refusal::{Answer, Refusal};
use crate::serve::state::refused_call;
use serde_json::json;

/// The field of a schema.
const SCHEMA: &str = "response_format.json_schema.schema";

impl Body {
    /// The name of the reply's grammar; `None` where it has none.
    fn grammar_name(&self) -> Option<&str> {
        match self.response_format.as_ref()? {
            ResponseFormat::Text => None,
            ResponseFormat::JsonObject => Some("json_object"),
            ResponseFormat::JsonSchema { json_schema } if json_schema.name.is_empty() => Some("schema"),
            ResponseFormat::JsonSchema { json_schema } => Some(&json_schema.name),
        }
    }

    /// The grammar that holds the reply to its form, of bounded size, and the schema for a model that takes no grammar.
    pub(super) fn form(&self) -> Answer<Option<(Grammar, Schema)>> {
        let Some(name) = self.grammar_name() else { return Ok(None) };
        let form = match &self.response_format {
            Some(ResponseFormat::JsonSchema { json_schema }) => Schema::with_grammar(name, &json_schema.schema),
            _ => Schema::with_grammar(name, &json!({ "type": "object" })),
        };
        if form.0.lark.len() > GRAMMAR_BYTES {
            return Err(Refusal::field("response_format", &format!("a schema below {GRAMMAR_BYTES} bytes"), "more"));
        }
        Ok(Some(form))
    }

    /// The refusal of an error of the engine. An error of the grammar is one of the schema.
    pub(super) fn refused(&self, error: MootError, limits: &Limits, cancel: &Cancel) -> Refusal {
        match error {
            MootError::Prompt { file, reason } if self.grammar_name() == Some(&file) => {
                // The reason begins with the position in the grammar, which is not the client's.
                let reason = reason.split_once("JSON schema: ").map_or(reason.as_str(), |(_, fault)| fault);
                let reason = crate::escape::beginning(reason, 300);
                Refusal::of_field(SCHEMA, format!("no reply can be held to it: {reason}"))
            }
            error => refused_call(error, limits, cancel),
        }
    }
}
