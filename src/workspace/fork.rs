//! A recorded debate held again with a change, on the open models and tools.

use crate::error::Result;
use crate::eval::fork::{self, Course, Fork};
use crate::eval::record::reader::Record;
use crate::eval::record::{Header, Writer};
use crate::protocol::ctx::Observer;
use crate::transcript::QuestionRecord;
use crate::workspace::opened::Workspace;
use std::path::Path;

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
