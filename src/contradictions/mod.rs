//! Where the documents of a folder contradict each other, without a question.
//!
//! 1. Documents are cut into sentences ([`Folder`]).
//! 2. The reader names the referent of a pronoun at the beginning of a sentence, which makes the sentence a claim.
//! 3. The nearest claims of different documents are pairs.
//! 4. In each statement of a pair the differing value is replaced by a blank, which the judge fills from the other statement.
//! 5. A logistic model over signals that code computes and the judge's replies gives each pair a probability.

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
mod language;
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
pub use options::{Options, PROBABILITY, is_probability};
pub use pages::{html, markdown};
pub use relation::JUDGE;
pub use report::{Counts, Report};
pub use run::{PROMPTS, find, without_pairs};
