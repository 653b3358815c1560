//! `POST /mcp`.

use super::*;
use crate::serve::{PATIENCE, Response, Started};
use moot::serve::{Limits, ServeOptions};
use std::net::TcpStream;

const EVENTS: (&str, &str) = ("Accept", "application/json, text/event-stream");

/// The headers of a message of the stateless revision.
fn headers(message: &Value) -> Vec<(&'static str, String)> {
    let mut headers = vec![("MCP-Protocol-Version", STATELESS.to_owned())];
    headers.push(("Mcp-Method", message["method"].as_str().unwrap_or_default().to_owned()));
    if let Some(name) = message["params"]["name"].as_str() {
        headers.push(("Mcp-Name", name.to_owned()));
    }
    headers
}

fn send(server: &Started, headers: &[(&'static str, String)], message: &Value) -> Response {
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    server.send("POST", "/mcp", &headers, &message.to_string())
}

/// The reply to a message of the stateless revision, as one object.
fn reply(server: &Started, message: Value) -> Response {
    let message = stateless(message);
    send(server, &headers(&message), &message)
}

fn result(server: &Started, message: Value) -> Value {
    let response = reply(server, message);
    assert_eq!(response.status, 200, "{}", response.body);
    let value = response.json();
    assert_eq!(value["result"]["resultType"], "complete", "{value}");
    assert_eq!(value["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "moot");
    value["result"].clone()
}

/// A connection on which a call was sent whose response is a stream.
fn streaming(server: &Started, headers: &[(&'static str, String)], message: &Value) -> TcpStream {
    let mut all: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    all.push(EVENTS);
    server.connect(&server.request("POST", "/mcp", &all, &message.to_string()))
}

fn with_corpus(options: ServeOptions) -> ServeOptions {
    let folder = std::path::Path::new(&options.plan.model).with_file_name("notes");
    std::fs::create_dir(&folder).unwrap();
    let lines = "{\"text\": \"The Orrin ferry stopped in 1968.\", \"source\": \"board\"}\n\
        {\"text\": \"The Orrin ferry carried goats in 1951, says the almanac.\", \"source\": \"almanac\"}\n\
        {\"text\": \"The Orrin ferry was blue, and then it was red.\"}\n";
    std::fs::write(folder.join("notes.jsonl"), lines).unwrap();
    let mut plan = options.plan.clone();
    plan.corpus.paths = vec![folder.display().to_string()];
    plan.corpus.embedder = Some("none".into());
    ServeOptions { plan, ..options }
}

#[test]
fn a_stateless_client_discovers_lists_and_calls() {
    let server = Started::with(with_corpus);
    let about = result(&server, request(1, "server/discover", json!({})));
    assert_eq!(about["supportedVersions"], json!([STATELESS, INITIALIZED, "2025-06-18"]));
    assert!(about["capabilities"]["tools"].is_object() && about["ttlMs"].is_u64(), "{about}");
    let tools = result(&server, request("a", "tools/list", json!({})));
    check_tools(&tools);
    assert_eq!(tools["cacheScope"], "public");

    let fields = given(&tools, "ask", &result(&server, call(2, "ask", question())));
    assert_eq!((&fields["method"], &fields["calls"]), (&json!("madam-rag"), &json!(2)));
    let found = given(&tools, "search", &result(&server, call(3, "search", json!({ "query": "Orrin ferry" }))));
    assert!(found["passages"][0]["passage"]["text"].as_str().unwrap().contains("Orrin"));
    let sources = given(&tools, "sources", &result(&server, call(4, "sources", json!({}))));
    let expected = json!([
        { "source": "almanac", "passages": 1 }, { "source": "board", "passages": 1 }, { "source": "notes", "passages": 1 }
    ]);
    assert_eq!((&sources["passages"], &sources["sources"]), (&json!(3), &expected));
    let text =
        json!({ "text": "The ferry stopped in 1974.", "documents": documents(), "method": { "max_tokens": 16 } });
    let labelled = result(&server, call(5, "conflict", text));
    // The tiny model writes no claims, or senseless ones.
    if labelled["isError"] != true {
        given(&tools, "conflict", &labelled);
    }
    let searched = given(
        &tools,
        "ask",
        &result(
            &server,
            call(6, "ask", json!({ "question": "When did the Orrin ferry stop?", "method": "concatenated" })),
        ),
    );
    assert!(searched["documents"].as_array().unwrap().len() > 1, "{searched}");
}

#[test]
fn an_initialized_client_has_a_session_that_keeps_nothing() {
    let server = Started::new();
    for (asked, agreed) in [(INITIALIZED, INITIALIZED), ("2025-06-18", "2025-06-18"), ("2024-11-05", INITIALIZED)] {
        let response = send(&server, &[], &initialize(asked));
        let about = response.json()["result"].clone();
        assert_eq!((&about["protocolVersion"], &about["serverInfo"]["name"]), (&json!(agreed), &json!("moot")));
        let session = response.header("mcp-session-id").unwrap().to_owned();
        assert_eq!(session.len(), 32);
        let headers = [("Mcp-Session-Id", session), ("MCP-Protocol-Version", agreed.to_owned())];
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let accepted = send(&server, &headers, &ready);
        assert_eq!((accepted.status, accepted.body.as_str()), (202, ""));
        assert_eq!(send(&server, &headers, &request(1, "ping", json!({}))).json()["result"], json!({}));
        let tools = send(&server, &headers, &request(2, "tools/list", json!({}))).json()["result"].clone();
        check_tools(&tools);
        assert!(tools.get("resultType").is_none(), "{tools}");
        let done = send(&server, &headers, &call(3, "ask", question())).json();
        given(&tools, "ask", &done["result"]);
        // A method that is not there is no end of the session.
        let missing = send(&server, &headers, &request(4, "prompts/list", json!({})));
        assert_eq!((missing.status, &missing.json()["error"]["code"]), (200, &json!(-32601)));
    }
    assert_eq!(server.send("GET", "/mcp", &[], "").status, 405);
    assert_eq!(server.send("DELETE", "/mcp", &[], "").status, 405);
    // Clients before 2025-06-18 send no version.
    assert_eq!(send(&server, &[], &request(1, "tools/list", json!({}))).status, 200);
}

#[test]
fn a_stream_carries_progress_and_then_the_response() {
    let server = Started::new();
    let message = followed(stateless(call(7, "ask", question())), "token");
    let response = Response::read(streaming(&server, &headers(&message), &message));
    assert_eq!(response.header("content-type"), Some("text/event-stream"));
    assert_eq!(response.header("x-accel-buffering"), Some("no"));
    let events = response.events();
    let (last, told) = events.split_last().unwrap();
    assert_eq!((&last.1["id"], &last.1["result"]["structuredContent"]["calls"]), (&json!(7), &json!(2)));
    let numbers: Vec<u64> = told.iter().map(|(_, told)| told["params"]["progress"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=told.len() as u64).collect::<Vec<_>>());
    assert!(told.iter().all(|(_, told)| told["params"]["progressToken"] == "token"));
    let lines: Vec<&str> = told.iter().map(|(_, told)| told["params"]["message"].as_str().unwrap()).collect();
    assert!(lines.contains(&"stage 1: 2 calls"), "{lines:?}");
    assert!(lines.iter().any(|line| line.starts_with("agent of document 2, round 1: ")), "{lines:?}");
    // Without a token there is the response alone.
    let message = stateless(call(8, "ask", question()));
    assert_eq!(Response::read(streaming(&server, &headers(&message), &message)).events().len(), 1);
}

#[test]
fn headers_repeat_the_message() {
    let server = Started::new();
    let message = stateless(call(1, "ask", question()));
    let with = |name: &str, value: Option<&str>| {
        let mut headers: Vec<_> = headers(&message).into_iter().filter(|(known, _)| *known != name).collect();
        let name = ["MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"].into_iter().find(|known| *known == name).unwrap();
        headers.extend(value.map(|value| (name, value.to_owned())));
        send(&server, &headers, &message)
    };
    for (name, value) in [
        ("MCP-Protocol-Version", None),
        ("MCP-Protocol-Version", Some(INITIALIZED)),
        ("Mcp-Method", None),
        ("Mcp-Method", Some("tools/list")),
        ("Mcp-Name", None),
        ("Mcp-Name", Some("search")),
        ("Mcp-Name", Some("=?base64?c2VhcmNo?=")),
    ] {
        let response = with(name, value);
        assert_eq!(response.status, 400, "{name} {value:?}: {}", response.body);
        let error = &response.json()["error"];
        assert_eq!(error["code"], -32020, "{name} {value:?}: {error}");
        assert!(error["message"].as_str().unwrap().starts_with(name), "{error}");
    }
    assert_eq!(with("Mcp-Name", Some("=?base64?YXNr?=")).status, 200);
}

#[test]
fn what_is_no_message_is_refused() {
    let server = Started::new();
    let send_text = |text: &str| server.send("POST", "/mcp", &[], text);
    for (text, status, code) in [
        ("{", 400, -32700),
        ("nonsense", 400, -32700),
        (r#"{"jsonrpc": "2.0", "id": 1, "method": "ping"} {}"#, 400, -32700),
        ("[]", 400, -32600),
        ("1", 400, -32600),
        ("{}", 400, -32600),
        (r#"{"jsonrpc": "1.0", "id": 1, "method": "ping"}"#, 400, -32600),
        (r#"{"jsonrpc": "2.0", "id": null, "method": "ping"}"#, 400, -32600),
        (r#"{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}"#, 400, -32600),
        (r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": [1]}"#, 400, -32600),
        (r#"{"jsonrpc": "2.0", "id": 1, "method": 5}"#, 400, -32600),
        (r#"{"jsonrpc": "2.0", "id": 1}"#, 400, -32600),
        (r#"[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]"#, 400, -32600),
        (r#"{"jsonrpc": "2.0", "id": 1, "method": "nothing"}"#, 200, -32601),
        (r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "nothing"}}"#, 200, -32602),
        (r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/call"}"#, 200, -32602),
        (r#"{"jsonrpc": "2.0", "id": 1, "method": "initialize"}"#, 200, -32600),
    ] {
        let response = send_text(text);
        assert_eq!(
            (response.status, &response.json()["error"]["code"]),
            (status, &json!(code)),
            "{text}: {}",
            response.body
        );
    }
    let deep = format!(r#"{{"jsonrpc": "2.0", "id": 1, "method": "ping", "x": {}"#, "[".repeat(100_000));
    assert!(send_text(&deep).body.contains("-32700"));
    let many = format!(r#"{{"jsonrpc": "2.0", "id": 1, "method": "ping", "x": [{}0]}}"#, "0,".repeat(1 << 20));
    let refused = send_text(&many).json();
    assert_eq!(refused["error"]["message"], "expected a message of at most 1048576 values, found more");
    // The id is that of the message where it can be read.
    assert_eq!(send_text(r#"{"jsonrpc": "2.0", "id": 9, "method": 5}"#).json()["id"], 9);
    assert_eq!(send_text("{").json()["id"], Value::Null);
    // Nothing waits for responses; notifications have none.
    assert_eq!(send_text(r#"{"jsonrpc": "2.0", "id": 1, "result": {}}"#).status, 202);
    assert_eq!(send_text(r#"{"jsonrpc": "2.0", "method": "nothing"}"#).status, 202);

    let unknown = reply(&server, request(1, "ping", json!({})));
    assert_eq!((unknown.status, &unknown.json()["error"]["code"]), (404, &json!(-32601)));
    let mut message = stateless(request(1, "tools/list", json!({})));
    message["params"]["_meta"].as_object_mut().unwrap().remove("io.modelcontextprotocol/clientCapabilities");
    let lacking = send(&server, &headers(&message), &message);
    assert_eq!((lacking.status, &lacking.json()["error"]["code"]), (400, &json!(-32602)));
    assert!(lacking.error().contains("clientCapabilities"));
    message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = "1900-01-01".into();
    let old = [("MCP-Protocol-Version", "1900-01-01".to_owned()), ("Mcp-Method", "tools/list".to_owned())];
    let refused = send(&server, &old, &message);
    assert_eq!((refused.status, &refused.json()["error"]["code"]), (400, &json!(-32022)));
    assert_eq!(refused.json()["error"]["data"]["supported"][0], STATELESS);
    let unsupported =
        send(&server, &[("MCP-Protocol-Version", "2024-11-05".to_owned())], &request(1, "ping", json!({})));
    assert_eq!((unsupported.status, &unsupported.json()["error"]["code"]), (400, &json!(-32022)));
}

#[test]
fn wrong_arguments_are_results_that_name_the_field() {
    let server = Started::new();
    for (tool, arguments, expected) in wrong_arguments() {
        let result = result(&server, call(1, tool, arguments));
        assert!(failed(&result).contains(expected), "{tool}: expected {expected}, found {result}");
    }
    let without = result(&server, call(1, "sources", Value::Null));
    assert!(failed(&without).contains("no corpus is searched"), "{without}");
}

#[test]
fn the_guard_and_the_limits_hold_here_too() {
    let limits = Limits { body: 2000, ..Limits::default() };
    let server = Started::with(|options| ServeOptions { key: Some("secret".into()), limits, ..options });
    let list = request(1, "tools/list", json!({})).to_string();
    let send = |headers: &[(&str, &str)], body: &str| server.send("POST", "/mcp", headers, body).status;
    let key = ("Authorization", "Bearer secret");
    assert_eq!(send(&[key], &list), 200);
    assert_eq!(send(&[], &list), 401);
    assert_eq!(send(&[key, ("Host", "evil.example")], &list), 403);
    assert_eq!(send(&[key, ("Origin", "http://evil.example")], &list), 403);
    assert_eq!(send(&[key, ("Content-Type", "text/plain")], &list), 415);
    assert_eq!(send(&[key], &call(1, "ask", json!({ "question": "x".repeat(3000) })).to_string()), 413);
}

/// A long call on a connection, once it runs.
fn running(server: &Started, headers: &[(&'static str, String)], message: Value) -> TcpStream {
    let stream = streaming(server, headers, &message);
    server.until("the call runs", || server.metric("moot_requests_running") == 1.0);
    stream
}

#[test]
fn a_call_ends_with_its_connection() {
    let server = Started::new();
    let message = stateless(call(1, "ask", long_question()));
    let stream = running(&server, &headers(&message), message.clone());
    drop(stream);
    server.until("it is cancelled", || server.metric("moot_cancelled_total") == 1.0);
    server.until("its slot is free", || server.metric("moot_requests_running") == 0.0);
}

#[test]
fn an_initialized_client_cancels_its_own_calls_alone() {
    let server = Started::new();
    let session = || {
        let name = send(&server, &[], &initialize(INITIALIZED)).header("mcp-session-id").unwrap().to_owned();
        vec![("Mcp-Session-Id", name), ("MCP-Protocol-Version", INITIALIZED.to_owned())]
    };
    let (own, other) = (session(), session());
    let stream = running(&server, &own, call("long", "ask", long_question()));
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": "long" } });
    assert_eq!(send(&server, &other, &cancel).status, 202);
    // The id is in use.
    let again = send(&server, &own, &call("long", "sources", json!({})));
    assert_eq!((again.status, &again.json()["error"]["code"]), (400, &json!(-32600)));
    assert_eq!(server.metric("moot_cancelled_total"), 0.0);
    assert_eq!(send(&server, &own, &cancel).status, 202);
    let rest = Response::read(stream);
    assert_eq!(rest.events(), [], "a cancelled call has no response");
    server.until("it is cancelled", || server.metric("moot_cancelled_total") == 1.0);
}

#[test]
fn two_calls_are_answered_at_once_and_more_than_wait_are_refused() {
    let limits = Limits { at_once: 2, waiting: 1, ..Limits::default() };
    let server = Started::limited(limits);
    let message = stateless(call(1, "ask", long_question()));
    let start = || streaming(&server, &headers(&message), &message);
    let streams = [start(), start()];
    server.until("both run", || server.metric("moot_requests_running") == 2.0);
    let waits = start();
    server.until("one waits", || server.metric("moot_requests_waiting") == 1.0);
    let refused = send(&server, &headers(&message), &message);
    assert_eq!(refused.status, 429, "{}", refused.body);
    assert!(refused.header("retry-after").is_some());
    drop((streams, waits));
    server.until("none is left", || server.metric("moot_requests_running") == 0.0);
    for stream in [start(), start()] {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        drop(stream);
    }
}
