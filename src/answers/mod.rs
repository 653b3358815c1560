//! What an answer is: its words, when two are equal, what says that there is none, votes, and where a document holds it.

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
