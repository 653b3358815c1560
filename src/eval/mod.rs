//! Running methods over datasets, keeping records, and scoring them.

pub mod compare;
pub mod computed_slices;
pub mod datasets;
pub mod dry;
pub mod fit;
pub mod merge;
pub mod metrics;
pub mod record;
pub mod replay;
pub mod report;
pub mod reuse;
pub mod runner;
pub mod slices;
pub mod sources;
pub mod stats;
pub mod variants;
pub mod verify;
