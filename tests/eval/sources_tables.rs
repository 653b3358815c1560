//! Answer types and costs against values worked out by hand.

use moot::answers::align::Compared;
use moot::eval::sources::answers_of;
use moot::eval::sources::labels::{CorpusLine, Labels};
use moot::eval::sources::tables::{AnswerTypes, Cost, Spent, costs};
use moot::generation::Usage;
use moot::question::{Document, Gold, Label, Origin, Question};
use moot::sources::{SourceEstimate, SourceWeights, VERSION};
use moot::transcript::{CallRecord, Parsed, QuestionRecord};

/// Sources as (name, kind of their document, the answer that it holds, reply); a call costs 10 tokens more than the one before.
fn record(sources: &[(&str, &str, &str, Option<&str>)]) -> QuestionRecord {
    let document = |&(source, kind, holds, _): &(&str, &str, &str, Option<&str>)| Document {
        source: Some(source.to_owned()),
        text: format!("It was {holds}."),
        label: Some(Label { kind: kind.to_owned(), answer: holds.to_owned() }),
        ..Document::default()
    };
    let call = |(number, (_, _, _, said)): (usize, &(&str, &str, &str, Option<&str>))| CallRecord {
        number,
        round: 1,
        document: Some(number),
        parsed: Parsed::Answer { answer: said.map(str::to_owned), explanation: String::new() },
        usage: Usage { prompt: 9 + 10 * number, generated: 1, ..Usage::default() },
        ..CallRecord::default()
    };
    let question = Question {
        documents: sources.iter().map(document).collect(),
        gold: Some(Gold::any_of(["1931".to_owned()])),
        ..Question::default()
    };
    QuestionRecord { question, calls: sources.iter().enumerate().map(call).collect(), ..QuestionRecord::default() }
}

#[test]
fn answers_are_counted_by_type_and_kind_of_document() {
    let first = record(&[
        ("a", "correct", "1931", Some("in 1931")),
        ("b", "correct", "1931", Some("It was soup")),
        ("c", "correct", "1931", None),
        ("d", "misinfo", "1932", Some("1932")),
        ("e", "misinfo", "1932", Some("1931")),
        ("f", "misinfo", "1932", Some("It was")),
        ("g", "noise", "tea", Some("1931")),
        ("h", "noise", "tea", Some("tea")),
        ("i", "noise", "tea", Some("I don't know")),
    ]);
    let types = AnswerTypes::of([&first], 0.9);
    // Correct, incorrect, IDK, hallucination; "in 1931" and "It was soup" are held to a half and to two thirds.
    assert_eq!(types.counts[0], [[1, 0, 1, 1], [1, 1, 0, 1], [1, 0, 1, 1]]);
    assert_eq!(types.counts[1], [[0, 0, 3, 0], [0, 1, 1, 1], [0, 0, 2, 1]]);
    assert_eq!([0, 1, 2].map(|kind| types.total(kind)), [3, 3, 3]);
    assert_eq!(AnswerTypes::of([&first], 0.6).counts[1][0], [0, 0, 2, 1]);
    let mut unlabelled = first;
    unlabelled.question.documents.iter_mut().for_each(|document| document.label = None);
    assert_eq!(AnswerTypes::of([&unlabelled], 0.9), AnswerTypes::default());
}

#[test]
fn a_source_with_several_calls_answers_with_the_first_that_counts() {
    let said = [("a", "correct", "1931", Some("unknown")), ("b", "misinfo", "1932", Some("1932"))];
    let mut record = record(&[said[0], said[1], ("a", "correct", "1931", Some("1931"))]);
    assert_eq!(AnswerTypes::of([&record], 0.9).counts[0], [[1, 0, 0, 0], [0, 1, 0, 0], [0; 4]]);
    assert_eq!(
        answers_of(&record, Some(0.9), Compared::Words).answers["a"].counted(),
        Some("1931"),
        "as the estimate has it"
    );
    // Calls of 10, 20 and 30 tokens: both of a's are counted.
    assert_eq!(costs(&[record.clone()], None, 4, 0.9)[0].all.tokens, 40.0);
    record.calls.truncate(2);
    assert_eq!(AnswerTypes::of([&record], 0.9).counts[0][0], [0, 0, 1, 0]);
}

#[test]
fn retrieved_documents_take_the_labels_of_the_corpus() {
    let mut found = record(&[("a", "correct", "1931", Some("1931")), ("b", "noise", "tea", Some("tea"))]);
    found.question.id = "q1".into();
    found.retrieved = std::mem::take(&mut found.question.documents);
    for (index, document) in found.retrieved.iter_mut().enumerate() {
        document.label = None;
        document.origin = Some(Origin { id: Some(format!("d{index}")), ..origin() });
    }
    let line = |id: &str, text: &str, question: &str, kind: &str| CorpusLine {
        id: id.into(),
        text: text.into(),
        source: "a".into(),
        question: question.into(),
        label: Label { kind: kind.into(), answer: "1931".into() },
    };
    let mut labels = Labels::default();
    labels.add(line("d0", "It was 1931.", "q1", "correct"));
    labels.add(line("d1", "It was tea.", "q2", "correct"));
    labels.apply(&mut found);
    let kinds: Vec<&str> = found.retrieved.iter().map(|document| &*document.label.as_ref().unwrap().kind).collect();
    assert_eq!(kinds, ["correct", "noise"], "d1 is about another question");
    assert_eq!(AnswerTypes::of([&found], 0.9).counts[0], [[1, 0, 0, 0], [0; 4], [0, 0, 0, 1]]);
    // The same text, dealt to another source for this question.
    labels.add(line("d2", "It was tea.", "q1", "misinfo"));
    labels.apply(&mut found);
    assert_eq!(found.retrieved[1].label.as_ref().unwrap().kind, "misinfo");
}

fn origin() -> Origin {
    Origin { file: "corpus.jsonl".into(), id: None, line: Some(1), page: None, characters: 0..9 }
}

/// Six sources, b and d know nothing; calls cost 10, 20, ... 60 tokens.
#[test]
fn costs_follow_from_what_all_sources_answered() {
    let said = [Some("x"), None, Some("x"), None, Some("x"), Some("x")];
    let sources = ["a", "b", "c", "d", "e", "f"].iter().zip(said).map(|(name, said)| (*name, "noise", "x", said));
    let sources: Vec<_> = sources.collect();
    let found = costs(&[record(&sources), record(&sources)], None, 2, 0.9);
    let cost = |sources: usize, all: f64, asked: f64, tokens: f64| Cost {
        sources,
        all: Spent { sources: sources as f64, tokens: all },
        selected: Spent { sources: asked, tokens },
    };
    assert_eq!(found.len(), 6);
    assert_eq!(found[0], cost(1, 10.0, 1.0, 10.0));
    assert_eq!(found[2], cost(3, 60.0, 3.0, 60.0));
    assert_eq!(found[5], cost(6, 210.0, 3.0, 60.0));
    // By weight: f and e are asked first.
    let estimate = |weight| SourceEstimate { weight: Some(weight), ..SourceEstimate::default() };
    let others = ["a", "b", "c", "d"].map(|name| (name.to_owned(), estimate(1.0)));
    let sources_ =
        [("f".to_owned(), estimate(3.0)), ("e".to_owned(), estimate(2.0))].into_iter().chain(others).collect();
    let weights = SourceWeights { moot_sources: VERSION, sources: sources_, ..SourceWeights::default() };
    assert_eq!(costs(&[record(&sources)], Some(&weights), 2, 0.9)[5], cost(6, 210.0, 2.0, 110.0));
    // A question with fewer sources limits the table.
    assert_eq!(costs(&[record(&sources), record(&sources[..2])], None, 2, 0.9).len(), 2);
    assert!(costs(&[QuestionRecord::default()], None, 2, 0.9).is_empty());
}
