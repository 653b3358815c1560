//! `moot conflict --docs`: copies that count once, and prompts of one's own.

use super::conflict::{conflict, refused, workspace};
use super::program::text;
use moot::eval::record::reader::Record;
use serde_json::Value;
use std::fs;

#[test]
fn copies_of_a_document_count_once_and_are_named() {
    let workspace = workspace();
    let write = |name: &str, words: &str| fs::write(workspace.path(name), words).unwrap();
    // The longer text has all words of council.txt; the last one has another year.
    write("minutes.txt", "The bridge at Orm was planned. It opened in 1931 <b>. Many people came to see it.\n");
    write("other.txt", "The bridge at Orm was planned. It opened in 1932 <b>.\n");
    let typed = "answer.txt --docs council.txt minutes.txt other.txt --claims whole";
    let output = conflict(&workspace, &format!("{typed} --format json -o out.jsonl"), None);
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    let notes: Vec<&str> = said.lines().filter(|line| line.contains("count as one document")).collect();
    assert_eq!(notes, ["note council.txt: nearly the same as minutes.txt; the two count as one document"]);
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let names: Vec<&str> = json["documents"].as_array().unwrap().iter().map(|d| d["name"].as_str().unwrap()).collect();
    assert_eq!((names, &json["scores"]["labels"]), (vec!["minutes.txt", "other.txt"], &2.into()));
    assert_eq!(json["documents"][0]["copies"], serde_json::json!(["council.txt"]));
    assert!(json["documents"][1].get("copies").is_none(), "{json}");
    let recorded = Record::read(&workspace.path("out.jsonl")).unwrap();
    assert_eq!(recorded.questions[0].question.documents[0].copies[0].origin.file, "council.txt");
    for form in ["text", "markdown", "html"] {
        let page = text(&conflict(&workspace, &format!("{typed} --format {form}"), None).stdout);
        assert!(page.contains("with its copies council.txt"), "{form}: {page}");
    }
}

#[test]
fn claims_are_labelled_by_prompts_of_ones_own() {
    const LABELLER: &str = "conflict_score/labeller.jinja";
    let workspace = workspace();
    fs::create_dir_all(workspace.path("mine/conflict_score")).unwrap();
    fs::write(workspace.path("mine").join(LABELLER), "{{ document }}\nClaim: {{ claim }}\nOne of three.").unwrap();
    let typed = "answer.txt --docs council.txt diary.md --claims whole --labels labeller --prompts mine -o own.jsonl";
    let output = conflict(&workspace, typed, None);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let record = Record::read(&workspace.path("own.jsonl")).unwrap();
    assert!(record.header.own_prompts[LABELLER].ends_with("One of three."));
    let calls = &record.questions[0].calls;
    assert_eq!(calls.len(), 2);
    let own = |message: &moot::generation::Message| message.content.contains("One of three.");
    assert!(calls.iter().all(|call| call.messages.iter().any(own)), "{calls:?}");
    refused(&workspace, "answer.txt --docs council.txt --prompts nowhere", None, &["nowhere"]);
}
