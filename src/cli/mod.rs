//! What the program shows: one file a subject.

pub mod columns;
pub mod debate;
