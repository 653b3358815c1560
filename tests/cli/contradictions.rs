//! `moot contradictions` on the tiny model, whose answers are senseless: every form of output, exit codes, what changed, and what
//! goes wrong.

use super::program::{Workspace, moot, text};
use serde_json::Value;
use std::fs;
use std::process::{Command, Output};

fn workspace() -> Workspace {
    let workspace = Workspace::new();
    fs::create_dir(workspace.path("docs")).unwrap();
    fs::write(workspace.path("docs/guide.md"), "The bridge at Orm opened in 1931. It has four arches.\n").unwrap();
    fs::write(workspace.path("docs/diary.txt"), "The bridge at Orm opened in 1947. We crossed it <b>twice</b>.\n")
        .unwrap();
    workspace
}

fn run(workspace: &Workspace, typed: &str) -> Output {
    run_with(workspace, "tiny.gguf", typed)
}

fn run_with(workspace: &Workspace, model: &str, typed: &str) -> Output {
    let mut command = moot(["contradictions"]);
    command.args(typed.split(' ').filter(|word| !word.is_empty()));
    command.env("MOOT_CACHE", workspace.path("cache")).current_dir(workspace.path(""));
    command.args(["--model", model, "--offline", "--kv-memory", "64M", "--embedder", "none"]);
    command.output().unwrap()
}

fn printed(workspace: &Workspace, typed: &str) -> String {
    let output = run(workspace, typed);
    assert!(output.status.success(), "{typed}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// The report is printed, and the last line is an error with exit code 2.
fn refused_after(workspace: &Workspace, typed: &str, part: &str) {
    let output = run(workspace, typed);
    let said = text(&output.stderr);
    let last = said.lines().last().unwrap();
    assert!(last.starts_with("error: ") && last.contains(part), "{typed}: {said}");
    assert_eq!((output.status.code(), output.stdout.is_empty()), (Some(2), false), "{said}");
}

fn refused(workspace: &Workspace, typed: &str, parts: &[&str]) {
    let output = run(workspace, typed);
    let said = text(&output.stderr);
    assert!(!output.status.success() && output.stdout.is_empty(), "{typed}: {said}");
    let line = said.lines().find(|line| line.starts_with("error: ")).expect(&said);
    assert!(parts.iter().all(|part| line.contains(part)), "{typed}: {said}");
}

#[test]
fn a_folder_is_compared_and_printed_in_every_form() {
    let workspace = workspace();
    let all = "docs --least 0 -o out.html -o out.md -o out.json --pairs pairs.jsonl";
    let page = printed(&workspace, all);
    assert!(page.contains("1931") && page.contains("docs/diary.txt:1") && page.contains("in 2 documents"), "{page}");
    let json: Value = serde_json::from_str(&printed(&workspace, "docs --least 0 --json")).unwrap();
    assert_eq!(json["counts"]["calls"], 0, "everything is known from before: {json}");
    let statement = &json["groups"][0]["findings"][0]["sides"][0]["statements"][0];
    assert!(statement["file"].as_str().unwrap().starts_with("docs/") && statement["line"] == 1, "{json}");
    let file: Value = serde_json::from_str(&fs::read_to_string(workspace.path("out.json")).unwrap()).unwrap();
    assert_eq!(file["groups"], json["groups"]);
    let html = fs::read_to_string(workspace.path("out.html")).unwrap();
    assert!(html.starts_with("<!doctype html>") && !html.contains("<b>twice"), "{html}");
    assert!(fs::read_to_string(workspace.path("out.md")).unwrap().starts_with("# Contradictions\n"));
    let pairs = fs::read_to_string(workspace.path("pairs.jsonl")).unwrap();
    assert!(pairs.lines().count() > 0 && pairs.contains("\"features\""), "{pairs}");
    assert!(printed(&workspace, "docs --format html --least 0").contains("<!doctype html>"));
    assert!(printed(&workspace, "docs --dry-run").starts_with("2 documents, 4 sentences: at most 2 calls"));
}

#[test]
fn the_exit_code_says_whether_a_contradiction_is_probable() {
    let workspace = workspace();
    let code = |typed: &str| run(&workspace, typed).status.code();
    assert_eq!(code("docs --least 0 --fail-above 0"), Some(1));
    // No option is among the likeliest tokens of this model, so a pair has no label.
    refused_after(&workspace, "docs --least 0 --fail-above 1", "1 of 1 labels are missing");
    assert_eq!(code("docs --fail-above 2"), Some(2));
    let said = text(&run(&workspace, "docs --least 0 --fail-above 0").stderr);
    let last = said.lines().last().unwrap();
    assert!(last.contains(" of 0 or more (--fail-above)"), "{said}");
    // An error is not taken for a finding.
    assert_eq!(run_with(&workspace, "no.gguf", "docs --fail-above 0.9").status.code(), Some(2));
    assert_eq!(run_with(&workspace, "no.gguf", "docs").status.code(), Some(2));
    refused(&workspace, "missing --fail-above 0.3", &["--fail-above 0.3", "--least 0.5"]);
    refused(&workspace, "missing --least 0.9 --fail-above 0.8", &["--fail-above 0.8", "--least 0.9"]);
}

#[test]
fn only_changes_since_a_revision_or_a_date_are_compared() {
    let workspace = workspace();
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]).args(arguments);
        assert!(command.current_dir(workspace.path("")).output().unwrap().status.success(), "{arguments:?}");
    };
    refused(&workspace, "docs --since main", &["--since main", "git repository"]);
    let of_files = run(&workspace, "docs --least 0 --since 2001-01-01 --json");
    assert!(text(&of_files.stderr).contains("2 files changed since 2001-01-01"), "{}", text(&of_files.stderr));
    git(&["init", "-q"]);
    git(&["add", "docs"]);
    git(&["commit", "-q", "-m", "first"]);
    let pairs = |typed: &str| -> Value {
        let json: Value = serde_json::from_str(&printed(&workspace, typed)).unwrap();
        json["counts"]["pairs"].clone()
    };
    let unchanged = run_with(&workspace, "no.gguf", "docs --since HEAD --fail-above 0.9");
    let said = text(&unchanged.stderr);
    assert!(unchanged.status.success() && said.contains("nothing is compared: no document changed"), "{said}");
    assert_eq!(pairs("docs --least 0 --since HEAD --json"), 0);
    fs::write(workspace.path("docs/new.txt"), "The bridge at Orm opened in 1950, in the rain.\n").unwrap();
    assert_eq!(
        pairs("docs --least 0 --since HEAD --json"),
        2,
        "of the new file, which git does not know, with both others"
    );
    assert_eq!(pairs("docs --least 0 --since 2001-01-01 --json"), 3, "everything is newer");
    refused(&workspace, "docs --since nowhere", &["--since nowhere", "a revision that git knows"]);
}

#[test]
fn a_year_or_a_month_begins_on_its_first_day() {
    let workspace = workspace();
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]).args(arguments);
        command.env("GIT_COMMITTER_DATE", "2018-01-01T12:00:00").env("GIT_AUTHOR_DATE", "2018-01-01T12:00:00");
        assert!(command.current_dir(workspace.path("")).output().unwrap().status.success(), "{arguments:?}");
    };
    git(&["init", "-q"]);
    git(&["add", "docs"]);
    git(&["commit", "-q", "-m", "first"]);
    for (since, changed) in
        [("2018", "2 files"), ("2018-01", "2 files"), ("2018-01-01", "2 files"), ("2018-02", "0 files")]
    {
        let said = text(&run(&workspace, &format!("docs --dry-run --since {since}")).stderr);
        assert!(said.contains(&format!("{changed} changed since {since}")), "{said}");
    }
}

#[test]
fn what_cannot_be_compared_is_refused_in_one_line() {
    let workspace = workspace();
    fs::create_dir(workspace.path("empty")).unwrap();
    refused(&workspace, "empty", &["empty"]);
    refused(&workspace, "missing", &["missing"]);
    refused(&workspace, "docs/guide.md", &["one document", "expected at least 2 documents"]);
    fs::create_dir(workspace.path("one")).unwrap();
    fs::copy(workspace.path("docs/guide.md"), workspace.path("one/a.md")).unwrap();
    fs::write(workspace.path("one/b.md"), [0, 159, 146, 150, 0, 1]).unwrap();
    refused(&workspace, "one", &["one document", "expected at least 2 documents"]);
    let said = text(&run(&workspace, "one").stderr);
    assert!(said.lines().next().unwrap().starts_with("skipped one/b.md"), "the reason comes before the error: {said}");
    refused(&workspace, "docs -o out.pdf", &["out.pdf", ".html, .md or .json"]);
    refused(&workspace, "docs/guide.md docs/diary.txt -o docs/diary.txt", &["docs/diary.txt"]);
}
