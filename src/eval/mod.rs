//! Running methods over datasets, keeping records, and scoring them.

pub mod answers;
pub mod check;
pub mod compare;
pub mod computed_slices;
pub mod datasets;
pub mod dry;
pub mod fit;
pub mod fork;
pub mod judgement;
pub mod merge;
pub mod metrics;
pub mod predictions;
pub mod queries;
pub mod record;
mod recorded_tools;
pub mod replay;
pub mod reproduce;
pub mod reuse;
pub mod runner;
pub mod scores;
pub mod slices;
pub mod sources;
pub mod stats;
mod text_table;
pub mod variants;
pub mod verify;
pub mod why;
