//! All integration tests of the package, in one binary.
#![allow(clippy::unwrap_used, clippy::panic, clippy::result_large_err)]

mod tokenizer;
