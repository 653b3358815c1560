//! Records of earlier programs: `madam-rag` before the switch `wording` and with switches of the method `debate`, that method,
//! which was removed, and `majority-vote` with `provenance`.

use super::header;
use crate::cli::program::{moot, run, text};
use crate::methods::typed;
use moot::eval::fork::{self, Change, Fork};
use moot::eval::record::reader::Record;
use moot::eval::record::{Header, RecordedMethod};
use moot::eval::replay::Replay;
use moot::llm::Call;
use moot::llm::scripted::Scripted;
use moot::methods;
use moot::protocol::ctx::{Settings, Silent, Tools};
use moot::question::{Document, Question};
use serde_json::{Value, json};

/// The switches of `madam-rag` in a header of the program before its departures from the paper became a method of their own.
fn earlier(set: &[(&str, Value)]) -> Value {
    let mut switches = json!({
        "rounds": 3, "history": "aggregate", "order": "document-first", "own-reply": false, "ask-again": "all",
        "grounded": false, "evidence": "explanation", "provenance": false, "aggregator": true
    });
    set.iter().for_each(|(name, value)| switches[*name] = value.clone());
    switches
}

/// Settings of `madam-rag` that were not the paper's, each alone.
fn departures() -> [(&'static str, Value); 7] {
    [
        ("history", json!("answers")),
        ("order", json!("history-first")),
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
fn a_setting_of_madam_rag_that_was_not_the_papers_has_no_method() {
    let line = "method debate: removed after commit 106b377, replaced by moot";
    for (name, value) in departures() {
        let header = of("madam-rag", earlier(&[(name, value)]));
        assert_eq!(RecordedMethod::of(&header).err().unwrap().to_string(), line, "{name}");
    }
    assert_eq!(RecordedMethod::of(&of("debate", json!({}))).err().unwrap().to_string(), line);
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
    assert_eq!(shown("debate", earlier(&departures())), "madam-rag, preset debate");
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

/// A run of `madam-rag` as the program before the switch `wording` recorded it.
fn recorded() -> Record {
    let built = methods::build("madam-rag", &typed(&[("wording", "tuned")])).unwrap();
    let document = |text: &str| Document { name: text.into(), text: text.into(), ..Document::default() };
    let question = Question {
        id: "q1".into(),
        text: "When?".into(),
        documents: ["Opened in 1902.", "Opened in 1903.", "Soup."].map(document).into(),
        ..Question::default()
    };
    let (llm, settings) = (Scripted::new(reply), Settings::default());
    let mut old = built.answer(&question, Tools::new(&llm), &settings, &Silent).unwrap();
    old.calls.iter_mut().for_each(|call| call.prompt = call.prompt.replace("_tuned", ""));
    let of_then = |(name, _): &(String, String)| name.contains("_tuned") || name.starts_with("reply/");
    let files = built.hashes().into_iter().filter(of_then);
    let files = files.map(|(name, hash)| (name.replace("_tuned", ""), hash)).collect();
    let header = Header { prompts: files, settings, ..of("madam-rag", earlier(&[])) };
    Record { path: "old.jsonl".into(), header, questions: vec![old], torn: false }
}

/// The prompts of `wording=paper`, which no record of then has.
const NEW: [&str; 2] = ["madam_rag/agent.jinja", "madam_rag/aggregator.jinja"];

#[test]
fn old_records_are_replayed_by_the_method_of_today() {
    let record = recorded();
    let replay = Replay::new(&record, None).unwrap();
    assert_eq!(replay.files, NEW, "the prompts have moved, their texts are the same");
    let header = replay.header("abc");
    assert_eq!((header.method.as_str(), &header.switches["wording"]), ("madam-rag", &json!("tuned")));
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
    assert_eq!(method.prompts.names().collect::<Vec<_>>(), ["madam_rag/aggregator_tuned.jinja"]);
    let record = recorded();
    let method = fork::method_of(&record).unwrap();
    assert_eq!(fork::other_files(&record.header, &method), NEW);
    let fork = Fork { round: 2, change: Change::Tell("Beware.".into()) };
    let header = fork::header(&record, &method, "abc", &record.questions[0], &fork);
    assert_eq!((header.method.as_str(), &header.switches["wording"]), ("madam-rag", &json!("tuned")));
    let llm = Scripted::new(reply);
    let course = fork.hold(&record.header, method, &record.questions[0], Tools::new(&llm), &Silent).unwrap();
    assert_eq!((course.cost.kept, course.cost.unchanged), (4, 0), "the first round is as it was: {:?}", course.cost);
}

/// A record of the removed method, as the program of commit 106b377 wrote it (a scripted server for a model).
const REMOVED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/debate.jsonl");

#[test]
fn a_record_of_the_removed_method_is_shown_scored_and_reported() {
    let shown = text(&run(moot(["record", "show", REMOVED, "1"])).stdout);
    assert!(shown.contains("unknown  said 1884, not in its document  withdrawn; said 1848"), "{shown}");
    assert!(shown.contains("withdrawn     2 document 2 (said 1848 in round 1)"), "{shown}");
    let scored: Value = serde_json::from_slice(&run(moot(["score", "--json", REMOVED])).stdout).unwrap();
    assert_eq!(scored["records"][0]["method"], "debate");
    assert_eq!(scored["records"][0]["metrics"]["answers-not-held"]["mean"], 1.0);
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    run(moot(["report", REMOVED, "-o", page.to_str().unwrap()]));
    assert!(std::fs::read_to_string(page).unwrap().contains("debate.jsonl"));
}

#[test]
fn a_record_of_the_removed_method_is_not_run_again() {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("debate.jsonl");
    std::fs::copy(REMOVED, &copy).unwrap();
    let path = copy.to_str().unwrap();
    let questions = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/three.jsonl");
    let fork = ["record", "fork", path, "1", "--round", "2", "--drop", "2"];
    let resume = ["run", questions, "--method", "debate", "--offline", "-o", path];
    for typed in
        [&["record", "replay", path][..], &fork, &["record", "why", path], &["record", "verify", path], &resume]
    {
        let output = moot(typed.iter().copied()).output().unwrap();
        let line = text(&output.stderr);
        let told = "method debate: removed after commit 106b377, replaced by moot";
        assert!(!output.status.success() && line.lines().any(|line| line.ends_with(told)), "{typed:?}: {line}");
    }
    assert_eq!(std::fs::read(&copy).unwrap(), std::fs::read(REMOVED).unwrap());
}
