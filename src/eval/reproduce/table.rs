//! A paper's table or figure: its datasets, columns and rows.

use crate::error::{MootError, Result};
use crate::methods;
use crate::protocol::Built;
use crate::protocol::switches::Typed;

/// A table or a figure of a paper.
#[derive(Debug)]
pub struct PaperTable {
    /// As typed: "madam-rag-1", "madam-rag-figure-3".
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
    /// Datasets. Those of the same name in tables of one paper are the same.
    pub data: &'static [Needed],
    /// Measurements, one a column.
    pub columns: &'static [Column],
    /// Methods, one a row.
    pub rows: &'static [Row],
    /// Numbers of the text that are computed from those of the table.
    pub derived: &'static [Derived],
    /// How its numbers are drawn, where the paper draws them.
    pub figure: Option<Figure>,
    /// The commands that make it, where it has no rows.
    pub made_by: &'static [&'static str],
}

/// What most tables have in common, for struct updates.
pub(super) const TABLE: PaperTable = PaperTable {
    name: "",
    paper: "",
    about: "",
    settings: &[],
    corpus: false,
    max_tokens: 128,
    data: &[],
    columns: &[],
    rows: &[],
    derived: &[],
    figure: None,
    made_by: &[],
};

/// How a figure's numbers are drawn.
#[derive(Debug)]
pub enum Figure {
    /// A chart for each column. A line has its name, and its points: a value of x and the row that has it.
    Rows {
        /// What the rows of a line differ in.
        x: &'static str,
        /// The lines.
        lines: &'static [(&'static str, &'static [(f64, &'static str)])],
    },
    /// One chart with a line for each row. A point is a column.
    Columns {
        /// What the columns differ in.
        x: &'static str,
        /// What they measure.
        y: &'static str,
        /// x of each column.
        at: &'static [f64],
    },
    /// One chart with a point for each row: the first column across, the second upwards.
    Pair,
}

/// A number that a paper's text prints, computed from those of its table.
#[derive(Debug)]
pub struct Derived {
    /// What it is.
    pub label: &'static str,
    /// The paper's number.
    pub published: f64,
    /// How it is computed.
    pub of: Derivation,
}

/// How a number is computed from those of a table.
#[derive(Debug, Clone, Copy)]
pub enum Derivation {
    /// A column of one row minus that of another: rows, then the column's label.
    Rows(&'static str, &'static str, &'static str),
    /// A column of a row minus another column of it: the row, then labels.
    Columns(&'static str, &'static str, &'static str),
    /// The variance of all columns of a row around their mean.
    Variance(&'static str),
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
    /// As typed in `--row`.
    pub name: &'static str,
    /// The paper's name for it.
    pub label: &'static str,
    /// The method that builds it.
    pub method: &'static str,
    /// Its switches that differ from the defaults, as typed.
    pub switches: &'static [(&'static str, &'static str)],
    /// How the row differs from the paper; empty where it does not.
    pub note: &'static str,
    /// What it needs besides the datasets; such a row runs only where `--row` names it. Empty for nothing.
    pub needs: &'static str,
    /// It votes with weights of sources, so it needs `--source-weights`.
    pub weighs: bool,
    /// By model, the published numbers, one a column; NaN where the paper has none.
    pub published: &'static [(&'static str, &'static [f64])],
}

/// A row without notes and published numbers.
pub(super) const fn row(
    name: &'static str,
    label: &'static str,
    method: &'static str,
    switches: &'static [(&'static str, &'static str)],
) -> Row {
    Row { name, label, method, switches, note: "", needs: "", weighs: false, published: &[] }
}

impl Row {
    /// The row with its published numbers.
    pub(super) const fn published(self, published: &'static [(&'static str, &'static [f64])]) -> Self {
        Self { published, ..self }
    }

    /// The row with what differs from the paper.
    pub(super) const fn note(self, note: &'static str) -> Self {
        Self { note, ..self }
    }

    /// The row with what it needs besides the datasets.
    pub(super) const fn needs(self, needs: &'static str) -> Self {
        Self { needs, ..self }
    }

    /// The row of a vote with weights of sources.
    pub(super) const fn weighs(self, needs: &'static str) -> Self {
        Self { needs, weighs: true, ..self }
    }

    /// The name of its records: the method and the switches. Rows of a paper's tables that are the same run have one record.
    #[must_use]
    pub fn record(&self) -> String {
        let switches = self.switches.iter().map(|(name, value)| format!("+{name}={value}"));
        format!("{}{}", self.method, switches.collect::<String>())
    }
}

impl PaperTable {
    /// The paper's short name, with which names of its tables begin.
    #[must_use]
    pub fn key(&self) -> &'static str {
        let end = self.name.find("-figure-").or_else(|| self.name.rfind('-'));
        &self.name[..end.unwrap_or(self.name.len())]
    }

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
            [] => row.needs.is_empty(),
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
        methods::build(self.method, &self.typed_switches())
    }

    /// Its switches as typed.
    #[must_use]
    pub(crate) fn typed_switches(&self) -> Typed {
        self.switches.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    /// Whether its method has a preset of this name that changes something.
    #[must_use]
    pub fn has(&self, preset: &str) -> bool {
        methods::METHODS.iter().any(|row| row.name == self.method && row.presets.iter().any(|own| own.name == preset))
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
