//! Questions of documents: answers, events, records, forks, claims, and methods as models.

use super::{PATIENCE, Started, options};
use moot::eval::record::reader::Record;
use moot::serve::ServeOptions;
use moot::workspace::MethodOptions;
use serde_json::{Value, json};
use std::io::Read;
use std::net::TcpStream;
use std::time::Duration;

fn documents() -> Value {
    json!([
        { "name": "almanac", "text": "The Orrin ferry stopped in 1974.", "date": "1990", "source": "county" },
        { "id": "board", "text": "The Orrin ferry stopped in 1968." },
        { "text": "The weather was fine." },
    ])
}

/// A question to a method of one round, whatever the tiny model says.
fn body() -> Value {
    json!({ "question": "When did the Orrin ferry stop?", "documents": documents(),
        "method": { "name": "madam-rag", "preset": "every-answer", "max_tokens": 12 } })
}

fn streamed(server: &Started, path: &str, mut body: Value) -> Vec<(String, Value)> {
    body["stream"] = true.into();
    let response = server.post(path, &body);
    assert_eq!(response.status, 200, "{}", response.body);
    response.events()
}

fn names(events: &[(String, Value)]) -> Vec<&str> {
    events.iter().map(|(name, _)| name.as_str()).collect()
}

#[test]
fn a_question_is_answered_recorded_and_reported() {
    let server = Started::with(|options| {
        let records = Some(std::path::Path::new(&options.plan.model).with_file_name("asked"));
        ServeOptions { records, ..options }
    });
    let answer = server.ask("/moot/v1/ask", &body());
    assert_eq!(answer["method"], "madam-rag");
    assert_eq!(answer["calls"], 3);
    let named: Vec<&str> =
        answer["documents"].as_array().unwrap().iter().map(|d| d["name"].as_str().unwrap()).collect();
    assert_eq!(named, ["almanac", "board", "document 3"]);
    assert_eq!(answer["documents"][0]["number"], 1);
    assert_eq!(
        (&answer["documents"][0]["date"], &answer["documents"][0]["source"]),
        (&json!("1990"), &json!("county"))
    );

    let id = answer["id"].as_str().unwrap();
    let listed = server.get("/moot/v1/records").json();
    assert_eq!((&listed[0]["id"], &listed[0]["question"]), (&json!(id), &json!("When did the Orrin ferry stop?")));
    let file = server.folder.path().join("asked").join(format!("{id}.jsonl"));
    let (record, ledger) = Record::read_whole(&file).unwrap();
    ledger.check(&file).unwrap();
    assert_eq!((record.questions[0].calls.len(), record.header.preset.as_deref()), (3, Some("every-answer")));
    assert_eq!(server.get(&format!("/moot/v1/records/{id}")).body, std::fs::read_to_string(&file).unwrap());
    let shown = server.get(&format!("/moot/v1/records/{id}?format=json")).json();
    assert_eq!(shown["answered"]["question"], answer["question"]);
    assert_eq!(shown["documents"][1]["text"], "The Orrin ferry stopped in 1968.");
    let report = server.get(&format!("/moot/v1/records/{id}/report"));
    assert!(report.body.contains("<html") && report.header("content-disposition").unwrap().contains(id));
    for unknown in ["nope", "..%2Ftiny", "%2e%2e", &format!("{id}.jsonl")] {
        assert_eq!(server.get(&format!("/moot/v1/records/{unknown}")).status, 404, "{unknown}");
    }

    // Another server lists what the folder holds.
    let folder = server.folder.path().join("asked");
    let other = Started::with(|options| ServeOptions { records: Some(folder), ..options });
    assert_eq!(other.get("/moot/v1/records").json(), listed);
}

#[test]
fn a_question_that_names_no_method_has_that_of_the_server() {
    let server = Started::with(|mut options| {
        let method =
            MethodOptions { preset: Some("every-answer".into()), max_tokens: Some(5), ..MethodOptions::default() };
        options.plan.method = MethodOptions { name: Some("madam-rag".into()), ..method };
        options
    });
    assert_eq!(server.get("/moot/v1/methods").json()["default"], "madam-rag");
    let answer = server.ask("/moot/v1/ask", &json!({ "question": "When?", "documents": documents() }));
    assert_eq!((&answer["method"], &answer["calls"]), (&json!("madam-rag"), &json!(3)));
    let record = server.get(&format!("/moot/v1/records/{}", answer["id"].as_str().unwrap())).body;
    assert!(record.contains("\"max_tokens\":5"), "{record}");
}

#[test]
fn events_follow_the_debate() {
    let server = Started::new();
    let mut asked = body();
    asked["method"] = json!({ "name": "madam-rag", "switches": { "rounds": 2 }, "max_tokens": 8 });
    let events = streamed(&server, "/moot/v1/ask", asked);
    let names = names(&events);
    assert_eq!((names[0], *names.last().unwrap()), ("open", "answer"));
    assert_eq!(events[0].1["documents"].as_array().unwrap().len(), 3);
    let calls = names.iter().filter(|name| **name == "call").count();
    let promised: u64 =
        events.iter().filter(|(name, _)| name == "stage").map(|(_, v)| v["calls"].as_u64().unwrap()).sum();
    assert_eq!(calls as u64, promised);
    let answer = &events.last().unwrap().1;
    assert_eq!(answer["id"], events[0].1["id"]);
    let first = &events.iter().find(|(name, _)| name == "call").unwrap().1;
    assert_eq!((&first["role"], &first["round"]), (&json!("agent"), &json!(1)));
    assert!((1..=3).contains(&first["document"].as_u64().unwrap()));
}

#[test]
fn a_struck_document_is_gone_and_others_keep_their_replies() {
    let server = Started::new();
    let answer = server.ask("/moot/v1/ask", &body());
    let path = format!("/moot/v1/records/{}/fork", answer["id"].as_str().unwrap());
    let events = streamed(&server, &path, json!({ "strike": 3 }));
    let forked = &events.last().unwrap().1;
    assert_eq!(forked["documents"].as_array().unwrap().len(), 2);
    assert_eq!(events[0].1["documents"].as_array().unwrap().len(), 2, "without the struck one");
    let id = forked["id"].as_str().unwrap();
    assert_ne!(forked["id"], answer["id"]);
    let shown = server.get(&format!("/moot/v1/records/{id}?format=json")).json();
    assert!(shown["forked"].is_object(), "{shown}");
    let told = server.ask(&path, &json!({ "tell": "The board was repainted." }));
    let told = server.get(&format!("/moot/v1/records/{}", told["id"].as_str().unwrap())).body;
    assert!(told.contains("The board was repainted."));
    let wrong = [
        json!({}),
        json!({ "strike": 0 }),
        json!({ "strike": 9 }),
        json!({ "strike": 1, "tell": "x" }),
        json!({ "tell": "x", "round": 5 }),
        json!({ "strike": 1, "unknown": 2 }),
    ];
    for body in wrong {
        assert_eq!(server.post(&path, &body).status, 400, "{body}");
    }
}

#[test]
fn files_are_read_as_a_folder_of_them_is() {
    let server = Started::new();
    let html = "PGh0bWw+PHRpdGxlPkZlcnJ5PC90aXRsZT48Ym9keT48cD5UaGUgZmVycnkgc3RvcHBlZCBpbiA8ZGVsPjE5Njc8L2RlbD4gMTk2OC48L3A+PC9ib2R5PjwvaHRtbD4=";
    let mut asked = body();
    asked["documents"] =
        json!([{ "name": "../ferry.html", "base64": html, "source": "board" }, { "text": "One more." }]);
    let events = streamed(&server, "/moot/v1/ask", asked.clone());
    let read = &events[0].1["documents"][0];
    assert_eq!(read["text"].as_str().unwrap().trim(), "The ferry stopped in 1968.");
    assert_eq!(read["source"], "board");
    let read = server.ask("/moot/v1/documents", &json!({ "documents": asked["documents"] }));
    assert_eq!(read["documents"], events[0].1["documents"]);
    for (name, base64, expected) in
        [("a.html", "!!", "base64"), ("..", html, "name"), ("a.png", "iVBORw0KGgo=", "documents"), ("", html, "name")]
    {
        asked["documents"] = json!([{ "name": name, "base64": base64 }]);
        let response = server.post("/moot/v1/ask", &asked);
        assert_eq!(response.status, 400, "{name}");
        assert!(response.error().contains(expected), "{name}: {}", response.error());
        assert!(!response.error().contains("/tmp"), "{}", response.error());
    }
}

#[test]
fn claims_of_a_text_are_labelled() {
    let server = Started::new();
    let body =
        json!({ "text": "The ferry stopped in 1974.", "documents": documents(), "method": { "max_tokens": 16 } });
    let labelled = server.ask("/moot/v1/conflict", &body);
    // The tiny model's list of claims is senseless: the text's own sentence is the claim then.
    assert_eq!(labelled["claims"][0]["text"], "The ferry stopped in 1974.");
    assert_eq!(labelled["documents"].as_array().unwrap().len(), 3);
    let events = streamed(&server, "/moot/v1/conflict", body);
    assert_eq!((names(&events)[0], events.last().unwrap().0.as_str()), ("open", "answer"));
    assert_eq!(server.post("/moot/v1/conflict", &json!({ "text": " " })).status, 400);
}

#[test]
fn a_method_is_a_model_of_chats() {
    let server = Started::new();
    let messages = json!([{ "role": "user", "content": "When did the Orrin ferry stop?" }]);
    let mut body = json!({ "model": "moot/madam-rag:every-answer", "messages": messages, "documents": documents() });
    let whole = server.ask("/v1/chat/completions", &body);
    let content = whole["choices"][0]["message"]["content"].as_str().unwrap();
    assert!(content.contains("[1] almanac (county, 1990)"), "{content}");
    assert_eq!(whole["moot"]["calls"], 3);
    body["stream"] = true.into();
    body["stream_options"] = json!({ "include_usage": true });
    let events = server.post("/v1/chat/completions", &body).events();
    let delta = |field: &str| -> Vec<String> {
        let of = |(_, value): &(String, Value)| value["choices"][0]["delta"][field].as_str().map(str::to_owned);
        events.iter().filter_map(of).collect()
    };
    assert_eq!(delta("content").concat(), content);
    assert!(delta("reasoning_content").iter().any(|line| line.starts_with("agent of document 2, round 1: ")));
    assert!(events.iter().any(|(_, value)| value["moot"]["method"] == "madam-rag"));
    assert!(events.iter().any(|(_, value)| value["usage"]["prompt_tokens"].is_u64()));
    assert_eq!(events.last().unwrap().1, "[DONE]");
    // Fields that a method ignores are refused, as for other models.
    let unheeded = [
        ("n", json!(2)),
        ("stop", json!(["x"])),
        ("logprobs", json!(true)),
        ("response_format", json!({ "type": "json_object" })),
    ];
    for (field, value) in unheeded {
        let mut body = body.clone();
        body[field] = value;
        let response = server.post("/v1/chat/completions", &body);
        assert_eq!((response.status, response.json()["error"]["param"].as_str()), (400, Some(field)));
    }
    body["documents"] = json!(["The Orrin ferry stopped in 1974.", "The Orrin ferry stopped in 1968."]);
    body["response_format"] = json!({ "type": "text" });
    body["temperature"] = json!(0.7);
    body["n"] = json!(1);
    body["stop"] = json!([]);
    assert!(server.post("/v1/chat/completions", &body).events().iter().any(|(_, value)| value["moot"]["calls"] == 2));
    body["documents"] = json!([7]);
    let refused = server.post("/v1/chat/completions", &body);
    assert!(refused.status == 400 && refused.error().contains("a text, or an object with text"), "{}", refused.body);
    body["documents"] = documents();
    body["model"] = "moot/nothing".into();
    let events = server.post("/v1/chat/completions", &body).events();
    assert!(events.last().unwrap().1["error"]["message"].as_str().unwrap().contains("no method is called"));
}

/// Reads a stream until it holds `wanted`, and returns all that was read; `None` where the stream ends before.
fn read_until(stream: &mut TcpStream, read: &mut String, wanted: &str) -> Option<()> {
    let mut bytes = [0; 4096];
    while !read.contains(wanted) {
        let count = stream.read(&mut bytes).unwrap();
        if count == 0 {
            return None;
        }
        read.push_str(std::str::from_utf8(&bytes[..count]).unwrap());
    }
    Some(())
}

#[test]
fn a_question_is_paused_between_stages_goes_on_and_is_cancelled() {
    let server = Started::new();
    let start = |max_tokens: usize| {
        let mut asked = body();
        asked["method"] = json!({ "name": "madam-rag", "switches": { "rounds": 2 }, "max_tokens": max_tokens });
        asked["stream"] = true.into();
        let (mut stream, mut read) = (server.posting("/moot/v1/ask", &asked), String::new());
        read_until(&mut stream, &mut read, "\"method\"").unwrap();
        let id = read.split("\"id\":\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
        (stream, read, id)
    };
    let act = |id: &str, action: &str| server.post(&format!("/moot/v1/asks/{id}"), &json!({ "action": action })).status;
    // A question may end before it is paused: longer replies give more time, on a busy machine not enough each time.
    let lengths = || [100, 400, 1600].into_iter().chain([1600; 40]);
    let paused = |max_tokens: usize| {
        let (mut stream, mut read, id) = start(max_tokens);
        act(&id, "pause");
        read_until(&mut stream, &mut read, "\"paused\":true").map(|()| (stream, read, id))
    };
    let (mut stream, mut read, id) = lengths().find_map(paused).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    assert!(stream.read(&mut [0; 64]).is_err(), "nothing happens while it is paused");
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    assert_eq!(act(&id, "resume"), 200);
    read_until(&mut stream, &mut read, "event: answer").unwrap();
    server.until("it has ended", || act(&id, "pause") == 404);

    let (mut stream, mut read, id) = lengths().find_map(paused).unwrap();
    assert_eq!(act(&id, "cancel"), 200);
    read_until(&mut stream, &mut read, "\"error\"").unwrap();
    assert!(!read.contains("event: answer"), "{read}");
    assert_eq!(server.post("/moot/v1/asks/x", &json!({ "action": "explode" })).status, 400);
}

#[test]
fn what_cannot_be_asked_is_refused_with_its_field() {
    let server = Started::new();
    let cases = [
        (json!({ "question": " ", "documents": documents() }), "question"),
        (json!({ "question": "x", "documents": [{ "text": "" }] }), "documents[0].text"),
        (json!({ "question": "x", "documents": [{ "text": "a", "base64": "b" }] }), "documents[0]"),
        (json!({ "question": "x", "documents": documents(), "metod": 1 }), "metod"),
        (json!({ "question": "x", "documents": documents(), "method": { "name": "nope" } }), "no method is called"),
        (json!({ "question": "x", "documents": documents(), "method": { "prompts": "/etc" } }), "method.prompts"),
        (json!({ "question": "x", "documents": documents(), "method": { "max_tokens": 0 } }), "method.max_tokens"),
        (json!({ "question": "x", "documents": documents(), "search": { "top": 3 } }), "search.top"),
        (json!({ "question": "x", "documents": documents(), "method": "ircot" }), "retrieves"),
        (json!({ "question": "x" }), "needs at least 1 document"),
        (json!({ "question": "x", "documents": vec![json!({ "text": "a" }); 41] }), "at most 40 documents"),
        (json!({ "question": "x", "documents": [{ "text": "word ".repeat(3001) }] }), "at most 3000 words"),
    ];
    for (body, expected) in cases {
        let response = server.post("/moot/v1/ask", &body);
        assert_eq!(response.status, 400, "{expected}: {}", response.body);
        assert!(response.error().contains(expected), "{expected}: {}", response.error());
    }
    assert_eq!(server.post("/moot/v1/search", &json!({ "query": "ferry" })).status, 404);
}

#[test]
fn documents_that_cannot_be_compared_are_refused_and_a_missing_embedder_is_told() {
    let server = Started::new();
    let ask = |texts: &[&str]| {
        let documents: Vec<Value> = texts.iter().map(|text| json!({ "text": text })).collect();
        server.post("/moot/v1/contradictions", &json!({ "documents": documents }))
    };
    for (texts, expected) in [
        (&["Who is it?", "Why?"][..], "documents: expected sentences that state something, found none"),
        (&["The ferry stopped in 1974."], "documents: expected two documents or more, found 1"),
        (&[], "documents: expected two documents or more, found 0"),
    ] {
        let refused = ask(texts);
        assert_eq!((refused.status, refused.error()), (400, expected.into()));
    }
    let compared = ask(&["The ferry stopped in 1974.", "The ferry stopped in 1968."]).json();
    let read = compared["read"].to_string();
    assert!(read.contains("pairs are found by words alone") && read.contains("--embedder"), "{read}");
}

/// A server with a corpus of two notes, of which it finds `top`.
pub(super) fn with_notes(top: Option<usize>) -> Started {
    Started::with(|options| {
        let folder = std::path::Path::new(&options.plan.model).with_file_name("notes");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("board.txt"), "The Orrin ferry stopped in 1968.\n").unwrap();
        std::fs::write(folder.join("almanac.txt"), "The Orrin ferry stopped in 1974, it says.\n").unwrap();
        let mut plan = options.plan.clone();
        plan.corpus.paths = vec![folder.display().to_string()];
        plan.corpus.embedder = Some("none".into());
        plan.corpus.top = top;
        ServeOptions { plan, ..options }
    })
}

#[test]
fn settings_of_a_search_are_those_of_the_server_unless_a_request_has_its_own() {
    let server = with_notes(Some(1));
    let count = |search: Value| {
        let hits = server.ask("/moot/v1/search", &json!({ "query": "Orrin ferry", "search": search }));
        let method = json!({ "name": "concatenated", "max_tokens": 8 });
        let asked = json!({ "question": "When did the Orrin ferry stop?", "method": method, "search": search });
        let answer = server.ask("/moot/v1/ask", &asked);
        (hits.as_array().unwrap().len(), answer["documents"].as_array().unwrap().len())
    };
    assert_eq!(count(json!({})), (1, 1));
    assert_eq!(count(json!({ "top": 2 })), (2, 2));
}

#[test]
fn a_corpus_is_searched_for_questions_without_documents() {
    let server = with_notes(None);
    let hits = server.ask("/moot/v1/search", &json!({ "query": "Orrin ferry", "search": { "top": 1 } }));
    assert_eq!(hits.as_array().unwrap().len(), 1);
    let asked =
        json!({ "question": "When did the Orrin ferry stop?", "method": { "name": "concatenated", "max_tokens": 8 } });
    let answer = server.ask("/moot/v1/ask", &asked);
    assert_eq!(answer["documents"].as_array().unwrap().len(), 2);
    assert!(answer["documents"][0]["origin"].as_str().unwrap().contains(".txt:1"));
    let events = streamed(&server, "/moot/v1/ask", asked.clone());
    assert_eq!(events[0].1["documents"].as_array().unwrap().len(), 2, "passages are shown when they are found");
    assert!(names(&events).contains(&"event"));
    let hits = server.ask("/moot/v1/search", &json!({ "query": "Orrin ferry" }));
    assert_eq!(hits.as_array().unwrap().len(), 2);
    let mut own = asked;
    own["documents"] = json!([{ "name": "own", "text": "It stopped in 1950." }]);
    let answer = server.ask("/moot/v1/ask", &own);
    assert_eq!(answer["documents"][0]["name"], "own");
    assert_eq!(answer["documents"].as_array().unwrap().len(), 1);
    assert!(options(server.folder.path()).plan.corpus.paths.is_empty());
}
