use moot::eval::datasets::{self, DATASETS, question_id};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::fs;

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

fn load(text: &str) -> Result<datasets::Dataset, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("set.jsonl");
    fs::write(&path, text).unwrap();
    let prefix = format!("{}/", folder.path().display());
    datasets::load(&path).map_err(|e| e.to_string().replace(&prefix, ""))
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

/// What is said of a file whose second line has `field` set to `value`, or taken away.
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
        (complaint(|v| v["documents"][2]["type"] = "lie".into()), "one of correct, misinfo, noise in `documents[2].type`, found \"lie\""),
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
    assert_eq!(load("").unwrap_err(), "set.jsonl: expected a dataset (ramdocs), found an empty file");
    let found = load("{\"text\": 1}\n").unwrap_err();
    assert_eq!(found, "set.jsonl:1: expected a line of a known dataset (ramdocs), found the fields `text`");
    assert!(
        datasets::load("no/such.jsonl".as_ref()).unwrap_err().to_string().starts_with("no/such.jsonl: cannot open:")
    );
}

#[test]
fn the_table_is_whole() {
    assert_eq!(DATASETS.iter().map(|row| row.name).collect::<HashSet<_>>().len(), DATASETS.len());
    for row in DATASETS {
        assert!(!row.paper.is_empty() && !row.licence.is_empty() && !row.about.is_empty(), "{}", row.name);
    }
}
