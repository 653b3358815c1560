//! Documents for a question without documents: the passages found become its documents.

use super::ctx::{Shelf, passage};
use crate::methods::{four, question, typed};
use moot::MootError;
use moot::llm::scripted::Scripted;
use moot::methods;
use moot::protocol::ctx::{Settings, Silent, Tools};
use moot::protocol::switches::Typed;
use moot::question::Question;
use moot::retrieval::{Filter, Wanted};
use moot::transcript::Event;

fn bare() -> Question {
    Question { text: "opened when".into(), ..question(&[]) }
}

fn shelf() -> Shelf {
    Shelf::new([
        passage("notes/bridge.md", 3, Some("The bridge"), "It opened in 1932."),
        passage("notes/footbridge.md", 9, Some("The bridge"), "A footbridge opened in 1971."),
        passage("notes/soup.md", 1, None, "Soup at noon."),
    ])
}

fn agents() -> Scripted {
    Scripted::new(|call| match call.role.as_str() {
        "aggregator" => r#"All Correct Answers: ["1932", "1971"]. Explanation: Two bridges."#.into(),
        _ if call.prompt.messages()[0].content.contains("in 1932") => "Answer: 1932. Explanation: x".into(),
        _ => "Answer: 1971. Explanation: x".into(),
    })
}

#[test]
fn passages_become_the_documents_of_agents() {
    let (llm, shelf, settings) = (agents(), shelf(), Settings::default());
    let filter = Filter { from: Some("1900".into()), ..Filter::default() };
    let wanted = Wanted { top: 2, by_source: true, filter, fold: false };
    let tools = Tools { retriever: Some(&shelf), wanted: &wanted, ..Tools::new(&llm) };
    let method = methods::build("madam-rag", &typed(&[("rounds", "1")])).unwrap();
    let record = method.answer(&bare(), tools, &settings, &Silent).unwrap();

    let names: Vec<&str> = record.question.documents.iter().map(|document| document.name.as_str()).collect();
    assert_eq!(names, ["notes/bridge.md", "notes/footbridge.md"], "of one title");
    assert_eq!(record.question.documents[0].text, "The bridge\nIt opened in 1932.");
    assert_eq!(record.question.documents[1].origin.as_ref().unwrap().line, Some(9));
    assert!(record.retrieved.is_empty(), "they are the question's own now");
    assert_eq!(*shelf.asked.lock().unwrap(), [("opened when".to_owned(), wanted.clone())]);

    let [Event::Retrieval { stage, queries, top, hits, .. }] = &record.events[..] else {
        panic!("{:?}", record.events)
    };
    assert_eq!((*stage, &queries[..], *top, hits[0].len()), (0, &["opened when".to_owned()][..], 2, 2));
    assert_eq!(record.calls.iter().map(|call| call.stage).collect::<Vec<_>>(), [1, 1, 2], "stages go on after it");
    let answers = &record.conclusion.as_ref().unwrap().answers;
    assert_eq!(answers.iter().map(|answer| answer.supporters.clone()).collect::<Vec<_>>(), [[0], [1]]);
}

/// The title stands first, but where the text begins with it as whole words.
#[test]
fn a_title_stands_before_every_text_that_does_not_begin_with_it() {
    for (title, text, shown) in [
        ("Art", "Arthur was king, opened when.", "Art\nArthur was king, opened when."),
        ("Arthur", "Arthur, opened when.", "Arthur, opened when."),
        (
            "The bridge",
            "It opened when the bridge, The bridge, stood.",
            "The bridge\nIt opened when the bridge, The bridge, stood.",
        ),
        ("", "It opened when.", "It opened when."),
    ] {
        let shelf = Shelf::new([passage("notes/a.md", 1, Some(title), text)]);
        let llm = agents();
        let method = methods::build("madam-rag", &Typed::new()).unwrap();
        let (question, _) = method.gather(&bare(), Tools { retriever: Some(&shelf), ..Tools::new(&llm) }).unwrap();
        assert_eq!(question.documents[0].text, shown);
    }
}

/// One source does not oppose itself: passages of one file are one document, in the order of the file.
#[test]
fn passages_of_one_document_have_one_agent() {
    let shelf = Shelf::new([
        passage("notes/bridge.md", 9, Some("The bridge"), "A footbridge opened in 1932."),
        passage("notes/all.jsonl", 2, None, "It opened in 1933."),
        passage("notes/bridge.md", 3, Some("The bridge"), "It opened in 1931."),
        passage("notes/all.jsonl", 3, None, "It opened in 1934."),
    ]);
    let (llm, settings) = (agents(), Settings::default());
    let tools = Tools { retriever: Some(&shelf), ..Tools::new(&llm) };
    let method = methods::build("madam-rag", &typed(&[("rounds", "1")])).unwrap();
    let record = method.answer(&bare(), tools, &settings, &Silent).unwrap();
    let documents = &record.question.documents;
    let texts: Vec<&str> = documents.iter().map(|document| document.text.as_str()).collect();
    let whole = "The bridge\nIt opened in 1931.\n[...]\nA footbridge opened in 1932.";
    assert_eq!(texts, [whole, "It opened in 1933.", "It opened in 1934."]);
    let line = |document: usize| documents[document].origin.as_ref().unwrap().line;
    assert_eq!((line(0), line(1), line(2)), (Some(9), Some(2), Some(3)), "the best passage is the origin");
    assert_eq!(documents[0].parts.iter().map(|part| part.line).collect::<Vec<_>>(), [Some(3)]);
}

fn refused(tools: Tools<'_>) -> String {
    let method = methods::build("concatenated", &Typed::new()).unwrap();
    let (record, error) = method.record(&bare(), tools, &Settings::default(), &Silent);
    assert!(record.conclusion.is_none() && record.calls.is_empty() && record.question == bare());
    match error {
        Some(error @ (MootError::Question(_) | MootError::NothingFound { .. })) => {
            assert!(error.is_of_one_question());
            error.hint().into_iter().fold(error.to_string(), |line, hint| line + "; hint: " + &hint)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_empty_search_fails_one_question() {
    let (llm, empty) = (agents(), Shelf::default());
    let line = refused(Tools { retriever: Some(&empty), ..Tools::new(&llm) });
    let none = "concatenated needs at least 1 document";
    assert_eq!(line, format!("{none}: no passage of the corpus is about the question; hint: ask in other words"));
    let filter = Filter { sources: vec!["press".into()], ..Filter::default() };
    let wanted = Wanted { top: 5, by_source: false, filter, fold: true };
    let line = refused(Tools { retriever: Some(&empty), wanted: &wanted, ..Tools::new(&llm) });
    let hint = "ask in other words, or change --source, --from or --until";
    let why = "no passage of the corpus that the filters admit is about the question";
    assert_eq!(line, format!("{none}: {why}; hint: {hint}"));
    let without = "question \"q1\" has none (the method closed-book answers without)";
    assert_eq!(refused(Tools::new(&llm)), format!("{none}, {without}"));
}

#[test]
fn documents_that_came_with_the_question_are_kept() {
    let (llm, shelf) = (agents(), shelf());
    let tools = Tools { retriever: Some(&shelf), ..Tools::new(&llm) };
    let method = methods::build("madam-rag", &typed(&[("rounds", "1")])).unwrap();
    assert_eq!(method.gather(&four(), tools).unwrap(), (four(), Vec::new()));
    // A method that needs no documents is given none.
    let method = methods::build("closed-book", &Typed::new()).unwrap();
    assert_eq!(method.gather(&bare(), tools).unwrap(), (bare(), Vec::new()));
    assert!(shelf.asked.lock().unwrap().is_empty());
}

/// A method that retrieves reads the corpus that was typed; a method that debates given documents keeps those of the question.
#[test]
fn a_corpus_wins_for_methods_that_retrieve() {
    let (llm, shelf) = (agents(), shelf());
    let (with, without) = (Tools { retriever: Some(&shelf), ..Tools::new(&llm) }, Tools::new(&llm));
    for row in methods::METHODS {
        let method = row.build(&Typed::new()).unwrap();
        let read = |tools| method.gather(&four(), tools).unwrap();
        assert_eq!(read(without), (four(), Vec::new()), "{}", row.name);
        let retrieves = row.needs.passages || row.needs.retriever;
        let want = if retrieves { question(&[]) } else { four() };
        assert_eq!(read(with), (want, Vec::new()), "{}", row.name);
        assert_eq!(row.needs.prefers_corpus(), retrieves);
    }
    assert!(shelf.asked.lock().unwrap().is_empty(), "the methods ask for themselves");
    let names: Vec<&str> =
        methods::METHODS.iter().filter(|row| row.needs.prefers_corpus()).map(|row| row.name).collect();
    let want = [
        "ra-rag",
        "ra-rag-long",
        "drag",
        "naive-rag",
        "ircot",
        "iter-retgen",
        "flare",
        "sure",
        "self-rag",
        "speculative-rag",
        "conflict-score",
        "source-pools",
    ];
    assert_eq!(names, want);
}

#[test]
fn the_documents_read_are_in_the_record() {
    let (llm, shelf) = (Scripted::new(|_| "Answer: 1932. Explanation: x".into()), shelf());
    let question = Question { text: "opened when".into(), ..four() };
    let method = methods::build("naive-rag", &Typed::new()).unwrap();
    let tools = Tools { retriever: Some(&shelf), ..Tools::new(&llm) };
    let record = method.answer(&question, tools, &Settings::default(), &Silent).unwrap();
    assert!(record.question.documents.is_empty() && record.retrieved.len() == 2);
    assert!(matches!(&record.events[..], [Event::Retrieval { queries, .. }] if queries == &["opened when"]));
    // Numbers count the passages alone.
    assert!(record.document(0).unwrap().text.ends_with("It opened in 1932."));
    assert!(!record.calls[0].messages[0].content.contains("She was born"));
    // Without a corpus, the question's own.
    let record = method.answer(&question, Tools::new(&llm), &Settings::default(), &Silent).unwrap();
    assert!(record.question.documents.len() == 4 && record.events.is_empty());
    assert!(record.calls[0].messages[0].content.contains("She was born in 1931."));
}
