//! Scored labels of the command line: weights fitted to a record, weights of a file, and exit codes for CI.

use super::conflict::{conflict, on_the_tiny_model, refused, workspace};
use super::program::{Workspace, moot, text};
use crate::llm::server::{Server, reply};
use moot::eval::record::reader::Record;
use serde_json::Value;
use std::fs;

/// Scores 90 labelled claims, and fits weights to them.
fn calibrated() -> Workspace {
    let workspace = workspace();
    let labels = ["Supports", "Refutes", "Neutral"];
    let row = |i: usize| format!("{i},It opened in 19{:02}.,It opened in 1931 {i}.,{},When?\n", i % 50, labels[i % 3]);
    let csv: String = (0..90).map(row).collect();
    fs::write(workspace.path("pairs.csv"), format!("id,evidence,claim,label,question\n{csv}")).unwrap();
    let typed = "pairs.csv -o scores.jsonl --method conflict-score --labels scored --quotes none --in-flight 8";
    let run = on_the_tiny_model(&workspace, "run", typed);
    assert!(run.status.success(), "{}", text(&run.stderr));
    workspace
}

fn calibrate(workspace: &Workspace, record: &str) -> std::process::Output {
    let typed = ["conflict", "calibrate", record, "-o", "weights.json"];
    moot(typed).current_dir(workspace.path("")).output().unwrap()
}

#[test]
fn weights_are_fitted_written_and_taken_by_later_labels() {
    let workspace = calibrated();
    let output = calibrate(&workspace, "scores.jsonl");
    let page = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(page.starts_with("fitted to 45 pairs, measured on 45 pairs of 45 other claims\n"), "{page}");
    for part in ["accuracy  ", "of scores alone", "of one label", "macro F1", "calibration error", "dataset / found"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let weights: Value = serde_json::from_slice(&fs::read(workspace.path("weights.json")).unwrap()).unwrap();
    let record = Record::read(&workspace.path("scores.jsonl")).unwrap();
    assert_eq!(
        (weights["model"].as_str(), weights["pairs"].as_u64()),
        (Some(record.header.model.name.as_str()), Some(45))
    );
    assert_eq!(weights["prompt"], record.header.prompts["conflict_score/scored.jinja"]);
    // Later labels take them, and the record holds the weights themselves.
    let typed = "answer.txt --docs council.txt diary.md --claims whole --labels scored --label-weights weights.json -o out.jsonl";
    let output = conflict(&workspace, typed, None);
    assert!(output.status.success() && text(&output.stdout).contains("CS-C  "), "{}", text(&output.stderr));
    assert_eq!(Record::read(&workspace.path("out.jsonl")).unwrap().header.switches["label-weights"], weights);
    let replayed =
        moot(["record", "replay", "out.jsonl", "-o", "again.jsonl"]).current_dir(workspace.path("")).output();
    assert!(replayed.unwrap().status.success());
    // Other labels of a record than by these weights are refused.
    let typed = "answer.txt --docs council.txt diary.md --claims whole --labels scored --label-weights";
    let other = weights.to_string().replacen(&weights["sha256"].to_string(), "\"00ff\"", 1);
    fs::write(workspace.path("other.json"), other).unwrap();
    refused(
        &workspace,
        &format!("{typed} other.json"),
        None,
        &["label-weights: fitted to the model", "moot conflict calibrate"],
    );
    fs::write(workspace.path("list.json"), "[1, 2]").unwrap();
    refused(
        &workspace,
        &format!("{typed} list.json"),
        None,
        &["list.json:1: expected a JSON object for --label-weights"],
    );
    refused(&workspace, &format!("{typed} nowhere.json"), None, &["nowhere.json"]);
    fs::write(workspace.path("some.json"), "{\"a\": 1}").unwrap();
    refused(&workspace, &format!("{typed} some.json"), None, &["label-weights: expected label weights, version 1"]);
}

#[test]
fn a_record_without_scored_labels_cannot_be_fitted_to() {
    let workspace = calibrated();
    let run = "pairs.csv -o replies.jsonl --method conflict-score --limit 3";
    let run = on_the_tiny_model(&workspace, "run", run);
    assert!(run.status.success(), "{}", text(&run.stderr));
    let output = calibrate(&workspace, "replies.jsonl");
    let said = text(&output.stderr);
    assert!(
        !output.status.success() && said.contains("replies.jsonl:1: expected at least 60 labelled pairs"),
        "{said}"
    );
    assert!(!workspace.path("weights.json").exists());
}

/// The tiny model's labels are senseless, so the code is compared with the counts that are printed.
#[test]
fn the_exit_code_says_whether_claims_are_as_they_must_not_be() {
    let workspace = workspace();
    let typed = "answer.txt --docs council.txt diary.md --claims whole --labels scored --quotes none --format json";
    let all = conflict(&workspace, typed, None);
    let json: Value = serde_json::from_slice(&all.stdout).unwrap();
    let count = |name: &str| json["scores"][name].as_u64().unwrap();
    let contradicted = count("contradicted") + count("conflicting") > 0;
    let unsupported = count("contradicted") + count("neither") > 0;
    assert!(contradicted || unsupported || count("supported") == 1);
    for (on, fails) in [
        ("contradicted", contradicted),
        ("unsupported", unsupported),
        ("contradicted,unsupported", contradicted || unsupported),
    ] {
        let output = conflict(&workspace, &format!("{typed} --fail-on {on}"), None);
        assert_eq!(output.status.code(), Some(i32::from(fails)), "{on}: {}", text(&output.stderr));
        assert_eq!(output.stdout, all.stdout, "the page is printed all the same");
        assert_eq!(text(&output.stderr).contains("--fail-on: 1 claim with"), fails, "{}", text(&output.stderr));
    }
}

/// A contradictor may be among the labels that are missing.
#[test]
fn a_text_with_missing_labels_does_not_pass() {
    let workspace = workspace();
    let server = Server::start(|_, _, stream| reply(stream, "I cannot say."));
    let typed = ["conflict", "answer.txt", "--docs", "council.txt", "diary.md", "--claims", "whole", "--free-form"];
    let conflict = |more: &[&str]| {
        let mut command = moot([&typed[..], &["--model", &server.base], more].concat());
        command.env("MOOT_CACHE", workspace.path("")).current_dir(workspace.path("")).output().unwrap()
    };
    let without = conflict(&[]);
    assert!(without.status.success(), "{}", text(&without.stderr));
    assert!(text(&without.stdout).contains("2 malformed"), "{}", text(&without.stdout));
    for kind in ["contradicted", "unsupported"] {
        let output = conflict(&["--fail-on", kind]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("error: 2 of 2 labels are missing (malformed or failed)"), "{said}");
    }
}
