//! What a method holds while it answers: it renders, seeds, sends and records every call.

use crate::eval::record::CallRecord;
use crate::llm::{Llm, Sampling};
use serde::{Deserialize, Serialize};

/// Settings of a run that every method obeys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// The run's seed; each call's is derived from (this, question id, role, round, call).
    pub seed: u64,
    /// Tokens a call may generate.
    pub max_tokens: usize,
    /// How tokens are chosen.
    pub sampling: Sampling,
    /// Replies are not held to their format by a grammar.
    pub free_form: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { seed: 0, max_tokens: 128, sampling: Sampling::Greedy, free_form: false }
    }
}

/// Sees each call as soon as its reply is parsed: `moot ask` prints from here.
pub trait Observer: Sync {
    /// `count` calls are in flight as stage `stage`.
    fn stage(&self, stage: usize, count: usize);
    /// One of them came back.
    fn call(&self, call: &CallRecord);
}

/// An [`Observer`] that looks away.
pub struct Silent;

impl Observer for Silent {
    fn stage(&self, _: usize, _: usize) {}
    fn call(&self, _: &CallRecord) {}
}

/// One question's way through a method.
pub struct Ctx<'a> {
    llm: &'a dyn Llm,
    settings: &'a Settings,
    observer: &'a dyn Observer,
    calls: Vec<CallRecord>,
    stage: usize,
}

impl<'a> Ctx<'a> {
    /// A fresh context for one question.
    pub fn new(llm: &'a dyn Llm, settings: &'a Settings, observer: &'a dyn Observer) -> Self {
        Self { llm, settings, observer, calls: Vec::new(), stage: 0 }
    }

    /// Every call made, in the order asked.
    #[must_use]
    pub fn into_calls(self) -> Vec<CallRecord> {
        self.calls
    }
}
