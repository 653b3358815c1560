//! `--answers`: a run's answers with their citations, as CSV or JSON lines.

use super::display::say;
use crate::error::{MootError, Result};
use crate::eval::answers::{self, Outcome};
use crate::eval::record::reader::Record;
use crate::question::Question;
use std::path::{Path, PathBuf};

/// The path of the answers, whose ending says their form.
pub(super) fn file(typed: &str) -> std::result::Result<PathBuf, String> {
    match Path::new(typed).extension().and_then(|end| end.to_str()) {
        Some("csv" | "jsonl") => Ok(typed.into()),
        _ => Err("expected a file that ends in .csv or .jsonl".into()),
    }
}

/// Writes the answers that `record` has for `questions` to `path`, in place of what it held. The record is the original;
/// answers can be written from it again.
///
/// # Errors
/// A record that cannot be read; a file that cannot be written.
pub(super) fn write(record: &Path, questions: &[Question], path: &Path) -> Result<()> {
    let records = Record::read(record)?.questions;
    let all = answers::answers(questions, &records);
    let csv = path.extension().is_some_and(|end| end == "csv");
    let bytes = if csv { answers::csv(&all)? } else { answers::jsonl(&all)? };
    // Beside it first: a full disk leaves the answers of the run before.
    let part = path.with_extension("part");
    let written = std::fs::write(&part, bytes).and_then(|()| std::fs::rename(&part, path));
    written.map_err(|e| MootError::io(path, "write", e))?;
    let count = |wanted: Outcome| all.iter().filter(|one| one.outcome == wanted).count();
    let kinds = [(Outcome::Unknown, "unknown"), (Outcome::Malformed, "malformed"), (Outcome::Error, "errors")];
    let others = kinds.map(|(outcome, name)| (count(outcome), name)).into_iter().filter(|(count, _)| *count > 0);
    let others: String = others.map(|(count, name)| format!(", {count} {name}")).collect();
    say(&format!("{}: {} of {} questions answered{others}", path.display(), count(Outcome::Answered), all.len()));
    Ok(())
}
