//! Records of questions that are not a dataset: claims to be labelled, answers to be judged.

use crate::error::Result;
use crate::eval::record::{Header, Writer};
use crate::eval::runner::{self, Run};
use crate::protocol::ctx::Observer;
use crate::question::Question;
use crate::transcript::QuestionRecord;
use crate::workspace::opened::Workspace;
use std::path::Path;

/// Questions labelled at once.
const IN_FLIGHT: usize = 4;

impl Workspace {
    /// The first line of a record of the plan's method without a dataset.
    #[must_use]
    pub fn header(&self) -> Header {
        self.plan.method().header(None, self.tools())
    }

    /// Labels the claims of `question` against its documents, or those of the plan's corpus. With `output`, what was done is
    /// recorded there, an error included.
    ///
    /// # Errors
    /// A call that failed; a record that cannot be written.
    pub fn conflict(
        &self,
        question: &Question,
        output: Option<&Path>,
        observer: &dyn Observer,
    ) -> Result<QuestionRecord> {
        let method = self.plan.method();
        let (record, error) = method.method.record(question, self.tools(), &method.settings, observer);
        if let Some(path) = output {
            let record = QuestionRecord { error: error.as_ref().map(ToString::to_string), ..record.clone() };
            Writer::write_new(path, &self.header(), |writer| writer.append_run(&[record], true))?;
        }
        error.map_or(Ok(record), Err)
    }

    /// Answers all of `questions` by the plan's method and records them at `path`; those that are recorded there already are
    /// left as they are.
    ///
    /// # Errors
    /// A record that cannot be continued; what ends a run.
    pub fn record_all(&self, path: &Path, questions: &[Question]) -> Result<()> {
        let mut writer = Writer::open(path, &self.header())?;
        let (method, stop) = (self.plan.method(), &self.control.stop);
        let run = Run {
            questions,
            method: &method.method,
            tools: self.tools(),
            settings: &method.settings,
            in_flight: IN_FLIGHT,
            stop,
            recorded: None,
        };
        let ended = runner::run(&run, &mut writer, &mut |progress| self.control.watch.running(Some(progress)));
        self.control.watch.running(None);
        ended.map(drop)
    }
}
