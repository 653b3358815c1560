//! `moot report` and `moot compare --format html` as processes.

use crate::cli::program::{moot, run, text};
use std::fs;

const RECORD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/version-2.jsonl");

#[test]
fn a_record_becomes_a_page_and_a_page_is_renewed() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("report.html");
    let typed = ["report", RECORD, "-o", page.to_str().unwrap(), "--title", "Three <questions>"];
    for _ in 0..2 {
        let output = run(moot(typed));
        assert!(text(&output.stdout).contains("1 record, ") && text(&output.stdout).ends_with(" MB\n"));
    }
    let written = fs::read_to_string(&page).unwrap();
    assert!(written.starts_with("<!doctype html>") && written.contains("<h1>Three &lt;questions&gt;</h1>"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
}

#[test]
fn a_file_that_is_no_page_is_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("record.jsonl");
    fs::copy(RECORD, &record).unwrap();
    let output = moot(["report", RECORD, "-o", record.to_str().unwrap()]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let wrong = text(&output.stderr);
    assert!(wrong.contains("a page that `moot report` wrote") && wrong.contains("record.jsonl"), "{wrong}");
    assert_eq!(fs::read(&record).unwrap(), fs::read(RECORD).unwrap());
}

#[test]
fn records_that_cannot_be_reported_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("report.html");
    let page = page.to_str().unwrap();
    for (typed, code, said) in [
        (vec!["report", RECORD, "-o", page, "--metric", "em,f2"], 2, "f2"),
        (vec!["report", RECORD, "-o", page, "--slice", "nowhere"], 2, "nowhere"),
        (vec!["report", "nowhere.jsonl", "-o", page], 1, "nowhere.jsonl"),
        (vec!["report", RECORD, "-o", "nowhere/report.html"], 1, "nowhere"),
        (vec!["report", RECORD], 2, "--output"),
    ] {
        let output = moot(typed.iter().copied()).output().unwrap();
        let wrong = text(&output.stderr);
        assert!(output.status.code() == Some(code) && wrong.contains(said), "{typed:?}: {wrong}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_comparison_as_html_is_the_page_with_changed_questions_first() {
    let output = run(moot(["compare", RECORD, RECORD, "--format", "html"]));
    let page = text(&output.stdout);
    assert!(page.starts_with("<!doctype html>") && page.contains("\"changed\":true}</script>"), "{}", &page[..200]);
}
