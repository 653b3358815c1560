//! What an answer is.

mod grounds;
mod normalise;
mod precision;
