//! A model that is not asked twice: calls that a record of the same model and settings holds are answered from it.
//!
//! Variants of one prompt are compared by runs that share most of their calls: a variant of the aggregator's prompt changes no
//! agent's first reply. On the CPU a reply depends on nothing but what [`Replay`] knows a call by, so it may be taken over.

use crate::error::Result;
use crate::llm::layer::{Layer, answer_known};
use crate::llm::replay::Replay;
use crate::llm::{Call, Llm, OnFailure, OnReply, Reply};
use crate::transcript::CallRecord;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A model, and replies that it gave before.
pub struct Recalled<'a> {
    llm: &'a dyn Llm,
    /// By role: a role may have a model of its own.
    known: BTreeMap<String, Replay>,
    recalled: AtomicUsize,
}

impl<'a> Recalled<'a> {
    /// Answers from `calls` where it can, else asks `llm`. The calls must be of the same models, sampling and formats.
    pub fn new<'b>(llm: &'a dyn Llm, calls: impl IntoIterator<Item = &'b CallRecord>) -> Self {
        let mut by_role: BTreeMap<&str, Vec<&CallRecord>> = BTreeMap::new();
        for call in calls {
            by_role.entry(&call.role).or_default().push(call);
        }
        let replay = |(role, calls): (&str, Vec<&CallRecord>)| {
            (role.to_owned(), Replay::new(llm.identity_of(role).clone(), calls))
        };
        Self { llm, known: by_role.into_iter().map(replay).collect(), recalled: AtomicUsize::new(0) }
    }

    /// Calls that were answered without asking the model.
    #[must_use]
    pub fn recalled(&self) -> usize {
        self.recalled.load(Ordering::Relaxed)
    }
}

impl Layer for Recalled<'_> {
    fn inner(&self) -> &dyn Llm {
        self.llm
    }

    fn answer_stage(&self, calls: &[Call], on_failure: OnFailure, on_reply: &mut OnReply<'_>) -> Vec<Result<Reply>> {
        answer_known(self.llm, calls, on_failure, on_reply, |call| {
            let reply = self.known.get(&call.role)?.find(call)?.clone();
            self.recalled.fetch_add(1, Ordering::Relaxed);
            Some(reply)
        })
    }
}
