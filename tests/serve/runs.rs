//! Datasets in a body: events for each question, one record, and the end by order or because the client has left.

use super::Started;
use moot::eval::record::reader::Record;
use moot::serve::{Limits, ServeOptions};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::Path;

/// `count` questions of two documents each.
fn questions(count: usize) -> Value {
    let question = |n: usize| {
        json!({
            "id": format!("q{n}"), "question": format!("When did ferry {n} stop?"), "answers": ["1968"],
            "documents": [{ "title": "board", "text": format!("Ferry {n} stopped in 1968.") }, "The weather was fine."],
        })
    };
    (0..count).map(question).collect()
}

fn body(count: usize) -> Value {
    let method = json!({ "name": "madam-rag", "preset": "every-answer", "max_tokens": 12 });
    json!({ "questions": questions(count), "method": method, "in_flight": 2 })
}

fn recorded() -> Started {
    Started::with(|options| {
        let records = Some(Path::new(&options.plan.model).with_file_name("asked"));
        ServeOptions { records, ..options }
    })
}

/// The record of a run, whose hashes are right.
fn record(server: &Started, id: &str) -> Record {
    let file = server.folder.path().join("asked").join(format!("{id}.jsonl"));
    let (record, ledger) = Record::read_whole(&file).unwrap();
    ledger.check(&file).unwrap();
    record
}

#[test]
fn a_dataset_is_answered_question_by_question_into_one_record() {
    let server = recorded();
    let mut streamed = body(5);
    streamed["stream"] = true.into();
    let events = server.post("/moot/v1/runs", &streamed).events();
    let of = |name: &str| events.iter().filter(|(known, _)| known == name).map(|(_, data)| data).collect::<Vec<_>>();
    assert_eq!((events[0].0.as_str(), &events[0].1["questions"]), ("open", &json!(5)));
    let (last, reply) = events.last().unwrap();
    let counted = ["questions", "recorded", "failed", "cancelled", "calls"].map(|name| reply[name].clone());
    assert_eq!((last.as_str(), counted), ("run", [json!(5), json!(5), json!(0), json!(false), json!(10)]));
    let mut seen: Vec<(&str, i64)> =
        of("question").iter().map(|data| (data["id"].as_str().unwrap(), data["index"].as_i64().unwrap())).collect();
    seen.sort_unstable();
    assert_eq!(seen, [("q0", 0), ("q1", 1), ("q2", 2), ("q3", 3), ("q4", 4)]);
    assert!(of("question").iter().all(|data| data["error"].is_null() && data["answered"]["calls"] == 2));

    // One record, which is read by its id, reported and listed.
    let id = reply["id"].as_str().unwrap();
    let kept = record(&server, id);
    let dataset = kept.header.dataset.as_ref().unwrap();
    assert_eq!((dataset.name.as_str(), dataset.questions, kept.questions.len()), ("questions.jsonl", 5, 5));
    let file = server.folder.path().join("asked").join(format!("{id}.jsonl"));
    assert_eq!(server.get(&format!("/moot/v1/records/{id}")).body, std::fs::read_to_string(file).unwrap());
    assert!(server.get(&format!("/moot/v1/records/{id}/report")).body.contains("ferry 3"));
    let listed = server.get("/moot/v1/records").json();
    assert_eq!((&listed[0]["id"], &listed[0]["questions"]), (&json!(id), &json!(5)));
    for (path, body) in [("?format=json", None), ("/fork", Some(json!({ "tell": "It rained." })))] {
        let path = format!("/moot/v1/records/{id}{path}");
        let refused = body.map_or_else(|| server.get(&path), |body| server.post(&path, &body));
        assert_eq!(
            (refused.status, refused.error().contains("that of a run, with 5 questions")),
            (400, true),
            "{path}"
        );
    }

    // The replies are those of the same questions, asked alone.
    let alone = server.ask(
        "/moot/v1/ask",
        &json!({ "question": "When did ferry 3 stop?", "method": body(1)["method"],
            "documents": [{ "title": "board", "name": "board", "text": "Ferry 3 stopped in 1968." }, { "text": "The weather was fine." }] }),
    );
    let alone = record(&server, alone["id"].as_str().unwrap());
    let replies = |record: &Record, at: usize| {
        record.questions[at].calls.iter().map(|call| call.reply.clone()).collect::<Vec<_>>()
    };
    let third = kept.questions.iter().position(|question| question.question.id == "q3").unwrap();
    assert_eq!(replies(&kept, third), replies(&alone, 0));

    // Not streamed, by the server's own method.
    let whole = server.ask("/moot/v1/runs", &json!({ "questions": questions(2) }));
    assert_eq!((&whole["method"], &whole["recorded"]), (&json!(moot::methods::ASK), &json!(2)));
    assert_eq!(record(&server, whole["id"].as_str().unwrap()).questions.len(), 2);

    // Both runs are listed, the newest first, and by a server that starts later too.
    let runs = |listed: &Value| -> Vec<(Value, Value)> {
        let of = |entry: &Value| entry["questions"].is_u64().then(|| (entry["id"].clone(), entry["questions"].clone()));
        listed.as_array().unwrap().iter().filter_map(of).collect()
    };
    let listed = runs(&server.get("/moot/v1/records").json());
    assert_eq!(listed[0], (whole["id"].clone(), json!(2)));
    assert_eq!(listed[1], (json!(id), json!(5)));
    let folder = server.folder.path().join("asked");
    let later = Started::with(|options| ServeOptions { records: Some(folder), ..options });
    assert_eq!(runs(&later.get("/moot/v1/records").json()), listed);
}

/// Reads events until one is called `name`; its data.
fn until(stream: &mut impl BufRead, name: &str) -> Value {
    let mut line = String::new();
    loop {
        line.clear();
        assert!(stream.read_line(&mut line).unwrap() > 0, "the stream ended before {name}");
        if line.trim() == format!("event: {name}") {
            line.clear();
            stream.read_line(&mut line).unwrap();
            return serde_json::from_str(line.trim().strip_prefix("data: ").unwrap()).unwrap();
        }
    }
}

#[test]
fn a_run_that_is_cancelled_or_left_keeps_what_is_recorded() {
    let server = recorded();
    let mut long = body(400);
    (long["stream"], long["method"]["max_tokens"]) = (true.into(), 200.into());
    let mut stream = BufReader::new(server.posting("/moot/v1/runs", &long));
    let id = until(&mut stream, "open")["id"].as_str().unwrap().to_owned();
    until(&mut stream, "question");
    let path = format!("/moot/v1/runs/{id}");
    assert_eq!(server.post(&path, &json!({ "action": "pause" })).status, 400);
    assert_eq!(server.ask(&path, &json!({ "action": "cancel" })), json!({ "id": id }));
    let reply = until(&mut stream, "run");
    assert_eq!((&reply["cancelled"], &reply["questions"]), (&json!(true), &json!(400)));
    let there = record(&server, &id).questions.len();
    assert!(there > 0 && there < 400 && reply["recorded"] == there, "{there} {reply}");
    // The folder of records is the server's own.
    let notes = reply["notes"].to_string();
    assert!(notes.contains(&format!("questions are in {id}.jsonl")) && !notes.contains("asked"), "{notes}");
    assert_eq!(server.post(&path, &json!({ "action": "cancel" })).status, 404);

    let mut stream = BufReader::new(server.posting("/moot/v1/runs", &long));
    let id = until(&mut stream, "open")["id"].as_str().unwrap().to_owned();
    until(&mut stream, "question");
    drop(stream);
    server.until("the run that was left has ended", || server.metric("moot_requests_running") == 0.0);
    assert_eq!(server.metric("moot_engine_pages_held"), 0.0);
    assert!(record(&server, &id).questions.len() < 400);
}

#[test]
fn a_run_that_cannot_be_made_is_refused() {
    let server = Started::limited(Limits { at_once: 4, ..Limits::default() });
    let question = |fields: Value| json!({ "questions": [{ "question": "When?" }, fields], "in_flight": 1 });
    let cases = [
        (json!({}), "questions: expected a question or more, found none"),
        (question(json!({ "prompt": "When?" })), "questions[1]: expected the fields of docs/data.md"),
        (question(json!("When?")), "questions[1]: expected"),
        (question(json!({ "question": "When?", "documents": 3 })), "questions[1]: expected a list"),
        (json!({ "questions": questions(2), "in_flight": 5 }), "in_flight: expected at most 4"),
        (json!({ "questions": questions(2), "in_flight": 0 }), "in_flight"),
        (json!({ "questions": questions(2), "method": "moot,madam-rag" }), "method: expected one method"),
        (json!({ "questions": questions(2), "method": "nothing" }), "nothing"),
        (
            json!({ "questions": questions(2), "method": { "prompts": "/etc" } }),
            "a request names no files of the server",
        ),
        (json!({ "questions": questions(2), "search": { "top": 3 } }), "search"),
        (json!({ "questions": vec![0; 20_001] }), "at most 20000 entries"),
        (json!({ "questions": [vec![0; 1 << 20]] }), "expected at most 1048576 values, found more"),
    ];
    for (body, expected) in cases {
        let refused = server.post("/moot/v1/runs", &body);
        assert_eq!(refused.status, 400, "{expected}: {}", refused.body);
        let said = refused.error();
        assert!(said.contains(expected) && !said.contains('\n') && !said.contains("/tmp"), "{expected}: {said}");
    }
    assert_eq!(server.get("/moot/v1/records").json(), json!([]));
}
