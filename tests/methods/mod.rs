//! Methods.

mod astute_rag;
mod baselines;
mod cases;
mod conflict_score;
mod drag;
mod every;
mod flare;
mod formula;
mod ircot;
mod iter_retgen;
mod library;
mod mad;
mod madam_rag;
mod majority_vote;
mod moot_itself;
mod naive_rag;
mod pages;
mod printer;
mod provenance;
mod ra_rag;
mod ra_rag_long;
mod record_text;
mod registry;
mod scripted;
mod self_consistency;
mod self_rag;
mod self_reflection;
mod source_isolated_arbitration;
mod source_pools;
mod source_weights;
mod speculative_rag;
mod sure;
mod transcripts;
mod truthful_judge;
mod verification;

use library::fallbacks;
use moot::llm::{Call, Llm};
use moot::methods;
use moot::protocol::ctx::{Settings, Silent, Tools};
use moot::protocol::switches::Typed;
use moot::question::{Answer, Conclusion, Document, Question};
use moot::transcript::{CallRecord, QuestionRecord};
use moot::{MootError, Result};

pub(crate) fn question(texts: &[&str]) -> Question {
    let name = |i| ["a.md", "b.txt", "c.md", "d.txt"][i];
    Question {
        id: "q1".into(),
        text: "In which year was Mira Tolland born?".into(),
        documents: texts
            .iter()
            .enumerate()
            .map(|(i, &text)| Document { name: name(i).to_owned(), text: text.to_owned(), ..Document::default() })
            .collect(),
        ..Question::default()
    }
}

pub(crate) fn four() -> Question {
    question(&["She was born in 1931.", "She was born in 1968.", "She was born in 1913.", "Soup is served."])
}

/// The result of `question`: the conclusion or the error, and every call.
fn answer(method: &str, switches: &Typed, question: &Question, llm: &dyn Llm) -> (Result<Conclusion>, Vec<CallRecord>) {
    let settings = Settings::default();
    let built = methods::build(method, switches).unwrap();
    let (record, error) = built.record(question, Tools::new(llm), &settings, &Silent);
    (record.conclusion.ok_or_else(|| error.unwrap()), record.calls)
}

/// The record of `question`, which must be answered.
fn held(method: &str, switches: &[(&str, &str)], question: &Question, tools: Tools<'_>) -> QuestionRecord {
    let settings = Settings::default();
    methods::build(method, &typed(switches)).unwrap().answer(question, tools, &settings, &Silent).unwrap()
}

/// Each call's stage, role, round and document.
fn shape(calls: &[CallRecord]) -> Vec<(usize, &str, usize, Option<usize>)> {
    calls.iter().map(|call| (call.stage, call.role.as_str(), call.round, call.document)).collect()
}

/// An answer's text, supporters, opponents and mentions.
type Stands<'a> = (&'a str, &'a [usize], &'a [usize], &'a [usize]);

fn stands(answers: &[Answer]) -> Vec<Stands<'_>> {
    answers.iter().map(|a| (a.text.as_str(), &a.supporters[..], &a.opponents[..], &a.mentions[..])).collect()
}

/// Switches as typed.
pub(crate) fn typed(switches: &[(&str, &str)]) -> Typed {
    switches.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn prompt(call: &Call) -> &str {
    &call.prompt.messages()[0].content
}

pub(crate) fn usage_error(result: Result<impl std::fmt::Debug>) -> String {
    match result.unwrap_err() {
        MootError::Usage(text) => text,
        other => panic!("a usage error was expected, found {other:?}"),
    }
}
