//! The questions that two records do not answer alike.

use super::chosen;
use crate::answers::words::Level;
use crate::error::{MootError, Result};
use crate::eval::metrics::Scope;
use crate::eval::pairs::Pairs;
use crate::eval::queries;
use crate::eval::record::reader::Record;
use crate::transcript::QuestionRecord;
use std::collections::BTreeSet;

/// A question that two records do not answer alike.
#[derive(Debug, Clone, Copy)]
pub struct Change<'a> {
    /// As the first record has it.
    pub first: &'a QuestionRecord,
    /// As the other one has it.
    pub other: &'a QuestionRecord,
    /// The metric of both, where it applies.
    pub values: Option<(f64, f64)>,
}

/// The questions of both records whose `metric` or whose concluded answers differ, sorted by id. Answers are compared
/// normalised, in any order.
///
/// # Errors
/// [`MootError::UnknownName`] for an unknown metric; [`MootError::Usage`] for one that has no value by question.
pub fn changed<'a>(first: &'a Record, other: &'a Record, metric: &str) -> Result<Vec<Change<'a>>> {
    let metric = chosen(&[metric.to_owned()])?[0];
    let Scope::Question(of) = metric.scope else {
        return Err(MootError::Usage(format!("{} has no value by question: expected another metric", metric.name)));
    };
    let change = |(first, other): (&'a QuestionRecord, &'a QuestionRecord)| {
        let values = of(first).zip(of(other));
        let differ = values.is_some_and(|(a, b)| a != b) || concluded(first) != concluded(other);
        differ.then_some(Change { first, other, values })
    };
    Ok(Pairs::of(first, other).both.into_iter().filter_map(change).collect())
}

/// Whether two records of a question conclude other answers; normalised, in any order.
#[must_use]
pub fn answers_differ(a: &QuestionRecord, b: &QuestionRecord) -> bool {
    concluded(a) != concluded(b)
}

/// The concluded answers as they are compared: normalised and sorted. Malformed conclusions and errors differ from "unknown".
fn concluded(record: &QuestionRecord) -> (BTreeSet<String>, bool, bool) {
    match &record.conclusion {
        Some(c) => (Level::Scored.set(c.answers.iter().map(|answer| answer.text.as_str())), c.malformed, false),
        None => (BTreeSet::new(), false, true),
    }
}

/// The conclusion of a question's record, in one line.
#[must_use]
pub(crate) fn outcome(record: &QuestionRecord) -> String {
    queries::outcome(record, " | ")
}
