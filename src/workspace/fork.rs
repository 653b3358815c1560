//! A recorded debate held again with a change, on the open models and tools.

use crate::error::{MootError, Result};
use crate::eval::fork::{self, Change, Course, Fork};
use crate::eval::queries;
use crate::eval::record::reader::Record;
use crate::eval::record::{Header, Writer};
use crate::protocol::ctx::Observer;
use crate::retrieval::given;
use crate::transcript::QuestionRecord;
use crate::workspace::opened::Workspace;
use crate::workspace::recorded::Recorded;
use std::path::{Path, PathBuf};

/// A change to a debate, as given: a document is named by its number, from 1, or by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForkChange {
    /// This document is left out.
    Drop(String),
    /// This document has the text of this file.
    Edit(String, PathBuf),
    /// This text is the last paragraph of every prompt.
    Tell(String),
}

impl Recorded {
    /// The question that `wanted` names, as [`queries::find`] finds it, and its debate with `change` from `round` on.
    ///
    /// # Errors
    /// A question, a round or a document that the record does not have; a file that cannot be read; an empty text.
    pub fn fork(&self, wanted: &str, round: usize, change: &ForkChange) -> Result<(&QuestionRecord, Fork)> {
        let old = queries::find(&self.record.questions, wanted)?;
        let change = match change {
            ForkChange::Drop(typed) => Change::Drop(document(old, typed)?),
            ForkChange::Edit(typed, path) => Change::Edit(document(old, typed)?, given::text(path)?),
            ForkChange::Tell(text) if text.trim().is_empty() => {
                return Err(MootError::Usage("--tell: expected a text, found an empty one".into()));
            }
            ForkChange::Tell(text) => Change::Tell(text.trim().to_owned()),
        };
        let fork = Fork { round, change };
        fork.check(old)?;
        Ok((old, fork))
    }
}

/// A fork that was held, with the header of its own record, which names its origin.
pub struct HeldFork {
    /// The debate as it went on.
    pub course: Course,
    /// The header.
    pub header: Header,
}

impl HeldFork {
    /// Writes the record to a new file.
    ///
    /// # Errors
    /// A file that is there already, or that cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        let questions = std::slice::from_ref(&self.course.record);
        Writer::write_new(path, &self.header, |writer| writer.append_run(questions, true))
    }
}

impl Workspace {
    /// Holds the debate `old` of `record` again by its recorded method. `chain` is the last hash of the record's file.
    ///
    /// # Errors
    /// As [`Fork::hold`] and [`fork::method_of`].
    pub fn fork(
        &self,
        record: &Record,
        chain: &str,
        old: &QuestionRecord,
        fork: &Fork,
        observer: &dyn Observer,
    ) -> Result<HeldFork> {
        let method = fork::method_of(record)?;
        let header = fork::header(record, &method, chain, old, fork);
        let course = fork.hold(&record.header, method, old, self.tools(), observer)?;
        Ok(HeldFork { course, header })
    }
}

/// The index of a document that was typed as a number, from 1, or as a name.
fn document(old: &QuestionRecord, typed: &str) -> Result<usize> {
    let documents: Vec<&str> = old.question.documents.iter().chain(&old.retrieved).map(|d| d.name.as_str()).collect();
    let by_name: Vec<usize> = (0..documents.len()).filter(|&number| documents[number] == typed).collect();
    let by_number = typed.parse::<usize>().ok().filter(|number| (1..=documents.len()).contains(number));
    match (by_name.as_slice(), by_number) {
        // A name takes precedence over a number: a document may be called `2`.
        (&[only], _) => Ok(only),
        ([], Some(number)) => Ok(number - 1),
        ([], None) => {
            let list: Vec<String> =
                documents.iter().zip(1..).map(|(name, number)| format!("{number} {name}")).collect();
            let known = if list.is_empty() { "none".to_owned() } else { list.join(", ") };
            Err(MootError::UnknownName { kind: "document", name: typed.to_owned(), known })
        }
        (several, _) => {
            Err(MootError::Usage(format!("{} documents are called {typed:?}: expected a number", several.len())))
        }
    }
}
