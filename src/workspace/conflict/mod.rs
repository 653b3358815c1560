//! ConflictScore of a text or of recorded answers, and the judges of free answers.

mod answers;
mod metric;
mod record;

pub(crate) use answers::{by_hand, of_answer};
pub(crate) use metric::{CONFLICT, JUDGE, labelled};
