//! All integration tests of the package, in one binary.
#![allow(clippy::unwrap_used, clippy::panic)]

mod tokenizer;
