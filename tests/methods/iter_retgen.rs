//! Iter-RetGen's transcripts: the whole last generation is part of the next query.

use super::library::{Library, asked, failed, fallbacks, held, metric, passages, read, record, said, with_documents};
use super::record_text::is_golden;
use super::{typed, usage_error};
use moot::protocol::switches::Typed;
use moot::transcript::QuestionRecord;

const ASKED: &str = "Where was the designer of the Arlen Bridge born?";
const SECOND: &str = "Where was the designer of the Arlen Bridge born? Thought: Ada Quill designed it. Answer: unknown";
const THIRD: &str = "Where was the designer of the Arlen Bridge born? Thought: She was born there. Answer: Tessin";

const USUAL: &[(&str, &str)] = &[
    ("reader, round 1", "Thought: Ada Quill designed it.\nAnswer: unknown"),
    ("reader, round 2", "Thought: She was born there.\nAnswer: Tessin"),
    ("reader, round 3", "Thought: Both passages agree.\nAnswer: Tessin"),
];

fn library() -> Library {
    Library::new(&[
        (ASKED, &["Arlen Bridge: designed by A. Quill.", "Arlen is a town."]),
        (SECOND, &["Ada Quill was born in Tessin."]),
        (THIRD, &["Ada Quill was born in Tessin.", "Tessin lies in Ostrand."]),
    ])
}

fn iter_retgen(switches: &[(&str, &str)], script: &[&[(&'static str, &'static str)]]) -> (QuestionRecord, Vec<String>) {
    let library = library();
    let record = held("iter-retgen", &typed(switches), &asked(ASKED), &said(script), &library);
    (record, library.queries())
}

#[test]
fn every_iteration_retrieves_with_question_and_last_generation() {
    let (record, queries) = iter_retgen(&[], &[USUAL]);
    is_golden("iter_retgen", &record);
    assert_eq!(queries, [ASKED, SECOND, THIRD]);
    assert_eq!((metric("calls", &record), metric("retriever-calls", &record)), (Some(3.0), Some(3.0)));
    // Each generation reads its own retrieval alone, and no earlier generation.
    assert_eq!(record.calls.iter().map(passages).collect::<Vec<_>>(), [2, 1, 2]);
    assert!(record.calls.iter().all(|call| call.messages.len() == 1 && !read(call).contains("Ada Quill designed it")));
    let conclusion = record.conclusion.unwrap();
    assert_eq!((conclusion.answers[0].text.as_str(), conclusion.calls, conclusion.rounds), ("Tessin", vec![2], 3));
    assert_eq!(conclusion.explanation, "Both passages agree.");
}

#[test]
fn iterations_are_counted() {
    for (iterations, answered) in [("1", false), ("2", true)] {
        let (record, queries) = iter_retgen(&[("iterations", iterations)], &[USUAL]);
        let count: usize = iterations.parse().unwrap();
        assert_eq!((record.calls.len(), queries.len()), (count, count));
        assert_eq!(!record.conclusion.unwrap().answers.is_empty(), answered, "the last generation alone concludes");
    }
}

#[test]
fn malformed_replies_are_queries_too() {
    let (record, queries) = iter_retgen(&[], &[&[("reader, round 1", "Ada\nQuill?"), ("reader, round 2", "")], USUAL]);
    assert_eq!(queries[1..], [format!("{ASKED} Ada Quill?"), ASKED.to_owned()]);
    assert_eq!((metric("malformed-replies", &record), record.conclusion.unwrap().malformed), (Some(2.0), false));
    let (record, _) = iter_retgen(&[], &[&[("reader, round 3", "Tessin")], USUAL]);
    let conclusion = record.conclusion.unwrap();
    assert!(conclusion.malformed && conclusion.answers.is_empty());
}

#[test]
fn no_passage_thirty_and_documents_of_the_question() {
    let record = held("iter-retgen", &Typed::new(), &asked(ASKED), &said(&[USUAL]), &Library::default());
    assert!(record.calls.iter().all(|call| passages(call) == 0));
    let (refused, rest) =
        fallbacks(&record).split_last().map(|(last, rest)| (last.to_string(), rest.to_vec())).unwrap();
    assert_eq!(rest, ["nothing was found: the reader answered from memory"; 3]);
    assert!(refused.contains("\"Tessin\" occurs in the prompt's worked example"), "{refused}");
    let thirty: Vec<String> = (0..40).map(|i| format!("Passage {i} about it.")).collect();
    let thirty: Vec<&str> = thirty.iter().map(String::as_str).collect();
    let switches = typed(&[("iterations", "1"), ("per-query", "30")]);
    let question = with_documents(ASKED, 2);
    let record = held("iter-retgen", &switches, &question, &said(&[USUAL]), &Library::new(&[(ASKED, &thirty)]));
    assert_eq!((passages(&record.calls[0]), record.retrieved.len()), (30, 30));
    assert!(record.question.documents.is_empty() && !read(&record.calls[0]).contains("Own document"));
}

#[test]
fn a_failed_call_is_the_questions_error() {
    for (name, before) in [("reader, round 1", 0), ("reader, round 3", 2)] {
        let script: &[(&'static str, &'static str)] = &[(name, "(fails)")];
        let llm = said(&[script, USUAL]);
        let (error, calls) = failed(record("iter-retgen", &Typed::new(), &asked(ASKED), &llm, Some(&library())));
        assert_eq!((error.contains("gone"), calls), (true, before), "{name}: {error}");
    }
    let (_, error) = record("iter-retgen", &Typed::new(), &asked(ASKED), &said(&[USUAL]), None);
    assert!(usage_error(error.map_or(Ok(()), Err)).contains("--corpus"));
}
