//! Where the documents of a folder contradict each other, without a question.
//!
//! Documents are cut into sentences ([`Folder`]); the reader names what each is about, which makes it a claim; the nearest claims
//! of different documents are pairs; each statement of a pair becomes a question that the other document answers; a logistic model
//! over what code sees and what the answers say gives each pair a probability. "Models read, arithmetic decides."

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
pub use labels::JUDGE;
pub use options::Options;
pub use pages::{html, markdown};
pub use report::{Counts, Report};
pub use run::{PROMPTS, find};
