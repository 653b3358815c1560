//! The description of a method in Python, and its conclusion, as the package sends them.

use super::asks::{CHAT, SCHEMA};
use moot::prompts::File;
use moot::protocol::formats::{FORMATS, Format};
use moot::protocol::switches::{Kind, Switch};
use moot::protocol::{Needs, Row};
use moot::question::{Answer, Conclusion, Estimate};
use moot::{MootError, Result};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{LazyLock, Mutex, PoisonError};

/// A method's class and its parameters.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Described {
    name: String,
    about: String,
    protocol: String,
    roles: Vec<String>,
    documents: bool,
    retriever: bool,
    /// The name and the text of the source of the class, whose hash the record has; none where Python does not know it.
    source: Option<(String, String)>,
    /// Values of its object, which the record has as switches.
    parameters: Map<String, Value>,
}

impl Described {
    /// Its row. Rows are static: each different one is kept as long as the program runs.
    pub(super) fn row(self) -> &'static Row {
        let source = self.source.map(|(name, text)| File { name: kept(name), text: kept(text) });
        let prompts: Vec<File> = std::iter::once(CHAT).chain(source).collect();
        let roles: Vec<&'static str> = self.roles.into_iter().map(kept).collect();
        let switches: Vec<Switch> = self.parameters.into_iter().map(|(name, value)| switch(name, &value)).collect();
        let needs = match (self.documents, self.retriever) {
            (_, true) => Needs::RETRIEVER,
            (true, false) => Needs::DOCUMENTS,
            (false, false) => Needs::NOTHING,
        };
        let formats: Vec<&'static Format> = FORMATS.iter().copied().chain([&SCHEMA]).collect();
        Box::leak(Box::new(Row {
            name: kept(self.name),
            paper: "a method in Python",
            about: kept(self.about),
            protocol: kept(self.protocol),
            calls: "",
            headline: "",
            prompts: prompts.leak(),
            formats: formats.leak(),
            roles: roles.leak(),
            switches: switches.leak(),
            presets: &[],
            max_tokens: 128,
            needs: Needs { embedder: true, ..needs },
            build: |values| Err(values.wrong("a method in Python is built from its object")),
        }))
    }
}

/// A parameter as a switch whose only value is its default.
fn switch(name: String, value: &Value) -> Switch {
    let (kind, default) = match value {
        Value::Bool(flag) => (Kind::Flag, flag.to_string()),
        Value::Number(number) if number.is_u64() => (Kind::Count(0, usize::MAX), number.to_string()),
        Value::Number(number) => (Kind::Number(f64::MIN, f64::MAX), number.to_string()),
        other => {
            let text = kept(other.as_str().map_or_else(|| other.to_string(), str::to_owned));
            (Kind::Choice(vec![text].leak()), text.to_owned())
        }
    };
    Switch { name: kept(name), about: "a parameter", kind, default: kept(default) }
}

/// `text` as long as the program runs; equal texts are one.
fn kept(text: String) -> &'static str {
    static TEXTS: LazyLock<Mutex<BTreeSet<&'static str>>> = LazyLock::new(Mutex::default);
    let mut texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(&known) = texts.get(text.as_str()) {
        return known;
    }
    let text: &'static str = text.leak();
    texts.insert(text);
    text
}

/// The conclusion of a method.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Concluded {
    answers: Vec<Supported>,
    rejected: Vec<Supported>,
    explanation: String,
    rounds: usize,
    malformed: bool,
}

/// An answer with the numbers of documents, from 1.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Supported {
    text: String,
    supporters: Vec<usize>,
    opponents: Vec<usize>,
    probability: Option<f64>,
}

impl Concluded {
    /// As records have it, of a question with so many documents.
    ///
    /// # Errors
    /// A number that no document has.
    pub(super) fn conclusion(self, documents: usize) -> Result<Conclusion> {
        let all = |name: &str, answers: Vec<Supported>| {
            let answer = |(index, answer): (usize, Supported)| answer.answer(&format!("{name}[{index}]"), documents);
            answers.into_iter().enumerate().map(answer).collect::<Result<Vec<_>>>()
        };
        Ok(Conclusion {
            answers: all("answers", self.answers)?,
            rejected: all("rejected", self.rejected)?,
            explanation: self.explanation,
            rounds: self.rounds,
            malformed: self.malformed,
            ..Conclusion::default()
        })
    }
}

impl Supported {
    fn answer(self, field: &str, documents: usize) -> Result<Answer> {
        let from_zero = |name: &str, numbers: Vec<usize>| match numbers.iter().find(|n| !(1..=documents).contains(*n)) {
            None => Ok(numbers.into_iter().map(|number| number - 1).collect()),
            Some(other) => Err(MootError::Usage(format!(
                "{field}.{name}: expected numbers of documents, from 1 to {documents}, found {other}"
            ))),
        };
        let estimate =
            |probability| Estimate { probability, about: String::new(), features: BTreeMap::new(), conflict: None };
        Ok(Answer {
            supporters: from_zero("supporters", self.supporters)?,
            opponents: from_zero("opponents", self.opponents)?,
            estimate: self.probability.map(estimate),
            ..Answer::new(&self.text)
        })
    }
}
