//! Source and date of documents in prompts: readers of one document see them, and nothing else changes.

use super::cases::{Case, cases, question, rows, texts};
use super::scripted::{Model, Takes, read_by};
use super::{answer, question as four_of};
use moot::llm::scripted::Scripted;
use moot::protocol::switches::Typed;
use moot::question::{Origin, Passage, Question};
use moot::retrieval::{Hit, documents};
use moot::transcript::CallRecord;

/// Methods whose agents read one document each, with its source and date. Prompts with several documents show their texts
/// alone.
const WITH: [&str; 2] = ["moot", "source-isolated-arbitration"];
/// Methods that use sources in their own way: to ask each alone, or to name it beside its context.
const OWN_WAY: [&str; 3] = ["ra-rag", "ra-rag-long", "verification"];

fn known(number: usize) -> String {
    format!("(office {number}, 190{number}-05-02)")
}

/// `question`, with a title, a source and a date at each document.
fn headed(question: &Question) -> Question {
    let mut question = question.clone();
    for (number, document) in question.documents.iter_mut().enumerate() {
        document.title = Some(format!("Log {number}"));
        document.source = Some(format!("office\n {number}"));
        document.date = Some(format!("190{number}-05-02"));
    }
    question
}

fn read(calls: &[CallRecord]) -> Vec<String> {
    calls.iter().map(|call| read_by(&call.sent())).collect()
}

/// A prompt without sources and dates.
fn stripped(prompt: &str) -> String {
    (0..4).fold(prompt.to_owned(), |text, number| {
        let known = known(number);
        text.replace(&format!("{known} "), "").replace(&format!(" {known}"), "")
    })
}

#[test]
fn agents_of_one_document_read_source_and_date_and_nothing_else_changes() {
    let given = |case: &Case| !case.searches;
    for case in rows().flat_map(|row| cases(row, vec![Typed::new()])).filter(given) {
        let asked = question(&texts(3));
        let run = |asked: &Question| {
            let llm = Model::good(Takes::First);
            let (record, error) = case.with(asked, moot::protocol::ctx::Tools::new(&llm));
            assert!(error.is_none(), "{case}: {error:?}");
            // The judge of `moot` is asked only where a source or a date is known.
            let calls: Vec<CallRecord> =
                record.calls.into_iter().filter(|call| call.prompt != "moot/judge.jinja").collect();
            read(&calls)
        };
        let (bare, with) = (run(&asked), run(&headed(&asked)));
        let shown = |prompts: &[String]| (0..3).all(|n| prompts.iter().any(|prompt| prompt.contains(&known(n))));
        let name = case.row.name;
        if WITH.contains(&name) {
            assert!(shown(&with), "{case}: {with:#?}");
            let same = |prompts: &[String]| prompts.iter().map(|text| stripped(text)).collect::<Vec<_>>();
            assert_eq!(same(&bare), same(&with), "{case}");
        } else if !OWN_WAY.contains(&name) {
            assert_eq!(bare, with, "{case}");
        }
    }
}

#[test]
fn unknown_values_and_titles_are_left_out() {
    let llm = Scripted::new(|_| "About: x\nAnswer: 1931".into());
    let mut asked = four_of(&["She was born in 1931.", "The yearbook: she was born in 1968.", "Soup.", "Bread."]);
    asked.documents[0].date = Some(" 1952 ".into());
    asked.documents[1].title = Some("The yearbook".into());
    asked.documents[2].source = Some("x".repeat(500));
    asked.documents[3].source = Some("  ".into());
    asked.documents[0].source = Some("source-1".into());
    let (_, calls) = answer("moot", &Typed::new(), &asked, &llm);
    let text = read(&calls).concat();
    assert!(text.contains("Document: (source-1, 1952) She was"), "{text}");
    assert!(text.contains("Document: The yearbook: she was"), "{text}");
    assert!(text.contains(&format!("Document: ({}) Soup.", "x".repeat(160))), "{text}");
    assert!(text.contains("Document: Bread."), "{text}");
}

#[test]
fn retrieved_documents_of_one_name_are_distinguished_by_their_files() {
    let hit = |file: &str, line| {
        let origin = Origin { file: file.into(), id: None, line: Some(line), page: None, characters: 0..7 };
        let passage = Passage {
            text: "A rule.".into(),
            title: None,
            source: None,
            date: None,
            url: None,
            notes: Vec::new(),
            origin,
        };
        Hit { passage, score: 1.0, copies: Vec::new() }
    };
    let names = |hits: Vec<Hit>| documents(hits).into_iter().map(|document| document.name).collect::<Vec<_>>();
    assert_eq!(
        names(vec![hit("hr/2021/rule.txt", 1), hit("hr/2024/rule.txt", 1)]),
        ["hr/2021/rule.txt", "hr/2024/rule.txt"]
    );
    assert_eq!(
        names(vec![hit("a/x.txt", 1), hit("b/x.txt", 1), hit("b/x.txt", 9)]),
        ["a/x.txt", "b/x.txt:1", "b/x.txt:9"]
    );
    assert_eq!(names(vec![hit("a/x.txt", 1), hit("a/x.txt", 9), hit("a/y.txt", 1)]), ["x.txt:1", "x.txt:9", "y.txt"]);
}

#[test]
fn a_retrieved_passage_brings_its_source_and_date() {
    let origin = Origin { file: "a.md".into(), id: None, line: Some(1), page: None, characters: 0..4 };
    let passage = Passage {
        text: "It opened in 1884.".into(),
        title: Some("Minutes".into()),
        source: Some("council".into()),
        date: Some("1884-05-12".into()),
        url: None,
        notes: Vec::new(),
        origin,
    };
    let found = documents(vec![Hit { passage, score: 1.0, copies: Vec::new() }]);
    let llm = Scripted::new(|_| "About: x\nAnswer: 1884".into());
    let asked = Question { documents: found, ..four_of(&[]) };
    let text = read(&answer("moot", &Typed::new(), &asked, &llm).1).concat();
    assert!(text.contains("Document: (council, 1884-05-12) Minutes\nIt opened in 1884."), "{text}");
}
