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
use crate::transcript::QuestionRecord;
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
