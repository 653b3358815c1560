//! RA-RAG's transcripts: which sources are asked in which stage, what counts as an answer, and the vote.

mod align;
mod selection;
mod variants;
mod votes;

use super::{prompt, typed, usage_error};
use moot::MootError;
use moot::answers::align::Compared;
use moot::eval::sources::answers_of;
use moot::llm::Llm;
use moot::llm::scripted::Scripted;
use moot::methods;
use moot::protocol::ctx::{Settings, Silent, Tools};
use moot::question::{Answer, Conclusion, Document, Question};
use moot::sources::{SourceEstimate, SourceWeights, VERSION};
use moot::transcript::QuestionRecord;

/// Documents as (source, text); no source where it is empty.
fn asked<'a>(documents: impl IntoIterator<Item = (&'a str, &'a str)>) -> Question {
    let document = |(index, (source, text)): (usize, (&str, &str))| Document {
        name: format!("d{index}"),
        text: text.to_owned(),
        source: (!source.is_empty()).then(|| source.to_owned()),
        ..Document::default()
    };
    Question {
        id: "q1".into(),
        text: "When did the bridge open?".into(),
        documents: documents.into_iter().enumerate().map(document).collect(),
        ..Question::default()
    }
}

/// One document a source: the source's name, and the year that it gives or other words.
fn years(sources: &[(&str, &str)]) -> Question {
    asked(sources.iter().copied())
}

pub(super) fn weights(sources: &[(&str, f64)]) -> SourceWeights {
    let estimate = |weight| SourceEstimate { weight: Some(weight), ..SourceEstimate::default() };
    SourceWeights {
        moot_sources: VERSION,
        estimator: "by hand".into(),
        sources: sources.iter().map(|&(source, weight)| (source.to_owned(), estimate(weight))).collect(),
        ..SourceWeights::default()
    }
}

fn record(
    switches: &[(&str, &str)],
    question: &Question,
    sources: &[(&str, f64)],
    llm: &dyn Llm,
) -> (QuestionRecord, Option<MootError>) {
    let (weights, settings) = (weights(sources), Settings::default());
    let built = methods::build("ra-rag", &typed(switches)).unwrap();
    built.record(question, Tools { weights: Some(&weights), ..Tools::new(llm) }, &settings, &Silent)
}

fn held(switches: &[(&str, &str)], question: &Question, sources: &[(&str, f64)], llm: &dyn Llm) -> Held {
    let (record, error) = record(switches, question, sources, llm);
    assert!(error.is_none(), "{error:?}");
    let stages = record.calls.iter().map(|call| (call.stage, call.document.unwrap())).collect();
    Held { conclusion: record.conclusion.clone().unwrap(), stages, record }
}

struct Held {
    conclusion: Conclusion,
    /// Each call's stage and the first document of its source.
    stages: Vec<(usize, usize)>,
    record: QuestionRecord,
}

/// An answer's text, supporters and opponents.
type Stands = (String, Vec<usize>, Vec<usize>);

fn stands(answers: &[Answer]) -> Vec<Stands> {
    answers.iter().map(|a| (a.text.clone(), a.supporters.clone(), a.opponents.clone())).collect()
}

fn stand(text: &str, supporters: &[usize], opponents: &[usize]) -> Stands {
    (text.to_owned(), supporters.to_vec(), opponents.to_vec())
}

/// The part of a prompt that shows the asked source.
fn shown(prompt: &str) -> &str {
    let documents = prompt.split_once(head()).map_or("", |(_, documents)| documents);
    documents.strip_suffix(END).unwrap_or(documents)
}

/// Readers give the first year of their documents, else "unknown".
fn honest() -> Scripted {
    Scripted::new(|call| {
        let words = shown(prompt(call)).split(|c: char| !c.is_alphanumeric());
        let year = words.into_iter().find(|word| word.len() == 4 && word.bytes().all(|b| b.is_ascii_digit()));
        year.unwrap_or("unknown").to_owned()
    })
}

const END: &str = "\nQuestion: When did the bridge open?\nAnswer:";

/// The prompt before the documents: `every_prompt_looks_as_it_did` holds its words.
fn head() -> &'static str {
    let file = include_str!("../../../src/prompts/ra_rag/reader.jinja");
    let (_, text) = file.split_once("-#}\n").unwrap();
    text.split_once("{% for").unwrap().0
}

/// Six sources, a heaviest; b and d know nothing.
fn six() -> (Question, [(&'static str, f64); 6]) {
    let question = years(&[("a", "1931"), ("b", "Soup."), ("c", "1932"), ("d", "Tea."), ("e", "1932"), ("f", "1932")]);
    (question, [("a", 6.0), ("b", 5.0), ("c", 4.0), ("d", 3.0), ("e", 2.0), ("f", 1.0)])
}

#[test]
fn a_source_answers_from_all_its_documents_and_the_heavier_one_wins() {
    let question = asked([
        ("press", " It opened in 1932.\n"),
        ("guild", "The guild opened it in 1931."),
        ("", "Soup at noon."),
        ("press", "A fine bridge."),
    ]);
    let held = held(&[], &question, &[("guild", 3.0), ("press", 2.0)], &honest());
    // The guild weighs 3, the press 2, the document without a source the mean of these.
    let sent: Vec<&str> = held.record.calls.iter().map(|call| call.messages[0].content.as_str()).collect();
    let documents = [
        "Context: The guild opened it in 1931.",
        "Context: Soup at noon.",
        "Context: It opened in 1932.\nContext: A fine bridge.",
    ];
    assert_eq!(sent, documents.map(|documents| format!("{}{documents}{END}", head())));
    assert_eq!(held.stages, [(0, 1), (0, 2), (0, 0)]);
    let calls = &held.record.calls;
    assert!(calls.iter().all(|call| call.role == "reader" && call.round == 1 && call.format == "short"));
    assert_eq!(stands(&held.conclusion.answers), [stand("1931", &[1], &[0, 3])]);
    assert_eq!(stands(&held.conclusion.rejected), [stand("1932", &[0, 3], &[1])]);
    assert_eq!((held.conclusion.rounds, &held.conclusion.calls[..]), (1, &[0, 1, 2][..]));
    assert!(!held.conclusion.malformed && held.record.events.is_empty());
    // Records of this method feed the first stage.
    let answers: Vec<(String, Option<String>)> = answers_of(&held.record, Some(0.9), Compared::Words)
        .answers
        .into_iter()
        .map(|(source, said)| (source, said.answer))
        .collect();
    assert_eq!(answers, [("guild".into(), Some("1931".into())), ("press".into(), Some("1932".into()))]);
}

#[test]
fn switches_out_of_their_bounds_are_refused() {
    for (name, value, expected) in [
        ("kappa", "0", "a whole number from 1 to 1000"),
        ("variant", "all", "rrss, rss, wmv, mv, oracle, naive-rag or naive-llm"),
        ("align", "yes", "true or false"),
        ("align-threshold", "1.1", "a number from 0 to 1"),
    ] {
        let line = usage_error(methods::build("ra-rag", &typed(&[(name, value)])));
        assert_eq!(line, format!("ra-rag, switch {name}: expected {expected}, found {value:?}"));
    }
}
