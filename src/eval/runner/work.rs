//! One of several runs side by side: its questions and tools, and the state that the runs share.

use crate::eval::record::reader::Journal;
use crate::protocol::Built;
use crate::protocol::ctx::{Settings, Tools};
use crate::question::Question;
use crate::transcript::QuestionRecord;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// Questions, method and tools of a run.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    /// The questions; those already recorded are skipped.
    pub questions: &'a [Question],
    /// The method.
    pub method: &'a Built,
    /// The method's tools.
    pub tools: Tools<'a>,
    /// Settings of every method.
    pub settings: &'a Settings,
    /// Questions in flight; at least 1.
    pub in_flight: usize,
    /// Set by the caller to end early: no question and no stage starts after it.
    pub stop: &'a AtomicBool,
    /// Receives each question once it is recorded.
    pub recorded: Option<&'a (dyn Fn(&QuestionRecord) + Sync)>,
}

/// State shared by runs that go side by side.
#[derive(Default)]
pub(super) struct Flags {
    /// A run failed; no further question is started.
    pub(super) over: AtomicBool,
    /// A record cannot be written: questions in flight end with their stage.
    pub(super) lost: AtomicBool,
}

/// One of the runs.
pub(super) struct Work<'a> {
    pub(super) run: &'a Run<'a>,
    /// Its index among the runs.
    pub(super) index: usize,
    /// Calls that earlier runs recorded of questions that they did not finish.
    pub(super) journal: Mutex<Journal>,
    pub(super) flags: &'a Flags,
}

impl Work<'_> {
    /// The group of its calls: prompt tokens that two runs share are counted apart.
    pub(super) fn group(&self) -> u32 {
        u32::try_from(self.index).unwrap_or(u32::MAX)
    }

    pub(super) fn stopped(&self) -> bool {
        self.run.stop.load(Ordering::Relaxed) || self.flags.over.load(Ordering::Relaxed)
    }
}
