//! Replies written beforehand: the model of the transcript tests.

use crate::error::{MootError, Result};
use crate::llm::{Call, Finish, Llm, ModelIdentity, Reply, Thoughts, Usage, thoughts};
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

type Script = dyn Fn(&Call) -> Option<String> + Send + Sync;

/// A model that says what it was told to say. A token is a word between white space; what stands between `<think>` and
/// `</think>` at the beginning is thought.
pub struct Scripted {
    identity: ModelIdentity,
    script: Box<Script>,
    backwards: bool,
}

impl Scripted {
    /// Each reply is what `script` makes of its call.
    pub fn new(script: impl Fn(&Call) -> String + Send + Sync + 'static) -> Self {
        Self::with_script(move |call| Some(script(call)))
    }

    /// These replies, in the order of the calls; a call beyond the last one is an error.
    pub fn list(replies: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let left: Mutex<VecDeque<String>> = Mutex::new(replies.into_iter().map(Into::into).collect());
        Self::with_script(move |_| left.lock().unwrap_or_else(PoisonError::into_inner).pop_front())
    }

    fn with_script(script: impl Fn(&Call) -> Option<String> + Send + Sync + 'static) -> Self {
        let identity = ModelIdentity {
            name: "scripted".into(),
            architecture: "scripted".into(),
            context: 100_000,
            ..Default::default()
        };
        Self { identity, script: Box::new(script), backwards: false }
    }

    /// Refuses prompts that do not fit `context` words together with their reply.
    #[must_use]
    pub fn with_context(mut self, context: usize) -> Self {
        self.identity.context = context;
        self
    }

    /// The last call of a stage is answered first.
    #[must_use]
    pub fn backwards(mut self) -> Self {
        self.backwards = true;
        self
    }

    fn reply(&self, call: &Call) -> Result<Reply> {
        let prompt = call.messages.iter().map(|message| message.content.split_whitespace().count()).sum();
        let needed = prompt + call.max_tokens;
        if needed > self.identity.context {
            return Err(MootError::TooLong {
                what: call.what.clone(),
                needed,
                prompt,
                generate: call.max_tokens,
                limit_name: "the context of the model",
                limit: self.identity.context,
            });
        }
        let all = (self.script)(call)
            .ok_or_else(|| MootError::Engine(format!("the script has no reply left for {}", call.what)))?;
        let (thoughts, all) = thoughts::split(&all);
        let text = first_words(all, call.max_tokens);
        let finish = if text.len() < all.trim_end().len() { Finish::Length } else { Finish::Stop };
        let generated = text.split_whitespace().count();
        let usage = Usage { prompt, reused: 0, computed: prompt, generated };
        let held_by = call.grammar.as_ref().map(|grammar| grammar.name.to_owned());
        let thoughts = thoughts.map(|text| Thoughts { tokens: text.split_whitespace().count(), cut: false, text });
        let (text, tokens, logprobs) = (text.to_owned(), Vec::new(), Vec::new());
        Ok(Reply { text, thoughts, held_by, finish, usage, tokens, logprobs, seconds: 0.0 })
    }
}

impl Llm for Scripted {
    fn identity(&self) -> &ModelIdentity {
        &self.identity
    }

    fn ask_all(&self, calls: &[Call], on_reply: &mut dyn FnMut(usize, &Reply)) -> Result<Vec<Reply>> {
        let replies: Vec<Reply> = calls.iter().map(|call| self.reply(call)).collect::<Result<_>>()?;
        let order: Vec<usize> =
            if self.backwards { (0..calls.len()).rev().collect() } else { (0..calls.len()).collect() };
        for place in order {
            on_reply(place, &replies[place]);
        }
        Ok(replies)
    }
}

/// `text` up to the end of its `count`-th word.
fn first_words(text: &str, count: usize) -> &str {
    let mut end = 0;
    for word in text.split_whitespace().take(count) {
        end = word.as_ptr() as usize - text.as_ptr() as usize + word.len();
    }
    if text.split_whitespace().nth(count).is_none() { text } else { &text[..end] }
}
