//! The replies of the reader and the judge for one pair.

use serde::{Deserialize, Serialize};

/// The replies of the reader and the judge for one pair.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Said {
    /// The question that each statement answers.
    pub(super) questions: [String; 2],
    /// What the other document answers to it; `None` where it does not say.
    pub(super) answers: [Option<String>; 2],
    /// Log-odds that a statement is true according to the other document, the mean of both directions.
    pub(super) truth: f64,
}
