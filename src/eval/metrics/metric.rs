//! The definition of a metric: name, formula, source, and how a run's value is computed from its questions.

use crate::transcript::QuestionRecord;

/// A row of [`METRICS`](super::METRICS).
#[derive(Clone, Copy)]
pub struct Metric {
    /// As printed and as the key in JSON.
    pub name: &'static str,
    /// The formula.
    pub formula: &'static str,
    /// Paper and section, or why it is here.
    pub source: &'static str,
    /// The kind of its values.
    pub unit: Unit,
    /// Over what it is computed.
    pub scope: Scope,
    /// Which of two values is the better one.
    pub better: Better,
    /// The data that it needs from a record.
    pub needs: Needs,
    /// The heading of its panel at the top of a report; the first two metrics that apply have one.
    pub title: Option<&'static str>,
    /// Records are compared by it if no metric is named.
    pub is_headline: bool,
    /// Its rank in the short table of scores, from 1.
    pub rank: Option<u8>,
}

/// Which of two values of a metric is the better one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// The larger one.
    More,
    /// The smaller one.
    Less,
    /// Neither: the metric only describes.
    Neither,
}

/// The data that a metric needs from a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// The concluded answers; predictions of another system have them too.
    Answers,
    /// Calls, replies, claims, rounds or times.
    Calls,
}

/// Over what a metric is computed.
#[derive(Clone, Copy)]
pub enum Scope {
    /// A value a question; the run's value is the mean over the questions that have one.
    Question(fn(&QuestionRecord) -> Option<f64>),
    /// Counts a question, added up over the run, and the run's value as a function of the sums.
    Run {
        /// `None` where the metric does not apply to the question.
        tally: fn(&QuestionRecord) -> Option<Tally>,
        /// `None` where the sums leave it undefined, as 0 / 0.
        value: fn(&Tally) -> Option<f64>,
    },
    /// As `Run`, with counts by bin.
    Binned {
        /// `None` where the metric does not apply to the question.
        tally: fn(&QuestionRecord) -> Option<Bins>,
        /// `None` where the sums leave it undefined.
        value: fn(&Bins) -> Option<f64>,
    },
}

/// Bins of equal width between 0 and 1.
pub(crate) const BINS: usize = 10;

/// Three counts for each of ten bins.
pub type Bins = [f64; 3 * BINS];

/// Counts that are added up over questions; each metric says what its entries are.
pub type Tally = [f64; 4];

impl Metric {
    pub(super) const fn titled(self, title: &'static str) -> Self {
        Self { title: Some(title), ..self }
    }

    pub(super) const fn headline(self) -> Self {
        Self { is_headline: true, ..self }
    }

    pub(super) const fn ranked(self, rank: u8) -> Self {
        Self { rank: Some(rank), ..self }
    }

    /// The value of one question; `None` where the metric does not apply to it, or is one of a whole run.
    #[must_use]
    pub fn of(&self, record: &QuestionRecord) -> Option<f64> {
        match self.scope {
            Scope::Question(of) => of(record),
            Scope::Run { .. } | Scope::Binned { .. } => None,
        }
    }

    /// The value over `records`; `None` where it applies to none of them.
    #[must_use]
    pub fn over(&self, records: &[&QuestionRecord]) -> Option<f64> {
        match self.scope {
            Scope::Question(of) => {
                let values: Vec<f64> = records.iter().filter_map(|record| of(record)).collect();
                (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
            }
            Scope::Run { tally, value } => {
                let mut tallies = records.iter().filter_map(|record| tally(record)).peekable();
                tallies.peek()?;
                value(&tallies.fold(Tally::default(), added))
            }
            Scope::Binned { tally, value } => {
                let tallies = records.iter().filter_map(|record| tally(record));
                value(&tallies.reduce(|a, b| std::array::from_fn(|i| a[i] + b[i]))?)
            }
        }
    }
}

/// The sums of two tallies.
#[must_use]
pub(crate) fn added(a: Tally, b: Tally) -> Tally {
    std::array::from_fn(|i| a[i] + b[i])
}

/// The kind of a metric's values, which decides how they are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Between 0 and 1.
    Share,
    /// Things counted in a question: tokens, calls, rounds.
    Count,
    /// Seconds in a question.
    Seconds,
}

/// The first count of a tally over the second.
pub(super) fn ratio(tally: &Tally) -> Option<f64> {
    (tally[1] > 0.0).then(|| tally[0] / tally[1])
}
