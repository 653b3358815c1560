//! How many answers of one record others keep, correct and spoil.

use crate::eval::metrics::changes::against;
use crate::eval::record::reader::Record;
use crate::eval::scores::aligned;
use crate::transcript::QuestionRecord;
use std::collections::HashMap;

/// A row for each of `others`: questions that it and `base` concluded, and how many answers of `base` it keeps, corrects and
/// spoils.
pub(super) fn table(base: &Record, others: &[Record]) -> String {
    let of_base: HashMap<&str, &QuestionRecord> =
        base.questions.iter().map(|question| (question.question.id.as_str(), question)).collect();
    let mut rows = vec![["", "questions", "kept", "corrected", "spoilt"].map(str::to_owned).to_vec()];
    for other in others {
        let changes = other.questions.iter().filter_map(|question| {
            let before = of_base.get(question.question.id.as_str())?;
            against(before, question)
        });
        let (mut all, mut counts) = (0, [0; 3]);
        for change in changes {
            all += 1;
            counts.iter_mut().zip(change).for_each(|(count, is)| *count += usize::from(is));
        }
        let numbers = [&[all][..], &counts[..]].concat();
        let row = std::iter::once(other.path.display().to_string()).chain(numbers.iter().map(usize::to_string));
        rows.push(row.collect());
    }
    format!("\nanswers of {}\n{}", base.path.display(), aligned(&rows))
}
