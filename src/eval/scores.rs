//! Scores of records, their differences, and both as JSON. `moot score` makes a table of them.

use crate::error::{MootError, Result};
use crate::escape;
use crate::eval::computed_slices::{self, SLICES};
use crate::eval::metrics::cost::is_fallback;
use crate::eval::metrics::{BINS, Bins, METRICS, Metric, Needs, Scope, Tally, Unit};
use crate::eval::pairs::Pairs;
use crate::eval::predictions;
use crate::eval::record::reader::Record;
use crate::eval::stats::{Estimate, RESAMPLES, bootstrap, bootstrap_sums, paired_bootstrap};
use crate::transcript::{Parsed, QuestionRecord};
use rayon::prelude::*;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

pub(crate) use crate::eval::text_table::{aligned, divided};

/// Seeds every interval: the same records give the same numbers.
const SEED: u64 = 0;

/// A record's scores.
pub struct Scores {
    /// The record's file name, with the slice.
    pub name: String,
    /// Questions recorded.
    pub questions: usize,
    /// Questions in the dataset, where there is one.
    pub expected: Option<usize>,
    /// Questions recorded without gold answers, which no answer metric counts.
    pub without_gold: usize,
    /// All calls.
    pub calls: usize,
    /// Calls whose reply did not keep its format.
    pub malformed: usize,
    /// Departures from the method's protocol.
    pub fallbacks: usize,
    /// Questions that ended in an error.
    pub errors: usize,
    /// One row a metric, as in [`METRICS`]; `None` where no question has a value.
    pub rows: Vec<(&'static Metric, Option<Estimate>)>,
    method: String,
    switches: Value,
    model: String,
    dataset: Option<String>,
}

/// The difference of a record from the first one, on the questions that both have with the same content.
pub struct Difference {
    /// The first record's name.
    pub from: String,
    /// The other's.
    pub to: String,
    /// Questions in both.
    pub common: usize,
    /// Questions of the two that are in no pair.
    pub unpaired: usize,
    /// Of these, questions of one of them only.
    pub alone: usize,
    /// Questions of the other record that have the id of a question of the first one, and other content.
    pub other_content: usize,
    /// Other minus first, one row a metric.
    pub rows: Vec<(&'static Metric, Option<Estimate>)>,
}

/// The questions of `record` in the slice `name`, as a record whose name has the slice's in it. `name` is a slice of the dataset,
/// or one of [`SLICES`].
///
/// # Errors
/// [`MootError::UnknownName`] for a name that is neither, with the slices that there are; [`MootError::Usage`] where no
/// question is in a computed slice.
pub fn slice(record: &Record, name: &str) -> Result<Record> {
    let known: BTreeSet<&str> =
        record.questions.iter().flat_map(|question| &question.question.slices).map(String::as_str).collect();
    // A slice of the dataset with that name is the one that is meant.
    let computed = computed_slices::named(name).filter(|_| !known.contains(name));
    let within = |question: &&QuestionRecord| match computed {
        Some(slice) => (slice.holds)(question),
        None => question.question.slices.iter().any(|slice| slice == name),
    };
    let questions: Vec<QuestionRecord> = record.questions.iter().filter(within).cloned().collect();
    if let Some(slice) = computed.filter(|_| questions.is_empty()) {
        let (path, about) = (record.path.display(), slice.about);
        return Err(MootError::Usage(format!("{path}: no question is in the slice {name} ({about})")));
    }
    if questions.is_empty() {
        let known: Vec<&str> = known.into_iter().chain(SLICES.iter().map(|slice| slice.name)).collect();
        return Err(MootError::UnknownName { kind: "slice", name: name.to_owned(), known: known.join(", ") });
    }
    let mut header = record.header.clone();
    // The number of questions that the dataset has in the slice is not recorded.
    if let Some(dataset) = &mut header.dataset {
        dataset.questions = questions.len();
    }
    let path = format!("{} [{name}]", record.path.display()).into();
    Ok(Record { path, header, questions, torn: record.torn })
}

/// A metric over questions, with its interval.
pub(super) fn estimate(metric: &Metric, questions: &[&QuestionRecord]) -> Option<Estimate> {
    match metric.scope {
        Scope::Question(of) => {
            let values: Vec<f64> = questions.iter().filter_map(|question| of(question)).collect();
            bootstrap(&values, RESAMPLES, SEED)
        }
        Scope::Run { tally, value } => {
            let tallies: Vec<Tally> = questions.iter().filter_map(|question| tally(question)).collect();
            bootstrap_sums(&tallies, RESAMPLES, SEED, value)
        }
        Scope::Binned { tally, value } => {
            let tallies: Vec<Bins> = questions.iter().filter_map(|question| tally(question)).collect();
            bootstrap_sums(&tallies, RESAMPLES, SEED, value)
        }
    }
}

/// The second run's metric minus the first's, over pairs of the same question.
pub(super) fn difference(metric: &Metric, pairs: &[(&QuestionRecord, &QuestionRecord)]) -> Option<Estimate> {
    match metric.scope {
        Scope::Question(of) => {
            let values: Vec<_> = pairs.iter().filter_map(|(a, b)| Some((of(a)?, of(b)?))).collect();
            paired_bootstrap(&values, RESAMPLES, SEED)
        }
        Scope::Run { tally, value } => {
            let both = |(a, b): &(&QuestionRecord, &QuestionRecord)| {
                let (a, b) = (tally(a)?, tally(b)?);
                // Both records of a question in one entry, so that they are drawn together.
                Some(std::array::from_fn::<f64, 8, _>(|i| if i < 4 { a[i] } else { b[i - 4] }))
            };
            let tallies: Vec<[f64; 8]> = pairs.iter().filter_map(both).collect();
            bootstrap_sums(&tallies, RESAMPLES, SEED, |sums| {
                let half = |from: usize| -> Tally { std::array::from_fn(|i| sums[from + i]) };
                Some(value(&half(4))? - value(&half(0))?)
            })
        }
        Scope::Binned { tally, value } => {
            const K: usize = 3 * BINS;
            let both = |(a, b): &(&QuestionRecord, &QuestionRecord)| {
                let (a, b) = (tally(a)?, tally(b)?);
                Some(std::array::from_fn::<f64, { 2 * K }, _>(|i| if i < K { a[i] } else { b[i - K] }))
            };
            let tallies: Vec<[f64; 2 * K]> = pairs.iter().filter_map(both).collect();
            bootstrap_sums(&tallies, RESAMPLES, SEED, |sums| {
                let half = |from: usize| -> Bins { std::array::from_fn(|i| sums[from + i]) };
                Some(value(&half(K))? - value(&half(0))?)
            })
        }
    }
}

/// Whether `metric` applies to `record`: predictions of another system have answers alone.
fn applies(metric: &Metric, record: &Record) -> bool {
    record.header.method != predictions::METHOD || metric.needs == Needs::Answers
}

/// Scores one record. The order of its lines does not matter.
#[must_use]
pub fn score(record: &Record) -> Scores {
    let mut questions: Vec<&QuestionRecord> = record.questions.iter().collect();
    // The bootstrap draws by index, so its interval depends on the order.
    questions.sort_by(|a, b| a.question.id.cmp(&b.question.id));
    let calls = || record.questions.iter().flat_map(|question| &question.calls);
    Scores {
        name: record.path.display().to_string(),
        questions: questions.len(),
        expected: record.header.dataset.as_ref().map(|dataset| dataset.questions),
        without_gold: questions.iter().filter(|question| question.question.gold.is_none()).count(),
        calls: calls().count(),
        malformed: calls().filter(|call| call.parsed == Parsed::Malformed).count(),
        fallbacks: questions.iter().flat_map(|question| &question.events).filter(|event| is_fallback(event)).count(),
        errors: questions.iter().filter(|question| question.error.is_some()).count(),
        rows: METRICS
            .par_iter()
            .map(|metric| (metric, applies(metric, record).then(|| estimate(metric, &questions)).flatten()))
            .collect(),
        method: record.header.shown_method(),
        switches: record.header.switches.clone(),
        model: record.header.model.name.clone(),
        dataset: record.header.dataset.as_ref().map(|dataset| dataset.name.clone()),
    }
}

/// Compares two records question by question, paired by id and content.
#[must_use]
pub fn compare(from: &Record, to: &Record) -> Difference {
    let pairs = Pairs::of(from, to);
    Difference {
        from: from.path.display().to_string(),
        to: to.path.display().to_string(),
        common: pairs.both.len(),
        unpaired: pairs.unpaired,
        alone: pairs.alone(),
        other_content: pairs.other_content,
        rows: METRICS
            .par_iter()
            .map(|metric| {
                let both = applies(metric, from) && applies(metric, to);
                (metric, both.then(|| difference(metric, &pairs.both)).flatten())
            })
            .collect(),
    }
}

/// Scores and differences for programs.
#[must_use]
pub fn json(scores: &[Scores], differences: &[Difference]) -> Value {
    let records: Vec<Value> = scores
        .iter()
        .map(|s| {
            json!({
                "record": s.name, "method": s.method, "switches": s.switches, "model": s.model,
                "dataset": s.dataset, "dataset_questions": s.expected,
                "questions": s.questions, "without_gold": s.without_gold,
                "calls": s.calls, "malformed_replies": s.malformed, "fallbacks": s.fallbacks,
                "errors": s.errors,
                "metrics": metrics(&s.rows),
            })
        })
        .collect();
    let differences: Vec<Value> = differences
        .iter()
        .map(|d| {
            json!({
                "from": d.from, "to": d.to, "common": d.common, "unpaired": d.unpaired,
                "other_content": d.other_content, "metrics": metrics(&d.rows),
            })
        })
        .collect();
    json!({ "records": records, "differences": differences })
}

fn metrics(rows: &[(&Metric, Option<Estimate>)]) -> Map<String, Value> {
    rows.iter().map(|(metric, estimate)| (metric.name.to_owned(), json!(estimate))).collect()
}

/// One line: the record's name, its method, dataset and model, and how many questions, calls, malformed replies and fallbacks
/// it has.
#[must_use]
pub fn describe(s: &Scores) -> String {
    let of = s.expected.filter(|&n| n != s.questions).map(|n| format!(" of {n}")).unwrap_or_default();
    let dataset = s.dataset.as_ref().map(|name| format!(" on {}", escape::line(name))).unwrap_or_default();
    let gold = match s.without_gold {
        0 => String::new(),
        n if n == s.questions => ", no question has gold answers".to_owned(),
        n => format!(", {n} without gold answers"),
    };
    let errors = match s.errors {
        0 => String::new(),
        n => format!(", {n} ended in an error"),
    };
    format!(
        "{}: {}{dataset} with {}: {}{of} questions{gold}{errors}, {} calls, {} malformed, {} fallbacks\n",
        escape::line(&s.name),
        s.method,
        escape::line(&s.model),
        s.questions,
        s.calls,
        s.malformed,
        s.fallbacks
    )
}

/// A metric's value with its interval; `signed` for a difference.
#[must_use]
pub(crate) fn cell(metric: &Metric, estimate: Option<Estimate>, signed: bool) -> String {
    let Some(e) = estimate else { return "-".into() };
    let number = |x: f64| figure(metric.unit, x, signed);
    format!("{} [{}, {}]", number(e.mean), number(e.low), number(e.high))
}

/// A value as tables print it: three digits of a share, two of anything else below 100; `signed` for differences.
#[must_use]
pub fn figure(unit: Unit, x: f64, signed: bool) -> String {
    let digits = match unit {
        Unit::Share => 3,
        _ if x.abs() < 100.0 => 2,
        _ => 0,
    };
    // Rounding must not print a zero with a sign.
    let x = if x.abs() < 0.5 * 10f64.powi(-digits) { 0.0 } else { x };
    let digits = digits as usize;
    if signed { format!("{x:+.digits$}") } else { format!("{x:.digits$}") }
}
