//! Replies in JSON: a request's schema becomes a grammar.

use super::fields::{Body, ResponseFormat};
use crate::generation::{Grammar, Schema};
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
}
