//! The form for people's own data, its hints, its schema, and version-1 records.

use super::{fixture, load};
use moot::eval::datasets;
use moot::question::{ClaimRelation, Gold, Question};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

#[test]
fn every_field_is_read() {
    let set = datasets::load(&fixture("questions.jsonl")).unwrap();
    assert_eq!(set.format, "questions");
    let [bridge, towns, unanswerable, choice, claims] = set.questions.as_slice() else {
        panic!("{}", set.questions.len())
    };
    assert_eq!((bridge.id.as_str(), bridge.slices.as_slice()), ("bridge", ["years".to_owned()].as_slice()));
    let gold = bridge.gold.as_ref().unwrap();
    assert_eq!(gold.answers, [["1884", "eighteen eighty-four"]]);
    assert_eq!((gold.wrong.as_slice(), gold.all_required, gold.required()), (["1848".to_owned()].as_slice(), false, 1));
    let minutes = &bridge.documents[0];
    assert_eq!((minutes.name.as_str(), minutes.date.as_deref()), ("Council minutes", Some("1884")));
    assert_eq!((minutes.source.as_deref(), minutes.url.is_some()), (Some("council"), true));
    assert_eq!(
        (bridge.documents[1].name.as_str(), bridge.documents[1].text.as_str()),
        ("document 2", "A diary says 1848.")
    );
    let gold = towns.gold.as_ref().unwrap();
    assert_eq!((gold.answers.len(), gold.required()), (2, 2));
    assert_eq!(unanswerable.gold, Some(Gold::none()));
    assert_eq!(choice.options, ["Ost", "Lenn"]);
    assert_eq!(claims.gold, None);
    assert_eq!(claims.claims[0].relations, [ClaimRelation::Supports, ClaimRelation::Contradicts]);
    assert_eq!((claims.claims[0].conflict, claims.claims[1].conflict), (Some(true), None));
    assert_eq!(claims.responses.len(), 1);
    assert_eq!(claims.documents[0].label.as_ref().unwrap().answer, "yes");
}

#[test]
fn tables_hold_lists_as_json() {
    let set = datasets::load(&fixture("questions.csv")).unwrap();
    let [first, second] = set.questions.as_slice() else { panic!() };
    assert_eq!((first.documents[0].text.as_str(), first.id.as_str()), ("It opened in 1884.", "a"));
    assert_eq!(first.gold.as_ref().unwrap().answers, [["1884"]]);
    assert_eq!((second.text.as_str(), second.gold.clone()), ("Who, \"exactly\", paid?", Some(Gold::none())));
}

#[test]
fn fields_under_other_names_get_a_hint() {
    for (fields, found, ours) in [
        (json!({"question": "Q?", "docs": []}), "docs", "documents"),
        (json!({"question": "Q?", "context": "x"}), "context", "documents"),
        (json!({"question": "Q?", "passages": ["x"], "answers": ["a"]}), "passages", "documents"),
        (json!({"question": "Q?", "gold": "a"}), "gold", "answers"),
        (json!({"question": "Q?", "label": "a"}), "label", "answers"),
        (json!({"question": "Q?", "Correct Answer": "a"}), "Correct Answer", "answers"),
        (json!({"question": "Q?", "documnets": []}), "documnets", "documents"),
        (json!({"question": "Q?", "anwers": ["a"]}), "anwers", "answers"),
        (json!({"query": "Q?", "answers": ["a"]}), "query", "question"),
    ] {
        let error = load(&format!("{fields}\n")).unwrap_err();
        assert!(error.ends_with(&format!("found the field `{found}`, which is called `{ours}` here")), "{error}");
    }
    let error = load("{\"question\": \"Q?\", \"documents\": [{\"content\": \"x\"}]}\n").unwrap_err();
    assert!(
        error.ends_with("expected a document's `text`, found the field `content`, which is called `text` here"),
        "{error}"
    );
    // If a field of this form is there, other fields are ignored.
    assert!(load("{\"question\": \"Q?\", \"answers\": [\"a\"], \"label\": \"x\", \"note\": 3}\n").is_ok());
}

#[test]
fn bad_fields_are_named() {
    for (fields, expected) in [
        (
            json!({"question": "Q?", "documents": [{"title": "t"}]}),
            "a string in `documents[0].text`, found no such field",
        ),
        (json!({"question": "Q?", "documents": [3]}), "text or an object in `documents[0]`, found the number 3"),
        (
            json!({"question": "Q?", "answers": [["a", 2]]}),
            "an answer's aliases, all strings, in `answers[0]`, found a list of 2",
        ),
        (
            json!({"question": "Q?", "answers": [[]]}),
            "an answer or a list of its aliases in `answers[0]`, found a list of 0",
        ),
        (
            json!({"question": "Q?", "answers": ["a"], "unanswerable": true}),
            "no `answers` where `unanswerable` is true, found 1 answers",
        ),
        (
            json!({"question": "Q?", "unanswerable": "maybe"}),
            "true or false in `unanswerable`, found the string \"maybe\"",
        ),
        (
            json!({"question": "Q?", "options": ["x"], "answers": ["y"]}),
            "each of `answers` among the `options`, found \"y\"",
        ),
        (
            json!({"question": "Q?", "claims": [{"text": "c", "relations": ["supports"]}]}),
            "0 entries in `claims.relations`, one for each document, found 1",
        ),
        (
            json!({"question": "Q?", "claims": [{"text": "c", "relations": ["maybe"]}]}),
            "a list of supports, contradicts or irrelevant in `claims.relations`, found a list of 1",
        ),
    ] {
        assert_eq!(load(&format!("{fields}\n")).unwrap_err(), format!("set.jsonl:1: expected {expected}"));
    }
}

/// The schema names the fields that are read, and the document's example is read as it stands.
#[test]
fn the_documentation_agrees() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let schema: Value = serde_json::from_str(&fs::read_to_string(docs.join("question.schema.json")).unwrap()).unwrap();
    let mut named: Vec<&str> = schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
    named.sort_unstable();
    let mut read = [
        "id",
        "question",
        "documents",
        "answers",
        "all_required",
        "wrong_answers",
        "unanswerable",
        "options",
        "claims",
        "responses",
        "slices",
    ];
    read.sort_unstable();
    assert_eq!(named, read);
    let text = fs::read_to_string(docs.join("data.md")).unwrap();
    let example = text.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
    let set = load(example).unwrap();
    assert_eq!((set.format, set.questions.len()), ("questions", 1));
    for row in datasets::DATASETS {
        assert!(text.contains(&format!("| `{}` |", row.name)), "docs/data.md lacks {}", row.name);
    }
}

#[test]
fn gold_of_version_1_is_read() {
    let old: Gold = serde_json::from_value(json!({"answers": ["a", "b"], "wrong": ["c"]})).unwrap();
    assert_eq!(old, Gold::all_of(["a".to_owned(), "b".to_owned()], vec!["c".to_owned()]));
    assert!(serde_json::from_value::<Gold>(json!({"answers": []})).unwrap().all_required);
    for gold in [
        Gold::any_of(["a".to_owned(), "b".to_owned()]),
        Gold::none(),
        old,
        Gold { answers: vec![vec!["a".into()], vec!["b".into()]], ..Gold::default() },
    ] {
        let written = serde_json::to_string(&gold).unwrap();
        assert_eq!(serde_json::from_str::<Gold>(&written).unwrap(), gold, "{written}");
    }
    let question = json!({"id": "q", "text": "Q?", "documents": [], "gold": {"answers": ["a"]}});
    let question: Question = serde_json::from_value(question).unwrap();
    assert_eq!(question.gold.unwrap().answers, [["a"]]);
}

/// Prompts and records repeat names, sources and dates.
#[test]
fn metadata_is_bounded_and_names_stay_apart() {
    let long = "word ".repeat(200_000);
    let document = json!({"text": "t", "title": long, "source": long, "date": long, "url": long});
    let short = json!({"text": "t", "title": "Untitled  ", "source": "a  b"});
    let line = json!({"question": "Q?", "documents": [document, document, short], "answers": ["a"]});
    let documents = load(&format!("{line}\n")).unwrap().questions.remove(0).documents;
    for document in &documents[..2] {
        let lengths = [&document.title, &document.source, &document.date].map(|field| field.as_ref().unwrap().len());
        assert_eq!((lengths, &document.url), ([999, 999, 99], &None));
        assert!(document.name.len() < 1100, "{}", document.name.len());
    }
    assert_ne!(documents[0].name, documents[1].name);
    // Short fields stay as they were written.
    assert_eq!((documents[2].name.as_str(), documents[2].source.as_deref()), ("Untitled  ", Some("a  b")));
}
