//! A paper's table: its datasets, columns and rows.

use crate::error::{MootError, Result};
use crate::methods;
use crate::protocol::Built;
use crate::protocol::switches::Typed;

/// A table of a paper.
#[derive(Debug)]
pub struct PaperTable {
    /// As typed: "madam-rag-1".
    pub name: &'static str,
    /// Paper and table.
    pub paper: &'static str,
    /// What it shows, one line.
    pub about: &'static str,
    /// Settings of the paper, a line each, with what differs here.
    pub settings: &'static [&'static str],
    /// Its methods search a corpus, also those that could read a question's own documents.
    pub corpus: bool,
    /// Tokens of a reply at most, as the paper or its reference code has them.
    pub max_tokens: usize,
    /// Datasets.
    pub data: &'static [Needed],
    /// Measurements, one a column.
    pub columns: &'static [Column],
    /// Methods, one a row.
    pub rows: &'static [Row],
}

/// A dataset that a table needs.
#[derive(Debug)]
pub struct Needed {
    /// As typed in `--data NAME=FILE`.
    pub name: &'static str,
    /// Its publisher's name for it, the part that was used, and where it is published, by name.
    pub get: &'static str,
    /// The dataset's form, as `--format` takes it.
    pub form: &'static str,
}

/// One column: a metric of a dataset.
#[derive(Debug)]
pub struct Column {
    /// The paper's heading.
    pub label: &'static str,
    /// The dataset, by [`Needed::name`].
    pub data: &'static str,
    /// The metric, by its name in [`METRICS`](crate::eval::metrics::METRICS).
    pub metric: &'static str,
    /// The slice of the dataset; empty for all of it.
    pub slice: &'static str,
    /// Published numbers are ours times this: 100 for percentages.
    pub scale: f64,
}

/// One row: a method with its switches.
#[derive(Debug)]
pub struct Row {
    /// As typed in `--row`, and in file names.
    pub name: &'static str,
    /// The paper's name for it.
    pub label: &'static str,
    /// The method that builds it.
    pub method: &'static str,
    /// Its switches that differ from the defaults, as typed.
    pub switches: &'static [(&'static str, &'static str)],
    /// What is needed beside the datasets, or how the row differs from the paper; empty for nothing.
    pub note: &'static str,
    /// The row runs only where it is named by `--row`, because of what the note says.
    pub on_demand: bool,
    /// By model, the published numbers, one a column; NaN where the paper has none.
    pub published: &'static [(&'static str, &'static [f64])],
}

impl PaperTable {
    /// The dataset called `name`.
    ///
    /// # Errors
    /// [`MootError::UnknownName`] with those of this table.
    pub fn dataset(&self, name: &str) -> Result<&'static Needed> {
        self.data.iter().find(|needed| needed.name == name).ok_or_else(|| MootError::UnknownName {
            kind: "dataset of this table",
            name: name.to_owned(),
            known: self.data.iter().map(|needed| needed.name).collect::<Vec<_>>().join(", "),
        })
    }

    /// The rows called `names`; without names, all that need nothing more than the datasets.
    ///
    /// # Errors
    /// [`MootError::UnknownName`] with those of this table.
    pub fn rows(&self, names: &[String]) -> Result<Vec<&'static Row>> {
        if let Some(name) = names.iter().find(|name| self.rows.iter().all(|row| row.name != **name)) {
            let known = self.rows.iter().map(|row| row.name).collect::<Vec<_>>().join(", ");
            return Err(MootError::UnknownName { kind: "row of this table", name: name.clone(), known });
        }
        let wanted = |row: &&Row| match names {
            [] => !row.on_demand,
            names => names.iter().any(|name| name == row.name),
        };
        Ok(self.rows.iter().filter(wanted).collect())
    }
}

impl Row {
    /// Its method with its switches.
    ///
    /// # Errors
    /// A method or a switch that this program does not have (a bug, which a test finds).
    pub fn build(&self) -> Result<Built> {
        let switches = self.switches.iter().map(|&(name, value)| (name.to_owned(), value.to_owned()));
        methods::build(self.method, &switches.collect::<Typed>())
    }

    /// `--method NAME --set SWITCH=VALUE`, to type after `moot run`.
    #[must_use]
    pub fn typed(&self) -> String {
        let switches = self.switches.iter().map(|(name, value)| format!(" --set {name}={value}"));
        format!("--method {}{}", self.method, switches.collect::<String>())
    }
}

pub(super) const fn column(
    label: &'static str,
    data: &'static str,
    metric: &'static str,
    slice: &'static str,
    scale: f64,
) -> Column {
    Column { label, data, metric, slice, scale }
}
