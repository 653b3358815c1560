//! Datasets: detection, errors with file, line and field, sampling, and each published form.

mod dated;
mod input;
mod own;
mod published;
pub(super) mod real;

use moot::eval::datasets::{self, DATASETS, Dataset, Options, question_id};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A small file in a published form.
fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/datasets").join(name)
}

fn line() -> Value {
    json!({
        "question": "When was it built?",
        "documents": [
            {"text": "Built in 1902.", "type": "correct", "answer": "1902"},
            {"text": "Built in 1903.", "type": "misinfo", "answer": "1903"},
            {"text": "A recipe.", "type": "noise", "answer": "unknown"},
        ],
        "disambig_entity": ["Courthouse (Iowa)"],
        "gold_answers": ["1902"],
        "wrong_answers": ["1903"],
    })
}

fn load(text: &str) -> Result<Dataset, String> {
    load_with(text, &Options::default())
}

/// Reads `text` as a file `set.jsonl`, whose folder is left out of errors.
fn load_with(text: &str, options: &Options) -> Result<Dataset, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("set.jsonl");
    fs::write(&path, text).unwrap();
    let prefix = format!("{}/", folder.path().display());
    let shown = |text: String| text.replace(&prefix, "");
    let mut set = datasets::load_with(&path, options).map_err(|e| shown(e.to_string()))?;
    set.skipped = set.skipped.into_iter().map(shown).collect();
    Ok(set)
}

#[test]
fn ramdocs_as_published() {
    let set = load(&format!("{}\n\r\n{}\n", line(), line())).unwrap();
    assert_eq!((set.identity.name.as_str(), set.identity.questions), ("set.jsonl", 2));
    assert_eq!(set.identity.sha256.len(), 64);
    let question = &set.questions[0];
    assert_eq!(question.text, "When was it built?");
    assert_eq!(question.gold.as_ref().unwrap().wrong, ["1903"]);
    let kinds: Vec<_> = question.documents.iter().map(|d| d.label.as_ref().unwrap().kind.as_str()).collect();
    assert_eq!(kinds, ["correct", "misinfo", "noise"]);
    assert_eq!(question.documents[2].name, "document 3");
    // The same question on lines 1 and 3 is two questions.
    let ids: Vec<_> = set.questions.iter().map(|q| q.id.clone()).collect();
    assert_eq!(ids, [question_id(1, "When was it built?"), question_id(3, "When was it built?")]);
    assert_eq!(ids[0].split_once('-').map(|(line, hash)| (line, hash.len())), Some(("1", 8)));
}

/// The error for a file whose second line has `field` set to `value`, or removed.
fn complaint(change: impl Fn(&mut Value)) -> String {
    let mut bad = line();
    change(&mut bad);
    load(&format!("{}\n{bad}\n", line())).unwrap_err()
}

#[test]
fn each_bad_line_is_named_with_field_and_value() {
    let remove = |field: &'static str| move |v: &mut Value| drop(v.as_object_mut().unwrap().remove(field));
    #[rustfmt::skip]
    let cases = [
        (complaint(|v| v["question"] = 7.into()), "a string in `question`, found the number 7"),
        (complaint(remove("question")), "a string in `question`, found no such field"),
        (complaint(|v| v["question"] = "  ".into()), "text in `question`, found an empty string"),
        (complaint(|v| v["documents"] = "no".into()), "a list of objects in `documents`, found the string \"no\""),
        (complaint(|v| v["documents"][1] = 3.into()), "an object in `documents[1]`, found the number 3"),
        (complaint(|v| v["documents"][1]["text"] = json!([1, 2])), "a string in `documents[1].text`, found a list of 2"),
        (complaint(|v| v["documents"][2]["type"] = "lie".into()), "one of correct, misinfo, noise in `documents[2].type`, found the string \"lie\""),
        (complaint(|v| v["documents"][0]["answer"] = Value::Null), "a string in `documents[0].answer`, found no such field"),
        (complaint(|v| v["gold_answers"] = json!({})), "a list of strings in `gold_answers`, found an object"),
        (complaint(|v| v["gold_answers"] = json!(["a", true])), "a string in `gold_answers[1]`, found true"),
        (complaint(remove("wrong_answers")), "a list of strings in `wrong_answers`, found no such field"),
        (complaint(|v| *v = json!([1])), "a JSON object, found a list of 1"),
    ];
    for (found, expected) in cases {
        assert_eq!(found, format!("set.jsonl:2: expected {expected}"));
    }
    let found = load(&format!("{}\n{{\"question\": \n", line())).unwrap_err();
    assert!(found.starts_with("set.jsonl:2: expected a JSON object, found JSON that ends too early"), "{found}");
    let found = load(&format!("{}\n{{question}}\n", line())).unwrap_err();
    assert!(
        found.starts_with("set.jsonl:2: expected a JSON object, found broken JSON (") && found.ends_with("column 2)")
    );
}

#[test]
fn a_file_of_no_known_format() {
    let known = "(ramdocs, qacc, ircot, musique, poisonedrag, ";
    let found = load("").unwrap_err();
    assert!(found.starts_with(&format!("set.jsonl: expected a dataset {known}")), "{found}");
    assert!(found.ends_with(", questions), found an empty file"), "{found}");
    let found = load("{\"colour\": 1}\n").unwrap_err();
    assert!(found.starts_with(&format!("set.jsonl:1: expected an item of a known dataset {known}")), "{found}");
    assert!(found.ends_with("found the fields `colour`"), "{found}");
    let found = load("{\"title\": \"a\", \"text\": \"b\"}\n").unwrap_err();
    assert!(found.ends_with("`text`, passages of a corpus rather than questions"), "{found}");
    let found = datasets::load("no/such.jsonl".as_ref()).unwrap_err().to_string();
    assert!(found.starts_with("no/such.jsonl: cannot open:"), "{found}");
}

#[test]
fn a_sample_is_uniform_seeded_nested_and_in_order() {
    let text: String = (0..200).map(|i| format!("{{\"id\": \"q{i}\", \"question\": \"Q{i}?\"}}\n")).collect();
    let set = load(&text).unwrap();
    let sample = |count, seed| {
        let mut set = set.clone();
        set.sample(count, seed);
        set.questions.iter().map(|q| q.id[1..].parse().unwrap()).collect::<Vec<usize>>()
    };
    let fifty = sample(50, 1);
    assert_eq!(fifty.len(), 50);
    assert!(fifty.is_sorted());
    assert_eq!(fifty, sample(50, 1));
    assert_ne!(fifty, sample(50, 2));
    assert!(fifty.iter().all(|i| sample(51, 1).contains(i)));
    assert_eq!(sample(500, 1), (0..200).collect::<Vec<_>>());
    assert!(sample(0, 1).is_empty());
    // Over many seeds each question is drawn about as often: 200 draws of a quarter, standard deviation 6.1.
    let mut drawn = [0_u32; 200];
    (0..200).flat_map(|seed| sample(50, seed)).for_each(|i| drawn[i] += 1);
    assert!(drawn.iter().all(|&n| (20..=80).contains(&n)), "{drawn:?}");
}

#[test]
fn bad_items_are_skipped_on_request() {
    let mut bad = line();
    bad["documents"] = "no".into();
    let text = format!("{{broken\n{}\n{bad}\n{}\n", line(), line());
    let skipping = Options { skip_bad: true, ..Options::default() };
    let set = load_with(&text, &skipping).unwrap();
    assert_eq!((set.questions.len(), set.identity.questions), (2, 2));
    assert_eq!(set.skipped.len(), 2);
    assert!(set.skipped[0].starts_with("set.jsonl:1: expected a JSON object, found broken JSON"), "{:?}", set.skipped);
    assert!(set.skipped[1].starts_with("set.jsonl:3: expected a list of objects in `documents`"), "{:?}", set.skipped);
    assert!(load(&text).unwrap_err().starts_with("set.jsonl:1: "));
    let found = load_with(&format!("{bad}\n"), &skipping).unwrap_err();
    assert!(found.starts_with("set.jsonl: expected a question, found 1 bad ones, the first: set.jsonl:1: "), "{found}");
}

#[test]
fn an_id_belongs_to_one_question() {
    let found = load("{\"id\": \"a\", \"question\": \"Q?\"}\n{\"id\": \"a\", \"question\": \"R?\"}\n").unwrap_err();
    assert_eq!(found, "set.jsonl:2: expected each id once, found question \"a\" again");
}

#[test]
fn the_table_is_whole() {
    assert_eq!(DATASETS.iter().map(|row| row.name).collect::<HashSet<_>>().len(), DATASETS.len());
    for row in DATASETS {
        assert!(!row.paper.is_empty() && !row.licence.is_empty() && !row.about.is_empty(), "{}", row.name);
        assert!(Options::default().format(row.name).is_ok());
    }
    let found = Options::default().format("ramdoc").err().unwrap().to_string();
    assert!(found.starts_with("no dataset format is called \"ramdoc\" (known: ramdocs, "), "{found}");
}
