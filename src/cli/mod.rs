//! What the program shows: one file a subject.

pub mod debate;
