//! Replies that keep a JSON schema of the caller's.

use moot::generation::{Grammar, Schema};
use serde_json::{Value, json};

/// `schema` for replies with one space where models write one, and no others: with any white space allowed, a small model may
/// write nothing else until its tokens are used up.
pub(crate) fn spaced(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Value::Object(fields) = &mut schema {
        let spaces = json!({ "whitespace_flexible": false, "item_separator": ", ", "key_separator": ": " });
        fields.insert("x-guidance".into(), spaces);
    }
    schema
}

/// The grammar that holds a reply to a JSON schema, and the schema for a model that takes no grammar.
pub(crate) fn held(schema: &Value) -> (Grammar, Schema) {
    let grammar = Grammar { name: "schema".into(), lark: format!("start: %json {}\n", spaced(schema)).into() };
    (grammar, Schema { name: "schema".into(), json: schema.to_string().into() })
}
