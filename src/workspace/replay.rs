//! A record read again by this program, without a model.

use crate::error::Result;
use crate::eval::record::Writer;
use crate::eval::record::reader::Record;
use crate::eval::replay::{Replay, Report};
use crate::files::outputs::refuse_existing;
use crate::workspace::recorded::weights;
use std::path::PathBuf;

/// A record whose method is run again on its replies.
#[derive(Debug, Clone, Default)]
pub struct ReplayOptions {
    /// The record.
    pub record: PathBuf,
    /// The weights of sources that its votes carried.
    pub source_weights: Option<PathBuf>,
    /// Where the result is written as a new record; `None`: nowhere.
    pub output: Option<PathBuf>,
}

/// The result of a replay.
#[derive(Debug)]
pub struct ReplayReport {
    /// Files whose hash differs from the recorded one.
    pub files: Vec<String>,
    /// Differences from the record.
    pub report: Report,
}

impl ReplayOptions {
    /// Runs the method again, with the parsers, votes and prompts of this program.
    ///
    /// # Errors
    /// A record that cannot be read or was altered; a method that this program does not have; other weights than recorded; an
    /// output that is there already, or cannot be written.
    pub fn replay(&self) -> Result<ReplayReport> {
        let (record, ledger) = Record::read_whole(&self.record)?;
        ledger.check(&self.record)?;
        self.output.as_deref().map_or(Ok(()), refuse_existing)?;
        let weights = weights(self.source_weights.as_deref(), &record)?;
        let replay = Replay::new(&record, weights.as_ref().map(|(weights, _)| weights))?;
        let (questions, report) = replay.run()?;
        if let Some(output) = &self.output {
            Writer::write_new(output, &replay.header(&ledger.chain), |writer| {
                writer.append_run(&questions, record.is_whole(&ledger))
            })?;
        }
        Ok(ReplayReport { files: replay.files, report })
    }
}
