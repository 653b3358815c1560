//! Naive RAG's transcripts: one search, one reader.

use super::record_text::is_golden;
use super::{fallbacks, four, held, question, shape, stands};
use crate::protocol::ctx::{Shelf, passage};
use moot::llm::scripted::Scripted;
use moot::protocol::ctx::Tools;
use moot::question::Question;
use moot::retrieval::{Filter, Wanted};
use moot::transcript::{Parsed, QuestionRecord};

fn shelf() -> Shelf {
    Shelf::new([
        passage("lives.md", 3, Some("Mira Tolland"), "She was born in 1931."),
        passage("lives.md", 9, None, "Another Mira was born in 1968."),
        passage("soup.md", 1, None, "Soup at noon."),
        passage("lives.md", 20, None, "Mira sings."),
        passage("lives.md", 30, None, "Mira paints. She was born in 1913."),
    ])
}

fn searching(switches: &[(&str, &str)], question: &Question, shelf: &Shelf, reply: &str) -> QuestionRecord {
    let llm = Scripted::list([reply]);
    let filter = Filter { from: Some("1900".into()), ..Filter::default() };
    let wanted = Wanted { top: 50, by_source: false, filter, fold: false };
    held("naive-rag", switches, question, Tools { retriever: Some(shelf), wanted: &wanted, ..Tools::new(&llm) })
}

/// Without a corpus.
fn reading(question: &Question, reply: &str) -> QuestionRecord {
    held("naive-rag", &[], question, Tools::new(&Scripted::list([reply])))
}

#[test]
fn one_search_with_the_question_and_one_reader() {
    let shelf = shelf();
    let record = searching(&[], &question(&[]), &shelf, "1931");
    assert_eq!(shape(&record.calls), [(1, "reader", 1, None)]);
    // The method says how many passages, the user which.
    let asked = shelf.asked.lock().unwrap();
    let [(query, wanted)] = &asked[..] else { panic!("{asked:?}") };
    assert_eq!((query.as_str(), wanted.top, wanted.fold), ("In which year was Mira Tolland born?", 3, false));
    assert_eq!(wanted.filter.from.as_deref(), Some("1900"));
    assert_eq!(record.retrieved.len(), 3);
    let conclusion = record.conclusion.as_ref().unwrap();
    assert_eq!(stands(&conclusion.answers), [("1931", &[][..], &[][..], &[0][..])]);
    assert_eq!((conclusion.rounds, &conclusion.calls[..], fallbacks(&record).len()), (1, &[0][..], 0));
    is_golden("naive_rag", &record);
    drop(asked);
    assert_eq!(searching(&[("per-query", "2")], &question(&[]), &shelf, "1931").retrieved.len(), 2);
}

#[test]
fn without_a_corpus_the_questions_documents_are_read() {
    let record = reading(&four(), "Answer: 1968.");
    assert!(record.events.is_empty() && record.retrieved.is_empty());
    let sent = &record.calls[0].messages[0].content;
    assert!(sent.contains("Passage 1: She was born in 1931.\n\nPassage 2: ") && sent.contains("Passage 4: Soup is"));
    assert_eq!(stands(&record.conclusion.unwrap().answers), [("1968", &[][..], &[][..], &[1][..])]);
}

#[test]
fn a_question_with_options_is_answered_by_one_of_them() {
    let asked = Question { options: vec!["yes".into(), "no".into()], ..four() };
    let record = reading(&asked, "No.");
    assert_eq!((record.calls[0].format.as_str(), record.calls[0].chosen()), ("choice", Some("no")));
    assert_eq!(record.conclusion.unwrap().answers[0].text, "no");
    let conclusion = reading(&asked, "perhaps").conclusion.unwrap();
    assert!(conclusion.malformed && conclusion.answers.is_empty());
}

#[test]
fn unknown_is_no_answer_and_an_empty_reply_is_malformed() {
    let conclusion = reading(&four(), "Unknown.").conclusion.unwrap();
    assert!(conclusion.answers.is_empty() && !conclusion.malformed);
    let record = reading(&four(), " .");
    assert_eq!(record.calls[0].parsed, Parsed::Malformed);
    assert!(record.conclusion.unwrap().malformed);
}

#[test]
fn after_an_empty_search_the_reader_answers_from_memory_and_it_is_recorded() {
    let record = searching(&[], &question(&[]), &Shelf::default(), "1931");
    assert_eq!(fallbacks(&record), ["nothing was found: the reader answered from memory"]);
    assert!(!record.calls[0].messages[0].content.contains("Passage 1"));
    assert_eq!(stands(&record.conclusion.unwrap().answers), [("1931", &[][..], &[][..], &[][..])]);
}
