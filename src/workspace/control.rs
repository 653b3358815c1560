//! Watching and stopping the work of a workspace.

use crate::cancel::Cancel;
use crate::eval::runner::Progress;
use crate::llm::remote::Notice;
use crate::retrieval::index::BuildProgress;
use crate::transcript::QuestionRecord;
use crate::workspace::models::Opening;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The phase of the work, which decides what an interruption does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Models are found and loaded: nothing needs to be finished.
    Opening,
    /// An index is built or calls are in flight: finished work is kept, and an interruption waits for it.
    Working,
}

/// Receives notes, progress and phases while a workspace is opened and works. Every method may be called from any thread.
pub trait Watch: Send + Sync {
    /// One line for the user.
    fn note(&self, line: &str) {
        let _ = line;
    }

    /// A step of opening a model.
    fn opening(&self, step: &Opening<'_>) {
        let _ = step;
    }

    /// Progress of the index of a corpus of `total` passages; `None` when it ends.
    fn indexing(&self, total: u64, progress: Option<&BuildProgress>) {
        let _ = (total, progress);
    }

    /// Progress of a run; `None` when it ends.
    fn running(&self, progress: Option<&Progress>) {
        let _ = progress;
    }

    /// A question of a run is recorded.
    fn answered(&self, question: &QuestionRecord) {
        let _ = question;
    }

    /// Another phase begins.
    fn phase(&self, phase: Phase) {
        let _ = phase;
    }
}

/// Ignores everything.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unwatched;

impl Watch for Unwatched {}

/// Stops the work of a workspace, and receives its notes, progress and phases.
#[derive(Clone)]
pub struct Control {
    /// Ends a run or the build of an index once the work in progress is finished.
    pub stop: Arc<AtomicBool>,
    /// Cancels the calls in flight.
    pub cancel: Cancel,
    /// Receives notes, progress and phases.
    pub watch: Arc<dyn Watch>,
}

impl Control {
    /// A control that `watch` follows.
    pub fn new(watch: impl Watch + 'static) -> Self {
        Self { stop: Arc::default(), cancel: Cancel::default(), watch: Arc::new(watch) }
    }

    /// Whether the work shall end.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Passes notes of lower layers on.
    #[must_use]
    pub(crate) fn notice(&self) -> Notice {
        let watch = self.watch.clone();
        Notice::new(move |line| watch.note(line))
    }

    pub(crate) fn note(&self, line: &str) {
        self.watch.note(line);
    }
}

impl Default for Control {
    fn default() -> Self {
        Self::new(Unwatched)
    }
}
