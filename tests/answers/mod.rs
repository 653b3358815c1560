//! Tests of answers: characters, gold answers, grounds, likeness, words.

mod characters;
mod gold;
mod grounds;
mod likeness;
mod unknown;
mod words;
