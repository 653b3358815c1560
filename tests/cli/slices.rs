//! `moot lab slices`: documents from another file, and TruthfulQA's two files.

use super::program::{moot, run, text};
use moot::eval::datasets;
use serde_json::json;
use std::fs;
use std::path::Path;

/// A row of TruthfulQA's CSV: the question, its incorrect answers, and the best of them where the file names it.
type Asked = (&'static str, &'static str, Option<&'static str>);

/// `moot lab slices` of `rows` with `typed`: standard output and standard error.
fn slices(folder: &Path, rows: &[Asked], typed: &[&str]) -> (String, String) {
    let is_new = rows.iter().any(|(_, _, best)| best.is_some());
    let head = if is_new { ",Best Incorrect Answer" } else { "" };
    let line = |(question, wrong, best): &Asked| {
        let best = best.map(|best| format!(",{best}")).unwrap_or_default();
        format!("Adversarial,Mills,{question},A miller,A miller,{wrong},none{best}\n")
    };
    let rows: String = rows.iter().map(line).collect();
    let head = format!("Type,Category,Question,Best Answer,Correct Answers,Incorrect Answers,Source{head}\n");
    fs::write(folder.join("truthful.csv"), head + &rows).unwrap();
    let output = run({
        let mut command = moot(["lab", "slices", "truthful.csv"]);
        command.args(typed).current_dir(folder);
        command
    });
    (text(&output.stdout), text(&output.stderr))
}

/// A question that the file of documents does not have is in no dataset that is joined with it.
#[test]
fn questions_that_get_no_documents_are_left_out_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let rows = [("Who grinds?", "A king", None), ("Who mills?", "A king", None), ("Who bakes?", "A king", None)];
    let found = json!({ "id": "1", "question": "Who mills?", "documents": [{ "text": "A miller mills." }] });
    fs::write(folder.path().join("found.jsonl"), found.to_string()).unwrap();
    for kind in ["binary", "as-is"] {
        let out = format!("{kind}.jsonl");
        let typed = ["--documents", "found.jsonl", "--kind", kind, "-o", &out];
        let (said, _) = slices(folder.path(), &rows, &typed);
        assert!(said.starts_with("1 of 3 questions qualify: 1 items"), "{kind}: {said}");
        assert!(said.ends_with("Left out:\n  2: no documents\n"), "{kind}: {said}");
        let built = datasets::load(&folder.path().join(&out)).unwrap().questions;
        let texts: Vec<&str> = built.iter().map(|question| question.text.as_str()).collect();
        assert_eq!(texts, ["Who mills?"], "{kind}");
    }
    // Without --documents options alone are built, for methods that read none.
    let (said, _) = slices(folder.path(), &rows, &["--kind", "binary", "-o", "bare.jsonl"]);
    assert!(said.starts_with("3 of 3 questions qualify"), "{said}");
}

#[test]
fn the_first_incorrect_answer_of_the_file_of_2021_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let built = |best, out: &str| {
        let (_, said) =
            slices(folder.path(), &[("Who mills?", "A king; A queen", best)], &["--kind", "binary", "-o", out]);
        let mut options = datasets::load(&folder.path().join(out)).unwrap().questions.remove(0).options;
        options.sort();
        (
            options,
            said.contains("note: truthful.csv has no field \"Best Incorrect Answer\": the first incorrect answer"),
        )
    };
    assert_eq!(built(None, "old.jsonl"), (vec!["A king".to_owned(), "A miller".to_owned()], true));
    assert_eq!(built(Some("A queen"), "new.jsonl"), (vec!["A miller".to_owned(), "A queen".to_owned()], false));
}
