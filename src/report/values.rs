//! Metrics of one question, by name.

use crate::eval::metrics::Metric;
use crate::transcript::QuestionRecord;

/// The value of the metric called `name` for one question.
pub(super) fn value(name: &str, record: &QuestionRecord) -> Option<f64> {
    Metric::named(name)?.of(record)
}
