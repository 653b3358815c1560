//! A retriever of listed passages, and what tests of methods that retrieve share.

use crate::protocol::ctx::passage;
use moot::eval::metrics::METRICS;
use moot::generation::Segment;
use moot::llm::Llm;
use moot::llm::scripted::Scripted;
use moot::methods;
use moot::protocol::ctx::{Settings, Silent, Tools};
use moot::protocol::switches::Typed;
use moot::question::{Document, Hit, Passage, Question};
use moot::retrieval::{Retriever, RetrieverIdentity, Wanted};
use moot::transcript::{CallRecord, Event, QuestionRecord};
use moot::{MootError, Result};
use std::collections::BTreeMap;
use std::sync::Mutex;

/// Finds for each query the passages that are listed with it, and nothing for any other.
#[derive(Default)]
pub(super) struct Library {
    shelves: BTreeMap<String, Vec<Passage>>,
    /// Each query with the number of passages wanted.
    pub(super) asked: Mutex<Vec<(String, usize)>>,
}

impl Library {
    /// Queries with the texts found for them. A text is one passage, whatever finds it.
    pub(super) fn new(shelves: &[(&str, &[&str])]) -> Self {
        let line = |text: &str| u64::from(text.bytes().fold(7_u32, |sum, byte| (sum * 31 + u32::from(byte)) % 1000));
        let passages =
            |texts: &[&str]| texts.iter().map(|text| passage("corpus.txt", line(text), None, text)).collect();
        let shelves = shelves.iter().map(|(query, texts)| ((*query).to_owned(), passages(texts))).collect();
        Self { shelves, asked: Mutex::default() }
    }

    pub(super) fn queries(&self) -> Vec<String> {
        self.asked.lock().unwrap().iter().map(|(query, _)| query.clone()).collect()
    }
}

impl Retriever for Library {
    fn retrieve(&self, query: &str, wanted: &Wanted) -> Result<Vec<Hit>> {
        self.asked.lock().unwrap().push((query.to_owned(), wanted.top));
        let found = self.shelves.get(query).map(Vec::as_slice).unwrap_or_default().iter().take(wanted.top);
        Ok(found.map(|passage| Hit { passage: passage.clone(), score: 1.0, copies: Vec::new() }).collect())
    }

    fn identity(&self) -> RetrieverIdentity {
        RetrieverIdentity { index: "library".into(), embedder: None, reranker: None, mode: "lexical".into() }
    }
}

/// A question without documents.
pub(super) fn asked(text: &str) -> Question {
    Question { id: "q1".into(), text: text.into(), ..Question::default() }
}

/// A question with `count` documents of its own.
pub(super) fn with_documents(text: &str, count: usize) -> Question {
    let document = |i| Document {
        name: format!("{i}.md"),
        text: format!("Own document {i} of the question."),
        ..Document::default()
    };
    Question { documents: (1..=count).map(document).collect(), ..asked(text) }
}

/// The result of a question: the record, and the error where there is one.
pub(super) fn record(
    method: &str,
    switches: &Typed,
    question: &Question,
    llm: &dyn Llm,
    retriever: Option<&dyn Retriever>,
) -> (QuestionRecord, Option<MootError>) {
    let tools = Tools { retriever, ..Tools::new(llm) };
    methods::build(method, switches).unwrap().record(question, tools, &Settings::default(), &Silent)
}

/// As [`record`], without an error.
pub(super) fn held(
    method: &str,
    switches: &Typed,
    question: &Question,
    llm: &dyn Llm,
    retriever: &dyn Retriever,
) -> QuestionRecord {
    let (record, error) = record(method, switches, question, llm, Some(retriever));
    assert!(error.is_none(), "{error:?}");
    record
}

/// Replies by the name of their call ("judge, round 2"): the first entry with that name counts.
pub(super) fn said(script: &[&[(&'static str, &'static str)]]) -> Scripted {
    let script: Vec<(&'static str, &'static str)> = script.concat();
    Scripted::failing(move |call| {
        let reply = script.iter().find(|(what, _)| *what == call.what).map(|(_, reply)| *reply);
        match reply {
            Some("(fails)") => Err(MootError::Engine("gone".into())),
            Some(reply) => Ok(reply.to_owned()),
            None => panic!("no reply for {}", call.what),
        }
    })
}

/// The value of a metric for one record.
pub(super) fn metric(name: &str, record: &QuestionRecord) -> Option<f64> {
    METRICS.iter().find(|metric| metric.name == name).unwrap().over(&[record])
}

/// Fallbacks, as they are recorded.
pub(super) fn fallbacks(record: &QuestionRecord) -> Vec<&str> {
    let events = record.events.iter();
    events
        .filter_map(|event| if let Event::Fallback { what, .. } = event { Some(what.as_str()) } else { None })
        .collect()
}

/// Everything that a call's model reads.
pub(super) fn read(call: &CallRecord) -> String {
    let messages = call.messages.iter().map(|message| message.content.as_str());
    let raw = call.raw_prompt.iter().chain(&call.prefill).map(Segment::text);
    messages.chain(raw).collect::<Vec<_>>().join("\n")
}

/// Passages that a prompt shows, without those of its worked examples.
pub(super) fn passages(call: &CallRecord) -> usize {
    read(call).split_once("Now do the same").unwrap().1.matches("\nPassage ").count()
}

/// The error of a question whose call failed, and how many calls were answered.
pub(super) fn failed(outcome: (QuestionRecord, Option<MootError>)) -> (String, usize) {
    let (record, error) = outcome;
    assert!(record.conclusion.is_none());
    (error.unwrap().to_string(), record.calls.len())
}
