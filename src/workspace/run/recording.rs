//! One method over the questions of a dataset, and the record of its answers.

use super::record_file;
use crate::error::Result;
use crate::eval::datasets::Dataset;
use crate::eval::fit;
use crate::eval::record::{Header, Writer};
use crate::eval::reuse::Replies;
use crate::eval::runner::Run;
use crate::protocol::ctx::Tools;
use crate::question::Question;
use crate::transcript::QuestionRecord;
use crate::workspace::method::MethodPlan;
use crate::workspace::options::RunOptions;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A method, a dataset and a record, checked; it needs only a model.
pub struct Recording {
    /// The method.
    pub method: Arc<MethodPlan>,
    /// The questions.
    pub dataset: Arc<Dataset>,
    /// The record.
    pub output: PathBuf,
    /// Replies of earlier records that are taken for equal calls.
    pub replies: Arc<Replies>,
    /// Questions in flight.
    pub in_flight: usize,
    /// Questions that were recorded with an error are asked again.
    pub retry_errors: bool,
}

impl Recording {
    /// A recording with the settings of `options`.
    #[must_use]
    pub fn new(
        method: Arc<MethodPlan>,
        dataset: Arc<Dataset>,
        output: PathBuf,
        replies: Arc<Replies>,
        options: &RunOptions,
    ) -> Self {
        let RunOptions { in_flight, retry_errors, .. } = *options;
        Self { method, dataset, output, replies, in_flight, retry_errors }
    }

    /// The record's first line.
    #[must_use]
    pub fn header(&self, tools: Tools<'_>) -> Header {
        let reused = self.replies.chains().to_vec();
        Header { reused, ..self.method.header(Some(self.dataset.identity.clone()), tools) }
    }

    /// Opens the record; refuses requests for which the memory is too small.
    ///
    /// # Errors
    /// A record of another run, or one that cannot be written.
    pub(super) fn open(&self, tools: Tools<'_>) -> Result<Writer> {
        let header = self.header(tools);
        self.replies.check(&header)?;
        let writer = Writer::open_for(&self.output, &header, self.retry_errors)?;
        let unfinished = |question: &&Question| !writer.finished().contains(&question.id);
        let left: Vec<&Question> = self.dataset.questions.iter().filter(unfinished).collect();
        fit::check(&left, &self.method.method, tools, &self.method.settings)?;
        Ok(writer)
    }

    /// As the runner takes it.
    pub(super) fn as_run<'a>(
        &'a self,
        tools: Tools<'a>,
        stop: &'a AtomicBool,
        recorded: Option<&'a (dyn Fn(&QuestionRecord) + Sync)>,
    ) -> Run<'a> {
        let (questions, in_flight) = (&self.dataset.questions, self.in_flight);
        let settings = &self.method.settings;
        Run { questions, method: &self.method.method, tools, settings, in_flight, stop, recorded }
    }

    /// A line on which documents are read, where questions have documents and there is a corpus.
    pub(super) fn whose_documents(&self, tools: Tools<'_>) -> Option<String> {
        let (row, questions) = (self.method.row(), &self.dataset.questions);
        let bring = questions.iter().filter(|question| !question.documents.is_empty()).count();
        if bring == 0 || tools.retriever.is_none() || !row.needs.searches() {
            return None;
        }
        let (name, all) = (row.name, questions.len());
        Some(if row.needs.prefers_corpus() {
            format!("{bring} of {all} questions have documents, which are not used: {name} searches the corpus")
        } else {
            format!(
                "{bring} of {all} questions have documents, which are used; for the others {name} searches the corpus"
            )
        })
    }

    /// One line where sources that were retrieved have no weight in the file that was given.
    ///
    /// # Errors
    /// A record that cannot be read.
    pub(super) fn unknown_sources(&self) -> Result<Option<String>> {
        record_file::unknown_sources(&self.output, &self.method)
    }

    /// The path of the record, for messages.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.output
    }
}
