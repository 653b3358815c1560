//! Records as one HTML page that needs nothing else: summary, charts, every debate, settings and hashes.
//!
//! The page has no address in it that a browser would open. Tables and charts are written here; questions and debates are
//! data, which the page's own script builds into elements when they are opened. No text of a record becomes markup: the
//! template escapes it, and the script sets it as text.

mod chart;
mod debate;
mod figures;
mod marks;
mod page;
mod prompts;
mod runs;
mod summary;
mod texts;

use crate::error::{MootError, Result};
use crate::escape;
use crate::eval::compare::{self, Compared};
use crate::eval::metrics::{METRICS, Metric};
use crate::eval::record::reader::{Ledger, Record};
use crate::question::Gold;
use crate::transcript::QuestionRecord;
use serde::Serialize;
use std::collections::BTreeSet;

/// A record and what its file has beside its questions.
pub struct Input {
    /// The record.
    pub record: Record,
    /// Its hashes.
    pub ledger: Ledger,
}

/// What the page shows.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The heading; empty for one made of the datasets and methods.
    pub title: String,
    /// Slices that are compared beside the whole, and the metrics of the tables.
    pub compare: compare::Options,
    /// The list of questions begins with those that the records do not answer alike, both debates beside each other.
    pub changed: bool,
}

/// The page.
///
/// # Errors
/// Those of [`compare::compare`], for records of one dataset whose questions do not match; [`MootError::Usage`] where there
/// is no record.
pub fn page(inputs: Vec<Input>, options: &Options) -> Result<String> {
    if inputs.is_empty() {
        return Err(MootError::Usage("expected at least one record to report, found none".into()));
    }
    let part = |inputs: Vec<Input>| {
        let (records, ledgers): (Vec<Record>, Vec<Ledger>) =
            inputs.into_iter().map(|input| (input.record, input.ledger)).unzip();
        let compared = compare::compare(&records, &options.compare)?;
        Ok(Part { records, ledgers, compared })
    };
    let parts = groups(inputs, options.compare.across_datasets).into_iter().map(part).collect::<Result<Vec<_>>>()?;
    page::write(&parts, options)
}

/// Records of one dataset, compared.
struct Part {
    records: Vec<Record>,
    ledgers: Vec<Ledger>,
    compared: Compared,
}

/// The records of each dataset, in the order of the first of each; all in one group where datasets are crossed.
fn groups(inputs: Vec<Input>, across: bool) -> Vec<Vec<Input>> {
    let key = |record: &Record| match (&record.header.dataset, record.questions.first()) {
        _ if across => String::new(),
        (Some(dataset), _) => dataset.sha256.clone(),
        (None, Some(first)) => format!("{:?}", compare::content(&first.question)),
        (None, None) => "no question".into(),
    };
    let mut groups: Vec<(String, Vec<Input>)> = Vec::new();
    for input in inputs {
        let key = key(&input.record);
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, group)) => group.push(input),
            None => groups.push((key, vec![input])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// How a question ended: one word that lists, filters and marks use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Strict exact match: every required answer and no wrong one, or none where none is right.
    Right,
    /// Not strictly right, and some answer given is right.
    Partly,
    /// Answers, none of them right.
    Wrong,
    /// No answer, though some are right.
    Unknown,
    /// The concluding reply did not keep its format.
    Malformed,
    /// No conclusion.
    Error,
    /// A conclusion on a question without gold answers.
    Answered,
}

impl Outcome {
    /// Of a question's record.
    #[must_use]
    pub fn of(record: &QuestionRecord) -> Self {
        let Some(conclusion) = record.conclusion.as_ref().filter(|_| record.error.is_none()) else {
            return Self::Error;
        };
        let value = |name| value(named(name), record);
        match (&record.question.gold, conclusion.malformed) {
            (_, true) => Self::Malformed,
            (Some(_), _) if value("em") == Some(1.0) => Self::Right,
            (_, _) if conclusion.answers.is_empty() && conclusion.claims.is_none() => Self::Unknown,
            (None, _) => Self::Answered,
            (Some(gold), _) if partly(gold, value("f1")) => Self::Partly,
            _ => Self::Wrong,
        }
    }
}

fn partly(gold: &Gold, f1: Option<f64>) -> bool {
    gold.required() > 0 && f1.is_some_and(|f1| f1 > 0.0)
}

/// The row of [`METRICS`] with this name.
fn named(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.name == name)
}

/// The metric's value of one question.
fn value(metric: Option<&'static Metric>, record: &QuestionRecord) -> Option<f64> {
    metric?.of(record)
}

/// Slices of the questions as they are shown, in alphabetical order.
fn slices(part: &Part) -> BTreeSet<String> {
    let questions = part.records.iter().flat_map(|record| &record.questions);
    questions.flat_map(|record| &record.question.slices).map(|slice| escape::line(slice)).collect()
}
