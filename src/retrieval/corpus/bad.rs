//! Lines of tables and of JSONL that cannot be read: they are left out and counted; a file of which most lines are bad is refused.

use crate::error::{MootError, Result};
use crate::retrieval::text::input;
use std::path::Path;

/// Lines with a fault.
#[derive(Debug, Default)]
pub(super) struct Bad {
    count: u64,
    /// The first of them: line, expected value, found value.
    first: Option<(Option<usize>, String, String)>,
}

impl Bad {
    /// Records that are read ahead: a file that is bad from its beginning is refused before a document of it is returned.
    pub(super) const AHEAD: usize = 1000;

    /// Counts `lines` lines, for this reason.
    pub(super) fn add(&mut self, lines: u64, why: &MootError) {
        self.count += lines;
        if let (None, MootError::Input { line, expected, found, .. }) = (&self.first, why) {
            self.first = Some((*line, expected.clone(), found.clone()));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// One line, if there are any: "2 lines cannot be read; the first: line 7: expected E, found F".
    pub(super) fn note(&self, one: &str, many: &str) -> Option<String> {
        let (line, expected, found) = self.first.as_ref()?;
        let line = line.map_or(String::new(), |line| format!("line {line}: "));
        let (what, first) = if self.count == 1 { (one, ":") } else { (many, "; the first:") };
        Some(format!("{} {what}{first} {line}expected {expected}, found {found}", self.count))
    }

    /// Checks that there are no more bad lines than `good` ones.
    ///
    /// # Errors
    /// [`MootError::Input`] for the first bad line.
    pub(super) fn refuse(&self, path: &Path, good: u64) -> Result<()> {
        let Some((line, expected, found)) = self.first.as_ref().filter(|_| self.count > good) else { return Ok(()) };
        let all = self.count + good;
        let more =
            if self.count == 1 { String::new() } else { format!(" ({} of {all} lines cannot be read)", self.count) };
        Err(input(path, *line, expected, format!("{found}{more}")))
    }
}

/// "2 records without text", if there are any.
pub(super) fn without_text(count: u64) -> Option<String> {
    let records = if count == 1 { "record" } else { "records" };
    (count > 0).then(|| format!("{count} {records} without text"))
}
