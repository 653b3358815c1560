//! One binary of tests; its folders mirror `src`.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::needless_pass_by_value, clippy::type_complexity)]

mod answers;
mod assess;
mod cli;
mod contradictions;
mod engine;
mod eval;
mod hostile;
mod llm;
mod methods;
mod nli;
mod prompts;
mod protocol;
mod report;
mod retrieval;
mod serve;
mod structure;
mod workspace;
