//! Claims to be checked, as every face gives them: what is read, and what is refused.

use super::plan;
use crate::eval::{answered, header};
use moot::MootError;
use moot::eval::record::Writer;
use moot::question::Question;
use moot::workspace::{ConflictInput, ConflictOptions, Control};
use serde_json::json;
use std::fs;
use std::path::Path;

/// For a plan that searches a corpus, or none.
fn read(options: &ConflictOptions, searched: bool) -> moot::Result<ConflictInput> {
    let body = if searched { json!({ "corpus": { "paths": ["notes"] } }) } else { json!({}) };
    options.read(&plan(body).unwrap(), &Control::default())
}

fn refused(options: &ConflictOptions, searched: bool) -> String {
    let error = read(options, searched).unwrap_err();
    assert!(matches!(error, MootError::Usage(_)), "{options:?}: {error:?}");
    error.to_string()
}

fn of_text(text: &str) -> ConflictOptions {
    ConflictOptions { response: Some(text.into()), ..ConflictOptions::default() }
}

/// Two documents in `folder`.
fn documents(folder: &Path) -> Vec<String> {
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    vec![
        write("council.txt", "The bridge at Orm opened in 1931."),
        write("diary.txt", "Nobody crossed the river before May 1947."),
    ]
}

#[test]
fn a_text_beside_a_record_is_refused_before_a_file_is_read() {
    let both = ConflictOptions { record: Some("nowhere.jsonl".into()), ..of_text("It opened in 1931.") };
    let of_one = ConflictOptions { question: Some("bridge".into()), ..both.clone() };
    let with_documents = ConflictOptions { documents: vec!["nowhere.txt".into()], ..both.clone() };
    for (options, searched) in [(&both, false), (&both, true), (&of_one, false), (&with_documents, false)] {
        assert_eq!(refused(options, searched), "expected a text or --record, found both", "{options:?}");
    }
    let alone = ConflictOptions { response: None, ..both };
    let error = read(&alone, false).unwrap_err().to_string();
    assert!(error.starts_with("nowhere.jsonl: "), "without a text the record is read: {error}");
}

#[test]
fn nothing_to_compare_is_refused_by_the_names_of_options() {
    let folder = tempfile::tempdir().unwrap();
    let one = || ConflictOptions { documents: documents(folder.path())[..1].to_vec(), ..ConflictOptions::default() };
    for (options, searched, said) in [
        (of_text(" \n"), false, "expected a text to check, found an empty one"),
        (of_text(" \n"), true, "expected a text to check, found an empty one"),
        (of_text("It opened."), false, "nothing to compare with: expected --docs PATH or --against PATH"),
        (ConflictOptions::default(), false, "nothing to compare with: expected --docs PATH or --against PATH"),
        (one(), false, "one document has no other to be compared with: expected a text, moot conflict RESPONSE --docs"),
        (one(), true, "a corpus has no claims of its own: expected moot conflict RESPONSE --against PATH"),
        (ConflictOptions::default(), true, "a corpus has no claims of its own"),
    ] {
        let error = refused(&options, searched);
        assert!(error.starts_with(said), "{options:?}: {error}");
    }
}

#[test]
fn a_text_documents_or_the_answer_of_a_record_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let documents = documents(folder.path());
    let one = |options: &ConflictOptions, searched: bool| -> Question {
        match read(options, searched).unwrap() {
            ConflictInput::One(question) => question,
            ConflictInput::All(all) => panic!("{} questions", all.len()),
        }
    };
    let of_documents = ConflictOptions { documents: documents.clone(), ..ConflictOptions::default() };
    let beside = ConflictOptions { documents: documents[..1].to_vec(), ..of_text("It opened in 1931.") };
    for (options, searched, texts, count) in
        [(&of_documents, false, 0, 2), (&beside, false, 1, 1), (&of_text("It opened in 1931."), true, 1, 0)]
    {
        let question = one(options, searched);
        assert_eq!((question.responses.len(), question.documents.len()), (texts, count), "{options:?}");
        assert!(question.responses.iter().all(|text| text == "It opened in 1931."), "{question:?}");
    }
    // The answer is compared with the question's own document, or with those that are given.
    let path = folder.path().join("out.jsonl");
    Writer::open(&path, &header()).unwrap().append(&answered("first", &["yes"], &["no"], &["In 1931."])).unwrap();
    let record = ConflictOptions { record: Some(path), ..ConflictOptions::default() };
    let own = one(&record, false);
    assert_eq!((own.id.as_str(), &own.responses[..], own.documents.len()), ("first", &["In 1931.".to_owned()][..], 1));
    let other = one(&ConflictOptions { documents, ..record }, false);
    assert_eq!((other.id.as_str(), other.responses, other.documents.len()), ("first", own.responses, 2));
}
