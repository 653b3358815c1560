//! Answers with their citations, as CSV and JSON lines.

use super::{answered, concluded, question};
use moot::eval::answers::{Outcome, answers, csv, jsonl};
use moot::question::{Answer, Conclusion, Document, Origin, Question};
use moot::transcript::QuestionRecord;
use serde_json::{Value, json};

fn record(id: &str, conclusion: Option<Conclusion>) -> QuestionRecord {
    let error = conclusion.is_none().then(|| "a document too long".to_owned());
    QuestionRecord { conclusion, error, ..answered(id, &[], &[], &[]) }
}

/// A question of two answers, one of them with a passage of a corpus; one each of the other outcomes; in another order.
fn all() -> (Vec<Question>, Vec<QuestionRecord>) {
    let origin = Origin { file: "notes/a.md".into(), id: None, line: Some(12), page: None, characters: 3..9 };
    let passage = Document {
        name: "A".into(),
        source: Some("Council".into()),
        date: Some("1998".into()),
        origin: Some(origin),
        ..Document::default()
    };
    let mut first = concluded(&["1902", "=1903"]);
    first.answers[0].opponents = vec![1];
    first.answers[1] = Answer { supporters: vec![1], opponents: vec![0], ..first.answers[1].clone() };
    first.explanation = "Both,\nas they say.".into();
    let first = QuestionRecord { retrieved: vec![passage], ..record("q0", Some(first)) };
    let malformed = Conclusion { malformed: true, ..Conclusion::default() };
    let records =
        vec![record("q3", None), record("q2", Some(malformed)), record("q1", Some(Conclusion::default())), first];
    let questions = (0..5).map(|i| question(&format!("q{i}"), &[], &[])).collect();
    (questions, records)
}

#[test]
fn outcomes_are_distinguished_in_the_order_of_the_questions() {
    let (questions, records) = all();
    let all = answers(&questions, &records);
    let outcomes: Vec<(&str, Outcome)> = all.iter().map(|one| (one.id.as_str(), one.outcome)).collect();
    let expected = [Outcome::Answered, Outcome::Unknown, Outcome::Malformed, Outcome::Error, Outcome::Missing];
    assert_eq!(outcomes, ["q0", "q1", "q2", "q3", "q4"].into_iter().zip(expected).collect::<Vec<_>>());
    assert_eq!(all[3].error.as_deref(), Some("a document too long"));
}

#[test]
fn a_table_has_a_row_an_answer_and_no_formula() {
    let (questions, records) = all();
    let bytes = csv(&answers(&questions, &records)).unwrap();
    let mut reader = csv::Reader::from_reader(&bytes[..]);
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 6, "two answers of the first question");
    let cell = |row: usize, column: usize| rows[row].get(column).unwrap();
    assert_eq!((cell(0, 0), cell(0, 2), cell(0, 3), cell(0, 4)), ("q0", "answered", "1902", "document 1"));
    assert_eq!(cell(0, 5), "A (Council, 1998), notes/a.md:12 (characters 3-9)");
    assert_eq!((cell(1, 0), cell(1, 5)), ("q0", "document 1"));
    assert!(!cell(1, 3).starts_with('='), "{}", cell(1, 3));
    assert_eq!(
        (cell(2, 2), cell(3, 2), cell(4, 2), cell(4, 8)),
        ("unknown", "malformed", "error", "a document too long")
    );
}

#[test]
fn a_line_has_the_citations_as_fields() {
    let (questions, records) = all();
    let text = String::from_utf8(jsonl(&answers(&questions, &records)).unwrap()).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 5);
    assert_eq!(
        lines[0]["answers"][0]["opposed_by"],
        json!([{ "document": 2, "name": "A", "source": "Council", "date": "1998",
                 "position": "notes/a.md:12 (characters 3-9)" }])
    );
    assert_eq!((&lines[0]["answers"][1]["text"], &lines[4]["outcome"]), (&json!("=1903"), &json!("missing")));
}
