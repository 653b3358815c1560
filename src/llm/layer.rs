//! A wrapper of a model. It answers, changes or watches calls, and forwards everything else to the model behind it.

use crate::engine::{Engine, Stats};
use crate::error::{MootError, Result};
use crate::llm::{Call, Capabilities, Llm, ModelIdentity, OnFailure, OnReply, Reply};

/// A model in front of another. Every layer is an [`Llm`] with the identity, capabilities, tokens, limits and statistics of
/// the model behind it.
pub(crate) trait Layer: Send + Sync {
    /// The model behind it.
    fn inner(&self) -> &dyn Llm;

    /// Answers a stage of calls, as [`Llm::answer`].
    ///
    /// # Errors
    /// One result a call; a call that fails has its error.
    fn answer_stage(&self, calls: &[Call], on_failure: OnFailure, on_reply: &mut OnReply<'_>) -> Vec<Result<Reply>>;
}

impl<T: Layer> Llm for T {
    fn identity(&self) -> &ModelIdentity {
        self.inner().identity()
    }

    fn identity_of(&self, role: &str) -> &ModelIdentity {
        self.inner().identity_of(role)
    }

    fn capabilities(&self, role: &str) -> Capabilities {
        self.inner().capabilities(role)
    }

    fn token(&self, role: &str, text: &str) -> Option<u32> {
        self.inner().token(role, text)
    }

    fn is_deterministic(&self, role: &str) -> bool {
        self.inner().is_deterministic(role)
    }

    fn fits(&self, call: &Call) -> Result<()> {
        self.inner().fits(call)
    }

    // `stream` keeps its default, which calls `answer`: if it were passed on, it would go around this layer.
    fn answer(&self, calls: &[Call], on_failure: OnFailure, on_reply: &mut OnReply<'_>) -> Vec<Result<Reply>> {
        self.answer_stage(calls, on_failure, on_reply)
    }

    fn engine(&self, role: &str) -> Option<&Engine> {
        self.inner().engine(role)
    }

    fn engine_stats(&self) -> Option<Stats> {
        self.inner().engine_stats()
    }
}

/// Answers a stage: each call by the reply that `known` has for it, all others together by `llm`. A known reply is reported
/// right after `known` returned it.
pub(crate) fn answer_known(
    llm: &dyn Llm,
    calls: &[Call],
    on_failure: OnFailure,
    on_reply: &mut OnReply<'_>,
    mut known: impl FnMut(&Call) -> Option<Reply>,
) -> Vec<Result<Reply>> {
    let mut results: Vec<Option<Result<Reply>>> = Vec::with_capacity(calls.len());
    let (mut left, mut indices) = (Vec::new(), Vec::new());
    for (index, call) in calls.iter().enumerate() {
        let reply = known(call);
        if let Some(reply) = &reply {
            on_reply(index, reply);
        } else {
            left.push(call.clone());
            indices.push(index);
        }
        results.push(reply.map(Ok));
    }
    if !left.is_empty() {
        let answered = llm.answer(&left, on_failure, &mut |index, reply| on_reply(indices[index], reply));
        for (index, result) in indices.iter().zip(answered) {
            results[*index] = Some(result);
        }
    }
    let missing = || Err(MootError::Engine("a model gave no result for a call (bug)".into()));
    results.into_iter().map(|result| result.unwrap_or_else(missing)).collect()
}
