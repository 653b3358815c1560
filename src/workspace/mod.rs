//! The entry for every face: [`PlanOptions`] become a [`Plan`], which opens a [`Workspace`], which answers questions and runs
//! datasets.
//!
//! A face (the command line, a server, a program) does three things: it fills [`PlanOptions`], opens the plan, and shows what
//! [`Watch`] and an [`Observer`] receive. `examples/face.rs` is one, and uses this module alone.

mod changed;
mod conflict;
mod contradictions;
mod control;
mod corpus;
mod documents;
mod embedder;
mod fork;
mod index_state;
mod indexing;
mod inline;
mod method;
pub mod models;
mod opened;
mod options;
mod plan;
mod prompt_variants;
mod ranges;
mod recorded;
mod reranker;
mod run;
mod shared;
mod single;
mod source_trials;
mod spelling;

pub use changed::Changed;
pub(crate) use conflict::{CONFLICT, JUDGE, by_hand, labelled, of_answer};
pub(crate) use contradictions::comparing;
pub use contradictions::contradictions_cache;
pub use control::{Control, Phase, Unwatched, Watch};
pub(crate) use corpus::note_undated;
pub(crate) use embedder::note_truncated;
pub use embedder::{DEFAULT_EMBEDDER, EmbedderOptions};
pub use fork::HeldFork;
pub(crate) use index_state::{Compared, counted, note as note_state};
pub use indexing::{ListedCorpus, note_pdf_workers};
pub use inline::{InlineDocument, InlineRead};
pub use method::MethodPlan;
pub use opened::Workspace;
pub(crate) use opened::start;
pub use options::{
    ClassifierOptions, CorpusOptions, DEFAULT_MODEL, DocumentOptions, MethodOptions, PlanOptions, RunOptions,
};
pub use plan::Plan;
pub(crate) use prompt_variants::PromptVariants;
pub(crate) use ranges::{MAX_BYTES, MAX_COUNT, MAX_SECONDS};
pub use recorded::Recorded;
pub use reranker::RerankerOptions;
pub(crate) use reranker::note_reranked;
pub use run::{DryRun, Recording, RunReport, model_label};
pub use single::find_models;
pub(crate) use single::open_single;
pub(crate) use source_trials::{SourceTrial, SourceTrials};
#[cfg(test)]
pub(crate) use spelling::SPELLINGS;
pub use spelling::{field_of, field_of_message};

pub use crate::protocol::ctx::{Observer, Silent};
pub use crate::transcript::CallRecord;
