//! Records side by side: metrics with intervals, differences by question, costs by role, questions that changed.
//!
//! Questions are paired by id and content. The first record is the one that the others are compared with.

mod changes;
pub mod tables;

pub(crate) use changes::outcome;
pub use changes::{Change, answers_differ, changed};

use crate::error::{MootError, Result};
use crate::eval::metrics::{Better, METRICS, Metric};
use crate::eval::pairs::Pairs;
use crate::eval::record::differences;
use crate::eval::record::reader::Record;
use crate::eval::scores;
use crate::eval::stats::Estimate;
use crate::generation::Usage;
use crate::transcript::{Parsed, QuestionRecord};
use rayon::prelude::*;
use serde::Serialize;
use std::collections::BTreeSet;

/// Records compared: all questions first, then each slice.
#[derive(Debug, Serialize)]
pub struct Compared {
    /// The records, in the order given.
    pub records: Vec<Described>,
    /// All questions, then one part a slice.
    pub parts: Vec<SliceComparison>,
}

/// A record's identity in the comparison.
#[derive(Debug, Serialize)]
pub struct Described {
    /// The column's name: the method, with the model or the file where that alone tells the records apart.
    pub name: String,
    /// The file.
    pub record: String,
    /// The method's name, or its label.
    pub method: String,
    /// The model's name.
    pub model: String,
    /// Questions recorded.
    pub questions: usize,
    /// Questions of the dataset, where there is one.
    pub expected: Option<usize>,
    /// How its header differs from the first record's: field, there, here.
    pub settings: Vec<(String, String, String)>,
}

/// The comparison over some of the questions.
#[derive(Debug, Serialize)]
pub struct SliceComparison {
    /// The slice; `None` for all questions.
    pub slice: Option<String>,
    /// One a record.
    pub sides: Vec<Side>,
}

/// One record in one part.
#[derive(Debug, Serialize)]
pub struct Side {
    /// Questions of this part.
    pub questions: usize,
    /// One a metric chosen, in the order of [`METRICS`].
    pub values: Vec<(&'static str, Option<Estimate>)>,
    /// The difference from the first record; `None` for the first.
    pub against: Option<Against>,
    /// One a role, in the order of the first calls; several roles are followed by their total.
    pub costs: Vec<Cost>,
}

/// A record minus the first one, on the questions of both.
#[derive(Debug, Serialize)]
pub struct Against {
    /// Questions of both.
    pub pairs: usize,
    /// Questions of one of the two alone.
    pub unpaired: usize,
    /// One a metric chosen.
    pub rows: Vec<Contrast>,
}

/// One metric of two records.
#[derive(Debug, Serialize)]
pub struct Contrast {
    /// The metric.
    pub metric: &'static str,
    /// The difference with its paired bootstrap interval; `None` where no pair has both values.
    pub difference: Option<Estimate>,
    /// Pairs in which the record does better than the first, does worse, and does the same; `None` for a metric that has
    /// no value by question, or of which neither of two values is the better one.
    pub outcomes: Option<Outcomes>,
}

/// Counts of pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Outcomes {
    /// The record does better than the first one.
    pub wins: usize,
    /// It does worse.
    pub losses: usize,
    /// Both have the same value.
    pub ties: usize,
}

/// The cost of the calls of a role.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Cost {
    /// The role; "in all" for the total.
    pub role: String,
    /// Calls.
    pub calls: usize,
    /// Replies that did not keep their format.
    pub malformed: usize,
    /// Tokens, those from the cache (`reused`) among the prompt's.
    pub usage: Usage,
    /// Seconds from submission to the last token, added up over the calls.
    pub seconds: f64,
}

/// The selection of questions and metrics to compare.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Slices to compare besides all questions.
    pub slices: Vec<String>,
    /// Metrics by name; empty takes the headlines, "all" takes every one.
    pub metrics: Vec<String>,
    /// Compare records of different datasets on the questions that both have.
    pub across_datasets: bool,
}

/// Compares `records`, the first with each other one.
///
/// # Errors
/// [`MootError::Input`] for records of different datasets, or without a question in common; [`MootError::UnknownName`] for a
/// metric or a slice that does not exist.
pub fn compare(records: &[Record], options: &Options) -> Result<Compared> {
    let metrics = chosen(&options.metrics)?;
    let Some(first) = records.first() else {
        return Err(MootError::Usage("expected at least two records to compare, found none".into()));
    };
    for other in &records[1..] {
        check(first, other, options.across_datasets)?;
    }
    let mut parts = vec![part(None, records, &metrics)];
    for slice in &options.slices {
        let of_slice = |record: &Record| scores::slice(record, slice);
        let sliced = records.iter().map(of_slice).collect::<Result<Vec<_>>>()?;
        parts.push(part(Some(slice.clone()), &sliced, &metrics));
    }
    let names = names(records);
    let described = records.iter().zip(names).map(|(record, name)| Described {
        name,
        record: record.path.display().to_string(),
        method: record.header.shown_method(),
        model: record.header.model.name.clone(),
        questions: record.questions.len(),
        expected: record.header.dataset.as_ref().map(|dataset| dataset.questions),
        settings: settings(first, record),
    });
    Ok(Compared { records: described.collect(), parts })
}

/// How a record's settings differ from the first one's. Of two methods neither switches nor prompts are compared.
fn settings(first: &Record, record: &Record) -> Vec<(String, String, String)> {
    let own: &[&str] =
        if first.header.method == record.header.method { &[] } else { &["switches.", "prompts.", "roles."] };
    let told = |(field, _, _): &(String, String, String)| {
        let shown = ["moot_record", "program", "method", "label"].contains(&field.as_str());
        !shown && !own.iter().any(|start| field.starts_with(start))
    };
    differences(&first.header, &record.header).into_iter().filter(told).collect()
}

/// The rows of [`METRICS`] that are named, in its order.
fn chosen(names: &[String]) -> Result<Vec<&'static Metric>> {
    if let Some(name) = names.iter().find(|name| *name != "all" && Metric::named(name).is_none()) {
        let known = METRICS.iter().map(|metric| metric.name).collect::<Vec<_>>().join(", ");
        return Err(MootError::UnknownName { kind: "metric", name: name.clone(), known });
    }
    let all = names.iter().any(|name| name == "all");
    let named = |metric: &&Metric| match names {
        [] => metric.is_headline,
        names => all || names.iter().any(|name| name == metric.name),
    };
    Ok(METRICS.iter().filter(named).collect())
}

/// All slices of the records, in alphabetical order.
#[must_use]
pub fn slices(records: &[Record]) -> Vec<String> {
    let all = records.iter().flat_map(|record| &record.questions).flat_map(|question| &question.question.slices);
    all.cloned().collect::<BTreeSet<_>>().into_iter().collect()
}

/// Refuses records that are not comparable, with the numbers.
fn check(first: &Record, other: &Record, across: bool) -> Result<()> {
    let Pairs { both, other_content, .. } = Pairs::of(first, other);
    let common = both.len();
    let sha256 = |record: &Record| record.header.dataset.as_ref().map(|dataset| dataset.sha256.clone());
    let same = sha256(first) == sha256(other);
    let sound = if same { other_content == 0 } else { across };
    if sound && common > 0 {
        return Ok(());
    }
    let dataset = |record: &Record| match &record.header.dataset {
        Some(d) => {
            let start: String = d.sha256.chars().take(12).collect();
            format!("{} ({} questions, SHA-256 {start}...)", d.name, d.questions)
        }
        None => "no dataset".to_owned(),
    };
    let hint = if same || common == 0 { "" } else { "; --across-datasets compares those" };
    Err(MootError::Input {
        path: other.path.clone(),
        line: None,
        expected: format!("the questions of {}: {}", first.path.display(), dataset(first)),
        found: format!(
            "{}: of {} and {} questions recorded, {common} are the same by id and content, {other_content} have \
             the same id and other content{hint}",
            dataset(other),
            first.questions.len(),
            other.questions.len(),
        ),
    })
}

fn part(slice: Option<String>, records: &[Record], metrics: &[&'static Metric]) -> SliceComparison {
    let side = |(index, record): (usize, &Record)| {
        let mut questions: Vec<&QuestionRecord> = record.questions.iter().collect();
        questions.sort_by(|a, b| a.question.id.cmp(&b.question.id));
        let value = |metric: &&'static Metric| (metric.name, scores::estimate(metric, &questions));
        Side {
            questions: questions.len(),
            values: metrics.par_iter().map(value).collect(),
            against: (index > 0).then(|| against(&records[0], record, metrics)),
            costs: costs(&questions),
        }
    };
    SliceComparison { slice, sides: records.iter().enumerate().map(side).collect() }
}

fn against(first: &Record, other: &Record, metrics: &[&'static Metric]) -> Against {
    let Pairs { both, unpaired, .. } = Pairs::of(first, other);
    let contrast = |metric: &&'static Metric| Contrast {
        metric: metric.name,
        difference: scores::difference(metric, &both),
        outcomes: outcomes(metric, &both),
    };
    Against { pairs: both.len(), unpaired, rows: metrics.par_iter().map(contrast).collect() }
}

fn outcomes(metric: &Metric, pairs: &[(&QuestionRecord, &QuestionRecord)]) -> Option<Outcomes> {
    let sign = match metric.better {
        Better::More => 1.0,
        Better::Less => -1.0,
        Better::Neither => return None,
    };
    let mut counts = Outcomes::default();
    for (a, b) in pairs.iter().filter_map(|(a, b)| Some((metric.of(a)?, metric.of(b)?))) {
        let gain = sign * (b - a);
        if gain == 0.0 {
            counts.ties += 1;
        } else if gain > 0.0 {
            counts.wins += 1;
        } else {
            counts.losses += 1;
        }
    }
    (counts != Outcomes::default()).then_some(counts)
}

fn costs(questions: &[&QuestionRecord]) -> Vec<Cost> {
    let mut roles: Vec<Cost> = Vec::new();
    let mut total = Cost { role: "in all".into(), ..Cost::default() };
    for call in questions.iter().flat_map(|question| &question.calls) {
        let index = roles.iter().position(|cost| cost.role == call.role).unwrap_or_else(|| {
            roles.push(Cost { role: call.role.clone(), ..Cost::default() });
            roles.len() - 1
        });
        for cost in [&mut roles[index], &mut total] {
            cost.calls += 1;
            cost.malformed += usize::from(call.parsed == Parsed::Malformed);
            cost.usage += call.usage;
            cost.seconds += call.seconds;
        }
    }
    if roles.len() != 1 {
        roles.push(total);
    }
    roles
}

/// The shortest names that tell the records apart.
fn names(records: &[Record]) -> Vec<String> {
    let stem =
        |record: &Record| record.path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    let kinds: [&dyn Fn(&Record) -> String; 4] = [
        &|record| record.header.shown_method(),
        &|record| format!("{} {}", record.header.shown_method(), record.header.model.name),
        &stem,
        &|record| record.path.display().to_string(),
    ];
    for kind in kinds {
        let names: Vec<String> = records.iter().map(kind).collect();
        if names.iter().collect::<BTreeSet<_>>().len() == names.len() {
            return names;
        }
    }
    records.iter().enumerate().map(|(index, record)| format!("{} {}", index + 1, stem(record))).collect()
}
