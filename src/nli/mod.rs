//! Entailment: whether a premise supports a hypothesis, contradicts it, or does neither.
//!
//! [`Classifier`] is the seam. [`LocalClassifier`] is a cross-encoder of this process, [`ScriptedClassifier`] answers from a
//! table. Pairs and relations are plain data of the transcript.

mod local;
pub(crate) mod recipe;
mod scripted;

pub use local::{ClassifierOptions, LocalClassifier};
pub use scripted::ScriptedClassifier;

use crate::error::Result;
use crate::transcript::{Pair, Relation};
use serde::{Deserialize, Serialize};

/// Which classifier gave the relations, for the record: the same identity gives the same bits.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassifierIdentity {
    /// The alias in the catalog, else the folder's name.
    pub name: String,
    /// Hex SHA-256 of the model's files; empty where there are none.
    #[serde(default)]
    pub sha256: String,
    /// The encoder's family ("roberta", "deberta-v2"), or "scripted".
    pub kind: String,
    /// The arithmetic, and what else a result depends on besides the files. Empty where there is nothing to say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub recipe: String,
    /// Whether it tells what a premise supports and nothing else: then what is not supported counts as neutral.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub support_only: bool,
}

/// Statistics of a classifier.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// Pairs that were asked for.
    pub pairs: u64,
    /// Texts that were computed for them: one a pair, more for a premise beyond the model's limit.
    pub windows: u64,
    /// Pairs whose hypothesis was cut because it left too little room for the premise.
    pub truncated: u64,
    /// Computations. Fewer than calls of [`Classifier::entail`] where calls of several threads were computed together.
    pub batches: u64,
    /// Time spent computing; time in which two threads wait for one computation counts once.
    pub seconds: f64,
}

/// Premises and hypotheses to relations.
pub trait Classifier: Send + Sync {
    /// Which model this is. Goes into every record that uses it.
    fn identity(&self) -> &ClassifierIdentity;

    /// One relation a pair, in their order. It does not depend on the other pairs, nor on calls of other threads.
    ///
    /// # Errors
    /// A model that fails.
    fn entail(&self, pairs: &[Pair]) -> Result<Vec<Relation>>;

    /// Its statistics since it was opened.
    fn counts(&self) -> Counts;
}
