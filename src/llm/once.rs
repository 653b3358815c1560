//! A model that is asked each call once: equal calls of several runs have one reply.
//!
//! Variants of one prompt are compared by runs that share most of their calls: a variant of the aggregator's prompt
//! changes no agent's first reply. On the CPU a reply depends only on the fields by which [`Replay`] identifies a call,
//! so equal calls share a reply.

use crate::error::{MootError, Result};
use crate::llm::identity::Key;
use crate::llm::layer::Layer;
use crate::llm::replay::Replay;
use crate::llm::{Call, Llm, OnFailure, OnReply, Reply};
use crate::transcript::CallRecord;
use std::collections::{BTreeMap, HashSet};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A model, and the replies that it gave before. A call that another worker is asking now is waited for.
pub struct Once<'a> {
    llm: &'a dyn Llm,
    known: Mutex<Known>,
    /// Some calls ended: with a reply, or so that the next worker may ask them.
    ended: Condvar,
}

#[derive(Default)]
struct Known {
    /// By role: a role may have a model of its own.
    replies: BTreeMap<String, Replay>,
    /// Calls that a worker asks now: role and key.
    asked: HashSet<(String, Key)>,
    /// Calls that were answered without asking the model.
    shared: usize,
}

impl<'a> Once<'a> {
    /// Asks `llm` each call that is not in `calls`, once. The calls must be of the same models, sampling and formats.
    pub fn new<'b>(llm: &'a dyn Llm, calls: impl IntoIterator<Item = &'b CallRecord>) -> Self {
        let mut by_role: BTreeMap<&str, Vec<&CallRecord>> = BTreeMap::new();
        for call in calls {
            by_role.entry(&call.role).or_default().push(call);
        }
        let replay = |(role, calls): (&str, Vec<&CallRecord>)| {
            (role.to_owned(), Replay::new(llm.identity_of(role).clone(), calls))
        };
        let replies = by_role.into_iter().map(replay).collect();
        Self { llm, known: Mutex::new(Known { replies, ..Known::default() }), ended: Condvar::new() }
    }

    /// Calls that were answered without asking the model.
    #[must_use]
    pub fn shared(&self) -> usize {
        self.lock().shared
    }

    /// A panic of another worker does not matter: replies that were learned stay right.
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the model the calls at `indices`, which this worker has taken.
    fn ask(
        &self,
        (calls, indices): (&[Call], &[usize]),
        on_failure: OnFailure,
        on_reply: &mut OnReply<'_>,
    ) -> Vec<Result<Reply>> {
        let taken: Vec<Call> = indices.iter().map(|index| calls[*index].clone()).collect();
        let _release = Release { once: self, calls: &taken };
        self.llm.answer(&taken, on_failure, &mut |index, reply| {
            self.lock().learn(&taken[index], reply, self.llm);
            self.ended.notify_all();
            on_reply(indices[index], reply);
        })
    }
}

impl Known {
    fn reply(&self, call: &Call) -> Option<Reply> {
        self.replies.get(&call.role)?.find(call).cloned()
    }

    /// Takes a call for this worker; false where another worker asks it.
    fn take(&mut self, call: &Call) -> bool {
        self.asked.insert((call.role.clone(), Replay::key(call)))
    }

    fn learn(&mut self, call: &Call, reply: &Reply, llm: &dyn Llm) {
        let new = || Replay::new(llm.identity_of(&call.role).clone(), []);
        self.replies.entry(call.role.clone()).or_insert_with(new).learn(call, reply.clone());
    }
}

/// Gives up the calls that a worker took, however it ends: those without a reply are free for others.
struct Release<'a> {
    once: &'a Once<'a>,
    calls: &'a [Call],
}

impl Drop for Release<'_> {
    fn drop(&mut self) {
        let mut known = self.once.lock();
        for call in self.calls {
            known.asked.remove(&(call.role.clone(), Replay::key(call)));
        }
        drop(known);
        self.once.ended.notify_all();
    }
}

impl Layer for Once<'_> {
    fn inner(&self) -> &dyn Llm {
        self.llm
    }

    fn answer_stage(&self, calls: &[Call], on_failure: OnFailure, on_reply: &mut OnReply<'_>) -> Vec<Result<Reply>> {
        let mut results: Vec<Option<Result<Reply>>> = calls.iter().map(|_| None).collect();
        loop {
            let (mut mine, mut replied) = (Vec::new(), Vec::new());
            let mut known = self.lock();
            for (index, call) in calls.iter().enumerate().filter(|(index, _)| results[*index].is_none()) {
                if let Some(reply) = known.reply(call) {
                    known.shared += 1;
                    replied.push((index, reply));
                } else if known.take(call) {
                    // An equal call of this stage is not taken again: the next pass finds the reply to this one.
                    mine.push(index);
                }
            }
            // Other stages have all remaining calls in flight: wait.
            if mine.is_empty() && replied.is_empty() && results.iter().any(Option::is_none) {
                drop(self.ended.wait(known).unwrap_or_else(PoisonError::into_inner));
                continue;
            }
            drop(known);
            // Without the lock: the receiver of a reply may take its time.
            for (index, reply) in replied {
                on_reply(index, &reply);
                results[index] = Some(Ok(reply));
            }
            if !mine.is_empty() {
                for (index, result) in mine.iter().zip(self.ask((calls, &mine), on_failure, on_reply)) {
                    results[*index] = Some(result);
                }
            }
            let failed = results.iter().flatten().any(Result::is_err);
            if (failed && on_failure == OnFailure::Cancel) || results.iter().all(Option::is_some) {
                return results.into_iter().map(|result| result.unwrap_or(Err(MootError::Interrupted))).collect();
            }
        }
    }
}
