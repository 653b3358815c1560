//! `moot conflict correct`: a person's labels in a record of labelled claims.

use super::conflict::{conflict, workspace};
use super::program::{Workspace, moot, text};
use moot::eval::record::reader::Record;
use moot::question::ClaimRelation;
use serde_json::Value;
use std::fs;
use std::process::Output;

/// A record of one claim and two documents, labelled by the tiny model.
fn labelled() -> Workspace {
    let workspace = workspace();
    let output = conflict(&workspace, "answer.txt --docs council.txt diary.md --claims whole -o claims.jsonl", None);
    assert!(output.status.success(), "{}", text(&output.stderr));
    workspace
}

fn said(workspace: &Workspace, typed: &[&str]) -> Output {
    let mut command = moot(typed.iter().copied());
    command.current_dir(workspace.path("")).env("MOOT_CACHE", workspace.path("")).output().unwrap()
}

fn correct(workspace: &Workspace, lines: &str, more: &[&str]) -> Output {
    fs::write(workspace.path("labels.jsonl"), lines).unwrap();
    said(workspace, &[&["conflict", "correct", "claims.jsonl", "labels.jsonl"], more].concat())
}

const BOTH: &str = concat!(
    r#"{"claim": 1, "document": 2, "label": "contradicts", "quote": "It opened in 1947", "reason": "another year"}"#,
    "\n",
    r#"{"question": "asked", "claim": 1, "document": 1, "label": "supports"}"#,
    "\n",
);

#[test]
fn a_persons_labels_replace_those_of_the_record_and_are_scored() {
    let workspace = labelled();
    let output = correct(&workspace, BOTH, &["-o", "corrected.jsonl", "--format", "json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let claim = &json["claims"][0];
    assert_eq!((claim["conflict"].as_bool(), json["scores"]["cs_c"].as_f64()), (Some(true), Some(1.0)));
    let (supporter, contradictor) = (&claim["supporters"][0], &claim["contradictors"][0]);
    assert_eq!((supporter["document"].as_u64(), supporter["by"].as_str()), (Some(1), Some("person")));
    assert_eq!(
        (contradictor["quote"]["text"].as_str(), contradictor["line"].as_u64()),
        (Some("It opened in 1947"), Some(1))
    );
    assert_eq!(json["labelled_by"], serde_json::json!([["person", 2]]));

    // The written record is whole, is scored by the same labels, and names its origin.
    let before = Record::read_whole(&workspace.path("claims.jsonl")).unwrap();
    let (record, ledger) = Record::read_whole(&workspace.path("corrected.jsonl")).unwrap();
    assert!(record.is_whole(&ledger));
    let origin = record.header.corrected.as_ref().unwrap();
    assert_eq!((&origin.chain, origin.labels), (&before.1.chain, 2));
    let scores = text(&said(&workspace, &["score", "corrected.jsonl"]).stdout);
    assert!(scores.lines().any(|line| line.starts_with("cs-c") && line.contains('1')), "{scores}");

    // The same labels given again are confirmed.
    fs::rename(workspace.path("corrected.jsonl"), workspace.path("claims.jsonl")).unwrap();
    let again = correct(&workspace, BOTH, &[]);
    let told = text(&again.stderr);
    assert!(told.contains("2 labels corrected in 1 question: 2 confirmed, 0 changed, 0 where none counted"), "{told}");
    let one = r#"{"claim": 1, "document": 1, "label": "irrelevant"}"#;
    let changed = correct(&workspace, one, &["-o", "third.jsonl"]);
    assert!(text(&changed.stderr).contains("1 label corrected in 1 question: 0 confirmed, 1 changed"));
    let third = Record::read(&workspace.path("third.jsonl")).unwrap();
    let labels = &third.questions[0].conclusion.as_ref().unwrap().claims.as_ref().unwrap()[0].labels;
    let relations: Vec<_> = labels.iter().map(|label| (label.document, label.relation)).collect();
    assert_eq!(relations, [(0, ClaimRelation::Irrelevant), (1, ClaimRelation::Contradicts)]);
}

#[test]
fn corrections_that_cannot_be_made_are_refused_with_their_line() {
    let workspace = labelled();
    let refused = |lines: &str, parts: &[&str]| {
        let output = correct(&workspace, lines, &["-o", "out.jsonl"]);
        let told = text(&output.stderr);
        assert!(!output.status.success() && output.stdout.is_empty(), "{lines}: {told}");
        assert!(told.lines().count() <= 2 && parts.iter().all(|part| told.contains(part)), "{lines}: {told}");
        assert!(!workspace.path("out.jsonl").exists());
    };
    let line = |fields: &str| format!("{{\"claim\": 1, \"document\": 1, \"label\": \"supports\"{fields}}}\n");
    refused("", &["labels.jsonl", "expected corrections, one a line, found none"]);
    refused("{\"claim\": 1}\n", &["labels.jsonl:1:", "a correction, as {\"claim\": 2", "missing field `document`"]);
    refused(&line(", \"weight\": 2"), &["labels.jsonl:1:", "unknown field `weight`"]);
    refused(&(line("") + &line("")), &["labels.jsonl:2:", "one label of a pair", "claim 1 and document 1"]);
    refused(&line("").replace("\"claim\": 1", "\"claim\": 0"), &["expected a claim from 1 to 1, found 0"]);
    refused(&line("").replace("\"document\": 1", "\"document\": 3"), &["expected a document from 1 to 2, found 3"]);
    refused(&line(", \"question\": \"other\""), &["expected the id of a recorded question, found \"other\""]);
    refused(&line(", \"quote\": \"It closed in 1990\""), &["words of the document as \"quote\"", "It closed in 1990"]);
    refused(&line("").replace("supports", "maybe"), &["labels.jsonl:1:", "maybe"]);
    let output = correct(&workspace, &line(""), &["-o", "claims.jsonl"]);
    assert!(text(&output.stderr).contains("claims.jsonl"), "the record stays: {}", text(&output.stderr));
    assert!(Record::read_whole(&workspace.path("claims.jsonl")).unwrap().0.header.corrected.is_none());
}
