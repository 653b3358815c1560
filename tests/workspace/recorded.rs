//! A record that was read for a fork or for `Workspace::why`: what is named is looked up before a model is opened.

use crate::eval::{answered, header};
use moot::eval::fork::Change;
use moot::eval::record::reader::Record;
use moot::question::Document;
use moot::transcript::QuestionRecord;
use moot::workspace::{ForkChange, Recorded};

/// A question with documents of these names, and one without a conclusion.
fn recorded(names: &[&str]) -> Recorded {
    let named = |name: &&str| Document { name: (*name).into(), text: "Some text.".into(), ..Document::default() };
    let mut first = answered("first", &["yes"], &["no"], &["yes"]);
    first.question.documents = names.iter().map(named).collect();
    let failed = QuestionRecord { conclusion: None, ..answered("failed", &["yes"], &["no"], &["no"]) };
    let record = Record { path: "out.jsonl".into(), header: header(), questions: vec![failed, first], torn: false };
    Recorded { record, chain: "abc".into() }
}

#[test]
fn a_document_is_named_by_its_name_or_its_number() {
    let recorded = recorded(&["a", "1", "b", "b"]);
    let dropped = |name: &str| recorded.fork("first", 1, &ForkChange::Drop(name.into())).map(|(_, fork)| fork.change);
    for (name, number) in [("a", 0), ("1", 1), ("2", 1), ("4", 3)] {
        assert_eq!(dropped(name).unwrap(), Change::Drop(number), "{name}");
    }
    for (name, said) in [
        ("b", "2 documents are called \"b\": expected a number"),
        ("5", "no document is called \"5\" (known: 1 a, 2 1, 3 b, 4 b)"),
    ] {
        assert_eq!(dropped(name).unwrap_err().to_string(), said);
    }
}

#[test]
fn what_the_record_does_not_have_is_refused() {
    let recorded = recorded(&["a"]);
    let tell = |text: &str| ForkChange::Tell(text.into());
    let (old, fork) = recorded.fork("first", 1, &tell(" Beware. ")).unwrap();
    assert_eq!((old.question.id.as_str(), fork.change), ("first", Change::Tell("Beware.".into())));
    let edit = ForkChange::Edit("a".into(), "nowhere.txt".into());
    for (wanted, round, change, said) in [
        ("first", 1, tell(" "), "--tell: expected a text"),
        ("first", 2, tell("x"), "expected a round from 1 to 1, found 2"),
        ("third", 1, tell("x"), "has the id, number or text"),
        ("first", 1, edit, "nowhere.txt"),
    ] {
        let error = recorded.fork(wanted, round, &change).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn debates_without_documents_or_a_conclusion_are_left_out() {
    let record = recorded(&["a"]);
    let ids = |olds: Vec<&QuestionRecord>| olds.iter().map(|old| old.question.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(record.debates(None, None).unwrap()), ["first"]);
    assert_eq!(ids(record.debates(Some("first"), None).unwrap()), ["first"]);
    let refused = |wanted, limit| record.debates(wanted, limit).unwrap_err().to_string();
    assert_eq!(refused(None, Some(1)), "none of 2 questions has documents and a conclusion");
    let failed = "question failed: expected documents and a conclusion, found 1 documents and an error";
    assert_eq!(refused(Some("failed"), None), failed);
    let empty = recorded(&[]).debates(Some("first"), None).unwrap_err().to_string();
    assert!(empty.ends_with("found 0 documents"), "{empty}");
}
