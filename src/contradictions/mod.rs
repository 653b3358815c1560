//! Where the documents of a folder contradict each other, without a question.
//!
//! Documents are cut into sentences ([`Folder`]); the reader names what a pronoun at the beginning of one stands for, which makes
//! it a claim; the nearest claims of different documents are pairs; the value that differs is left out of each statement of a pair,
//! and the judge fills the blank from the other one; a logistic model over what code sees and what the judge says gives each pair a
//! probability. "Models read, arithmetic decides."

mod claims;
mod cut;
mod explained;
mod findings;
mod folder;
mod follow;
mod journal;
mod judged;
mod kind;
mod labels;
mod options;
mod pages;
mod pairs;
mod quantities;
mod relation;
mod report;
mod run;
mod said;
mod signals;
mod stage;
mod value;
mod weights;
mod words;

pub use claims::READER;
pub use findings::{Finding, Group, Side, Statement};
pub use folder::{Folder, MOST_SENTENCES, Source};
pub use follow::{Event, Follow};
pub use kind::Kind;
pub use options::Options;
pub use pages::{html, markdown};
pub use relation::JUDGE;
pub use report::{Counts, Report};
pub use run::{PROMPTS, find};
