//! Answers of recorded sources by the kind of their documents, with and without `f_align` (RA-RAG, table 1), and the
//! cost of asking them by their number (figure 6).

use crate::answers::align;
use crate::answers::words::Level;
use crate::question::{Gold, Label};
use crate::sources::SourceWeights;
use crate::transcript::{CallRecord, QuestionRecord};
use std::collections::BTreeSet;

/// The kinds of documents that a source has on a question, by their labels: "correct" or "supporting"; "misinfo"; others.
pub const KINDS: [&str; 3] = ["factual", "misinformation", "irrelevant"];

/// The types of answers: it holds the right answer; it holds the wrong answer of the source's own documents; there is none; any
/// other.
pub const TYPES: [&str; 4] = ["correct", "incorrect", "IDK", "hallucination"];

/// One source's part in a question.
struct Part<'a> {
    /// Its calls of the first round, at least one.
    calls: Vec<&'a CallRecord>,
    name: Option<&'a str>,
    labels: Vec<&'a Label>,
    texts: Vec<&'a str>,
}

impl<'a> Part<'a> {
    /// The sources of a question that a call of the first round spoke for, by the index of their first document.
    fn of(record: &'a QuestionRecord) -> Vec<Self> {
        let asked = || record.calls.iter().filter_map(|call| Some((call.document?, call)));
        let Some(first) = asked().map(|(_, call)| call.round).min() else { return Vec::new() };
        let mut parts: Vec<(usize, Self)> = Vec::new();
        for (number, call) in asked().filter(|(_, call)| call.round == first) {
            let Some(document) = record.document(number) else { continue };
            let name = document.source.as_deref();
            // A document without a source is a source of its own.
            if let Some((_, known)) = parts.iter_mut().find(|(_, part)| name.is_some() && part.name == name) {
                known.calls.push(call);
                continue;
            }
            let all = record.question.documents.iter().chain(&record.retrieved).enumerate();
            let own =
                all.filter(|(index, other)| *index == number || name.is_some() && other.source.as_deref() == name);
            let own: Vec<_> = own.map(|(_, document)| document).collect();
            let labels = own.iter().filter_map(|document| document.label.as_ref()).collect();
            let texts = own.iter().map(|document| &*document.text).collect();
            parts.push((number, Self { calls: vec![call], name, labels, texts }));
        }
        parts.sort_by_key(|(number, _)| *number);
        parts.into_iter().map(|(_, part)| part).collect()
    }

    /// The first answer that counts; `None` is "I don't know". `least` is the ROUGE-1 precision of `f_align`.
    fn answer(&self, least: Option<f64>) -> Option<&'a str> {
        let held =
            |answer: &str| least.is_none_or(|least| align::precision(answer, self.texts.iter().copied()) >= least);
        self.calls.iter().filter_map(|call| align::answer(call)).find(|answer| held(answer))
    }

    /// Tokens of prompts and replies.
    fn tokens(&self) -> u64 {
        self.calls.iter().map(|call| call.usage.prompt as u64 + call.usage.generated as u64).sum()
    }

    /// The index in [`KINDS`]; `None` where no document has a label.
    fn kind(&self) -> Option<usize> {
        let has = |kinds: &[&str]| self.labels.iter().any(|label| kinds.contains(&label.kind.as_str()));
        (!self.labels.is_empty()).then(|| match () {
            () if has(&["correct", "supporting"]) => 0,
            () if has(&["misinfo"]) => 1,
            () => 2,
        })
    }
}

/// Counts of answers by type and by the kind of the source's documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AnswerTypes {
    /// `[kind][type]` without the filter, then with it.
    pub counts: [[[usize; 4]; 3]; 2],
}

impl AnswerTypes {
    /// Of every source of these questions whose documents are labelled; `least` is the ROUGE-1 precision of `f_align`.
    #[must_use]
    pub fn of<'a>(records: impl IntoIterator<Item = &'a QuestionRecord>, least: f64) -> Self {
        let mut types = Self::default();
        for record in records {
            let gold: Vec<&str> = record.question.gold.iter().flat_map(Gold::aliases).collect();
            for part in Part::of(record) {
                let Some(kind) = part.kind() else { continue };
                for (filter, least) in [None, Some(least)].into_iter().enumerate() {
                    types.counts[filter][kind][type_of(&part, part.answer(least), &gold)] += 1;
                }
            }
        }
        types
    }

    /// Answers of sources with documents of a kind.
    #[must_use]
    pub fn total(&self, kind: usize) -> usize {
        self.counts[0][kind].iter().sum()
    }
}

/// The index in [`TYPES`]. An answer that holds a gold one is "correct" whatever else it holds, as in RA-RAG's table: this asks for
/// the type of a source's answer, not whether a question is answered right (`eval::judgement`).
fn type_of(part: &Part<'_>, answer: Option<&str>, gold: &[&str]) -> usize {
    let Some(answer) = answer else { return 2 };
    if gold.iter().any(|gold| Level::Scored.contains(answer, gold)) {
        return 0;
    }
    let planted = part.labels.iter().filter(|label| label.kind == "misinfo");
    if planted.map(|label| &label.answer).any(|wrong| Level::Scored.contains(answer, wrong)) { 1 } else { 3 }
}

/// The mean cost of a question.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Spent {
    /// Sources asked.
    pub sources: f64,
    /// Tokens of prompts, those from the cache included, and of replies.
    pub tokens: f64,
}

/// The cost of asking this many sources.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// Number of sources, the first of each question.
    pub sources: usize,
    /// All of them are asked (WMV).
    pub all: Spent,
    /// Asked by weight until kappa have answered (kappa-RRSS).
    pub selected: Spent,
}

/// The names of the sources that were asked.
#[must_use]
pub fn asked(records: &[QuestionRecord]) -> BTreeSet<&str> {
    records.iter().flat_map(Part::of).filter_map(|part| part.name).collect()
}

/// Costs by the number of sources, up to the number that every question has. Sources answer alone, so what kappa-RRSS would have
/// asked follows from records of all sources; `least` is the ROUGE-1 precision of `f_align`.
#[must_use]
pub fn costs(records: &[QuestionRecord], weights: Option<&SourceWeights>, kappa: usize, least: f64) -> Vec<Cost> {
    let questions: Vec<Vec<Part<'_>>> = records.iter().map(Part::of).filter(|parts| !parts.is_empty()).collect();
    let most = questions.iter().map(Vec::len).min().unwrap_or(0);
    let mean = |sources: usize, asked: &dyn Fn(&[Part<'_>]) -> Vec<u64>| {
        let mut spent = Spent::default();
        for tokens in questions.iter().map(|parts| asked(&parts[..sources])) {
            spent.sources += tokens.len() as f64 / questions.len() as f64;
            spent.tokens += tokens.iter().sum::<u64>() as f64 / questions.len() as f64;
        }
        spent
    };
    let vote = |part: &Part<'_>| weights.map_or(1.0, |weights| weights.vote(part.name));
    let walk = |parts: &[Part<'_>]| {
        let mut order: Vec<&Part<'_>> = parts.iter().collect();
        order.sort_by(|a, b| vote(b).total_cmp(&vote(a)));
        let mut answered = 0;
        let asked = order.into_iter().take_while(|part| {
            let before = answered;
            answered += usize::from(part.answer(Some(least)).is_some());
            before < kappa
        });
        asked.map(Part::tokens).collect()
    };
    let all = |parts: &[Part<'_>]| parts.iter().map(Part::tokens).collect();
    let cost = |sources| Cost { sources, all: mean(sources, &all), selected: mean(sources, &walk) };
    (1..=most).map(cost).collect()
}
