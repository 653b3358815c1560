//! The replies of the judge for one pair.

use serde::{Deserialize, Serialize};

/// The replies of the judge for one pair.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Said {
    /// Each statement with a blank for the value that differs; `None` where code sees no such value.
    pub(super) blanks: [Option<String>; 2],
    /// What fills the blank according to the other statement; `None` where it does not say.
    pub(super) answers: [Option<String>; 2],
    /// Probabilities that the other statement contradicts each statement, supports it, or does neither.
    pub(super) relations: [[f64; 3]; 2],
}
