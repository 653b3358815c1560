//! The tools of `moot mcp` and of `POST /mcp`, spoken to as clients of both kinds of revisions do.

mod http;
mod stdio;

use super::schema::{description, wrong};
use serde_json::{Value, json};

/// The revision whose requests stand alone, and one whose clients begin with `initialize`.
const STATELESS: &str = "2026-07-28";
const INITIALIZED: &str = "2025-11-25";

const TOOLS: [&str; 5] = ["ask", "conflict", "contradictions", "search", "sources"];

fn documents() -> Value {
    json!([
        { "name": "almanac", "text": "The Orrin ferry stopped in 1974.", "date": "1990", "source": "county" },
        { "id": "board", "text": "The Orrin ferry stopped in 1968." },
    ])
}

/// A question to a method of one round, whatever the tiny model says.
fn question() -> Value {
    json!({ "question": "When did the Orrin ferry stop?", "documents": documents(),
        "method": { "name": "madam-rag", "preset": "every-answer", "max_tokens": 8 } })
}

/// A question that is answered for a while.
fn long_question() -> Value {
    let text = |number: usize| json!({ "text": format!("Board {number} says that the Orrin ferry stopped in 1968.") });
    json!({ "question": "When did the Orrin ferry stop?", "documents": (1..=40).map(text).collect::<Vec<_>>(),
        "method": { "name": "madam-rag", "switches": { "rounds": 3 }, "max_tokens": 120 } })
}

fn request(id: impl Into<Value>, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id.into(), "method": method, "params": params })
}

fn call(id: impl Into<Value>, tool: &str, arguments: Value) -> Value {
    request(id, "tools/call", json!({ "name": tool, "arguments": arguments }))
}

/// `message` as one of the stateless revision.
fn stateless(mut message: Value) -> Value {
    let meta = &mut message["params"]["_meta"];
    meta["io.modelcontextprotocol/protocolVersion"] = STATELESS.into();
    meta["io.modelcontextprotocol/clientInfo"] = json!({ "name": "test", "version": "1" });
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
    message
}

/// `message` with a token of progress.
fn followed(mut message: Value, token: impl Into<Value>) -> Value {
    message["params"]["_meta"]["progressToken"] = token.into();
    message
}

fn initialize(version: &str) -> Value {
    let params =
        json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } });
    request("begin", "initialize", params)
}

/// Checks the list of tools.
fn check_tools(result: &Value) {
    let tools = result["tools"].as_array().unwrap();
    assert_eq!(tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect::<Vec<_>>(), TOOLS);
    for tool in tools {
        assert_eq!(tool["annotations"]["readOnlyHint"], true);
        for schema in ["inputSchema", "outputSchema"] {
            assert_eq!(tool[schema]["type"], "object", "{}", tool["name"]);
            assert!(tool[schema]["properties"].is_object(), "{}", tool["name"]);
            assert!(!tool[schema].to_string().contains("$ref"), "{}", tool["name"]);
        }
        assert!(tool["inputSchema"]["properties"].get("stream").is_none());
    }
}

/// The fields that a call gave, checked against the schema of its tool in `tools`.
fn given(tools: &Value, tool: &str, result: &Value) -> Value {
    assert_ne!(result["isError"], true, "{tool}: {result}");
    assert!(!result["content"][0]["text"].as_str().unwrap().is_empty());
    let listed = tools["tools"].as_array().unwrap().iter().find(|listed| listed["name"] == tool).unwrap();
    let fields = result["structuredContent"].clone();
    let found = wrong(&listed["outputSchema"], &fields, tool, &description());
    assert_eq!(found, Vec::<String>::new(), "{fields:#}");
    fields
}

/// The line of a call that failed.
fn failed(result: &Value) -> &str {
    assert_eq!(result["isError"], true, "{result}");
    result["content"][0]["text"].as_str().unwrap()
}

/// Arguments that are wrong, the tool, and what the error names.
fn wrong_arguments() -> Vec<(&'static str, Value, &'static str)> {
    vec![
        ("ask", json!({}), "question: expected a text"),
        ("ask", json!({ "question": 1 }), "question: "),
        ("ask", json!(["x"]), "arguments: "),
        ("ask", json!({ "question": "x", "documents": [{ "text": "a" }, { "text": [] }] }), "documents[1].text: "),
        ("ask", json!({ "question": "x", "documents": [{ "text": " " }] }), "documents[0].text: expected a text"),
        ("ask", json!({ "question": "x", "documents": documents(), "nothing": 1 }), "unknown field `nothing`"),
        ("ask", json!({ "question": "x", "documents": documents(), "method": "nope" }), "no method is called"),
        (
            "ask",
            json!({ "question": "x", "documents": documents(), "method": { "prompts": "/etc" } }),
            "method.prompts",
        ),
        ("ask", json!({ "question": "x", "search": { "top": "many" } }), "search.top: "),
        (
            "ask",
            json!({ "question": "x", "documents": vec!["a"; 20_001] }),
            "documents: expected at most 20000 entries, found 20001",
        ),
        ("conflict", json!({ "text": "" }), "text: expected a text"),
        ("search", json!({ "query": "ferry", "search": { "nothing": 1 } }), "unknown field `nothing`"),
        ("search", json!({}), "query: expected a text"),
        ("sources", json!({ "nothing": 1 }), "unknown field `nothing`"),
    ]
}
