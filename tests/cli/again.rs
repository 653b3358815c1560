//! Recorded debates held again, and tables of the papers, by the program.

use super::program::{THREE, Workspace, moot, run, text};
use moot::eval::record::reader::Record;
use serde_json::Value;
use std::fs;
use std::process::{Command, Output};

fn here(workspace: &Workspace, typed: &[&str]) -> Command {
    let mut command = moot(typed.iter().copied());
    command.env("MOOT_CACHE", workspace.path("")).current_dir(workspace.path(""));
    command
}

/// With the arguments that keep a model small and quick.
fn with_model(workspace: &Workspace, typed: &[&str]) -> Output {
    run({
        let mut command = here(workspace, typed);
        command.args(["--offline", "--kv-memory", "64M"]);
        command
    })
}

fn recorded() -> Workspace {
    let workspace = Workspace::new();
    run(workspace.run_of(1, "out.jsonl"));
    workspace
}

#[test]
fn a_fork_shows_both_courses_counts_its_calls_and_is_saved() {
    let workspace = recorded();
    let forked = |more: &[&str]| with_model(&workspace, &[&["record", "fork", "out.jsonl", "1"], more].concat());
    let said = text(&forked(&["--round", "2", "--tell", "Beware of the diary.", "-o", "told.jsonl"]).stdout);
    assert!(said.contains("as recorded") && said.contains("from round 2 told"), "{said}");
    assert!(said.contains("Calls   ") && said.contains(" of earlier rounds, 0 unchanged from the journal"), "{said}");
    let told = Record::read(&workspace.path("told.jsonl")).unwrap();
    let origin = told.header.forked.as_ref().unwrap();
    assert_eq!((origin.record.as_str(), origin.round), ("out.jsonl", 2));
    assert_eq!(origin.chain, Record::read_whole(&workspace.path("out.jsonl")).unwrap().1.chain);
    let later = told.questions[0].calls.iter().filter(|call| call.round == 2);
    assert!(later.clone().count() > 0);
    assert!(later.into_iter().all(|call| call.messages.last().unwrap().content.ends_with("Beware of the diary.")));
    let compared = text(&run(here(&workspace, &["compare", "out.jsonl", "told.jsonl"])).stdout);
    assert!(compared.contains("1 (2)"), "one pair, two questions in the first alone: {compared}");
    // Every call can be repeated, because the recorded prompts are those that were answered.
    let verified = text(&with_model(&workspace, &["record", "verify", "told.jsonl"]).stdout);
    assert!(verified.contains("all the same"), "{verified}");
    let json: Value = serde_json::from_slice(&forked(&["--drop", "1", "--json"]).stdout).unwrap();
    assert_eq!(json["cost"]["kept"], 0);
    assert!(
        json["cost"]["unchanged"].as_u64().unwrap() > 0 && json["cost"]["computed"].as_u64().unwrap() > 0,
        "{json}"
    );
    assert!(json["change"].as_str().unwrap().starts_with("without document 1, "));
}

/// The new course is printed and saved, and the exit code says that it failed.
#[test]
fn a_fork_without_any_document_fails() {
    let workspace = Workspace::new();
    let one = r#"{"id": "1", "question": "When did it open?", "documents": ["It opened in 1931."]}"#;
    fs::write(workspace.path("one.jsonl"), one).unwrap();
    let model = ["--model", "tiny.gguf"];
    with_model(
        &workspace,
        &[&["run", "one.jsonl", "-o", "out.jsonl", "--method", "madam-rag", "--max-tokens", "8"], &model[..]].concat(),
    );
    let mut command = here(&workspace, &["record", "fork", "out.jsonl", "1", "--drop", "1"]);
    let output = command.args(["--model", "tiny.gguf", "--offline", "--kv-memory", "64M"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("as recorded"), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("error: madam-rag needs at least 1 document"), "{}", text(&output.stderr));
}

#[test]
fn impossible_forks_are_refused_before_the_model_is_loaded() {
    let workspace = recorded();
    for (typed, code, said) in [
        (&["record", "fork", "out.jsonl", "1"][..], 2, "--drop"),
        (&["record", "fork", "out.jsonl", "1", "--drop", "1", "--tell", "x"], 2, "cannot be used with"),
        (&["record", "fork", "out.jsonl", "1", "--drop", "99"], 2, "no document is called \"99\""),
        (&["record", "fork", "out.jsonl", "1", "--edit", "1"], 2, "expected DOC=FILE"),
        (&["record", "fork", "out.jsonl", "1", "--edit", "1=nowhere.txt"], 1, "nowhere.txt"),
        (&["record", "fork", "out.jsonl", "9", "--drop", "1"], 2, "has the id, number or text"),
        (
            &["record", "fork", "out.jsonl", "1", "--drop", "1", "--round", "7"],
            2,
            "expected a round from 1 to 2, found 7",
        ),
        (&["record", "fork", "out.jsonl", "1", "--drop", "1", "-o", "out.jsonl"], 2, "exists already"),
        (&["record", "why", "out.jsonl", "99"], 2, "has the id, number or text"),
    ] {
        let output = here(&workspace, typed).output().unwrap();
        let found = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{typed:?}: {found}");
        assert!(found.contains(said) && !found.contains("loaded in"), "{typed:?}: {found}");
    }
}

#[test]
fn each_document_is_left_out_and_the_cost_is_reported() {
    let workspace = recorded();
    let said = text(&with_model(&workspace, &["record", "why", "out.jsonl", "1"]).stdout);
    let record = Record::read(&workspace.path("out.jsonl")).unwrap();
    let first = record.questions.iter().find(|question| question.place == Some(0)).unwrap();
    let documents = first.question.documents.len();
    assert!(said.contains("computed") && said.contains("shared"), "{said}");
    assert!(said.contains("removing "), "{said}");
    assert!(said.lines().count() >= documents + 4, "a row a document: {said}");
    let all = text(&with_model(&workspace, &["record", "why", "out.jsonl", "--limit", "2"]).stdout);
    assert!(all.contains(" of 2 answers depend on a single document"), "{all}");
    let json = text(&with_model(&workspace, &["record", "why", "out.jsonl", "--json"]).stdout);
    let lines: Vec<Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 3);
    let asked: u64 =
        lines[0]["documents"].as_array().unwrap().iter().map(|d| d["cost"]["computed"].as_u64().unwrap()).sum();
    assert_eq!(lines[0]["cost"]["computed"].as_u64(), Some(asked));
}

#[test]
fn a_table_is_listed_described_run_and_read_again() {
    let workspace = Workspace::new();
    let list = text(&run(here(&workspace, &["lab", "reproduce"])).stdout);
    assert!(list.contains("madam-rag-1 ") && list.contains("verification-2 "), "{list}");
    let described = text(&run(here(&workspace, &["lab", "reproduce", "madam-rag-1"])).stdout);
    assert!(described.contains("missing: RAMDocs, 500 questions") && described.contains("34.4"), "{described}");
    let ramdocs = format!("ramdocs={THREE}");
    let typed = ["lab", "reproduce", "madam-rag-1", "--data", &ramdocs, "-o", "repro", "--row", "no-rag,prompt-based"];
    let again = || with_model(&workspace, &[&typed[..], &["--model", "tiny.gguf"]].concat());
    let output = again();
    let said = text(&output.stdout);
    assert!(
        said.contains("found: ") && said.contains("missing: FaithEval") && said.contains("here: tiny.gguf"),
        "{said}"
    );
    // With an interval, as [0.00, 33.33]; a difference may have a comma too.
    let interval = |part: &str| part.split_once(']').is_some_and(|(inner, _)| inner.contains(", "));
    let measured = |line: &&str| line.contains("RAMDocs EM") && line.split('[').skip(1).any(interval);
    let ours = |said: &str| said.lines().filter(measured).count();
    assert_eq!(ours(&said), 2, "{said}");
    assert_eq!(text(&again().stderr).matches("0 questions (3 recorded before)").count(), 2);
    let typed = ["lab", "reproduce", "madam-rag-1", "-o", "repro", "--model", "tiny.gguf", "--format", "csv"];
    let csv = text(&run(here(&workspace, &typed)).stdout);
    assert!(csv.starts_with("method,measure,Llama-3.3-70B") || csv.starts_with("method,measure,SelfRAG"), "{csv}");
    assert_eq!(ours(&csv), 2, "{csv}");
    // Another limit of tokens is marked in the row.
    let typed = ["lab", "reproduce", "madam-rag-1", "--data", &ramdocs, "-o", "short", "--row", "no-rag"];
    let marked = with_model(&workspace, &[&typed[..], &["--max-tokens", "16", "--model", "tiny.gguf"]].concat());
    let said = text(&marked.stdout);
    let row = |line: &str| line.starts_with("No RAG [1] ") && line.contains(" RAMDocs EM ");
    assert!(said.lines().any(row), "{said}");
    assert!(said.contains("\n[1] at most 16 tokens a reply instead of 128\n"), "{said}");
    // A figure is a chart for each measure and a table, from the records of equal runs.
    let typed = ["lab", "reproduce", "madam-rag-figure-3", "--data", &ramdocs, "-o", "repro", "--row", "debate-1"];
    let figure = with_model(&workspace, &[&typed[..], &["--model", "tiny.gguf"]].concat());
    assert!(text(&figure.stderr).contains("4 charts and madam-rag-figure-3.csv are in repro"), "{figure:?}");
    let file = |name: &str| fs::read_to_string(workspace.path(&format!("repro/{name}"))).unwrap();
    assert!(file("madam-rag-figure-3-ramdocs-f1.svg").contains("with aggregator"));
    assert!(file("madam-rag-figure-3.csv").contains("\"with aggregator, 1 round\",RAMDocs F1,68.63,"));
    for (typed, said) in [
        (
            &["lab", "reproduce", "drag-1", "--data", &ramdocs.replace("ramdocs", "nq"), "-o", "r", "--row", "drag"][..],
            "--row drag needs --corpus",
        ),
        (
            &[
                "lab",
                "reproduce",
                "ra-rag-2",
                "--data",
                &ramdocs.replace("ramdocs", "triviaqa-five"),
                "-o",
                "r",
                "--row",
                "aligned",
            ],
            "--row aligned needs --source-weights",
        ),
        (
            &["lab", "reproduce", "madam-rag-1", "--data", &ramdocs, "-o", "r", "--preset", "sober"],
            "--preset sober: no method of these rows has it",
        ),
        (&["lab", "reproduce", "madam"][..], "no table is called \"madam\""),
        (&["lab", "reproduce", "madam-rag-1", "--row", "x"], "no row of this table is called"),
        (
            &["lab", "reproduce", "madam-rag-1", "--data", "nq=x", "-o", "r"],
            "no dataset of this table is called \"nq\"",
        ),
        (&["lab", "reproduce", "madam-rag-1", "--data", "ramdocs", "-o", "r"], "expected NAME=FILE"),
    ] {
        let output = here(&workspace, typed).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{typed:?}");
        assert!(text(&output.stderr).contains(said), "{typed:?}: {}", text(&output.stderr));
    }
}

/// Free answers are judged after their runs, by the same command.
#[test]
fn a_table_of_judged_answers_is_judged() {
    let workspace = Workspace::new();
    let data = format!("truthfulqa-free={THREE}");
    let typed = ["lab", "reproduce", "conflictscore-4", "--data", &data, "-o", "repro", "--row", "rag"];
    let said = text(&with_model(&workspace, &[&typed[..], &["--model", "tiny.gguf"]].concat()).stdout);
    let judged: Vec<&str> =
        said.lines().filter(|line| line.starts_with("RAG ") && line.contains(", ") && line.ends_with(" 3")).collect();
    assert_eq!(judged.len(), 2, "truthful and informative: {said}");
    // From the records alone the verdicts are read, and no model is opened.
    let typed = ["lab", "reproduce", "conflictscore-4", "-o", "repro", "--row", "rag", "--model"];
    let read = || text(&run(here(&workspace, &[&typed[..], &["tiny.gguf"]].concat())).stdout);
    fs::remove_file(workspace.path("tiny.gguf")).unwrap();
    let numbers = |said: &str| {
        let rows = said.lines().filter(|line| line.starts_with("RAG ") && line.contains(", "));
        rows.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(numbers(&read()), judged);
    // Verdicts on some of the answers give no number.
    let path = workspace.path("repro/conflictscore.truthfulqa-free.regenerated-rag+feedback=none.tiny.judge.jsonl");
    let kept = fs::read_to_string(&path).unwrap();
    fs::write(&path, kept.lines().take(2).map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    assert_eq!(numbers(&read()), [""; 0]);
}
