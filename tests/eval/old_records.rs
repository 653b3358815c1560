//! A record of version 1, as the program wrote it then (commit 0dca491, a scripted server for a model), is still read:
//! one question that the server refused, one debate of two rounds.

use super::header;
use crate::cli::program::{moot, run, text};
use moot::eval::metrics::METRICS;
use moot::eval::record::Writer;
use moot::eval::record::reader::Record;
use moot::transcript::{Parsed, QuestionRecord};
use serde_json::{Value, json};
use std::path::Path;

const OLD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/version-1.jsonl");

fn old() -> Record {
    Record::read(Path::new(OLD)).unwrap()
}

#[test]
fn a_record_of_version_1_is_read() {
    let record = old();
    assert_eq!((record.header.moot_record, record.header.retriever.clone()), (1, None));
    let [refused, debate] = &record.questions[..] else { panic!("{}", record.questions.len()) };
    assert!(refused.error.as_ref().unwrap().contains("400 Bad Request") && refused.conclusion.is_none());
    assert!(debate.error.is_none() && debate.events.is_empty() && debate.retrieved.is_empty());
    // Fields that version 1 did not write: numbers are counted, all else has its default.
    assert_eq!(debate.calls.iter().map(|call| call.number).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 6, 7]);
    for call in &debate.calls {
        assert!(call.format.is_empty() && call.sampling.is_none() && call.think.is_none() && call.dropped.is_empty());
        assert_eq!(call.messages.len(), 1);
    }
    let gold = debate.question.gold.as_ref().unwrap();
    assert!(gold.all_required && !gold.unanswerable);
    assert_eq!(gold.answers, [["1884"], ["1971"]]);
    let conclusion = debate.conclusion.as_ref().unwrap();
    assert!(conclusion.calls.is_empty() && conclusion.converged);
    assert_eq!(conclusion.answers[0].supporters, [0]);
    // The last stage is taken for the concluding one.
    let [verdict] = &debate.concluding()[..] else { panic!("{:?}", debate.concluding()) };
    assert_eq!((verdict.number, verdict.role.as_str(), verdict.round), (7, "aggregator", 2));
    assert!(matches!(&verdict.parsed, Parsed::Answers { answers, .. } if answers.len() == 2));
    assert_eq!(refused.concluding(), Vec::<&moot::transcript::CallRecord>::new());
}

/// The numbers that the program of then printed for this record.
#[test]
fn it_scores_as_it_did() {
    let record = old();
    let questions: Vec<&QuestionRecord> = record.questions.iter().collect();
    for (name, mean) in [
        ("em", 0.5),
        ("precision", 0.5),
        ("recall", 0.5),
        ("f1", 0.5),
        ("em-equal", 0.5),
        ("f1-equal", 0.5),
        ("em-text", 0.5),
        ("precision-text", 0.5),
        ("recall-text", 0.5),
        ("unknown", 0.0),
        ("malformed", 0.0),
        ("error", 0.5),
        ("malformed-replies", 0.0),
        ("calls", 4.0),
        ("rounds", 1.0),
        ("prompt-tokens", 772.0),
        ("generated-tokens", 29.0),
    ] {
        let metric = METRICS.iter().find(|metric| metric.name == name).unwrap_or_else(|| panic!("no {name}"));
        assert_eq!(metric.over(&questions), Some(mean), "{name}");
    }
    let printed = run(moot(["score", "--json", OLD]));
    let json: Value = serde_json::from_slice(&printed.stdout).unwrap();
    assert_eq!(json["records"][0]["metrics"]["em"]["mean"], 0.5);
    assert_eq!(json["records"][0]["questions"], 2);
}

#[test]
fn it_is_shown_and_its_calls_are_exported() {
    let shown = text(&run(moot(["record", "show", OLD, "bridge"])).stdout);
    let squeezed = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(squeezed.contains("Conclusion after 2 rounds: every agent kept its answer"), "{shown}");
    assert!(squeezed.contains("1884 for 1 document 1 against 2 document 2 (1848), 3 document 3 (1971)"), "{shown}");
    assert!(text(&run(moot(["record", "show", OLD])).stdout).contains("-> error: http://"), "the list");

    let calls = text(&run(moot(["record", "calls", OLD])).stdout);
    let calls: Vec<Value> = calls.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(calls.len(), 8);
    let first = &calls[0];
    assert_eq!((&first["role"], &first["stage"], &first["max_tokens"]), (&json!("agent"), &json!(0), &json!(40)));
    assert!(first["messages"][0]["content"].as_str().unwrap().contains("Question: In which year"));
    assert!(first.get("sampling").is_none() && first["seed"].is_u64());
}

#[test]
fn it_is_not_continued_as_a_record_of_today() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old.jsonl");
    std::fs::copy(OLD, &path).unwrap();
    let refused = Writer::open(&path, &header()).err().unwrap().to_string();
    assert!(refused.contains("moot_record 1 there, 3 now"), "{refused}");
    assert_eq!(std::fs::read(&path).unwrap(), std::fs::read(OLD).unwrap());
}
