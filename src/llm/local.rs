//! The engine in this process as an [`Llm`].

use super::{Call, Llm, ModelIdentity, Reply, TokenLogprob};
use crate::engine::{Cancel, Completion, Engine, Event, Request, Stats};
use crate::error::{MootError, Result};
use std::sync::mpsc::channel;

/// A model that runs here.
#[derive(Debug)]
pub struct Local {
    engine: Engine,
    identity: ModelIdentity,
    cancel: Cancel,
}

impl Local {
    /// `cancel` ends every call in flight when it is set: Ctrl-C's way in.
    #[must_use]
    pub fn new(engine: Engine, identity: ModelIdentity, cancel: Cancel) -> Self {
        Self { engine, identity, cancel }
    }

    fn reply(&self, call: &Call, done: Completion) -> Reply {
        let tokenizer = &self.engine.model().tokenizer;
        let text = |id: u32| String::from_utf8_lossy(&tokenizer.decode_bytes(&[id])).into_owned();
        let logprobs = done.logprobs.iter().map(|report| TokenLogprob {
            text: text(report.token),
            logprob: report.logprob,
            top: report.top.iter().map(|&(id, logprob)| (text(id), logprob)).collect(),
        });
        Reply {
            logprobs: logprobs.collect(),
            text: done.text,
            thoughts: None,
            held_by: call.grammar.as_ref().map(|grammar| grammar.name.to_owned()),
            finish: done.finish,
            usage: done.usage,
            seconds: done.seconds,
        }
    }

    /// The engine, for its counts.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.engine
    }
}

impl Llm for Local {
    fn identity(&self) -> &ModelIdentity {
        &self.identity
    }

    fn engine_stats(&self) -> Option<Stats> {
        Some(self.engine.stats())
    }

    fn ask_all(&self, calls: &[Call], on_reply: &mut dyn FnMut(usize, &Reply)) -> Result<Vec<Reply>> {
        let (events, inbox) = channel();
        let cancel = self.cancel.child();
        let request = |(tag, call): (usize, &Call)| {
            Ok(Request {
                tag,
                prompt: self.engine.model().prompt(&call.messages)?,
                max_tokens: call.max_tokens,
                sampling: call.sampling,
                seed: call.seed,
                grammar: call.grammar.clone(),
                stop: Vec::new(),
                logprobs: call.logprobs,
                ignore_eos: false,
                events: events.clone(),
                cancel: cancel.clone(),
            })
        };
        // Submitted together, so that a stage runs in the same steps and its common prefix is there for all.
        self.engine.submit_all(calls.iter().enumerate().map(request).collect::<Result<_>>()?)?;
        drop(events);
        let mut replies: Vec<Option<Reply>> = vec![None; calls.len()];
        for (tag, event) in &inbox {
            match event {
                Event::Text(_) => {}
                Event::Failed(error) => {
                    // Nobody waits for the others any more. A closed inbox would tell them at their next event only,
                    // after the prefill of a long prompt.
                    cancel.cancel();
                    return Err(named(error, &calls[tag]));
                }
                Event::Done(done) => {
                    let reply = self.reply(&calls[tag], done);
                    on_reply(tag, &reply);
                    replies[tag] = Some(reply);
                }
            }
        }
        let all: Option<Vec<Reply>> = replies.into_iter().collect();
        all.ok_or_else(|| MootError::Engine("a reply did not come".into()))
    }
}

/// The engine knows a request by its number; people know it by what it was for.
fn named(error: MootError, call: &Call) -> MootError {
    match error {
        MootError::TooLong { needed, prompt, generate, limit_name, limit, .. } => {
            MootError::TooLong { what: call.what.clone(), needed, prompt, generate, limit_name, limit }
        }
        other => other,
    }
}
