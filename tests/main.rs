//! All tests of the root package, in one binary; folders mirror `src`.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::needless_pass_by_value)]

mod eval;
mod retrieval;
