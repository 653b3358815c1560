//! ConflictScore of a text or of recorded answers, and the judges of free answers.

mod answers;
mod input;
mod metric;
mod record;

pub use input::{ConflictInput, ConflictOptions};
pub(crate) use metric::{CONFLICT, JUDGE, kept, labelled};

use crate::methods::conflict_score;
use crate::protocol::labelling::settings::TUNED;
use crate::workspace::options::MethodOptions;

impl MethodOptions {
    /// These options for ConflictScore of a text by hand or of an answer, with its preset `tuned` unless another is given.
    #[must_use]
    pub fn for_claims(self) -> Self {
        let preset = self.preset.or_else(|| Some(TUNED.name.to_owned()));
        Self { name: Some(conflict_score::ROW.name.to_owned()), preset, ..self }
    }
}
