//! moot answers questions from documents that contradict each other, with the documents for and against each answer.
//!
//! Each document is read by an agent of its own. A method (MADAM-RAG, RA-RAG, and others of [`methods::METHODS`]) compares
//! and weighs what they say. Models run in this process, all calls that are ready in one batch, or on a server.
//!
//! # From options to answers
//!
//! [`PlanOptions`] hold what a user sets. They are JSON, and every field has a default. [`Plan::of`] resolves and checks them
//! before a model is opened. [`Workspace::open`] reads the documents and loads the models; the workspace then answers any number
//! of questions:
//!
//! ```no_run
//! use moot::workspace::{Control, DocumentOptions, Plan, PlanOptions, Silent, Workspace};
//!
//! # fn main() -> moot::Result<()> {
//! let options = PlanOptions {
//!     question: Some("In which year was Mira Tolland born?".into()),
//!     documents: DocumentOptions { paths: vec!["examples/demo".into()], ..DocumentOptions::default() },
//!     ..PlanOptions::default()
//! };
//! let control = Control::default();
//! let record = Workspace::open(Plan::of(options, &control)?, &control)?.ask(&Silent)?;
//! for answer in record.conclusion.iter().flat_map(|conclusion| &conclusion.answers) {
//!     println!("{}: for {:?}, against {:?}", answer.text, answer.supporters, answer.opponents);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! The result is a [`QuestionRecord`](transcript::QuestionRecord): the conclusion, every call with its prompt, reply and seed,
//! and what happened beside the calls. With [`RunOptions`](workspace::RunOptions) a plan answers a dataset instead
//! ([`Workspace::run`]) and writes such records to a file. A [`Control`](workspace::Control) stops the work and receives notes and
//! progress; an [`Observer`](workspace::Observer) receives each call as it is answered. `examples/face.rs` is a whole program,
//! `examples/claims.rs` another one, which checks the claims of a text ([`Workspace::conflict`]).
//!
//! Errors name an option as the command line does; [`workspace::field_of`] has its field:
//!
//! ```
//! use moot::workspace::{Control, Plan, PlanOptions, field_of};
//!
//! let options: PlanOptions = serde_json::from_str(r#"{"question": "Who?", "method": {"name": "madam-rag", "max_tokens": 0}}"#)?;
//! let Err(error) = Plan::of(options, &Control::default()) else { panic!("a reply of no tokens is refused") };
//! assert!(error.to_string().starts_with("--max-tokens 0: a reply needs at least one token"), "{error}");
//! assert_eq!(field_of("max-tokens").as_deref(), Some("method.max_tokens"));
//! # Ok::<(), serde_json::Error>(())
//! ```
//!
//! # Modules
//!
//! | module | contents |
//! |---|---|
//! | [`workspace`] | options, plans, and what they open |
//! | [`question`], [`transcript`] | questions, documents, answers; calls and events as recorded |
//! | [`methods`], [`protocol`] | the methods, and what a method of one's own is written with (`examples/new_method.rs`) |
//! | [`eval`] | datasets, runs, records, metrics, comparisons; scores need the records alone |
//! | [`retrieval`] | documents, corpora and indexes (`examples/search.rs`) |
//! | [`llm`], [`engine`] | the interface to models; continuous batching over shared prefixes |
//! | [`report`], [`assess`] | records as HTML and Markdown |
//!
//! Modules use only those below them; `ARCHITECTURE.md` has the order and the life of a question.

pub mod answers;
pub mod assess;
pub mod cancel;
mod charset;
// Public for the tests of this package alone.
#[doc(hidden)]
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
