//! Metrics of one question, by name.

use crate::eval::metrics::{METRICS, Metric};
use crate::transcript::QuestionRecord;

/// The row of [`METRICS`] with this name.
pub(super) fn named(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.name == name)
}

/// The metric's value of one question.
pub(super) fn value(metric: Option<&'static Metric>, record: &QuestionRecord) -> Option<f64> {
    metric?.of(record)
}
