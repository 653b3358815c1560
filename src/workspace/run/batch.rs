//! Runs the recordings of a plan, side by side, and reports each.

use super::record_file::{self, Watched};
use super::recording::Recording;
use crate::error::{MootError, Result};
use crate::eval::answers::{self, Outcome};
use crate::eval::record::Writer;
use crate::eval::record::reader::Record;
use crate::eval::reuse::Reusing;
use crate::eval::runner::{self, Progress, Run};
use crate::files;
use crate::llm::Llm;
use crate::protocol::ctx::Tools;
use crate::transcript::QuestionRecord;
use crate::units::plural;
use crate::workspace::control::Control;
use crate::workspace::opened::Workspace;
use crate::workspace::plan::Plan;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// The result of one recording.
#[derive(Debug)]
pub struct RunReport {
    /// The record.
    pub output: PathBuf,
    /// Counts of this run.
    pub progress: Progress,
    /// The table of answers, and how many of its rows have each outcome.
    pub answers: Option<(PathBuf, Vec<Outcome>)>,
    /// [`MootError::Unanswered`] where some questions of the record ended in an error.
    pub unanswered: Option<MootError>,
}

impl Workspace {
    /// Answers all questions of the plan's datasets that are not recorded yet. Recordings of a batch go side by side, question
    /// by question.
    ///
    /// # Errors
    /// As [`Plan::run`].
    pub fn run(&self) -> Result<Vec<RunReport>> {
        self.plan.run(self.tools(), &self.control)
    }

    /// As [`Workspace::run`], with `llm` instead of the plan's models.
    pub(crate) fn run_by(&self, llm: &dyn Llm) -> Result<Vec<RunReport>> {
        self.plan.run(Tools { llm, ..self.tools() }, &self.control)
    }
}

impl Plan {
    /// Runs the plan's recordings with the caller's own tools, instead of those that a [`Workspace`] opens.
    ///
    /// # Errors
    /// A record that cannot be continued, or that is deleted during the run; requests for which the memory is too small; errors
    /// that end a run (see [`runner::run_all`]). Every reply that arrived is on the disk.
    pub fn run(&self, tools: Tools<'_>, control: &Control) -> Result<Vec<RunReport>> {
        let mut reports = Vec::new();
        for batch in self.batches() {
            reports.extend(run_batch(batch, tools, control)?);
        }
        if let (Some(run), [report]) = (&self.options().run, reports.as_mut_slice())
            && let (Some(path), Some(recording)) = (&run.answers, self.batches().iter().flatten().next())
        {
            report.answers = Some((path.clone(), write_answers(recording, path)?));
        }
        Ok(reports)
    }
}

/// Runs the recordings of a batch with the same tools.
///
/// # Errors
/// As [`Plan::run`].
fn run_batch(batch: &[Recording], tools: Tools<'_>, control: &Control) -> Result<Vec<RunReport>> {
    let Some(Recording { replies, .. }) = batch.first() else { return Ok(Vec::new()) };
    let reusing = Reusing::new(tools.llm, replies);
    let tools = if replies.is_empty() { tools } else { Tools { llm: &reusing, ..tools } };
    let mut writers = batch.iter().map(|recording| recording.open(tools)).collect::<Result<Vec<_>>>()?;
    let watched: Vec<Watched> = batch.iter().map(|recording| Watched::new(&recording.output)).collect();
    let recorded = |question: &QuestionRecord| control.watch.answered(question);
    let as_run = |recording| Recording::as_run(recording, tools, &control.stop, Some(&recorded));
    let runs: Vec<Run<'_>> = batch.iter().map(as_run).collect();
    batch.iter().filter_map(|recording| recording.whose_documents(tools)).for_each(|line| control.note(&line));
    let mut open: Vec<&mut Writer> = writers.iter_mut().collect();
    let mut last = Progress::default();
    let ended = runner::run_all(&runs, &mut open, &mut |states| {
        // What is written from now on would be lost: the open file has no name any more.
        if watched.iter().any(Watched::is_gone) {
            control.stop.store(true, Ordering::Relaxed);
            control.cancel.cancel();
        }
        last = Progress::sum(states);
        control.watch.running(Some(&last));
    });
    control.watch.running(None);
    if !replies.is_empty() {
        control.note(&format!("{} calls were answered from the records of --reuse", reusing.reused()));
    }
    // Before `ended`, which then only tells of the cancellation above.
    if let Some((watched, writer)) = watched.iter().zip(&writers).find(|(watched, _)| watched.is_gone()) {
        return Err(watched.lost(writer.finished().len()));
    }
    let states = ended.inspect_err(|error| note_end(error, batch, &writers, &last, control))?;
    let reports = batch.iter().zip(states).map(|(recording, progress)| report(recording, progress, control));
    let reports = reports.collect::<Result<Vec<_>>>()?;
    if let Some(stats) = tools.llm.engine_stats().filter(|_| batch.len() > 1) {
        let reused = stats.reused_across_groups;
        control.note(&format!("{reused} prompt tokens were computed once for several methods"));
    }
    Ok(reports)
}

/// Notes how much is recorded if a run ended early.
fn note_end(error: &MootError, batch: &[Recording], writers: &[Writer], progress: &Progress, control: &Control) {
    let outputs = batch.iter().map(|recording| recording.output.display().to_string()).collect::<Vec<_>>().join(", ");
    let done: usize = writers.iter().map(|writer| writer.finished().len()).sum();
    if let MootError::Interrupted = error {
        let total = progress.total;
        control.note(&format!("interrupted: {done} of {total} questions are in {outputs}"));
        control.note("run the same command to resume");
    } else if done > 0 {
        control.note(&format!("{done} finished questions are in {outputs}; run the same command to resume"));
    }
}

fn report(recording: &Recording, progress: Progress, control: &Control) -> Result<RunReport> {
    if let Some(line) = recording.unknown_sources()? {
        control.note(&line);
    }
    if progress.dropped_choices > 0 {
        let answers = plural(progress.dropped_choices, "answer", "answers");
        control.note(&format!(
            "{answers} such as \"yes\" and \"no\" dropped by f_align: documents seldom have these words (--no-align keeps them)"
        ));
    }
    let unanswered = match record_file::answered(&recording.output) {
        Err(error @ MootError::Unanswered { .. }) => Some(error),
        other => other.map(|()| None)?,
    };
    Ok(RunReport { output: recording.output.clone(), progress, answers: None, unanswered })
}

/// Writes the answers of a record to `path`, and replaces a file there. The record is the original; answers can be
/// written from it again. Returns the outcome of each question.
fn write_answers(recording: &Recording, path: &Path) -> Result<Vec<Outcome>> {
    let records = Record::read(&recording.output)?.questions;
    let all = answers::answers(&recording.dataset.questions, &records);
    let csv = path.extension().is_some_and(|end| end == "csv");
    let bytes = if csv { answers::csv(&all)? } else { answers::jsonl(&all)? };
    files::outputs::write(path, &bytes)?;
    Ok(all.iter().map(|answer| answer.outcome).collect())
}
