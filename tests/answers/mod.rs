//! What an answer is.

mod characters;
mod gold;
mod grounds;
mod likeness;
mod unknown;
mod words;
