//! Records of earlier programs that name `madam-rag` with the switches of today's method `debate`, and `majority-vote` with
//! `provenance`: shown, replayed and forked by the method of today.

use super::header;
use crate::methods::typed;
use moot::eval::fork::{self, Change, Fork};
use moot::eval::record::reader::Record;
use moot::eval::record::{Header, RecordedMethod};
use moot::eval::replay::Replay;
use moot::llm::Call;
use moot::llm::scripted::Scripted;
use moot::methods;
use moot::protocol::Row;
use moot::protocol::ctx::{Settings, Silent, Tools};
use moot::question::{Document, Question};
use serde_json::{Value, json};

/// The switches of `madam-rag` in a header of the program before `debate` was a method.
fn earlier(set: &[(&str, Value)]) -> Value {
    let mut switches = json!({
        "rounds": 3, "history": "aggregate", "order": "document-first", "own-reply": false, "ask-again": "all",
        "grounded": false, "evidence": "explanation", "provenance": false, "aggregator": true
    });
    set.iter().for_each(|(name, value)| switches[*name] = value.clone());
    switches
}

fn as_debate() -> [(&'static str, Value); 6] {
    [
        ("history", json!("answers")),
        ("own-reply", json!(true)),
        ("ask-again", json!("needed")),
        ("grounded", json!(true)),
        ("evidence", json!("auto")),
        ("provenance", json!(true)),
    ]
}

fn of(method: &str, switches: Value) -> Header {
    Header { method: method.into(), switches, ..header() }
}

/// Method and switches of a header as this program names them.
fn today(header: &Header) -> (&'static str, Value) {
    let method = RecordedMethod::of(header).unwrap();
    (method.row.name, method.build().unwrap().values.json())
}

#[test]
fn a_setting_of_madam_rag_that_was_not_the_papers_is_a_debate() {
    let defaults = methods::build("debate", &typed(&[])).unwrap().values.json();
    assert_eq!(today(&of("madam-rag", earlier(&as_debate()))), ("debate", defaults));
    for (name, value) in as_debate().into_iter().chain([("order", json!("history-first"))]) {
        let (method, switches) = today(&of("madam-rag", earlier(&[(name, value.clone())])));
        assert_eq!((method, &switches), ("debate", &earlier(&[(name, value)])), "{name}");
    }
    // A header without the later ones of these switches was at their defaults.
    let (method, switches) = today(&of("madam-rag", json!({ "rounds": 2, "own-reply": true })));
    assert_eq!((method, switches), ("debate", earlier(&[("rounds", json!(2)), ("own-reply", json!(true))])));
}

#[test]
fn a_setting_of_madam_rag_that_was_the_papers_is_madam_rag() {
    // Before `wording` there were the prompts that are tuned today.
    let paper = |rounds, history: &str, aggregator| {
        json!({
            "rounds": rounds, "history": history, "shuffle": true, "aggregator": aggregator, "wording": "tuned",
            "stop": "equal", "verdict": "asked"
        })
    };
    assert_eq!(today(&of("madam-rag", earlier(&[]))), ("madam-rag", paper(3, "aggregate", true)));
    let peers = earlier(&[("history", json!("peers")), ("rounds", json!(1)), ("aggregator", json!(false))]);
    assert_eq!(today(&of("madam-rag", peers)), ("madam-rag", paper(1, "peers", false)));
    let now = json!({
        "rounds": 2, "history": "peers", "shuffle": false, "aggregator": true, "wording": "paper", "stop": "equal",
        "verdict": "asked"
    });
    assert_eq!(today(&of("madam-rag", now.clone())), ("madam-rag", now));
    let vote = |switches| today(&of("majority-vote", switches)).1;
    let switches = json!({ "samples": 1, "keep": "two", "equality": "exact" });
    let before = json!({ "samples": 1, "keep": "two", "equality": "exact", "provenance": true });
    assert_eq!(vote(before), vote(switches));
}

#[test]
fn they_are_shown_by_the_names_of_their_time() {
    let shown =
        |preset: &str, switches| Header { preset: Some(preset.into()), ..of("madam-rag", switches) }.shown_method();
    assert_eq!(shown("debate", earlier(&as_debate())), "madam-rag, preset debate");
    let changed = [&as_debate()[..], &[("rounds", json!(2))]].concat();
    assert_eq!(shown("debate", earlier(&changed)), "madam-rag, preset debate, changed");
    // Its prompts are those of another preset today.
    assert_eq!(shown("peers", earlier(&[("history", json!("peers"))])), "madam-rag, preset peers, changed");
    let today = json!({ "history": "peers", "wording": "paper" });
    assert_eq!(shown("peers", today), "madam-rag, preset peers");
}

/// Years of the agents' documents, and the aggregator's list.
fn reply(call: &Call) -> String {
    let sent = &call.prompt.messages()[0].content;
    if call.role == "aggregator" {
        return "All Correct Answers: [\"1902\"]. Explanation: x".into();
    }
    let year = ["1902", "1903"].into_iter().find(|year| sent.contains(&format!("in {year}.")));
    format!("Answer: {}. Explanation: So it says.", year.unwrap_or("unknown"))
}

/// A run of `debate` as the program before it was a method recorded it.
fn recorded() -> Record {
    let built = methods::build("debate", &typed(&[])).unwrap();
    let document = |text: &str| Document { name: text.into(), text: text.into(), ..Document::default() };
    let question = Question {
        id: "q1".into(),
        text: "When?".into(),
        documents: ["Opened in 1902.", "Opened in 1903.", "Soup."].map(document).into(),
        ..Question::default()
    };
    let (llm, settings) = (Scripted::new(reply), Settings::default());
    let mut old = built.answer(&question, Tools::new(&llm), &settings, &Silent).unwrap();
    old.calls.iter_mut().for_each(|call| call.prompt = call.prompt.replace("debate/", "madam_rag/"));
    let files = built.hashes().into_iter().map(|(name, hash)| (name.replace("debate/", "madam_rag/"), hash)).collect();
    let header = Header { prompts: files, settings, ..of("madam-rag", earlier(&as_debate())) };
    Record { path: "old.jsonl".into(), header, questions: vec![old], torn: false }
}

#[test]
fn old_records_are_replayed_by_the_method_of_today() {
    let record = recorded();
    let replay = Replay::new(&record, None).unwrap();
    assert!(replay.files.is_empty(), "the prompts have moved, their texts are the same: {:?}", replay.files);
    let header = replay.header("abc");
    assert_eq!((header.method.as_str(), Row::named(&header.method).unwrap().name), ("debate", "debate"));
    assert_eq!(today(&header), today(&record.header));
    let (questions, report) = replay.run().unwrap();
    assert!(report.prompts.is_empty() && report.concluded_otherwise.is_empty() && report.unused == 0, "{report:?}");
    assert_eq!(questions[0].conclusion, record.questions[0].conclusion);
}

#[test]
fn old_records_are_forked_by_the_method_of_today() {
    let mut record = recorded();
    record.header.own_prompts.insert("madam_rag/aggregator.jinja".into(), "{{ question }} {{ replies }}".into());
    let method = fork::method_of(&record).unwrap();
    assert_eq!(method.prompts.names().collect::<Vec<_>>(), ["debate/aggregator.jinja"]);
    assert_eq!(fork::other_files(&record.header, &method), ["debate/aggregator.jinja"]);
    let record = recorded();
    let method = fork::method_of(&record).unwrap();
    assert!(fork::other_files(&record.header, &method).is_empty());
    let fork = Fork { round: 2, change: Change::Tell("Beware.".into()) };
    let header = fork::header(&record, &method, "abc", &record.questions[0], &fork);
    assert_eq!(header.method, "debate");
    let llm = Scripted::new(reply);
    let course = fork.hold(&record.header, method, &record.questions[0], Tools::new(&llm), &Silent).unwrap();
    assert_eq!((course.cost.kept, course.cost.unchanged), (4, 0), "the first round is as it was: {:?}", course.cost);
}
