use super::{answered, header};
use moot::eval::record::reader::Record;
use moot::eval::report;
use std::path::PathBuf;

fn record(name: &str, answers: &[(&str, &str)]) -> Record {
    let questions = answers.iter().map(|(id, answer)| answered(id, &["yes"], &["no"], &[answer])).collect();
    Record { path: PathBuf::from(name), header: header(), questions, torn: false }
}

#[test]
fn the_order_of_lines_changes_no_number() {
    let mut a = record("a.jsonl", &[("1", "yes"), ("2", "no"), ("3", "yes"), ("4", "maybe")]);
    let forwards = report::json(&[report::score(&a)], &[]);
    a.questions.reverse();
    assert_eq!(report::json(&[report::score(&a)], &[]), forwards);
    assert_eq!(forwards["records"][0]["metrics"]["em"]["mean"], 0.5);
    assert_eq!(forwards["records"][0]["metrics"]["em"]["n"], 4);
    assert_eq!(forwards["records"][0]["questions"], 4);
}

#[test]
fn two_records_are_compared_on_what_both_have() {
    let a = record("a.jsonl", &[("1", "yes"), ("2", "no"), ("3", "yes")]);
    let b = record("b.jsonl", &[("4", "no"), ("3", "yes"), ("2", "yes")]);
    let difference = report::compare(&a, &b);
    assert_eq!((difference.common, difference.unpaired), (2, 2));
    let json = report::json(&[], &[difference]);
    assert_eq!(json["differences"][0]["metrics"]["em"]["mean"], 0.5);
    assert_eq!(json["differences"][0]["metrics"]["calls"]["mean"], 0.0);
}

#[test]
fn a_table_that_lines_up() {
    let a = record("a.jsonl", &[("1", "yes"), ("2", "yes")]);
    let b = record("b.jsonl", &[("1", "no"), ("2", "no")]);
    let text = report::table(&[report::score(&a), report::score(&b)], &[report::compare(&a, &b)]);
    assert!(
        text.starts_with("a.jsonl: echo on some.jsonl with scripted: 2 of 3 questions, 2 calls, 0 malformed\n"),
        "{text}"
    );
    let lines: Vec<&str> = text.lines().collect();
    let em = lines.iter().position(|line| line.starts_with("em ")).unwrap();
    assert!(lines[em].contains("1.000 [1.000, 1.000]  0.000 [0.000, 0.000]  -1.000 [-1.000, -1.000]"), "{text}");
    assert!(lines[em - 1].ends_with("b.jsonl - a.jsonl"));
    assert!(lines[em..em + 12].iter().all(|line| line.len() == lines[em].len()), "{text}");
    assert!(text.ends_with("b.jsonl - a.jsonl: paired by question, 2 in both\n"));
}

#[test]
fn a_record_without_questions_has_no_scores() {
    let text = report::table(&[report::score(&record("a.jsonl", &[]))], &[]);
    assert!(text.lines().any(|line| line.starts_with("em ") && line.ends_with(" -")), "{text}");
}
