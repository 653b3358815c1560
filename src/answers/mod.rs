//! What an answer is: its normal form, when two are equal, votes, and where a document holds it.

pub mod align;
pub mod clusters;
pub mod equality;
pub mod evidence;
pub mod grounds;
pub mod normalise;
pub mod quote;
pub mod spans;
pub mod vote;
