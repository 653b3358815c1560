//! Replies in JSON: a request's schema becomes a grammar.

use super::fields::{Body, ResponseFormat};
use crate::generation::{Grammar, Schema};
use crate::llm::remote::GRAMMAR_BYTES;
use crate::serve::refusal::{Answer, Refusal};
use serde_json::json;

impl Body {
    /// The grammar that holds the reply to its form, and the schema for a model that takes no grammar.
    pub(super) fn form(&self) -> Option<(Grammar, Schema)> {
        match self.response_format.as_ref()? {
            ResponseFormat::Text => None,
            ResponseFormat::JsonObject => Some(Schema::with_grammar("json_object", &json!({ "type": "object" }))),
            ResponseFormat::JsonSchema { json_schema } => {
                let name = if json_schema.name.is_empty() { "schema" } else { &json_schema.name };
                Some(Schema::with_grammar(name, &json_schema.schema))
            }
        }
    }

    /// The grammar of [`Body::form`], of bounded size.
    pub(super) fn grammar(&self) -> Answer<Option<Grammar>> {
        let grammar = self.form().map(|(grammar, _)| grammar);
        match &grammar {
            Some(grammar) if grammar.lark.len() > GRAMMAR_BYTES => {
                Err(Refusal::field("response_format", &format!("a schema below {GRAMMAR_BYTES} bytes"), "more"))
            }
            _ => Ok(grammar),
        }
    }
}
