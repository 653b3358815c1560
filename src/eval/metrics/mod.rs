//! Metrics: pure functions of records. [`METRICS`] has a row for each; `docs/adding.md` says how to add one.

pub mod answers;
pub mod calibration;
pub mod changes;
pub mod cost;
pub mod detection;
pub(crate) mod extraction;
pub(crate) mod judged;
pub mod labels;
mod metric;
pub(crate) mod single;
mod table;

pub(crate) use metric::BINS;
pub use metric::{Better, Bins, Metric, Needs, Scope, Tally, Unit};
pub use table::METRICS;
