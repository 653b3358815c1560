//! The replies of the judge for one pair.

use serde::{Deserialize, Serialize};

/// The replies of the judge for one pair.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Said {
    /// Each statement with a blank for the differing value; `None` where code finds none.
    pub(super) blanks: [Option<String>; 2],
    /// The judge's reply for each blank; `None` where there is no blank or no reply that can be read.
    pub(super) answers: [Option<String>; 2],
    /// For each statement, the probabilities that the other one contradicts it, supports it, or does neither.
    pub(super) relations: [[f64; 3]; 2],
}

impl Said {
    /// Whether both relations were read; the options of a malformed reply are equally probable.
    pub(super) fn is_whole(&self) -> bool {
        self.relations.iter().all(|options| options.iter().any(|option| *option != options[0]))
    }
}
