//! moot answers questions from documents that contradict each other, with the documents for and against each answer.
//!
//! `ARCHITECTURE.md` describes the life of a question; its vocabulary is in [`question`].

pub mod answers;
pub mod assess;
pub mod cancel;
mod charset;
pub mod cli;
pub mod contradictions;
pub mod dates;
pub mod doctor;
pub mod engine;
pub mod error;
pub mod escape;
pub mod eval;
pub mod fault;
mod files;
mod gather;
pub mod generation;
pub mod jsonl;
pub mod llm;
pub mod memory;
pub mod methods;
pub mod nli;
mod program;
pub mod prompts;
pub mod protocol;
pub mod question;
pub mod report;
mod resolver;
pub mod retrieval;
pub mod serve;
pub mod sources;
mod threads;
pub mod transcript;
pub mod unicode;
pub mod units;
pub mod workspace;

pub use error::{MootError, Result};
pub use program::program;
pub use workspace::{Plan, PlanOptions, Workspace};
