//! `moot sources`, in processes of its own.

use super::program::{moot, run, text};
use crate::eval::header;
use moot::eval::datasets;
use moot::eval::record::Writer;
use moot::eval::record::reader::Record;
use moot::question::{Document, Gold, Question};
use moot::sources::SourceWeights;
use moot::transcript::{CallRecord, Parsed, QuestionRecord};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A record of one question a line: what a, b, c answered; `-` is "I don't know".
fn record(folder: &TempDir, name: &str, from: usize, lines: &[&str]) -> PathBuf {
    let path = folder.path().join(name);
    let mut writer = Writer::open(&path, &header()).unwrap();
    for (index, line) in lines.iter().enumerate() {
        let document = |source: char| Document {
            text: "X, Y or Z.".into(),
            source: Some(source.to_string()),
            ..Document::default()
        };
        let call = |(number, said): (usize, char)| CallRecord {
            number,
            round: 1,
            document: Some(number),
            parsed: Parsed::Answer { answer: (said != '-').then(|| said.to_string()), explanation: String::new() },
            ..CallRecord::default()
        };
        let question = Question {
            id: format!("q{}", from + index),
            text: format!("Question {}?", from + index),
            documents: ('a'..='z').take(line.len()).map(document).collect(),
            ..Question::default()
        };
        let calls = line.chars().enumerate().map(call).collect();
        writer.append(&QuestionRecord { question, calls, ..QuestionRecord::default() }).unwrap();
    }
    path
}

pub(super) fn shown(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

/// Standard output and standard error.
pub(super) fn said(typed: &[&str]) -> (String, String) {
    let output = run(moot(["sources"].into_iter().chain(typed.iter().copied())));
    (text(&output.stdout), text(&output.stderr))
}

pub(super) fn refused(typed: &[&str]) -> String {
    let output = moot(["sources"].into_iter().chain(typed.iter().copied())).output().unwrap();
    assert!(!output.status.success(), "{typed:?}");
    text(&output.stderr)
}

#[test]
fn estimates_are_written_shown_merged_and_updated() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) =
        (record(&folder, "1.jsonl", 0, &["XXY", "XXY"]), record(&folder, "2.jsonl", 2, &["XYY", "X-Y"]));
    let path = |name: &str| shown(&folder.path().join(name));
    let (first, second) = (shown(&first), shown(&second));
    let (out, err) = said(&["estimate", &first, &second, "-o", &path("all.json")]);
    assert!(err.is_empty(), "{err}");
    assert!(
        out.contains("b          2.000") && out.contains("4 questions; weights converged after 3 iterations"),
        "{out}"
    );
    assert!(out.contains("note: \"c\" has a weight below 0"), "{out}");
    said(&["estimate", &first, "-o", &path("1.json")]);
    said(&["estimate", &second, "-o", &path("2.json")]);
    said(&["merge", &path("1.json"), &path("2.json"), "-o", &path("merged.json")]);
    said(&["estimate", &second, "--update", &path("1.json"), "-o", &path("1.json")]);
    let all = fs::read_to_string(path("all.json")).unwrap();
    assert_eq!(fs::read_to_string(path("merged.json")).unwrap(), all);
    assert_eq!(fs::read_to_string(path("1.json")).unwrap(), all);
    // The same record again replaces its own answers.
    let (_, err) = said(&["estimate", &second, "--update", &path("1.json"), "-o", &path("again.json")]);
    assert_eq!(err, "6 answers replaced by later ones of the same source to the same question\n");
    assert_eq!(fs::read_to_string(path("again.json")).unwrap(), all);
    let (out, _) = said(&["show", &path("all.json")]);
    assert!(out.contains("-3.25 Question 0? (Y against X)"), "{out}");
    let (out, _) = said(&["show", &path("all.json"), "--source", "b"]);
    assert_eq!(out, "b agrees with the estimated answer wherever it answers\n");
    let (weights, _) = SourceWeights::read(&folder.path().join("all.json")).unwrap();
    assert_eq!(weights.records.len(), 2);
    assert!(!folder.path().join("building-all.json").exists());
}

#[test]
fn bad_input_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| shown(&folder.path().join(name));
    let unknown = shown(&record(&folder, "u.jsonl", 0, &["--", "--"]));
    let line = refused(&["estimate", &unknown, "-o", &path("u.json")]);
    assert!(line.contains("4 replies, all of them unknown or malformed: nothing can be estimated"), "{line}");
    assert!(!folder.path().join("u.json").exists());
    let dropped = shown(&record(&folder, "d.jsonl", 0, &["QQ"]));
    let line = refused(&["estimate", &dropped, "-o", &path("u.json")]);
    assert!(line.contains("2 of them dropped (--align-threshold)"), "{line}");
    said(&["estimate", &dropped, "--align-threshold", "0", "-o", &path("d.json")]);
    let line = refused(&["estimate", &dropped, "--align-threshold", "2", "-o", &path("u.json")]);
    assert!(line.contains("--align-threshold 2: expected a number from 0 to 1"), "{line}");
    let line = refused(&["show", &path("d.json"), "--source", "c"]);
    assert!(line.contains("no source is called \"c\" (known: a, b)"), "{line}");
    let line = refused(&["estimate", &dropped, "--align-threshold", "0", "--sources", "1", "-o", &path("u.json")]);
    assert!(line.contains("--sources 1: expected at least 2 (votes are N w - 1, never positive for N = 1)"), "{line}");
    let line = refused(&["build", "--wrong", "1", "-o", &path("bench")]);
    assert!(line.contains("--wrong 1: all liars would tell the same lie") && line.contains("--shared-lie"), "{line}");
    said(&["build", "--wrong", "1", "--shared-lie", "--estimate", "2", "--test", "2", "-o", &path("shared")]);
    // All questions may be for the test, but weights are not estimated from none.
    said(&["build", "--estimate", "0", "--test", "2", "-o", &path("all")]);
    assert_eq!(datasets::load(&folder.path().join("all/test.jsonl")).unwrap().questions.len(), 2);
    assert_eq!(fs::read_to_string(folder.path().join("all/estimate.jsonl")).unwrap(), "");
    let line = refused(&["trials", "--estimate", "0", "--test", "2", "--at", "3", "-o", &path("trials")]);
    assert!(line.contains("--estimate 0: expected at least 1"), "{line}");
    let line = refused(&["simulate", "figure"]);
    assert!(line.contains("no figure is called \"figure\""), "{line}");
    let line = refused(&["build", "--spammers", "6", "-o", &path("bench")]);
    assert!(line.contains("--spammers 6: expected at most --sources 5"), "{line}");
}

/// A record of a method with one reader for all documents: documents have sources, and no call is for one of them.
fn pooled(folder: &TempDir) -> String {
    let path = folder.path().join("pool.jsonl");
    let mut writer = Writer::open(&path, &header()).unwrap();
    let document = Document { text: "X".into(), source: Some("a".into()), ..Document::default() };
    let question = Question { id: "q".into(), text: "Q?".into(), documents: vec![document], ..Question::default() };
    let parsed = Parsed::Answer { answer: Some("X".into()), explanation: String::new() };
    let calls = vec![CallRecord { round: 1, parsed, ..CallRecord::default() }];
    writer.append(&QuestionRecord { question, calls, ..QuestionRecord::default() }).unwrap();
    shown(&path)
}

#[test]
fn questions_that_cannot_be_used_are_reported_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let output = shown(&folder.path().join("out.json"));
    let pooled = pooled(&folder);
    let line = refused(&["estimate", &pooled, "-o", &output]);
    assert!(line.contains("found 1 question without a call for a single document"), "{line}");
    let good = shown(&record(&folder, "good.jsonl", 0, &["XX", "XX"]));
    let (_, err) = said(&["estimate", &good, &pooled, "-o", &output]);
    assert!(err.starts_with("left out: 1 question without a call for a single document"), "{err}");
}

/// A record of the sources x and y, which no other record has.
fn of_others(folder: &TempDir) -> String {
    let path = record(folder, "first.jsonl", 0, &["XX", "XX"]);
    let renamed = folder.path().join("others.jsonl");
    let mut writer = Writer::open(&renamed, &header()).unwrap();
    for mut question in Record::read(&path).unwrap().questions {
        question.question.documents[0].source = Some("x".into());
        question.question.documents[1].source = Some("y".into());
        writer.append(&question).unwrap();
    }
    shown(&renamed)
}

#[test]
fn another_corpus_is_reported_by_estimate_merge_and_report() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| shown(&folder.path().join(name));
    let (own, other) = (shown(&record(&folder, "own.jsonl", 0, &["XX", "XX"])), of_others(&folder));
    let told = "share no source: weights of two corpora are estimated jointly (4 sources) and may not be comparable";
    said(&["estimate", &other, "-o", &path("other.json")]);
    said(&["estimate", &own, "-o", &path("own.json")]);
    for typed in [
        &["estimate", &own, "--update", &path("other.json"), "-o", &path("both.json")][..],
        &["estimate", &other, &own, "-o", &path("both.json")],
        &["merge", &path("other.json"), &path("own.json"), "-o", &path("both.json")],
    ] {
        let (_, err) = said(typed);
        assert!(err.contains(told), "{typed:?}: {err}");
    }
    assert!(
        said(&["estimate", &own, "--update", &path("own.json"), "-o", &path("both.json")]).1.starts_with("4 answers")
    );
    let (_, err) = said(&["report", &own, "--source-weights", &path("other.json")]);
    assert!(err.starts_with("other.json belongs to another corpus"), "{err}");
    assert!(said(&["report", &own, "--source-weights", &path("own.json")]).1.is_empty());
}

#[test]
fn the_filter_of_answers_is_kept_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| shown(&folder.path().join(name));
    let align = |name: &str| {
        let settings = SourceWeights::read(&folder.path().join(name)).unwrap().0.settings.unwrap();
        settings.align
    };
    // b's answer is not a word of its document.
    let first = shown(&record(&folder, "1.jsonl", 0, &["XQ", "XX"]));
    let second = shown(&record(&folder, "2.jsonl", 2, &["XQ", "XX"]));
    said(&["estimate", &first, "-o", &path("filtered.json")]);
    said(&["estimate", &first, "--align", "0", "-o", &path("all.json")]);
    assert_eq!((align("filtered.json"), align("all.json")), (Some(0.9), Some(0.0)));
    // Options that are not typed have the values of the updated file.
    let (out, err) = said(&["estimate", &second, "--update", &path("all.json"), "-o", &path("more.json")]);
    assert!(err.is_empty() && out.contains("b ") && align("more.json") == Some(0.0), "{err}");
    let (_, err) = said(&[
        "estimate",
        &second,
        "--align-threshold",
        "0.9",
        "--update",
        &path("all.json"),
        "-o",
        &path("mixed.json"),
    ]);
    assert!(err.contains("all.json were filtered with --align-threshold 0, those of the records with 0.9"), "{err}");
    let (_, err) = said(&["merge", &path("filtered.json"), &path("all.json"), "-o", &path("merged.json")]);
    assert!(
        err.contains("filtered.json were filtered with --align-threshold 0.9, those of ") && err.contains("with 0:"),
        "{err}"
    );
    assert_eq!((align("mixed.json"), align("merged.json")), (None, None));
}

#[test]
fn limits_of_an_estimate_are_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let output = shown(&folder.path().join("out.json"));
    let notes = |name: &str, lines: &[&str]| -> Vec<String> {
        let record = shown(&record(&folder, name, 0, lines));
        let (out, _) = said(&["estimate", &record, "-o", &output]);
        let again = said(&["show", &output]).0;
        let notes: Vec<String> = out.lines().filter(|line| line.starts_with("note: ")).map(str::to_owned).collect();
        assert!(notes.iter().all(|note| again.contains(note)), "{again}");
        notes
    };
    assert_eq!(
        notes("once.jsonl", &["XXX", "XX-", "XX-", "XX-"]),
        ["note: \"c\" answered once of 4: its weight rests on one question"]
    );
    assert_eq!(
        notes("never.jsonl", &["XX-", "XX-"]),
        ["note: \"c\" never answered (2 questions asked): no estimate, it votes with the mean of the others, 2.00"]
    );
    assert_eq!(
        notes("opposed.jsonl", &["XY"; 6]),
        ["note: \"a\" and \"b\" differ on all 6 questions that both answered, and no third source answers: no vote \
          decides between them"]
    );
}

#[test]
fn a_report_has_both_tables_or_names_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let record = shown(&record(&folder, "r.jsonl", 0, &["XX-X", "XYZX"]));
    let (out, _) = said(&["report", &record, "--kappa", "2"]);
    assert!(out.starts_with("No document has a label"), "{out}");
    assert!(out.contains("kappa 2") && out.contains("| 4 | 0 | 2.00 | 0 | 0 % |"), "{out}");
    let line = refused(&["report", &record, "--align-threshold", "2"]);
    assert!(line.contains("--align-threshold 2: expected a number from 0 to 1"), "{line}");
}

#[test]
fn a_benchmark_is_built_once_and_read_as_a_dataset() {
    let folder = tempfile::tempdir().unwrap();
    let build = |name: &str| {
        let path = shown(&folder.path().join(name));
        said(&["build", "-o", &path, "--estimate", "6", "--test", "9", "--reliability", "0.9,0.1", "--seed", "4"]).0
    };
    let out = build("one");
    assert_eq!(
        out,
        "6 questions to estimate from, 9 to test; planted reliabilities:\n  source-1  0.90\n  source-2  0.10\n"
    );
    build("two");
    for file in ["estimate.jsonl", "test.jsonl", "corpus.jsonl", "oracle.json"] {
        let read = |name: &str| fs::read_to_string(folder.path().join(name).join(file)).unwrap();
        assert_eq!(read("one"), read("two"), "{file}");
    }
    // Noise is the factual document of another question: in the corpus its source would answer that one too.
    let corpus = fs::read_to_string(folder.path().join("one/corpus.jsonl")).unwrap();
    assert!(corpus.contains("\"correct\"") && !corpus.contains("\"noise\""), "{corpus}");
    let test = datasets::load(&folder.path().join("one/test.jsonl")).unwrap().questions;
    assert!(test.iter().flat_map(|q| &q.documents).any(|d| d.label.as_ref().is_some_and(|l| l.kind == "noise")));
    assert_eq!(test.len(), 9);
    assert!(test.iter().all(|question| question.documents.iter().all(|document| document.source.is_some())));
    assert_eq!(test[0].gold.as_ref().unwrap().wrong.len(), 9);
    let (oracle, _) = SourceWeights::read(&folder.path().join("one/oracle.json")).unwrap();
    assert!((oracle.vote(Some("source-1")) - 0.8).abs() < 1e-9);
    let line = refused(&["build", "-o", &shown(&folder.path().join("one"))]);
    assert!(line.contains("estimate.jsonl: expected a folder without a benchmark"), "{line}");
    let line = refused(&["build", "-o", &shown(&folder.path().join("three")), "--coverage", "0.6,0.1"]);
    assert!(line.contains("--coverage: expected one number, or 5, one for each source; found 2"), "{line}");
}

/// Gold answers of records decide where they are asked for, and the file keeps what they said.
#[test]
fn gold_answers_and_shrinking_are_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| shown(&folder.path().join(name));
    let plain = record(&folder, "plain.jsonl", 0, &["YYX", "YYX"]);
    let line = refused(&["estimate", &shown(&plain), "--gold", "-o", &path("w.json")]);
    assert!(line.contains("--gold: none of 2 questions with an answer has gold answers"), "{line}");
    let gold = folder.path().join("gold.jsonl");
    let mut writer = Writer::open(&gold, &header()).unwrap();
    for mut question in Record::read(&plain).unwrap().questions {
        question.question.gold = Some(Gold::any_of(["X".to_owned()]));
        writer.append(&question).unwrap();
    }
    let weight = |name: &str, source: &str| {
        SourceWeights::read(&folder.path().join(name)).unwrap().0.sources[source].weight.unwrap()
    };
    // f_align drops a "yes" that no document has, and a line says so.
    let yes = folder.path().join("yes.jsonl");
    let mut writer = Writer::open(&yes, &header()).unwrap();
    for mut question in Record::read(&plain).unwrap().questions {
        question.calls[0].parsed = Parsed::Answer { answer: Some("Yes".into()), explanation: String::new() };
        writer.append(&question).unwrap();
    }
    let (_, err) = said(&["estimate", &shown(&yes), "-o", &path("yes.json")]);
    assert!(err.ends_with("(--align-threshold); 2 of them are yes or no\n"), "{err}");
    let (out, _) = said(&["estimate", &shown(&gold), "-o", &path("without.json")]);
    assert!(out.contains("dropped  alone\n") && weight("without.json", "a") > weight("without.json", "c"), "{out}");
    let (_, err) = said(&["estimate", &shown(&gold), "--gold", "-o", &path("with.json")]);
    assert_eq!(err, "gold answers decide 2 of 2 questions\n");
    assert!(weight("with.json", "a") < weight("with.json", "c"));
    // A merge keeps what gold said; shrinking is kept as a setting.
    let other = shown(&record(&folder, "other.jsonl", 2, &["XXX"]));
    said(&["estimate", &other, "--shrink", "3", "-o", &path("other.json")]);
    said(&["merge", &path("other.json"), &path("with.json"), "-o", &path("both.json")]);
    let (both, _) = SourceWeights::read(&folder.path().join("both.json")).unwrap();
    assert_eq!(both.settings.unwrap().shrink, Some(3.0));
    assert!(both.estimator.ends_with("shrunk to the mean by 3, 2 questions with known answers"), "{}", both.estimator);
    let line = refused(&["estimate", &other, "--shrink", "-1", "-o", &path("w.json")]);
    assert!(line.contains("--shrink -1: expected a number from 0 to 1e6"), "{line}");
}
