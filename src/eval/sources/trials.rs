//! Trials of a benchmark of sources: the mean of a metric over them, and its interval (RA-RAG, section 5.1: ten trials).

use crate::eval::chart::{Chart, Point, Scale, Series};
use crate::eval::metrics::Metric;
use crate::eval::record::reader::Record;
use crate::eval::stats::{self, Estimate};

/// Seeds the resamples of the interval over trials.
const SEED: u64 = 0;

/// A metric of every method at every x, a value a trial.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Trials {
    /// Methods, in the order of the table.
    pub methods: Vec<&'static str>,
    /// x, and for each method its values.
    pub rows: Vec<(f64, Vec<Vec<f64>>)>,
}

impl Trials {
    /// Without values.
    #[must_use]
    pub(crate) fn new(methods: &[&'static str], at: &[f64]) -> Self {
        let rows = at.iter().map(|x| (*x, vec![Vec::new(); methods.len()])).collect();
        Self { methods: methods.to_vec(), rows }
    }

    /// The mean over trials, and its interval from a bootstrap over them; `None` without a value.
    #[must_use]
    pub(crate) fn estimate(&self, row: usize, method: usize) -> Option<Estimate> {
        stats::bootstrap(&self.rows[row].1[method], stats::RESAMPLES, SEED)
    }

    /// A table with a head: a row an x, a column a method.
    #[must_use]
    pub(crate) fn cells(&self, x: &str) -> Vec<Vec<String>> {
        let mut cells = vec![[x].into_iter().chain(self.methods.iter().copied()).map(str::to_owned).collect()];
        for (row, (x, values)) in self.rows.iter().enumerate() {
            let cell = |method: usize| match self.estimate(row, method) {
                None => "-".to_owned(),
                Some(Estimate { mean, low, high, .. }) => format!("{mean:.3} [{low:.3}, {high:.3}]"),
            };
            let numbers = (0..values.len()).map(cell);
            cells.push([format!("{x}")].into_iter().chain(numbers).collect());
        }
        cells
    }

    /// A line a method.
    #[must_use]
    pub(crate) fn chart(&self, x: &str, y: &str) -> Chart {
        let points = |method: usize| -> Vec<Point> {
            let rows = self.rows.iter().enumerate();
            rows.filter_map(|(row, (x, _))| Some(Point { x: *x, y: self.estimate(row, method)? })).collect()
        };
        let series: Vec<Series> =
            (0..self.methods.len()).map(|index| Series { index, points: points(index) }).collect();
        let highest = series.iter().flat_map(|series| &series.points).map(|point| point.y.high).fold(0.0, f64::max);
        let top = (highest > 1.0).then_some(highest * 1.1);
        Chart { x: x.to_owned(), y: y.to_owned(), scale: Scale::Levels, top, diagonal: false, series }
    }
}

/// The mean of a metric over a record's questions; `None` where none has a value.
#[must_use]
pub fn mean(record: &Record, metric: &str) -> Option<f64> {
    let questions: Vec<_> = record.questions.iter().collect();
    Metric::named(metric)?.over(&questions)
}
