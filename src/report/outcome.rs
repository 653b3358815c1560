//! How a question ended.

use crate::eval::metrics::{METRICS, Metric};
use crate::question::Gold;
use crate::transcript::QuestionRecord;
use serde::Serialize;

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
pub(super) fn named(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.name == name)
}

/// The metric's value of one question.
pub(super) fn value(metric: Option<&'static Metric>, record: &QuestionRecord) -> Option<f64> {
    metric?.of(record)
}
