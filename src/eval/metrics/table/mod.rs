//! The table of metrics.

use super::metric::Metric;

/// A row: name, [`Better`], [`Needs`], formula, source, unit and scope.
macro_rules! metric {
    ($name:literal, $better:ident, $needs:ident, $formula:literal, $source:expr, $unit:ident, $scope:expr) => {
        Metric {
            name: $name,
            formula: $formula,
            source: $source,
            unit: Unit::$unit,
            scope: $scope,
            better: Better::$better,
            needs: Needs::$needs,
            title: None,
            is_headline: false,
            rank: None,
        }
    };
}

/// A share by question.
macro_rules! share {
    ($name:literal, $better:ident, $needs:ident, $formula:literal, $source:expr, $of:expr) => {
        metric!($name, $better, $needs, $formula, $source, Share, Scope::Question($of))
    };
}

/// A share over the run.
macro_rules! run {
    ($name:literal, $better:ident, $needs:ident, $formula:literal, $source:expr, $tally:expr, $value:expr) => {
        metric!($name, $better, $needs, $formula, $source, Share, Scope::Run { tally: $tally, value: $value })
    };
}

/// A share over the run, by bins of probability.
macro_rules! binned {
    ($name:literal, $better:ident, $needs:ident, $formula:literal, $source:expr, $value:expr) => {
        metric!(
            $name,
            $better,
            $needs,
            $formula,
            $source,
            Share,
            Scope::Binned { tally: calibration::tally, value: $value }
        )
    };
}

/// A count by question.
macro_rules! count {
    ($name:literal, $better:ident, $needs:ident, $formula:literal, $source:expr, $of:expr) => {
        metric!($name, $better, $needs, $formula, $source, Count, Scope::Question($of))
    };
}

// The rows use the macros above.
mod answers;
mod claims;
mod costs;
mod debates;

const PARTS: [&[Metric]; 4] = [answers::ROWS, claims::ROWS, debates::ROWS, costs::ROWS];
const COUNT: usize = PARTS[0].len() + PARTS[1].len() + PARTS[2].len() + PARTS[3].len();

/// Every metric, in the order that reports print them.
pub const METRICS: &[Metric] = &joined();

const fn joined() -> [Metric; COUNT] {
    let mut all = [PARTS[0][0]; COUNT];
    // Counters, since a `const fn` cannot use iterators.
    let (mut part, mut row, mut at) = (0, 0, 0);
    while at < COUNT {
        if row == PARTS[part].len() {
            (part, row) = (part + 1, 0);
        } else {
            all[at] = PARTS[part][row];
            (row, at) = (row + 1, at + 1);
        }
    }
    all
}

impl Metric {
    /// The row of [`METRICS`] with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        METRICS.iter().find(|metric| metric.name == name)
    }
}
