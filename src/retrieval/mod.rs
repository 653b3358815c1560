//! Where a question's documents come from.

pub mod given;
