//! Answers of another system, scored by the metrics of records.

use crate::cli::program::{moot, text};
use moot::eval::datasets::{self, Dataset};
use moot::eval::metrics::{METRICS, Metric, Needs};
use moot::eval::predictions::{METHOD, Predictions};
use moot::eval::record::Writer;
use moot::eval::scores;
use moot::methods::METHODS;
use moot::transcript::{CallRecord, QuestionRecord};
use serde_json::Value;
use std::fs;
use std::path::Path;

const DATASET: &str = r#"{"id":"a","question":"When?","answers":[["1884","eighteen eighty-four"]]}
{"id":"b","question":"Who?","answers":["Ana Lind","Per Holm"],"all_required":true}
{"id":7,"question":"Where?","unanswerable":true}
{"id":"d","question":"Which?","answers":["red"],"wrong_answers":["blue"]}
"#;

fn dataset(folder: &Path) -> Dataset {
    let path = folder.join("set.jsonl");
    fs::write(&path, DATASET).unwrap();
    datasets::load(&path).unwrap()
}

/// The predictions `content` in a file called `name`, or why they are refused.
fn read(name: &str, content: &str) -> Result<Predictions, String> {
    let folder = tempfile::tempdir().unwrap();
    let dataset = dataset(folder.path());
    fs::write(folder.path().join(name), content).unwrap();
    Predictions::read(&folder.path().join(name), &dataset).map_err(|e| e.to_string())
}

fn value(predictions: &Predictions, metric: &str) -> Option<f64> {
    let scores = scores::score(&predictions.record);
    let row = scores.rows.iter().find(|(row, _)| row.name == metric).unwrap();
    row.1.map(|estimate| estimate.mean)
}

/// By hand: a right, b one of two, 7 rightly unknown, d wrong.
#[test]
fn every_form_gives_the_same_numbers() {
    let lines = r#"{"id":"d","answer":"blue"}
{"id":"b","answers":["Ana Lind"]}
{"id":7,"answer":null}
{"id":"a","answer":"It opened in 1884."}
"#;
    let list = r#"[{"id":"a","answer":"in 1884"},{"id":"b","answers":[{"text":"Ana Lind"}]},{"id":"7","answers":[]},
        {"id":"d","answer":"blue"}]"#;
    let csv = "id,answers,more\na,\"[\"\"1884\"\"]\",x\nb,\"[\"\"Ana Lind\"\"]\",\n7,,\nd,\"[\"\"blue\"\"]\",\n";
    let tsv = "answer\tid\n1884\ta\nAna Lind\tb\nunknown\t7\nblue\td\n";
    let text = "in 1884\nAna Lind\n\nblue\n";
    for (name, content) in [
        ("p.jsonl", lines),
        ("p.json", list),
        ("p.csv", csv),
        ("p.tsv", tsv),
        ("p.txt", text),
        ("P.TXT", text.trim_end()),
    ] {
        let read = read(name, content).unwrap();
        assert!(read.missing.is_empty() && read.unknown.is_empty(), "{name}: {read:?}");
        assert_eq!(value(&read, "em"), Some(0.5), "{name}");
        assert_eq!(value(&read, "recall"), Some((1.0 + 0.5 + 1.0) / 4.0), "{name}");
        assert_eq!(value(&read, "unknown"), Some(0.25), "{name}");
        // Nothing is known of calls and replies.
        for metric in ["calls", "seconds", "malformed", "em-text", "rounds"] {
            assert_eq!(value(&read, metric), None, "{name} {metric}");
        }
        let ids: Vec<&str> = read.record.questions.iter().map(|question| question.question.id.as_str()).collect();
        assert_eq!(ids, ["a", "b", "7", "d"], "in the dataset's order");
    }
}

#[test]
fn missing_predictions_are_wrong_and_unknown_ids_are_reported() {
    let read = read("p.jsonl", "{\"id\":\"a\",\"answer\":\"1884\"}\n{\"id\":\"zz\",\"answer\":\"x\"}\n").unwrap();
    assert_eq!(
        (read.missing.as_slice(), read.unknown.as_slice()),
        (&["b", "7", "d"].map(String::from)[..], &["zz".to_owned()][..])
    );
    assert_eq!((value(&read, "em"), value(&read, "error")), (Some(0.25), Some(0.75)));
}

#[test]
fn a_file_of_another_form_is_refused_with_its_line() {
    for (content, why) in [
        (
            "{\"id\":\"a\",\"answer\":\"x\"}\n{\"id\":\"a\",\"answer\":\"y\"}\n",
            "p.jsonl:2: expected each id once, found \"a\" again",
        ),
        ("{\"id\":\"a\"}\n", "p.jsonl:1: expected `answer` or `answers`, found the fields `id`"),
        ("{\"id\":\"a\",\"answer\":\"x\",\"answers\":[]}\n", "p.jsonl:1: expected `answer` or `answers`, found both"),
        ("{\"id\":\"a\",\"answer\":5}\n", "p.jsonl:1: expected a string in `answer`, found the number 5"),
        ("{\"answer\":\"x\"}\n", "p.jsonl:1: expected a string in `id`"),
        ("{\"id\":\"a\",\"answers\":\"x\"}\n", "p.jsonl:1: expected a list of texts as JSON in `answers`"),
        ("{\"id\":\"zz\",\"answer\":\"x\"}\n", "p.jsonl: expected ids of set.jsonl, as \"a\", found others, as \"zz\""),
        ("", "p.jsonl: expected a dataset"),
    ] {
        let said = read("p.jsonl", content).unwrap_err();
        assert!(said.contains(why), "{said}");
    }
    for (content, found) in [("1884\nAna\n\n", "3"), ("1884\nAna\n\nblue\n\n", "more"), ("", "0")] {
        let said = read("p.txt", content).unwrap_err();
        let expected = "expected 4 lines, an answer to each question of set.jsonl in its order";
        assert!(said.contains(&format!("p.txt: {expected}, found {found}")), "{said}");
    }
}

#[test]
fn a_record_is_scored_by_the_dataset_that_is_given() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = dataset(folder.path());
    let path = folder.path().join("r.jsonl");
    let mut writer = Writer::open(&path, &super::header()).unwrap();
    let mut record = super::answered("a", &["1848"], &[], &["1884"]);
    record.question.text = "When?".into();
    writer.append(&record).unwrap();
    drop(writer);
    let read = Predictions::read(&path, &dataset).unwrap();
    assert_eq!((read.missing.len(), value(&read, "em")), (3, Some(0.25)), "the dataset's gold answers count");
    assert_eq!(read.record.header.method, super::header().method);
    assert!(value(&read, "calls").is_some());
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("1884", "1885", 1)).unwrap();
    let said = Predictions::read(&path, &dataset).unwrap_err().to_string();
    assert!(said.contains("expected a line as it was written"), "{said}");
}

#[test]
fn metrics_of_answers_need_no_calls_and_no_method_has_the_name() {
    let mut record = super::answered("a", &["1848"], &["1911"], &["1848"]);
    record.calls = vec![CallRecord { document: Some(0), round: 1, ..CallRecord::default() }; 3];
    record.seconds = 4.0;
    let bare = QuestionRecord { calls: Vec::new(), seconds: 0.0, ..record.clone() };
    for metric in METRICS {
        let same = metric.over(&[&record]) == metric.over(&[&bare]);
        assert!(same || metric.needs == Needs::Calls, "{}: it depends on calls", metric.name);
    }
    let of_answers = |name: &str| Metric::named(name).unwrap().needs == Needs::Answers;
    assert!(of_answers("em") && of_answers("hotpot-f1") && !of_answers("calls") && !of_answers("em-text"));
    assert!(METHODS.iter().all(|row| row.name != METHOD));
}

#[test]
fn the_command_prints_the_table_and_json_of_records() {
    let folder = tempfile::tempdir().unwrap();
    dataset(folder.path());
    fs::write(folder.path().join("p.csv"), "id,answer\na,1884\nzz,x\n").unwrap();
    let run = |typed: &str| {
        let mut command = moot(typed.split(' '));
        command.current_dir(folder.path()).env("COLUMNS", "100");
        let output = command.output().unwrap();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let (code, table, notes) = run("score --predictions p.csv --dataset set.jsonl");
    assert_eq!(code, Some(0), "{notes}");
    assert!(table.starts_with("p.csv: predictions on set.jsonl with another system: 4 questions"), "{table}");
    assert!(table.contains("\nem ") && table.contains("0.250 [") && !table.contains("\ncalls"), "{table}");
    assert!(notes.contains("3 of 4 questions have no prediction and count as errors: b, 7, d"), "{notes}");
    assert!(notes.contains("1 of 2 predictions are for no question of the dataset and are left out: zz"), "{notes}");
    let (_, json, _) = run("score --predictions p.csv --predictions p.csv --dataset set.jsonl --json");
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["records"][0]["metrics"]["em"]["mean"], 0.25);
    assert_eq!(json["records"][0]["metrics"]["calls"], Value::Null);
    assert_eq!(json["differences"][0]["metrics"]["em"]["mean"], 0.0);
    for typed in ["score --predictions p.csv", "score --dataset set.jsonl", "score"] {
        let (code, _, said) = run(typed);
        assert_eq!(code, Some(2), "{typed}: {said}");
    }
}
