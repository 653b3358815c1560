//! IRCoT's transcripts: one sentence of reasoning, one retrieval, and a reader at the end.

use super::library::{Library, asked, failed, fallbacks, held, metric, passages, read, record, said, with_documents};
use super::record_text::is_golden;
use super::{typed, usage_error};
use moot::generation::Segment;
use moot::llm::Capabilities;
use moot::protocol::switches::Typed;
use moot::transcript::QuestionRecord;

const ASKED: &str = "Where was the designer of the Arlen Bridge born?";
const FIRST: &str = "The Arlen Bridge was designed by Ada Quill.";
const SECOND: &str = "Ada Quill was born in Tessin.";

fn library() -> Library {
    Library::new(&[
        (ASKED, &["Arlen Bridge: designed by A. Quill.", "Arlen is a town."]),
        (FIRST, &["Ada Quill, engineer, was born in Tessin.", "Arlen is a town."]),
        (SECOND, &["Tessin lies in Ostrand."]),
    ])
}

/// The model says more than one sentence; the first alone counts.
const USUAL: &[(&str, &str)] = &[
    ("reasoner, round 1", "The Arlen Bridge was designed by Ada Quill. She lived in Grau."),
    ("reasoner, round 2", " Ada Quill was born in Tessin. So the answer is: Tessin."),
    ("reasoner, round 3", "So the answer is: Tessin."),
    ("reader, round 3", "Thought: Her birthplace is stated.\nAnswer: Tessin"),
];

fn ircot(switches: &[(&str, &str)], script: &[&[(&'static str, &'static str)]]) -> (QuestionRecord, Vec<String>) {
    let library = library();
    let record = held("ircot", &typed(switches), &asked(ASKED), &said(script), &library);
    (record, library.queries())
}

#[test]
fn one_sentence_at_a_time_each_the_next_query() {
    let (record, queries) = ircot(&[], &[USUAL]);
    is_golden("ircot", &record);
    assert_eq!(queries, [ASKED, FIRST, SECOND]);
    assert_eq!((metric("calls", &record), metric("retriever-calls", &record)), (Some(4.0), Some(3.0)));
    // The chain so far begins the reply, and no sentence is asked for twice.
    let begun: Vec<Vec<Segment>> = record.calls.iter().map(|call| call.prefill.clone()).collect();
    let chain = format!("{FIRST} {SECOND}");
    assert_eq!(begun, [vec![], vec![Segment::Content(FIRST.into())], vec![Segment::Content(chain)], vec![]]);
    assert!(record.calls[..3].iter().all(|call| call.stop == ["\n"] && call.max_tokens == 64));
    // Passages are collected, each once.
    let shown: Vec<usize> = record.calls.iter().map(passages).collect();
    assert_eq!(shown, [2, 3, 4, 4]);
    let conclusion = record.conclusion.unwrap();
    assert_eq!((conclusion.answers[0].text.as_str(), conclusion.calls), ("Tessin", vec![3]));
    assert_eq!((conclusion.rounds, conclusion.answers[0].mentions.as_slice()), (3, &[2, 3][..]));
}

#[test]
fn fifteen_worked_examples_in_the_layout_of_the_reply() {
    let (record, _) = ircot(&[], &[USUAL]);
    for (call, index) in record.calls.iter().zip(0..) {
        let prompt = read(call);
        let (examples, _) = prompt.split_once("Now do the same").unwrap();
        let count = |text: &str| examples.matches(text).count();
        let found = (count("\nQuestion: "), count(" So the answer is: "), count("\nThought: "), count("\nAnswer: "));
        // The instructions have the format once more.
        assert_eq!(found, if index < 3 { (15, 16, 0, 0) } else { (15, 0, 16, 16) }, "{}", call.role);
    }
}

#[test]
fn it_stops_at_the_answer_or_after_the_last_step() {
    // The words alone count, whatever stands around them.
    for sentence in ["So the answer is: Tessin.", "Thus, the Answer is Tessin", "The ANSWER is, again, Tessin."] {
        let script: &[(&str, &'static str)] =
            &[("reasoner, round 1", sentence), ("reader, round 1", "Thought: x\nAnswer: Tessin")];
        let (record, queries) = ircot(&[], &[script]);
        assert_eq!((record.calls.len(), queries.len()), (2, 1), "{sentence}");
    }
    // "answers" is another word.
    let never: Vec<(&'static str, &'static str)> = vec![
        ("reasoner, round 1", "Its answers is unclear."),
        ("reasoner, round 2", "Nothing more."),
        ("reader, round 2", "Thought: x\nAnswer: Lugano"),
    ];
    let (record, queries) = ircot(&[("steps", "2")], &[&never]);
    assert_eq!((record.calls.len(), queries), (3, vec![ASKED.to_owned(), "Its answers is unclear.".into()]));
    assert_eq!(metric("rounds", &record), Some(2.0));
    assert_eq!(fallbacks(&record), ["nothing was found: the reasoner read what was collected before"]);
    let (record, queries) = ircot(&[("steps", "1")], &[&[USUAL[0], ("reader, round 1", "Thought: x\nAnswer: Tessin")]]);
    assert_eq!((record.calls.len(), queries.len()), (2, 1), "nothing is retrieved for the last sentence");
}

#[test]
fn passages_are_collected_up_to_a_number() {
    let (record, _) = ircot(&[("passages", "3"), ("per-query", "1")], &[USUAL]);
    assert_eq!(record.calls.iter().map(passages).collect::<Vec<_>>(), [1, 2, 3, 3]);
    let (record, _) = ircot(&[("passages", "2")], &[USUAL]);
    assert_eq!(record.calls.iter().map(passages).collect::<Vec<_>>(), [2, 2, 2, 2]);
    let thirty: Vec<String> = (0..40).map(|i| format!("Passage {i} about it.")).collect();
    let thirty: Vec<&str> = thirty.iter().map(String::as_str).collect();
    let script: &[(&str, &str)] =
        &[("reasoner, round 1", "The answer is 1."), ("reader, round 1", "Thought: x\nAnswer: 1")];
    let switches = typed(&[("passages", "30"), ("per-query", "40")]);
    let record = held("ircot", &switches, &asked(ASKED), &said(&[script]), &Library::new(&[(ASKED, &thirty)]));
    assert_eq!(passages(&record.calls[1]), 30);
}

#[test]
fn the_reader_has_no_chain_and_own_documents_are_not_read() {
    let (record, _) = ircot(&[], &[USUAL]);
    let seen = read(&record.calls[3]);
    assert!(!seen.contains(FIRST) && !seen.contains("She lived"), "{seen}");
    let library = library();
    let record = held("ircot", &Typed::new(), &with_documents(ASKED, 5), &said(&[USUAL]), &library);
    assert!(
        record.question.documents.is_empty() && record.calls.iter().all(|call| !read(call).contains("Own document"))
    );
    assert_eq!(record.conclusion.unwrap().answers[0].mentions, [2, 3]);
}

#[test]
fn malformed_replies_at_every_role() {
    for empty in ["", " \n"] {
        let script: &[(&str, &'static str)] =
            &[("reasoner, round 2", empty), ("reader, round 2", "Thought: x\nAnswer: Grau")];
        let (record, queries) = ircot(&[], &[script, USUAL]);
        assert_eq!((record.calls.len(), queries.len()), (3, 2));
        assert!(fallbacks(&record).is_empty());
        assert_eq!(metric("malformed-replies", &record), Some(0.0));
        assert_eq!(record.conclusion.unwrap().answers[0].text, "Grau");
    }
    let (record, _) = ircot(&[], &[&[("reader, round 3", "Tessin, I think.")], USUAL]);
    let conclusion = record.conclusion.unwrap();
    assert!(conclusion.malformed && conclusion.answers.is_empty());
    let (record, _) = ircot(&[], &[&[("reader, round 3", "Thought: none says.\nAnswer: unknown")], USUAL]);
    let conclusion = record.conclusion.unwrap();
    assert!(!conclusion.malformed && conclusion.answers.is_empty());
}

#[test]
fn a_retriever_that_finds_nothing_leaves_the_prompt_without_passages() {
    let record = held("ircot", &Typed::new(), &asked(ASKED), &said(&[USUAL]), &Library::default());
    assert!(record.calls.iter().all(|call| passages(call) == 0));
    assert_eq!(
        (record.calls.len(), record.retrieved.len(), fallbacks(&record).len()),
        // The answer is a worked example's, and no passage holds it.
        (4, 0, 4),
        "each search of a step"
    );
}

#[test]
fn a_failed_call_is_the_questions_error() {
    for (name, before) in [("reasoner, round 1", 0), ("reasoner, round 2", 1), ("reader, round 3", 3)] {
        let script: &[(&'static str, &'static str)] = &[(name, "(fails)")];
        let llm = said(&[script, USUAL]);
        let (error, calls) = failed(record("ircot", &Typed::new(), &asked(ASKED), &llm, Some(&library())));
        assert_eq!((error.contains("gone"), calls), (true, before), "{name}: {error}");
    }
    let (record, error) = record("ircot", &Typed::new(), &asked(ASKED), &said(&[USUAL]), None);
    assert!(usage_error(error.map_or(Ok(()), Err)).contains("--corpus") && record.calls.is_empty());
}

/// A chain is continued, so a model that cannot begin a reply is refused before it is loaded.
#[test]
fn it_needs_a_model_that_continues_a_reply() {
    let needs = moot::protocol::Row::named("ircot").unwrap().needs.model;
    assert_eq!(needs.missing_from(Capabilities::default()).len(), 1);
    assert!(needs.missing_from(Capabilities { prefill: true, ..Capabilities::default() }).is_empty());
}
