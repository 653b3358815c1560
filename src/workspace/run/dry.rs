//! The cost of a run, estimated: questions, calls and tokens counted with made-up replies, and a few calls measured.

use super::recording::Recording;
use crate::error::{MootError, Result};
use crate::eval::dry::{Pass, Probe, pass, probe};
use crate::eval::record::Reader;
use crate::eval::record::writer::{finished, is_fresh};
use crate::files;
use crate::protocol::ctx::Tools;
use crate::question::Question;
use crate::workspace::opened::Workspace;
use std::collections::HashSet;

/// The estimated cost of one recording.
pub struct DryRun<'a> {
    /// The recording.
    pub recording: &'a Recording,
    /// Questions that are recorded already.
    pub done: usize,
    /// Calls of other questions that are in the record's journal.
    pub journaled: usize,
    /// Counts with replies that are all equal, then with replies that all differ.
    pub passes: [Pass; 2],
    /// A few calls, measured; `None` where there is none to make.
    pub probe: Option<Probe>,
}

impl Workspace {
    /// The estimated cost of [`Workspace::run`]. Nothing is written.
    ///
    /// # Errors
    /// A record that the run could not continue; what would end the run.
    pub fn dry_run(&self) -> Result<Vec<DryRun<'_>>> {
        self.plan().batches().iter().flatten().map(|recording| dry(recording, self.tools())).collect()
    }
}

fn dry<'a>(recording: &'a Recording, tools: Tools<'_>) -> Result<DryRun<'a>> {
    let (done, journaled) = recorded(recording, tools)?;
    let left: Vec<Question> =
        recording.dataset.questions.iter().filter(|question| !done.contains(&question.id)).cloned().collect();
    let method = &recording.method;
    let count = |differing| pass(&method.method, &left, tools, &method.settings, differing);
    let passes = [count(false)?, count(true)?];
    let probe = probe(&method.method, &left, tools, &method.settings, recording.in_flight)?;
    Ok(DryRun { recording, done: done.len(), journaled, passes, probe })
}

/// The questions that the record has already, and the number of calls in its journal.
fn recorded(recording: &Recording, tools: Tools<'_>) -> Result<(HashSet<String>, usize)> {
    let path = &recording.output;
    // An empty file, and a header that a kill cut short, are begun anew by the run.
    if !path.exists() || is_fresh(&mut files::open(path)?).map_err(|e| MootError::io(path, "read", e))? {
        return Ok((HashSet::new(), 0));
    }
    let mut reader = Reader::open(path)?;
    let done = finished(&mut reader, path, &recording.header(tools), recording.retry_errors)?;
    let left = |id: &&String| !done.contains(*id);
    let journaled = reader.journal().keys().filter(left).map(|id| reader.journal()[id].len()).sum();
    Ok((done, journaled))
}
