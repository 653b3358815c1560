//! Replies in JSON: a request's schema becomes a grammar.

use super::fields::{Body, ResponseFormat};
use crate::generation::{Grammar, Schema};
use crate::llm::remote::GRAMMAR_BYTES;
use crate::serve::refusal::{Answer, Refusal};
use serde_json::json;

impl Body {
    /// The grammar that holds the reply to its form, of bounded size, and the schema for a model that takes no grammar.
    pub(super) fn form(&self) -> Answer<Option<(Grammar, Schema)>> {
        let form = match &self.response_format {
            None | Some(ResponseFormat::Text) => return Ok(None),
            Some(ResponseFormat::JsonObject) => Schema::with_grammar("json_object", &json!({ "type": "object" })),
            Some(ResponseFormat::JsonSchema { json_schema }) => {
                let name = if json_schema.name.is_empty() { "schema" } else { &json_schema.name };
                Schema::with_grammar(name, &json_schema.schema)
            }
        };
        if form.0.lark.len() > GRAMMAR_BYTES {
            return Err(Refusal::field("response_format", &format!("a schema below {GRAMMAR_BYTES} bytes"), "more"));
        }
        Ok(Some(form))
    }
}
