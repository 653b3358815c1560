//! `moot score` for people: the rows that matter, their meaning, and how wide the table is.

use super::program::{THREE, Workspace, moot, run, text};
use crate::eval::{answered, header};
use moot::eval::record::Writer;
use std::fs;
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
}

#[test]
fn compared_runs_fit_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let name = |number: usize| format!("a-rather-long-name-of-a-record-as-people-give-them-{number}.jsonl");
    let paths: Vec<PathBuf> = (0..5).map(|number| record(folder.path(), &name(number), 40, number % 3)).collect();
    let mut command = moot(std::iter::once("compare").chain(paths.iter().map(|path| path.to_str().unwrap())));
    command.env("COLUMNS", "100");
    let said = text(&run(command).stdout);
    assert!(said.lines().all(|line| line.chars().count() <= 100), "{said}");
    let (values, rest) = said.split_once("\nDifference from ").unwrap();
    let (differences, costs) = rest.split_once("\nCost by role\n").unwrap();
    let cells = |table: &str| {
        let rows = table.lines().filter(|line| line.starts_with("em "));
        rows.map(|row| row.matches('[').count()).sum::<usize>()
    };
    assert_eq!((cells(values), cells(differences)), (5, 4), "{said}");
    assert!(values.matches("\nmetric ").count() > 1, "{said}");
    assert!((0..5).all(|n| costs.contains(&format!("-them-{n}  aggregator "))), "{said}");
}

#[test]
fn all_rows_fit_too_and_each_is_explained() {
    let folder = tempfile::tempdir().unwrap();
    let name = |letter: &str| format!("a-rather-long-name-of-a-record-as-people-give-them-{}.jsonl", letter.repeat(9));
    let paths = [("a", 0), ("b", 1), ("c", 2)].map(|(letter, wrong)| record(folder.path(), &name(letter), 40, wrong));
    let all = scored(&paths.each_ref().map(PathBuf::as_path), &["--all"]);
    assert!(all.lines().all(|line| line.chars().count() <= 100), "{all}");
    let rows: Vec<&str> = all.lines().filter(|line| line.contains(" [") && !line.starts_with('[')).collect();
    let named = |line: &&str| line.split(' ').next().unwrap().to_owned();
    let names: Vec<String> = rows.iter().map(named).collect();
    assert!(["em", "precision-equal", "seconds", "generated-tokens"].iter().all(|row| names.contains(&(*row).into())));
    for name in &names {
        let explained = all.lines().filter(|line| line.starts_with(&format!("{name}: "))).count();
        assert_eq!(explained, 1, "{name}: {all}");
    }
    let lines: Vec<String> = all.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert!(lines.iter().any(|line| line == "A B C") && lines.iter().any(|line| line == "B - A C - A"), "{all}");
    // Rows of one table are equally wide.
    let em = all.lines().position(|line| line.starts_with("em ")).unwrap();
    let width = |line: &str| line.chars().count();
    assert!(all.lines().skip(em).take(12).all(|line| width(line) == width(rows[0])), "{all}");
    let squeezed = lines.join(" ");
    assert!(
        squeezed.contains("[not applicable: ") && squeezed.contains("conflict-precision, conflict-recall"),
        "{all}"
    );
    assert!(!all.contains("--all"), "{all}");
    assert_eq!(squeezed.matches("paired by question, 40 in both").count(), 2, "{all}");
}

#[test]
fn more_records_than_fit_have_several_tables() {
    let folder = tempfile::tempdir().unwrap();
    let paths: Vec<PathBuf> = (0..6).map(|i| record(folder.path(), &format!("{i}.jsonl"), 3, i % 3)).collect();
    let said = scored(&paths.iter().map(PathBuf::as_path).collect::<Vec<_>>(), &[]);
    assert!(said.lines().all(|line| line.chars().count() <= 100), "{said}");
    let lines: Vec<String> = said.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    for head in ["A B C D", "E F", "B - A C - A D - A", "E - A F - A"] {
        assert!(lines.iter().any(|line| line == head), "{head}: {said}");
    }
}

#[test]
fn a_record_without_questions_has_no_scores() {
    let folder = tempfile::tempdir().unwrap();
    let said = scored(&[&record(folder.path(), "none.jsonl", 0, 0)], &["--all"]);
    assert!(said.ends_with("no question is recorded yet: nothing to score\n"), "{said}");
    assert!(!said.lines().any(|line| line.starts_with("em ")), "{said}");
}

#[test]
fn few_questions_are_warned_of_and_one_record_has_no_letter() {
    let folder = tempfile::tempdir().unwrap();
    let (few, enough) = (record(folder.path(), "few.jsonl", 29, 1), record(folder.path(), "enough.jsonl", 30, 1));
    let said = scored(&[&few], &[]);
    assert!(said.contains("warning: 29 questions are few"), "{said}");
    assert!(said.contains("few.jsonl: echo on some.jsonl") && !said.contains("A  "), "{said}");
    assert!(!scored(&[&enough], &[]).contains("warning"));
    assert!(scored(&[&enough, &few], &[]).contains("B - A: paired by question, 29 in both, 1 in one alone left out"));
}

#[test]
fn a_measure_of_the_dataset_replaces_the_last_row() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("yes.jsonl");
    let mut writer = Writer::open(&path, &header()).unwrap();
    writer.append(&answered("q0", &["yes"], &["no"], &["yes"])).unwrap();
    drop(writer);
    let said = scored(&[&path], &[]);
    let row = |name: &str| said.lines().any(|line| line.starts_with(&format!("{name} ")));
    assert!(row("yes-no-em") && row("malformed") && !row("calls"), "{said}");
}

/// Where a dataset lists no wrong answers, exact match counts no other answer beside the right one; the list shows it.
#[test]
fn an_answer_beside_the_right_one_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.jsonl");
    let mut writer = Writer::open(&path, &header()).unwrap();
    writer.append(&answered("q0", &["1931"], &[], &["1931", "1932"])).unwrap();
    writer.append(&answered("q1", &["1931"], &[], &["1931"])).unwrap();
    writer.append(&answered("q2", &["1931"], &["1932"], &["1931", "1932", "1933"])).unwrap();
    drop(writer);
    let said = |typed: &[&str]| {
        text(&run(moot(["record", "show", path.to_str().unwrap()].iter().chain(typed).copied())).stdout)
    };
    let list = said(&[]);
    let lines: Vec<&str> = list.lines().collect();
    assert!(lines[0].ends_with("-> 1931; 1932 (right, and 1 more)"), "{list}");
    assert!(lines[1].ends_with("-> 1931 (right)"), "{list}");
    assert!(lines[2].contains("(partly; gold: 1931; wrong: 1932)"), "{list}");
    assert!(said(&["q0"]).contains("Gold  right, and 1 more\n"), "{}", said(&["q0"]));
}

/// Scores of such questions mislead: run and score say so, as `moot lab check` does.
#[test]
fn a_right_answer_that_is_also_wrong_and_an_unknown_wrong_one_are_told() {
    let workspace = Workspace::new();
    let set = fs::read_to_string(THREE).unwrap();
    let both = set.replace("\"wrong_answers\": [\"Jonas Peet\"]", "\"wrong_answers\": [\"ilse marrow\"]");
    assert_ne!(both, set);
    const BOTH: &str = "1 question lists a right answer among the wrong ones too";
    const UNKNOWN: &str = "1 question has documents that contradict each other and no known wrong answer";
    let context = "Document: The mill burned in 1884.\nDocument: In 1848 there was a fire.";
    let faith = serde_json::json!({ "qid": "i", "question": "When?", "context": context, "answers": ["1884"] });
    for (name, content, line, wanted) in
        [("clean", set, BOTH, false), ("both", both, BOTH, true), ("unknown", faith.to_string(), UNKNOWN, true)]
    {
        fs::write(workspace.path(&format!("{name}.jsonl")), content).unwrap();
        let (set, out) = (format!("{name}.jsonl"), format!("{name}-out.jsonl"));
        let mut answered = moot(["run", &set, "-o", &out, "--method", "closed-book", "--max-tokens", "8"]);
        answered.args(["--model", "tiny.gguf", "--offline", "--kv-memory", "64M"]);
        let here = |mut command: std::process::Command| {
            command.env("MOOT_CACHE", workspace.path("")).current_dir(workspace.path(""));
            text(&run(command).stderr)
        };
        let (ran, scored) = (here(answered), here(moot(["score", &out])));
        assert_eq!(ran.lines().filter(|said| said.contains(line)).count(), usize::from(wanted), "{ran}");
        assert_eq!(scored.contains(&format!("note: {out}: {line}")), wanted, "{scored}");
    }
}
