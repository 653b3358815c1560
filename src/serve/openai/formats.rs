//! Replies in JSON: a request's schema becomes a grammar.

use super::fields::{Body, ResponseFormat};
use crate::generation::{Grammar, Schema};
use serde_json::{Value, json};

impl Body {
    /// The grammar that holds the reply to its form, and the schema for a model that takes no grammar.
    pub(super) fn form(&self) -> Option<(Grammar, Schema)> {
        let object = json!({ "type": "object" });
        let (name, schema) = match self.response_format.as_ref()? {
            ResponseFormat::Text => return None,
            ResponseFormat::JsonObject => ("json_object", &object),
            ResponseFormat::JsonSchema { json_schema } if json_schema.name.is_empty() => {
                ("schema", &json_schema.schema)
            }
            ResponseFormat::JsonSchema { json_schema } => (json_schema.name.as_str(), &json_schema.schema),
        };
        let grammar = Grammar { name: name.into(), lark: format!("start: %json {}\n", spaced(schema)).into() };
        Some((grammar, Schema { name: name.into(), json: schema.to_string().into() }))
    }
}

/// `schema` for replies with one space where models write one, and no others: with any white space allowed, a small model may
/// write nothing else until its tokens are used up.
fn spaced(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Value::Object(fields) = &mut schema {
        let spaces = json!({ "whitespace_flexible": false, "item_separator": ", ", "key_separator": ": " });
        fields.insert("x-guidance".into(), spaces);
    }
    schema
}
