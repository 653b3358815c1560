//! Records as one HTML page that needs nothing else: summary, charts, every debate, settings and hashes.
//!
//! The page has no address in it that a browser would open. Tables and charts are written here; questions and debates are
//! data, which the page's own script builds into elements when they are opened. No text of a record becomes markup: the
//! template escapes it, and the script sets it as text.

mod calibration;
mod debate;
mod figures;
mod marks;
mod page;
mod part;
mod prompts;
mod runs;
mod summary;
mod texts;
mod values;

pub use part::Options;

use crate::error::{MootError, Result};
use crate::eval::compare;
use crate::eval::pairs;
use crate::eval::record::reader::{Ledger, Record};
use part::Part;

/// A record and what its file has besides its questions.
pub struct Input {
    /// The record.
    pub record: Record,
    /// Its hashes.
    pub ledger: Ledger,
}

/// The page.
///
/// # Errors
/// Those of [`compare::compare`], for records of one dataset whose questions do not match; [`MootError::Usage`] where there
/// is no record.
pub fn page(inputs: Vec<Input>, options: &Options) -> Result<String> {
    if inputs.is_empty() {
        return Err(MootError::Usage("expected at least one record to report, found none".into()));
    }
    let part = |inputs: Vec<Input>| {
        let (records, ledgers): (Vec<Record>, Vec<Ledger>) =
            inputs.into_iter().map(|input| (input.record, input.ledger)).unzip();
        let compared = compare::compare(&records, &options.compare)?;
        Ok(Part { records, ledgers, compared })
    };
    let parts = groups(inputs, options.compare.across_datasets).into_iter().map(part).collect::<Result<Vec<_>>>()?;
    page::write(&parts, options)
}

/// The records of each dataset, in the order of the first of each; all in one group where datasets are crossed.
fn groups(inputs: Vec<Input>, across: bool) -> Vec<Vec<Input>> {
    let key = |record: &Record| match (&record.header.dataset, record.questions.first()) {
        _ if across => String::new(),
        (Some(dataset), _) => dataset.sha256.clone(),
        (None, Some(first)) => format!("{:?}", pairs::content(&first.question)),
        (None, None) => "no question".into(),
    };
    let mut groups: Vec<(String, Vec<Input>)> = Vec::new();
    for input in inputs {
        let key = key(&input.record);
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, group)) => group.push(input),
            None => groups.push((key, vec![input])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}
