//! Contents of a page: its options, and the records of each dataset.

use crate::escape;
use crate::eval::compare::{self, Compared};
use crate::eval::record::reader::{Ledger, Record};
use std::collections::BTreeSet;

/// Options of the page.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The heading; empty for one made of the datasets and methods.
    pub title: String,
    /// Slices that are compared besides all questions, and the metrics of the tables.
    pub compare: compare::Options,
    /// The list of questions begins with those that the records do not answer alike, both debates side by side.
    pub changed: bool,
}

/// Records of one dataset, compared.
pub(super) struct Part {
    pub(super) records: Vec<Record>,
    pub(super) ledgers: Vec<Ledger>,
    pub(super) compared: Compared,
}

/// Slices of the questions as they are shown, in alphabetical order.
pub(super) fn slices(part: &Part) -> BTreeSet<String> {
    let questions = part.records.iter().flat_map(|record| &record.questions);
    questions.flat_map(|record| &record.question.slices).map(|slice| escape::line(slice)).collect()
}
