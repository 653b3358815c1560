//! File forms: JSON lines, arrays, keyed objects, tables; byte-order marks and bare NaN.

use super::{fixture, load, load_with};
use moot::eval::datasets::{self, Form, Options};

const TWO: &str = r#"{"id": "a", "question": "A?"}, {"id": "b", "question": "B?"}"#;

fn ids(text: &str) -> Vec<String> {
    load(text).unwrap_or_else(|e| panic!("{text}: {e}")).questions.into_iter().map(|q| q.id).collect()
}

#[test]
fn the_form_is_detected_from_the_content() {
    let lines = TWO.replace("}, {", "}\n\n{");
    for text in [
        lines.clone(),
        format!("\u{feff}{lines}\r\n"),
        format!("[{TWO}]"),
        format!("\u{feff}[\n  {}\n]\n", TWO.replace("}, {", "},\n  {")),
        r#"{"x": {"id": "a", "question": "A?"}, "y": {"id": "b", "question": "B?"}}"#.to_owned(),
        "{\n\"x\": {\"id\": \"a\", \"question\": \"A?\"},\n\"y\": {\"id\": \"b\", \"question\": \"B?\"}}".to_owned(),
        format!("{{\n\"version\": 1, \"data\": [{TWO}]\n}}"),
        "id,question\na,A?\nb,B?\n".to_owned(),
        "id\tquestion\r\na\tA, or what?\r\nb\tB?\r\n".to_owned(),
        "\u{feff}question,id\n\"A,\n\"\"A\"\"?\",a\nB?,b\n".to_owned(),
    ] {
        assert_eq!(ids(&text), ["a", "b"], "{text}");
    }
    assert_eq!(ids("{\n  \"id\": \"a\",\n  \"question\": \"A?\"\n}\n"), ["a"]);
    assert_eq!(ids("{\"id\": \"a\", \"question\": \"A?\"}"), ["a"]);
}

#[test]
fn errors_name_line_and_field() {
    for (text, expected) in [
        (
            "[\n{\"question\": \"A?\"},\n{\"question\": 7}]",
            "set.jsonl:3: expected a string in `[1].question`, found the number 7",
        ),
        ("[{\"question\": \"A?\"},\n3]", "set.jsonl:2: expected a JSON object in `[1]`, found the number 3"),
        (
            "{\"x\": {\"question\": \"A?\"},\n\"y\": {\"question\": \"\"}}",
            "set.jsonl:2: expected text in `y.question`, found an empty string",
        ),
        ("[{\"question\": \"A?\"},", "set.jsonl:1: expected a JSON array of objects, found no value where one was due"),
        ("[{\"question\": \"A?\"}\n", "set.jsonl:2: expected a JSON array of objects, found JSON that ends too early"),
        ("id,question\na,A?\nb\n", "set.jsonl:3: expected 2 columns, as in the header, found 1"),
        ("id,question\na,\n", "set.jsonl:2: expected a string in `question`, found no such field"),
        ("[]", "set.jsonl: expected a dataset"),
        (r#"{"question": "A?", "question": "B?"}"#, "set.jsonl:1: expected a JSON object, found `question` twice"),
        (
            "[{\"question\": \"A?\"},\n{\"question\": \"B?\", \"documents\": [{\"text\": \"a\", \"text\": \"b\"}]}]",
            "set.jsonl:2: expected a JSON object, found `text` twice",
        ),
        (
            "my notes",
            "set.jsonl:1: expected JSON lines, a JSON array, or a table with a header line, found \"my notes\"",
        ),
    ] {
        let found = load(text).unwrap_err();
        assert!(found.starts_with(expected), "{text}: {found}");
    }
}

#[test]
fn bare_nan_is_read_where_the_publisher_writes_it() {
    let qacc = r#"[{"question": "When?", "contexts": ["NaN in 1884."], "sources": ["a.example"], "firstAnswer": "1884",
        "firstContext": "['A']", "secondAnswerExist": "B", "secondAnswer": NaN, "correctAnswer": NaN, "split": "dev"}]"#;
    let set = load(qacc).unwrap();
    assert_eq!((set.format, set.questions[0].gold.clone()), ("qacc", None));
    assert_eq!(set.questions[0].documents[0].text, "NaN in 1884.");
    let found = load("{\"question\": \"Q?\", \"score\": NaN}\n").unwrap_err();
    assert!(found.starts_with("set.jsonl:1: expected a JSON object, found broken JSON"), "{found}");
}

#[test]
fn a_format_can_be_named() {
    let form = Options::default().format("tsv").unwrap();
    assert_eq!(form.form, Some(Form::Tsv));
    let both = Options::default().format("questions, csv").unwrap();
    assert_eq!((both.form, both.row.map(|row| row.name)), (Some(Form::Csv), Some("questions")));
    // A question whose only column would be taken for JSON.
    let set = load_with("\"{id}\",question\nx,A?\n", &both).unwrap();
    assert_eq!(set.questions[0].text, "A?");
    // NQ-open by detection, people's own form by name: `answer` is not a field of that.
    let own = Options::default().format("questions").unwrap();
    assert_eq!(datasets::load(&fixture("nq_open.jsonl")).unwrap().format, "nq-open");
    let found = datasets::load_with(&fixture("nq_open.jsonl"), &own).unwrap_err().to_string();
    assert!(found.ends_with("found the field `answer`, which is called `answers` here"), "{found}");
}
