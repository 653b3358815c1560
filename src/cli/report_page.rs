//! The page of `moot report`, which `moot compare --format html` prints too.

use crate::cli::records;
use crate::cli::terminal::output;
use crate::error::Result;
use crate::eval::compare;
use crate::report::{self, Input, Options};
use std::ops::ControlFlow;
use std::path::PathBuf;

/// The page on standard output, for `moot compare --format html`.
///
/// # Errors
/// A record that cannot be read, an unknown metric or slice.
pub(super) fn print(paths: &[PathBuf], options: impl FnOnce(&[Input]) -> Options) -> Result<()> {
    let inputs = read(paths)?;
    let options = options(&inputs);
    match output::write(report::page(inputs, &options)?.as_bytes())? {
        ControlFlow::Continue(()) | ControlFlow::Break(()) => Ok(()),
    }
}

/// The slices and metrics to compare; every slice of the records with `all`.
#[must_use]
pub(super) fn options(
    inputs: &[Input],
    metric: &[String],
    slice: &[String],
    all: bool,
    across_datasets: bool,
) -> compare::Options {
    let every = || {
        let slices = inputs.iter().flat_map(|input| compare::slices(std::slice::from_ref(&input.record)));
        slices.collect::<std::collections::BTreeSet<_>>().into_iter().collect()
    };
    compare::Options { slices: if all { every() } else { slice.to_vec() }, metrics: metric.to_vec(), across_datasets }
}

/// Reads records, and says on standard error what is left out of them.
///
/// # Errors
/// As [`records::read_whole`].
pub(super) fn read(paths: &[PathBuf]) -> Result<Vec<Input>> {
    let one = |path: &PathBuf| records::read_whole(path).map(|(record, ledger)| Input { record, ledger });
    paths.iter().map(one).collect()
}
