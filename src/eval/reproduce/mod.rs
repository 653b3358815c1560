//! The papers' main tables: what they need, what they report, and records beside their numbers.

mod table;
mod tables;

pub use table::{Column, Needed, PaperTable, Row};
pub use tables::all as tables;

use crate::error::{MootError, Result};
use crate::eval::metrics::METRICS;
use crate::eval::record::reader::Record;
use crate::eval::scores;
use crate::eval::stats::Estimate;
use serde::Serialize;

impl PaperTable {
    /// The table called `name`.
    ///
    /// # Errors
    /// [`MootError::UnknownName`] with all of them.
    pub fn named(name: &str) -> Result<&'static Self> {
        tables().find(|table| table.name == name).ok_or_else(|| MootError::UnknownName {
            kind: "table",
            name: name.to_owned(),
            known: tables().map(|table| table.name).collect::<Vec<_>>().join(", "),
        })
    }
}

/// One number of the paper beside ours.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Beside {
    /// The row's label.
    pub row: &'static str,
    /// The column's label.
    pub column: &'static str,
    /// Published numbers, by model.
    pub published: Vec<(&'static str, f64)>,
    /// Ours, on the paper's scale; `None` where there is no record, or none of its questions has a value.
    pub ours: Option<Estimate>,
    /// The model of ours.
    pub model: Option<String>,
}

/// The table with our numbers from `record`, which has the record of a row and a dataset where there is one.
///
/// # Errors
/// A slice that a record does not have.
pub fn beside(table: &PaperTable, record: &dyn Fn(&Row, &Needed) -> Result<Option<Record>>) -> Result<Vec<Beside>> {
    let mut all = Vec::new();
    for row in table.rows {
        for needed in table.data {
            let own = record(row, needed)?;
            for (index, column) in table.columns.iter().enumerate().filter(|(_, column)| column.data == needed.name) {
                let number = |&(model, values): &(&'static str, &'static [f64])| Some((model, *values.get(index)?));
                let published: Vec<(&str, f64)> =
                    row.published.iter().filter_map(number).filter(|(_, value)| !value.is_nan()).collect();
                let ours = own.as_ref().map(|record| ours(record, column)).transpose()?.flatten();
                if published.is_empty() && ours.is_none() {
                    continue;
                }
                let model = own.as_ref().map(|record| record.header.model.name.clone());
                all.push(Beside { row: row.label, column: column.label, published, ours, model });
            }
        }
    }
    Ok(all)
}

fn ours(record: &Record, column: &Column) -> Result<Option<Estimate>> {
    let slice;
    let record = if column.slice.is_empty() {
        record
    } else {
        // A short run may have no question of the slice yet.
        let within =
            |question: &crate::transcript::QuestionRecord| question.question.slices.iter().any(|s| s == column.slice);
        if !record.questions.iter().any(within) {
            return Ok(None);
        }
        slice = scores::slice(record, column.slice)?;
        &slice
    };
    let mut questions: Vec<_> = record.questions.iter().collect();
    questions.sort_by(|a, b| a.question.id.cmp(&b.question.id));
    let metric = METRICS.iter().find(|metric| metric.name == column.metric);
    let estimate = metric.and_then(|metric| scores::estimate(metric, &questions));
    Ok(estimate.map(|e| Estimate {
        mean: e.mean * column.scale,
        low: e.low * column.scale,
        high: e.high * column.scale,
        ..e
    }))
}
