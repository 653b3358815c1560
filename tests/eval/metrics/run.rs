//! Metrics over the run, by hand: corpus F1, conflict detection, extraction, changes between rounds.

use super::{answered, call, is, of, over};
use moot::generation::Usage;
use moot::question::{Claim, Document, Label};
use moot::transcript::{CallRecord, Event, Pair, Parsed, QuestionRecord};

#[test]
fn corpus_f1_adds_counts_up() {
    // Right/given and given/required: 1/1 and 1/4; 0/3 and 0/1.
    let one = answered("1", &["a1", "b1", "c1", "d1"], &[], &["a1"]);
    let two = answered("2", &["e1"], &[], &["x1", "y1", "z1"]);
    // P = 1/4, R = 1/5: F1 = 2/9; the mean of the questions' F1 is (0.4 + 0) / 2.
    is("f1-corpus", &[&one, &two], 2.0 / 9.0);
    is("f1", &[&one, &two], 0.2);
    let mut failed = answered("3", &["f1"], &[], &[]);
    failed.conclusion = None;
    // A failed question still requires its answer: R = 1/6.
    is("f1-corpus", &[&one, &two, &failed], 0.2);
    assert_eq!(over("f1-corpus", &[]), None);
}

fn detection(conflict: bool, given: &[&str]) -> QuestionRecord {
    let mut record = answered("x", &[], &[], given);
    record.question.gold = None;
    record.question.claims = vec![Claim { text: "c".into(), conflict: Some(conflict), ..Claim::default() }];
    record
}

#[test]
fn conflict_detection() {
    let mut records = vec![
        detection(true, &["Conflict"]),
        detection(true, &["conflict."]),
        detection(true, &["No Conflict"]),
        detection(false, &["Conflict"]),
        detection(false, &["no conflict"]),
        // Neither of the two: the wrong one.
        detection(false, &["maybe"]),
        detection(true, &[]),
    ];
    let mut failed = detection(false, &["No Conflict"]);
    failed.conclusion = None;
    records.push(failed);
    let all: Vec<_> = records.iter().collect();
    // TP 2, FN 2, FP 3, TN 1.
    is("conflict-precision", &all, 0.4);
    is("conflict-recall", &all, 0.5);
    is("conflict-f1", &all, 4.0 / 9.0);
    is("conflict-accuracy", &all, 0.375);
    is("accuracy-conflict", &all, 0.5);
    is("accuracy-no-conflict", &all, 0.25);
    assert_eq!(of("conflict-precision", &records[4]), None);
    assert_eq!(of("conflict-f1", &answered("x", &["a1"], &[], &["a1"])), None);
}

/// An agent's reply about a document.
fn reply(document: usize, round: usize, answer: Option<&str>) -> CallRecord {
    let parsed = Parsed::Answer { answer: answer.map(str::to_owned), explanation: String::new() };
    CallRecord {
        role: "agent".into(),
        format: "answer".into(),
        round,
        document: Some(document),
        ..call(round - 1, "", parsed)
    }
}

/// A question whose documents are labelled thus.
fn labelled(labels: &[(&str, &str)], calls: Vec<CallRecord>) -> QuestionRecord {
    let mut record = answered("x", &["1884"], &["1848"], &["1884"]);
    let label = |(kind, answer): &(&str, &str)| Some(Label { kind: (*kind).into(), answer: (*answer).into() });
    record.question.documents = labels.iter().map(|l| Document { label: label(l), ..Document::default() }).collect();
    record.calls = calls;
    record
}

#[test]
fn extraction_by_kind_of_document() {
    let labels = [
        ("correct", "1884"),
        ("correct", "1884"),
        ("correct", "1884"),
        ("misinfo", "1848"),
        ("noise", "unknown"),
        ("noise", "unknown"),
    ];
    let malformed = CallRecord { parsed: Parsed::Malformed, ..reply(2, 1, None) };
    let aggregator = CallRecord { document: None, ..reply(0, 1, Some("1884")) };
    let record = labelled(
        &labels,
        vec![
            reply(0, 1, Some("in 1884")),
            reply(1, 1, None),
            malformed,
            reply(3, 1, Some("1884")),
            reply(4, 1, None),
            reply(5, 1, Some("1971")),
            // Neither the aggregator nor a later round counts.
            aggregator,
            reply(3, 2, Some("1848")),
        ],
    );
    is("correct-right", &[&record], 1.0 / 3.0);
    is("correct-unknown", &[&record], 1.0 / 3.0);
    is("correct-wrong", &[&record], 1.0 / 3.0);
    is("misinfo-right", &[&record], 0.0);
    is("misinfo-wrong", &[&record], 1.0);
    is("misinfo-unknown", &[&record], 0.0);
    is("noise-answered", &[&record], 0.5);
    // Two of six: document 1 and the silent one about noise.
    is("extracted", &[&record], 2.0 / 6.0);
    // Over documents, not over questions.
    let other = labelled(&[("correct", "1884")], vec![reply(0, 1, Some("1884"))]);
    is("correct-right", &[&record, &other], 0.5);
    assert_eq!(of("noise-answered", &other), None);
    // A label of claims that cannot be read is not a wrong answer.
    let mut label = reply(0, 1, None);
    (label.parsed, label.format) = (Parsed::Malformed, "claim-label".into());
    assert_eq!(of("extracted", &labelled(&[("correct", "1884")], vec![label])), None);
    // A label without an answer cannot be compared with a reply.
    assert_eq!(of("extracted", &labelled(&[("supporting", "")], vec![reply(0, 1, Some("1884"))])), None);
}

#[test]
fn changes_between_rounds() {
    let labels = [("correct", "1884"); 5];
    let malformed = |document, round| CallRecord { parsed: Parsed::Malformed, ..reply(document, round, None) };
    let record = labelled(
        &labels,
        vec![
            reply(0, 1, Some("1848")),
            reply(1, 1, Some("1884")),
            reply(2, 1, None),
            reply(3, 1, Some("1777")),
            malformed(4, 1),
            // Wrong to right: better. Right to unknown: worse. Unknown to wrong: worse. Wrong to wrong: changed.
            reply(0, 2, Some("In 1884")),
            reply(1, 2, None),
            reply(2, 2, Some("1848")),
            reply(3, 2, Some("1666")),
            malformed(4, 2),
            // The same answer in other words is not a change; nor is right to right.
            reply(0, 3, Some("in 1884!")),
            reply(1, 3, Some("1884")),
            reply(2, 3, Some("1848")),
        ],
    );
    is("replies-changed", &[&record], 5.0 / 8.0);
    is("replies-better", &[&record], 2.0 / 8.0);
    is("replies-worse", &[&record], 2.0 / 8.0);
    let single = labelled(&labels, vec![reply(0, 1, Some("1884"))]);
    assert_eq!(of("replies-changed", &single), None);
    // Malformed to unknown is a change for the better.
    let mended = labelled(&labels, vec![malformed(0, 1), reply(0, 2, None)]);
    is("replies-changed", &[&mended], 1.0);
    is("replies-better", &[&mended], 1.0);
    // Right and wrong at once is wrong.
    let both = labelled(&labels, vec![reply(0, 1, Some("1884")), reply(0, 2, Some("1884 or 1848"))]);
    is("replies-worse", &[&both], 1.0);
}

#[test]
fn events_are_counted() {
    let mut record = answered("x", &["a1"], &[], &["a1"]);
    let counts = |record: &QuestionRecord| {
        ["retriever-calls", "entailment-pairs", "failed-calls", "fallbacks"].map(|name| of(name, record).unwrap())
    };
    assert_eq!(counts(&record), [0.0; 4]);
    let pair = Pair { premise: "p".into(), hypothesis: "h".into() };
    let retrieval = |queries: &[&str]| Event::Retrieval {
        stage: 0,
        queries: queries.iter().map(|&query| query.to_owned()).collect(),
        top: 3,
        by_source: false,
        hits: Vec::new(),
        seconds: 0.5,
    };
    record.events = vec![
        retrieval(&["a", "b"]),
        retrieval(&["c"]),
        Event::Entailment { stage: 1, pairs: vec![pair; 4], relations: Vec::new(), by: "calls".into(), seconds: 0.5 },
        Event::Failure { stage: 1, what: "agent".into(), role: "agent".into(), error: "gone".into() },
        Event::Fallback { stage: 2, what: "the first answer".into(), dropped: None },
        Event::Fallback { stage: 2, what: "the first answer".into(), dropped: None },
    ];
    assert_eq!(counts(&record), [3.0, 4.0, 1.0, 2.0]);
}

/// As in the papers, a reply that equal calls share counts once for each of these calls.
#[test]
fn tokens_of_replies_that_were_taken_over_are_counted() {
    let made = call(0, "x", Parsed::Text("x".into()));
    let taken = |number: usize, from: usize| CallRecord {
        number,
        taken_from: Some(from),
        usage: Usage { generated: 0, ..made.usage },
        ..made.clone()
    };
    let record = QuestionRecord { calls: vec![made.clone(), taken(1, 0), taken(2, 1)], ..answered("x", &[], &[], &[]) };
    is("generated-tokens", &[&record], 2.0);
    is("reply-tokens", &[&record], 6.0);
}
