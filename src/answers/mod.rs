//! Answers: their words, equality, phrases for no answer, votes, and their positions in documents.

pub mod align;
pub mod clusters;
pub mod equality;
pub mod evidence;
pub mod gold;
pub mod grounds;
pub mod quote;
pub mod spans;
pub mod unknown;
pub mod vote;
pub mod words;
