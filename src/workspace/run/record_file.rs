//! The file of a run's record: checks that the output can be one, that it still exists, and counts its questions at the end.

use crate::error::{MootError, Result};
use crate::eval::record::writer::must_match;
use crate::eval::record::{DatasetIdentity, Reader};
use crate::files;
use crate::files::outputs::{self, identity};
use crate::question::Document;
use crate::workspace::method::MethodPlan;
use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Checks before a model is loaded whether `output` could be the record of this run.
///
/// # Errors
/// [`MootError::Input`] for anything but a regular file, or a file that is not a record; [`MootError::Io`] for one that
/// cannot be written; [`MootError::Usage`] for a record of another dataset, method or settings. The models' part of the
/// header is compared once they are known.
pub(super) fn check(output: &Path, dataset: &DatasetIdentity, method: &MethodPlan) -> Result<()> {
    outputs::check(output)?;
    if !output.exists() {
        return outputs::creatable(output);
    }
    // Opened, and closed again: permissions alone do not say whether it can be written.
    OpenOptions::new().append(true).open(output).map_err(|e| MootError::io(output, "open", e))?;
    if !begun(output)? {
        return Ok(());
    }
    let recorded = Reader::open(output)?;
    must_match(output, recorded.header(), &method.known(recorded.header(), dataset))
}

/// Whether the first line is whole. An empty file, and a header that a kill cut short, are begun anew by the writer.
fn begun(output: &Path) -> Result<bool> {
    const MOST: u64 = 1 << 20;
    let mut first = Vec::new();
    let mut lines = BufReader::new(files::open(output)?).take(MOST);
    lines.read_until(b'\n', &mut first).map_err(|e| MootError::io(output, "read", e))?;
    // A line of that length is no header that was cut short: it is for the reader to judge.
    Ok(first.ends_with(b"\n") || first.len() as u64 == MOST)
}

/// Counts the questions of the record at `path` that ended in an error.
///
/// # Errors
/// [`MootError::Unanswered`] where there are any; a record that cannot be read.
pub(super) fn answered(path: &Path) -> Result<()> {
    // By question: one that was asked again after an error has two lines, of which the later counts.
    let mut errors: HashMap<String, Option<String>> = HashMap::new();
    for record in Reader::open(path)? {
        let record = record?;
        errors.insert(record.question.id, record.error);
    }
    let mut failed: Vec<(&String, &String)> =
        errors.iter().filter_map(|(id, error)| Some((id, error.as_ref()?))).collect();
    failed.sort();
    let Some((id, error)) = failed.first() else { return Ok(()) };
    let first = format!("{id}: {error}");
    Err(MootError::Unanswered { path: path.to_owned(), errors: failed.len(), questions: errors.len(), first })
}

/// One line where sources that the run retrieved have no weight in the file that was given. The sources of documents in the dataset
/// are checked before a run.
///
/// # Errors
/// A record that cannot be read.
pub(super) fn unknown_sources(path: &Path, method: &MethodPlan) -> Result<Option<String>> {
    if method.weights.is_none() {
        return Ok(None);
    }
    let mut found: Vec<Document> = Vec::new();
    for record in Reader::open(path)? {
        let record = record?;
        let corpus = record.question.documents.into_iter().filter(|document| document.origin.is_some());
        for document in corpus.chain(record.retrieved) {
            if !found.iter().any(|known| known.source == document.source) {
                found.push(document);
            }
        }
    }
    Ok(method.unknown_sources(&found))
}

/// The file that a run writes, to notice that it was removed or replaced.
pub(super) struct Watched {
    path: PathBuf,
    /// The file's identity, which distinguishes it from another of the same name.
    identity: Option<outputs::Identity>,
}

impl Watched {
    /// The file that is at `path` now.
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), identity: identity(path) }
    }

    /// Whether the file is no longer at its path. A path that cannot be inspected for another reason counts as still
    /// there.
    pub(super) fn is_gone(&self) -> bool {
        let now = identity(&self.path);
        let removed = || !fs::exists(&self.path).unwrap_or(true);
        self.identity.is_some() && now != self.identity && (now.is_some() || removed())
    }

    /// The error where it is gone; `done` questions were in it.
    pub(super) fn lost(&self, done: usize) -> MootError {
        let found = if self.path.exists() { "another file at its path" } else { "no file" };
        MootError::Input {
            path: self.path.clone(),
            line: None,
            expected: format!("the record that this run was writing, with {done} finished questions"),
            found: format!("{found}: the record was deleted during the run, and these questions are lost"),
        }
    }
}
