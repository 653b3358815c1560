//! The entry for every face: [`PlanOptions`] become a [`Plan`], which opens a [`Workspace`], which answers questions and runs
//! datasets.
//!
//! A face (the command line, a server, a program) does three things: it fills [`PlanOptions`], opens the plan, and shows what
//! [`Watch`] and an [`Observer`] receive. `examples/face.rs` is one, and uses this module alone; so does `examples/claims.rs`,
//! which checks the claims of a text.
//!
//! A [`Recorded`] run is opened again, for [`Workspace::fork`] and [`Workspace::why`]. [`ConflictOptions`] read what
//! [`Workspace::conflict`] checks: a text and documents, or the answers of a record.
//!
//! Work that answers no question has options of its own: [`IndexOptions`] build, extend and update an index,
//! [`IndexSearchOptions`] search one, [`PushOptions`] put it on a server of vectors, [`VerifyOptions`] make the calls of a
//! record again, [`ReplayOptions`] read a record again without a model, [`SourceBenchOptions`] build a benchmark of sources,
//! [`EstimateOptions`] weigh sources, and a [`Reproduction`] is a paper's table.

mod changed;
mod conflict;
mod contradictions;
mod control;
mod corpus;
mod documents;
mod embedder;
mod estimation;
mod fork;
mod index_build;
mod index_push;
mod index_search;
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
mod replay;
mod reproduction;
mod reranker;
mod run;
mod shared;
mod single;
mod source_bench;
mod source_trials;
mod spelling;
mod verification;
mod why;

pub use changed::Changed;
pub(crate) use conflict::{CONFLICT, JUDGE, labelled};
pub use conflict::{ConflictInput, ConflictOptions};
pub use contradictions::contradictions_cache;
pub use control::{Control, Phase, Unwatched, Watch};
pub use embedder::{DEFAULT_EMBEDDER, EmbedderOptions};
pub use estimation::EstimateOptions;
pub use fork::{ForkChange, HeldFork};
pub use index_build::{IndexOptions, IndexUpdate, Indexed};
pub use index_push::{PushOptions, PushReport};
pub use index_search::{IndexSearch, IndexSearchOptions};
pub(crate) use index_state::{Compared, counted};
pub(crate) use indexing::note_pdf_workers;
pub use inline::{InlineDocument, InlineRead};
pub use method::MethodPlan;
pub use opened::Workspace;
pub use options::{
    ClassifierOptions, CorpusOptions, DEFAULT_MODEL, DocumentOptions, MethodOptions, PlanOptions, RunOptions,
};
pub use plan::Plan;
pub(crate) use prompt_variants::PromptVariants;
pub(crate) use ranges::{MAX_BYTES, MAX_COUNT, MAX_SECONDS, share};
pub use recorded::Recorded;
pub use replay::{ReplayOptions, ReplayReport};
pub use reproduction::Reproduction;
pub use reranker::RerankerOptions;
pub use run::{DryRun, Recording, RunReport};
pub use single::find_models;
pub(crate) use single::open_single;
pub use source_bench::SourceBenchOptions;
pub(crate) use source_trials::{SourceTrial, SourceTrials};
#[cfg(test)]
pub(crate) use spelling::SPELLINGS;
pub use spelling::{field_of, field_of_message};
pub use verification::VerifyOptions;

pub use crate::assess::assessment::Evidence;
pub use crate::assess::{Assessment, Neither};
pub use crate::protocol::ctx::{Observer, Silent};
pub use crate::question::{Document, Question};
pub use crate::transcript::CallRecord;
