//! Running methods over datasets, keeping records, and scoring them.

pub mod record;
