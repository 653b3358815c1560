//! The table of answers that records keep, correct and spoil.

use crate::eval::metrics::changes::{Revisions, revisions};
use crate::eval::pairs::Pairs;
use crate::eval::record::reader::Record;
use crate::eval::scores::aligned;

/// A row for each of `others`: questions that it and `base` concluded, and how many answers of `base` it keeps, corrects and
/// spoils.
pub(super) fn table(base: &Record, others: &[Record]) -> String {
    let mut rows = vec![["", "questions", "kept", "corrected", "spoilt"].map(str::to_owned).to_vec()];
    for other in others {
        let Revisions { questions, kept, corrected, spoilt } = revisions(&Pairs::of(base, other).both);
        let numbers = [questions, kept, corrected, spoilt].map(|number| number.to_string());
        rows.push([vec![other.path.display().to_string()], numbers.to_vec()].concat());
    }
    format!("\nanswers of {}\n{}", base.path.display(), aligned(&rows))
}
