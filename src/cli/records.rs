//! Reads records for subcommands, and prints on standard error which lines were left out.

use crate::cli::terminal::tell;
use crate::error::Result;
use crate::eval::record::reader::{Ledger, Record};
use std::path::Path;

/// Reads a record, and prints on standard error what is left out of it.
///
/// # Errors
/// As [`Record::read`].
pub(super) fn read(path: &Path) -> Result<Record> {
    Ok(read_whole(path)?.0)
}

/// As [`read`], with what the file has besides its questions.
///
/// # Errors
/// As [`Record::read`].
pub(super) fn read_whole(path: &Path) -> Result<(Record, Ledger)> {
    let (record, ledger) = Record::read_whole(path)?;
    let note = |text: &str| tell(&format!("note: {}: {text}", path.display()));
    if record.torn {
        note("the last line was cut short and is left out");
    }
    if let Some(line) = ledger.altered.first() {
        let count = ledger.altered.len();
        note(&format!(
            "{count} lines are not as they were written, first line {line} (`moot record verify --hashes` lists them)"
        ));
    }
    Ok((record, ledger))
}
