//! Refusals: each names a field that the request has, in words that need no knowledge of the program.

use super::debate::with_notes;
use super::{Response, Started};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

/// The message and the field of a request that must be refused.
fn refused(response: &Response) -> (String, Value) {
    assert_eq!(response.status, 400, "{}", response.body);
    let said = response.error();
    for internal in ["untagged", "variant", "corpus.", "NoExtension", "at 1("] {
        assert!(!said.contains(internal), "{internal}: {said}");
    }
    (said, response.json()["error"]["param"].clone())
}

#[test]
fn a_field_of_the_wrong_type_is_named() {
    let server = Started::new();
    let ask = |method: Value| ("/moot/v1/ask", json!({ "question": "x", "documents": ["a"], "method": method }));
    let chat = |field: &str, value: Value| {
        let mut body = json!({ "messages": [{ "role": "user", "content": "x" }], "max_tokens": 1 });
        body[field] = value;
        ("/v1/chat/completions", body)
    };
    let notebook = json!({ "cells": [{ "cell_type": "markdown", "source": 5 }] }).to_string();
    let notebook = json!([{ "name": "a.ipynb", "base64": BASE64_STANDARD.encode(notebook) }]);
    for ((path, body), field, expected) in [
        (ask(json!({ "name": "moot", "swtches": {} })), "method.swtches", "unknown field `swtches`"),
        (ask(json!({ "name": "moot", "seed": "x" })), "method.seed", "invalid type"),
        (ask(json!(5)), "method", "the name of a method, or an object"),
        (chat("logprobs", json!("x")), "logprobs", "expected true, false or a number"),
        (("/v1/rerank", json!({ "query": "x", "documents": ["a", 5] })), "documents[1]", "or an object with text"),
        (
            ("/moot/v1/documents", json!({ "documents": notebook })),
            "documents[0].name",
            "neither a string nor a list of strings",
        ),
    ] {
        let (said, param) = refused(&server.post(path, &body));
        assert!(said.starts_with(&format!("{field}: ")) && said.contains(expected), "{expected}: {said}");
        assert_eq!(param, field);
    }
}

#[test]
fn what_is_wrong_with_a_search_is_named_by_its_field() {
    let server = with_notes(None);
    let ask = |search: Value| server.post("/moot/v1/ask", &json!({ "question": "The Orrin ferry?", "search": search }));
    for (search, field) in [(json!({ "top": 0 }), "search.top"), (json!({ "from": "may" }), "search.from")] {
        let (said, param) = refused(&ask(search));
        assert!(said.starts_with(field), "{field}: {said}");
        assert_eq!(param, field, "{said}");
    }
    let (said, _) = refused(&ask(json!({ "from": "2020", "until": "2010" })));
    assert!(said.starts_with("expected search.from before search.until"), "{said}");
    // A request cannot turn the cutoff off.
    let nothing = server.post("/moot/v1/ask", &json!({ "question": "Zebra xylophone quartz?" }));
    let (said, _) = refused(&nothing);
    assert!(said.contains("ask in other words") && !said.contains("cutoff"), "{said}");

    // A server that has a corpus is not one to be started with a corpus.
    let documents = vec![json!({ "text": "a" }); 41];
    let (said, _) = refused(&server.post("/moot/v1/ask", &json!({ "question": "x", "documents": documents })));
    assert!(said.contains("at most 40 documents (send fewer or shorter ones), found 41"), "{said}");
    let without = Started::new();
    let (said, _) = refused(&without.post("/moot/v1/ask", &json!({ "question": "x", "documents": documents })));
    assert!(said.contains("(a server that was started with a corpus searches more), found 41"), "{said}");
    let run = json!({ "questions": [{ "question": "x", "documents": ["a"] }], "in_flight": 0 });
    let (said, param) = refused(&without.post("/moot/v1/runs", &run));
    assert!(said.starts_with("in_flight") && param == "in_flight", "{said} {param}");
}

#[test]
fn a_request_that_is_too_long_is_told_which_of_its_fields_to_lower() {
    let server = Started::new();
    let messages = json!([{ "role": "user", "content": "x" }]);
    let raw = json!({ "raw": [{ "scaffold": "x" }] });
    for (path, body, hint) in [
        ("/v1/completions", json!({ "prompt": "a", "max_tokens": 100_000 }), "shorter prompt, or lower max_tokens"),
        ("/v1/chat/completions", json!({ "messages": messages, "max_tokens": 100_000 }), "lower max_tokens"),
        ("/moot/v1/calls", json!({ "model": "tiny.gguf", "prompt": raw, "max_tokens": 100_000 }), "lower max_tokens"),
        (
            "/moot/v1/ask",
            json!({ "question": "x", "documents": ["a"], "method": { "name": "madam-rag", "max_tokens": 100_000 } }),
            "shorter documents, or lower method.max_tokens",
        ),
    ] {
        let (said, _) = refused(&server.post(path, &body));
        assert!(said.contains(hint), "{path}: {said}");
        assert!(!said.contains("--") && !said.contains("kv_memory"), "{path}: {said}");
    }
}

#[test]
fn a_schema_that_no_reply_can_keep_is_refused_with_its_fault() {
    let server = Started::new();
    for (schema, fault) in [
        (json!({ "type": "string", "pattern": "[" }), "regex parse error: unclosed character class"),
        (json!({ "$ref": "#" }), "no text satisfies this grammar"),
        (json!({ "type": "nothing" }), "nothing"),
        (json!({ "type": "integer", "minimum": 5, "maximum": 2 }), "minimum"),
    ] {
        let format = json!({ "type": "json_schema", "json_schema": { "name": "x", "schema": schema } });
        let messages = json!([{ "role": "user", "content": "x" }]);
        let chat = json!({ "messages": messages, "max_tokens": 4, "response_format": format });
        let completion = json!({ "prompt": "x", "max_tokens": 4, "response_format": format });
        let mut streamed = chat.clone();
        streamed["stream"] = true.into();
        let field = "response_format.json_schema.schema";
        let start = format!("{field}: no reply can be held to it: ");
        for (path, body) in [("/v1/chat/completions", chat), ("/v1/completions", completion)] {
            let (said, param) = refused(&server.post(path, &body));
            assert!(said.starts_with(&start) && said.contains(fault) && !said.ends_with(':'), "{fault}: {said}");
            assert_eq!(param, field);
        }
        let events = server.post("/v1/chat/completions", &streamed).events();
        let error = &events.last().unwrap().1["error"];
        assert_eq!(error["param"], field, "{error}");
    }
}

#[test]
fn another_method_of_a_path_is_refused_as_other_errors_are() {
    let server = Started::new();
    for (method, path, allowed) in [
        ("GET", "/moot/v1/ask", "POST"),
        ("GET", "/v1/chat/completions", "POST"),
        ("DELETE", "/moot/v1/records/x", "GET,HEAD"),
        ("POST", "/health", "GET,HEAD"),
    ] {
        let response = server.send(method, path, &[], "");
        assert_eq!((response.status, response.header("allow")), (405, Some(allowed)), "{method} {path}");
        assert_eq!(response.json()["error"]["code"], 405);
        let said = response.error();
        assert!(said.starts_with(path) && said.ends_with(&format!("found {method}")), "{said}");
    }
}
