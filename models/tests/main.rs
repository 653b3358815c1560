//! The tests of this package, as one program.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::result_large_err)]

mod golden_logits;
mod hostile;
mod tokenizer;
mod weights;
