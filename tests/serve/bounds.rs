//! Checks of every request, and clients that are slow, many, hostile or gone.

use super::{Response, Started, TINY, options, with_context};
use moot::MootError;
use moot::serve::{Limits, ServeOptions, Server};
use moot::workspace::Control;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;

/// A chat whose reply is long, whatever the model says.
fn long(items: usize) -> Value {
    let schema = json!({ "type": "array", "items": { "enum": ["ferry"] }, "minItems": items, "maxItems": items });
    let format = json!({ "type": "json_schema", "json_schema": { "name": "long", "schema": schema } });
    json!({ "messages": [{ "role": "user", "content": "Say it." }], "max_tokens": 6000, "response_format": format })
}

#[test]
fn the_name_of_the_server_the_origin_and_the_key_are_checked() {
    let server = Started::with(|options| ServeOptions {
        key: Some("secret".into()),
        names: vec!["Moot.Example".into()],
        ..options
    });
    let get = |path: &str, headers: &[(&str, &str)]| server.send("GET", path, headers, "").status;
    let key = ("Authorization", "Bearer secret");
    assert_eq!(get("/v1/models", &[key]), 200);
    assert_eq!(get("/v1/models", &[]), 401);
    for wrong in ["Bearer secre", "Bearer secrets", "secret", "Basic secret", "Bearer "] {
        assert_eq!(get("/v1/models", &[("Authorization", wrong)]), 401, "{wrong}");
    }
    assert_eq!(get("/health", &[]), 200, "needs no key");
    for (host, status) in [
        ("localhost:1", 200),
        ("moot.example", 200),
        ("[::1]:5", 200),
        ("192.168.1.4", 200),
        ("evil.example", 403),
        ("127.0.0.1.evil.example", 403),
        ("", 403),
    ] {
        assert_eq!(get("/v1/models", &[key, ("Host", host)]), status, "{host:?}");
    }
    let own = format!("http://{}", server.address);
    assert_eq!(get("/v1/models", &[key, ("Origin", &own)]), 200);
    for origin in ["http://evil.example", "null", "https://127.0.0.1", &format!("{own}.evil.example")] {
        assert_eq!(get("/v1/models", &[key, ("Origin", origin)]), 403, "{origin}");
    }
    let response = server.send("GET", "/v1/models", &[key, ("Origin", &own)], "");
    assert_eq!(response.header("access-control-allow-origin"), None);
    assert_eq!(response.header("x-content-type-options"), Some("nosniff"));
}

#[test]
fn an_address_that_others_reach_needs_a_key() {
    let folder = tempfile::tempdir().unwrap();
    let open = ServeOptions { host: "0.0.0.0".into(), ..options(folder.path()) };
    let error = Server::listen(open.clone()).err().unwrap().to_string();
    assert!(error.starts_with("--host 0.0.0.0: ") && error.contains("MOOT_SERVE_KEY"), "{error}");
    assert!(Server::listen(ServeOptions { key: Some("k".into()), ..open }).is_ok());
    let first = Server::listen(options(folder.path())).unwrap();
    let port = first.address().rsplit(':').next().unwrap().parse().unwrap();
    let error = Server::listen(ServeOptions { port, ..options(folder.path()) }).err().unwrap();
    assert!(matches!(&error, MootError::Usage(text) if text.starts_with(&format!("--port {port}: "))), "{error}");
}

#[test]
fn a_model_that_cannot_be_opened_ends_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let mut wrong = options(folder.path());
    wrong.plan.model = folder.path().join("missing.gguf").display().to_string();
    let server = Server::listen(wrong).unwrap();
    let error = server.run(&Control::default()).unwrap_err().to_string();
    assert!(error.contains("missing.gguf"), "{error}");
}

/// A chat whose reply takes half a minute: strings that the model may not end. That of [`long`] ends within a second, which on a
/// busy machine can be before its client has looked or left.
fn endless() -> Value {
    let text = json!({ "type": "string", "minLength": 1000, "maxLength": 1000 });
    let schema = json!({ "type": "array", "items": text, "minItems": 100 });
    let format = json!({ "type": "json_schema", "json_schema": { "name": "endless", "schema": schema } });
    json!({ "messages": [{ "role": "user", "content": "Say it." }], "max_tokens": 80_000, "response_format": format })
}

/// A server whose model has room for such a reply.
fn with_room(limits: Limits) -> Started {
    Started::with(|mut options| {
        options.limits = limits;
        let path = Path::new(&options.plan.model).with_file_name("wide.gguf");
        std::fs::write(&path, with_context(&std::fs::read(TINY).unwrap(), "llama", 1 << 17)).unwrap();
        options.plan.model = path.display().to_string();
        options.plan.runtime.kv_memory = Some(256 << 20);
        options
    })
}

#[test]
fn a_client_that_leaves_ends_its_work() {
    let server = with_room(Limits::default());
    for streams in [false, true] {
        let before = server.metric("moot_cancelled_total");
        let mut body = endless();
        body["stream"] = streams.into();
        let mut stream = server.posting("/v1/chat/completions", &body);
        server.until("it runs", || server.metric("moot_requests_running") == 1.0);
        if streams {
            assert!(stream.read(&mut [0; 64]).unwrap() > 0);
        }
        drop(stream);
        server.until("its slot is free", || server.metric("moot_requests_running") == 0.0);
        assert_eq!(server.metric("moot_cancelled_total"), before + 1.0, "streams: {streams}");
        server.until("its pages are free", || server.metric("moot_engine_pages_held") == 0.0);
    }
}

#[test]
fn a_request_ends_when_its_time_is_over() {
    let server = Started::limited(Limits { seconds: 0, ..Limits::default() });
    let response = server.post("/v1/chat/completions", &long(2500));
    assert_eq!(response.status, 504, "{}", response.body);
    assert!(response.error().contains("within 0 seconds"));
    assert_eq!(server.metric("moot_requests_running"), 0.0);
}

#[test]
fn too_many_requests_are_refused_and_the_others_are_answered_in_order() {
    let server = with_room(Limits { at_once: 1, waiting: 2, ..Limits::default() });
    let first = server.posting("/v1/chat/completions", &endless());
    server.until("the first runs", || server.metric("moot_requests_running") == 1.0);
    let short = json!({ "messages": [{ "role": "user", "content": "x" }], "max_tokens": 1 });
    let second = server.posting("/v1/chat/completions", &short);
    let third = server.posting("/v1/chat/completions", &short);
    server.until("two wait", || server.metric("moot_requests_waiting") == 2.0);
    let refused = server.post("/v1/chat/completions", &short);
    assert_eq!((refused.status, refused.header("retry-after")), (429, Some("2")));
    assert_eq!(server.metric("moot_refused_total"), 1.0);
    // One of those that wait leaves: its place is free.
    drop(third);
    server.until("one waits", || server.metric("moot_requests_waiting") == 1.0);
    // The slot of one that leaves is the next one's.
    drop(first);
    assert_eq!(Response::read(second).status, 200);
}

#[test]
fn requests_in_flight_end_after_the_server_was_told_to_end() {
    let mut server = with_room(Limits::default());
    let mut body = endless();
    body["max_tokens"] = 15_000.into();
    let stream = server.posting("/v1/chat/completions", &body);
    server.until("it runs", || server.metric("moot_requests_running") == 1.0);
    let reading = std::thread::spawn(move || Response::read(stream));
    server.end().unwrap();
    assert_eq!(reading.join().unwrap().status, 200);
    assert!(TcpStream::connect(&server.address).is_err());
}

#[test]
fn bodies_are_bounded_in_bytes_and_lists_in_entries() {
    let server = Started::limited(Limits { body: 1 << 20, ..Limits::default() });
    let send = |kind: &str, body: &str| server.send("POST", "/moot/v1/ask", &[("Content-Type", kind)], body);
    assert_eq!(send("text/plain", "{}").status, 415);
    assert_eq!(send("application/json; charset=utf-8", "{}").status, 400);
    let large = format!("{{\"question\": \"{}\"}}", "x".repeat(1 << 20));
    assert_eq!(send("application/json", &large).status, 413);
    for (body, expected) in [
        ("", "body"),
        ("{", "body"),
        ("[]", "body"),
        ("{} {}", "body"),
        ("{\"question\": 5}", "question"),
        ("{\"documents\": {}}", "documents"),
        ("{\"documents\": [{\"text\": 7}]}", "documents[0].text"),
    ] {
        let response = send("application/json", body);
        assert_eq!(response.status, 400, "{body}");
        assert!(response.error().starts_with(expected), "{body}: {}", response.error());
    }
    let many = format!("{{\"documents\": [{}{{}}]}}", "{},".repeat(30_000));
    assert_eq!(send("application/json", &many).error(), "documents: expected at most 20000 entries, found 30001");
    let deep = format!("{{\"question\": {}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(send("application/json", &deep).status, 400);
}

/// Lists that may also be a text, and lists within other fields, have a bound as all others do, and say which it is.
#[test]
fn every_list_of_a_body_is_bounded() {
    let server = Started::new();
    let many = |entry: Value| vec![entry; 20_001];
    let said = |of: &str| format!("{of}: expected at most 20000 entries, found 20001");
    let values = "body: expected at most 1048576 values, found more".to_owned();
    let chat = |field: &str, value: Value| {
        let mut body = json!({ "messages": [{ "role": "user", "content": "x" }], "max_tokens": 1 });
        body[field] = value;
        ("/v1/chat/completions", body)
    };
    let completion = |prompt: Value| ("/v1/completions", json!({ "prompt": prompt, "max_tokens": 1 }));
    let call = |field: &str, value: Value| {
        let mut body = json!({ "model": "tiny.gguf", "prompt": { "raw": [{ "scaffold": "x" }] }, "max_tokens": 1 });
        body[field] = value;
        ("/moot/v1/calls", body)
    };
    let (message, part) = (json!({ "role": "user", "content": "x" }), json!({ "type": "text", "text": "x" }));
    let parts = json!([{ "role": "user", "content": many(part) }]);
    let prompts = "prompt: expected at most 2048 entries, found 2049".to_owned();
    let segment = json!({ "scaffold": "x" });
    let refused = [
        (chat("messages", json!(many(message))), said("messages")),
        (chat("messages", parts), said("messages[0].content")),
        (chat("stop", json!(many(json!("x")))), "stop: expected at most 16 entries, found 20001".to_owned()),
        (chat("logit_bias", json!([vec![0; 1 << 20]])), values.clone()),
        (completion(json!(vec!["x"; 2049])), prompts.clone()),
        (completion(json!(vec![[5]; 2049])), prompts),
        (completion(json!(vec![5; 1 << 20])), values.clone()),
        (call("prompt", json!({ "raw": many(segment.clone()) })), said("prompt")),
        (call("prefill", json!(many(segment))), said("prefill")),
        (call("logprobs", json!({ "watch": many(json!(1)) })), said("logprobs.watch")),
        (call("stop", json!(vec!["x"; 17])), "stop: expected at most 16 entries, found 17".to_owned()),
        (("/tokenize", json!({ "prompt": "x", "more": vec![0; 1 << 20] })), values),
    ];
    for ((path, body), said) in refused {
        let response = server.post(path, &body);
        assert_eq!((response.status, response.error()), (400, said), "{path}");
    }
    // A list of prompts is of one type, that of its first entry.
    for (prompt, field) in
        [(json!([[1], "x"]), "prompt[1]"), (json!(["x", 1]), "prompt[1]"), (json!([{}]), "prompt[0]")]
    {
        let (path, body) = completion(prompt);
        let response = server.post(path, &body);
        assert!(response.status == 400 && response.error().starts_with(field), "{field}: {}", response.body);
    }
}

#[test]
fn what_a_request_may_ask_for_in_all_is_bounded() {
    let server = Started::new();
    let chat = |field: &str, value: Value| {
        let mut body =
            json!({ "messages": [{ "role": "user", "content": "x" }], "max_tokens": 8000, "logprobs": true });
        body[field] = value;
        body["top_logprobs"] = 20.into();
        ("/v1/chat/completions", body)
    };
    let call = |field: &str, value: Value| {
        let mut body = json!({ "model": "tiny.gguf", "prompt": { "raw": [{ "scaffold": "x" }] }, "max_tokens": 4000 });
        body[field] = value;
        ("/moot/v1/calls", body)
    };
    let complete = |prompt: Value, n: usize| ("/v1/completions", json!({ "prompt": prompt, "n": n, "max_tokens": 1 }));
    let refused = [
        chat("n", json!(128)),
        chat("stop", json!("x".repeat(1025))),
        complete(json!(vec!["x"; 100]), 100),
        complete(json!("word ".repeat(20_000)), 1),
        complete(json!([]), 1),
        call("logprobs", json!({ "top": 4_000_000_000_u64 })),
        call("logprobs", json!({ "watch": vec![1; 1000] })),
        call("stop", json!(["x".repeat(1025)])),
        call("grammar", json!({ "name": "g", "lark": "x".repeat(70_000) })),
        call("sampling", json!({ "seeded": { "temperature": 0.0, "top_k": 1, "top_p": 1.0 } })),
    ];
    for (path, body) in refused {
        let response = server.post(path, &body);
        assert_eq!(response.status, 400, "{path}: {}", response.body);
    }
    for prompt in [json!(""), json!([[]])] {
        assert!([200, 400].contains(&server.post("/v1/completions", &complete(prompt, 1).1).status));
    }
    assert_eq!(server.ask(call("seed", json!(1)).0, &call("max_tokens", json!(2)).1)["usage"]["generated"], 2);
}

#[test]
fn senseless_requests_leave_the_server_as_it_was() {
    let server = Started::new();
    // While its model was loaded, it was asked for its health.
    let failed = || server.metric("moot_responses_total{status=\"5xx\"}");
    let before = failed();
    let paths = ["/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/moot/v1/ask", "/tokenize", "/nothing"];
    let bodies =
        ["", "null", "{}", "[[[[", "\u{0}", "{\"messages\":{}}", "{\"prompt\":[[],[1,-1]]}", "{\"input\":[\"\"]}"];
    for path in paths {
        for body in bodies {
            for method in ["POST", "GET", "PUT", "DELETE", "BREW"] {
                let status = server.send(method, path, &[], body).status;
                assert!((400..500).contains(&status) || path == "/tokenize", "{method} {path} {body}: {status}");
            }
        }
    }
    for raw in ["\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "\u{1}\u{2}\r\n", "GET / HTTP/1.1\r\n\r\n"] {
        let mut stream = server.connect(raw);
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let _ = stream.read(&mut [0; 1024]);
    }
    // A client that promises a body and sends nothing, one that never ends its headers.
    let mut silent = server.connect("POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n");
    let mut endless = server.connect("GET / HTTP/1.1\r\nHost: localhost\r\n");
    endless.write_all(b"X: y\r\n").unwrap();
    silent.write_all(b"{").unwrap();
    let short = json!({ "messages": [{ "role": "user", "content": "x" }], "max_tokens": 1 });
    server.ask("/v1/chat/completions", &short);
    assert_eq!(server.metric("moot_requests_running"), 0.0);
    assert_eq!(failed(), before);
}

#[test]
fn many_clients_get_the_replies_that_they_get_alone() {
    let server = Started::new();
    let body = |client: usize| json!({ "messages": [{ "role": "user", "content": format!("Client {client} asks.") }], "max_tokens": 8 });
    let text = |reply: &Value| reply["choices"][0]["message"]["content"].as_str().unwrap().to_owned();
    let together: Vec<String> = std::thread::scope(|scope| {
        let server = &server;
        let asked: Vec<_> = (0..24)
            .map(|client| scope.spawn(move || text(&server.ask("/v1/chat/completions", &body(client)))))
            .collect();
        asked.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for client in [0, 7, 23] {
        assert_eq!(together[client], text(&server.ask("/v1/chat/completions", &body(client))), "{client}");
    }
    assert!(server.metric("moot_engine_peak_rows") > 1.0);
}
