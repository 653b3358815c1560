//! Replies from a record: repeats a run without its model.

use crate::error::{MootError, Result};
use crate::llm::identity::{Identity, Key};
use crate::llm::{Call, Capabilities, Llm, ModelIdentity, OnFailure, OnReply, Reply, answer_in_order};
use crate::transcript::CallRecord;
use std::collections::HashMap;

/// A model that replies as it did in a recorded run. [`Identity::replayed`] identifies a call.
pub struct Replay {
    identity: ModelIdentity,
    replies: HashMap<Key, Reply>,
}

/// The reply that `call` recorded, as its model gave it.
#[must_use]
pub(crate) fn recorded_reply(call: &CallRecord) -> Reply {
    Reply {
        text: call.raw.as_ref().unwrap_or(&call.reply).clone(),
        thoughts: call.thoughts.clone(),
        held_by: call.grammar.clone(),
        finish: call.finish,
        usage: call.usage,
        tokens: call.tokens.clone(),
        logprobs: call.logprobs.clone(),
        scores: call.scores.clone(),
        dropped: call.dropped.clone(),
        seconds: call.seconds,
    }
}

impl Replay {
    /// Replies with what `calls` recorded of the model `identity`; of equal calls the first counts.
    pub fn new<'a>(identity: ModelIdentity, calls: impl IntoIterator<Item = &'a CallRecord>) -> Self {
        let mut replies = HashMap::new();
        for call in calls {
            replies.entry(Identity::from(call).replayed().key()).or_insert_with(|| recorded_reply(call));
        }
        Self { identity, replies }
    }

    /// The recorded reply to `call`, if there is one.
    #[must_use]
    pub fn find(&self, call: &Call) -> Option<&Reply> {
        self.replies.get(&Self::key(call))
    }

    /// The key of `call`.
    #[must_use]
    pub(crate) fn key(call: &Call) -> Key {
        Identity::from(call).replayed().key()
    }

    /// Remembers the reply to `call`; of equal calls the first counts.
    pub(crate) fn learn(&mut self, call: &Call, reply: Reply) {
        self.replies.entry(Self::key(call)).or_insert(reply);
    }

    fn reply(&self, call: &Call) -> Result<Reply> {
        self.find(call).cloned().ok_or_else(|| {
            MootError::Question(format!(
                "{}: the record holds no call with this prompt, {} tokens at most and seed {} (it holds {} calls)",
                call.what,
                call.max_tokens,
                call.seed,
                self.replies.len()
            ))
        })
    }
}

impl Llm for Replay {
    fn identity(&self) -> &ModelIdentity {
        &self.identity
    }

    /// All capabilities: a call that is not in the record fails by itself.
    fn capabilities(&self, _: &str) -> Capabilities {
        Capabilities::ALL
    }

    fn answer(&self, calls: &[Call], on_failure: OnFailure, on_reply: &mut OnReply<'_>) -> Vec<Result<Reply>> {
        answer_in_order(calls, on_failure, on_reply, |call| self.reply(call))
    }
}
