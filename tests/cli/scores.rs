//! `moot score` for people: the rows that matter, their meaning, and how wide the table is.

use super::program::{moot, run, text};
use crate::eval::{answered, header};
use moot::eval::record::Writer;
use std::path::{Path, PathBuf};

/// A record of `questions`, of which every third is answered wrongly from `wrong` on.
fn record(folder: &Path, name: &str, questions: usize, wrong: usize) -> PathBuf {
    let path = folder.join(name);
    let mut writer = Writer::open(&path, &header()).unwrap();
    for number in 0..questions {
        let given = if number % 3 < wrong { "1932" } else { "1931" };
        writer.append(&answered(&format!("q{number}"), &["1931"], &["1932"], &[given])).unwrap();
    }
    path
}

fn scored(paths: &[&Path], more: &[&str]) -> String {
    let paths = paths.iter().map(|path| path.to_str().unwrap());
    let mut command = moot(std::iter::once("score").chain(paths).chain(more.iter().copied()));
    command.env("COLUMNS", "100");
    text(&run(command).stdout)
}

#[test]
fn three_runs_fit_100_columns_with_five_rows_and_their_meaning() {
    let folder = tempfile::tempdir().unwrap();
    let name = |letter: &str| format!("a-rather-long-name-of-a-record-as-people-give-them-{}.jsonl", letter.repeat(9));
    let paths = [("a", 0), ("b", 1), ("c", 2)].map(|(letter, wrong)| record(folder.path(), &name(letter), 40, wrong));
    let paths = paths.each_ref().map(PathBuf::as_path);
    let said = scored(&paths, &[]);
    assert!(said.lines().all(|line| line.chars().count() <= 100), "{said}");
    let squeezed = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = said.lines().map(squeezed).collect();
    let rows = |first: &str| lines.iter().filter(|line| line.starts_with(&format!("{first} "))).count();
    assert_eq!(["em", "f1", "unknown", "malformed", "calls"].map(rows), [2; 5], "{said}");
    assert_eq!(["precision", "seconds", "em-equal"].map(rows), [0; 3], "{said}");
    assert!(lines.iter().any(|line| line == "A B C") && lines.iter().any(|line| line == "B - A C - A"), "{said}");
    assert!(said.contains("em: 1 where every required answer is given and no wrong one, else 0\n"), "{said}");
    assert!(said.contains("more rows: --all") && !said.contains("warning"), "{said}");
    let values = lines.iter().find(|line| line.starts_with("em ")).unwrap();
    assert!(values.starts_with("em 1.000 [1.000, 1.000] 0.650 ["), "{said}");

    let all = scored(&paths, &["--all"]);
    assert!(["precision-equal", "seconds", "generated-tokens"].iter().all(|row| all.contains(row)), "{all}");
}

#[test]
fn few_questions_are_warned_of_and_one_record_has_no_letter() {
    let folder = tempfile::tempdir().unwrap();
    let (few, enough) = (record(folder.path(), "few.jsonl", 29, 1), record(folder.path(), "enough.jsonl", 30, 1));
    let said = scored(&[&few], &[]);
    assert!(said.contains("warning: 29 questions are few"), "{said}");
    assert!(said.contains("few.jsonl: echo on some.jsonl") && !said.contains("A  "), "{said}");
    assert!(!scored(&[&enough], &[]).contains("warning"));
    assert!(scored(&[&enough, &few], &[]).contains("B - A: paired by question, 29 in both, 1 in one only left out"));
}

#[test]
fn a_measure_of_the_dataset_takes_the_place_of_the_last_row() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("yes.jsonl");
    let mut writer = Writer::open(&path, &header()).unwrap();
    writer.append(&answered("q0", &["yes"], &["no"], &["yes"])).unwrap();
    drop(writer);
    let said = scored(&[&path], &[]);
    let row = |name: &str| said.lines().any(|line| line.starts_with(&format!("{name} ")));
    assert!(row("yes-no-em") && row("malformed") && !row("calls"), "{said}");
}
