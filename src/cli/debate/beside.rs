//! Two debates about one question, in two columns.

use crate::cli::debate;
use crate::cli::terminal::columns::{pad, printable, shorten, width};
use crate::error::{MootError, Result};
use crate::eval::compare::Change;
use crate::transcript::QuestionRecord;
use anstream::adapter::strip_str;
use std::path::Path;

/// Columns between the two debates.
const GAP: &str = " │ ";

/// Both debates of `change`, `columns` wide together; each needs 40 at least.
///
/// # Errors
/// [`MootError::Io`] where a debate cannot be printed.
pub(in crate::cli) fn print(names: (&str, &str), change: &Change<'_>, columns: usize) -> Result<String> {
    let half = (columns.saturating_sub(width(GAP)) / 2).max(40);
    let (left, right) = (lines(change.first, half)?, lines(change.other, half)?);
    let values = change.values.map(|(a, b)| format!("  {a} -> {b}")).unwrap_or_default();
    let mut text = format!("\n{}{values}\n", printable(&change.first.question.id));
    text.push_str(&row(&shorten(&printable(names.0), half), &shorten(&printable(names.1), half), half));
    text.push_str(&format!("{}\n", "─".repeat(2 * half + width(GAP))));
    for index in 0..left.len().max(right.len()) {
        let line = |lines: &[String]| lines.get(index).cloned().unwrap_or_default();
        text.push_str(&row(&line(&left), &line(&right), half));
    }
    Ok(text)
}

/// A recorded debate without styles, a string per line.
fn lines(record: &QuestionRecord, columns: usize) -> Result<Vec<String>> {
    let printed = debate::show(Vec::new(), record, columns);
    let bytes = printed.map_err(|e| MootError::io(Path::new("standard output"), "write", e))?;
    let text = strip_str(&String::from_utf8_lossy(&bytes)).to_string();
    Ok(text.lines().map(|line| shorten(line, columns)).collect())
}

fn row(left: &str, right: &str, half: usize) -> String {
    format!("{}{GAP}{right}\n", pad(left, half)).trim_end().to_owned() + "\n"
}
