//! Replies written beforehand: the model of the transcript tests.

use crate::error::{MootError, Result};
use crate::generation::{Alternative, Finish, Prompt, Segment, Thoughts, TokenLogprob, Usage};
use crate::llm::{Call, Capabilities, Llm, ModelIdentity, OnFailure, OnReply, Reply, thoughts};
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

type Script = dyn Fn(&Call) -> Result<Option<String>> + Send + Sync;
type Scores = dyn Fn(&Call, &str) -> f32 + Send + Sync;

/// A model whose replies are given beforehand. A token is a word between white space; text between `<think>` and
/// `</think>` at the beginning is thought.
pub struct Scripted {
    identity: ModelIdentity,
    script: Box<Script>,
    scores: Box<Scores>,
    capabilities: Capabilities,
    backwards: bool,
    deterministic: bool,
}

impl Scripted {
    /// `script` makes each reply from its call.
    pub fn new(script: impl Fn(&Call) -> String + Send + Sync + 'static) -> Self {
        Self::with_script(move |call| Ok(Some(script(call))))
    }

    /// As [`Scripted::new`]; a call for which `script` gives an error fails with it.
    pub fn failing(script: impl Fn(&Call) -> Result<String> + Send + Sync + 'static) -> Self {
        Self::with_script(move |call| script(call).map(Some))
    }

    /// These replies, in the order of the calls; a call beyond the last one is an error.
    pub fn list(replies: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let left: Mutex<VecDeque<String>> = Mutex::new(replies.into_iter().map(Into::into).collect());
        Self::with_script(move |_| Ok(left.lock().unwrap_or_else(PoisonError::into_inner).pop_front()))
    }

    fn with_script(script: impl Fn(&Call) -> Result<Option<String>> + Send + Sync + 'static) -> Self {
        let identity = ModelIdentity {
            name: "scripted".into(),
            architecture: "scripted".into(),
            context: 100_000,
            ..Default::default()
        };
        Self {
            identity,
            script: Box::new(script),
            scores: Box::new(|_, _| -1.0),
            capabilities: Capabilities::ALL,
            backwards: false,
            deterministic: false,
        }
    }

    /// Refuses prompts that do not fit `context` words together with their reply.
    #[must_use]
    pub fn with_context(mut self, context: usize) -> Self {
        self.identity.context = context;
        self
    }

    /// The log-probability of each word of a scored prefill; -1 by default.
    #[must_use]
    pub fn with_scores(mut self, scores: impl Fn(&Call, &str) -> f32 + Send + Sync + 'static) -> Self {
        self.scores = Box::new(scores);
        self
    }

    /// Can do only this; by default everything.
    #[must_use]
    pub fn with_capabilities(mut self, capabilities: Capabilities) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// Equal calls have equal replies: a method need not make them twice.
    #[must_use]
    pub fn deterministic(mut self) -> Self {
        self.deterministic = true;
        self
    }

    /// The last call of a stage is answered first.
    #[must_use]
    pub fn backwards(mut self) -> Self {
        self.backwards = true;
        self
    }

    fn reply(&self, call: &Call) -> Result<Reply> {
        let prompt = words_of(call);
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
        let scores: Vec<TokenLogprob> = if call.score { self.score(call) } else { Vec::new() };
        if call.max_tokens == 0 {
            let usage = Usage { prompt, reused: 0, computed: prompt, generated: 0 };
            return Ok(Reply { scores, usage, finish: Finish::Length, ..Reply::default() });
        }
        let all = (self.script)(call)?
            .ok_or_else(|| MootError::Engine(format!("the script has no reply left for {}", call.what)))?;
        let (thoughts, all) = thoughts::split(&all);
        let text = first_words(all, call.max_tokens);
        let finish = if text.len() < all.trim_end().len() { Finish::Length } else { Finish::Stop };
        let generated = text.split_whitespace().count();
        let usage = Usage { prompt, reused: 0, computed: prompt, generated };
        let held_by = call.grammar.as_ref().map(|grammar| grammar.name.to_string());
        let thoughts = thoughts.map(|text| Thoughts { tokens: text.split_whitespace().count(), cut: false, text });
        let logprobs = match &call.logprobs {
            Some(_) => text.split_whitespace().map(|word| self.word(call, word)).collect(),
            None => Vec::new(),
        };
        let text = text.to_owned();
        Ok(Reply { text, thoughts, held_by, finish, usage, logprobs, scores, ..Reply::default() })
    }

    fn score(&self, call: &Call) -> Vec<TokenLogprob> {
        let text: String = call.prefill.iter().map(Segment::text).collect();
        text.split_whitespace().map(|word| self.word(call, word)).collect()
    }

    fn word(&self, call: &Call, word: &str) -> TokenLogprob {
        let logprob = (self.scores)(call, word);
        let wanted = call.logprobs.clone().unwrap_or_default();
        let top = Alternative { id: None, text: word.to_owned(), logprob };
        TokenLogprob {
            id: None,
            text: word.to_owned(),
            logprob,
            top: vec![top; wanted.top.min(1)],
            watched: vec![logprob; wanted.watch.len()],
        }
    }
}

impl Llm for Scripted {
    fn identity(&self) -> &ModelIdentity {
        &self.identity
    }

    fn capabilities(&self, _: &str) -> Capabilities {
        self.capabilities
    }

    fn is_deterministic(&self, _: &str) -> bool {
        self.deterministic
    }

    fn answer(&self, calls: &[Call], on_failure: OnFailure, on_reply: &mut OnReply<'_>) -> Vec<Result<Reply>> {
        let mut results: Vec<Result<Reply>> = calls.iter().map(|call| self.reply(call)).collect();
        if on_failure == OnFailure::Cancel && results.iter().any(Result::is_err) {
            results.iter_mut().filter(|result| result.is_ok()).for_each(|result| *result = Err(MootError::Interrupted));
        }
        let order: Vec<usize> =
            if self.backwards { (0..calls.len()).rev().collect() } else { (0..calls.len()).collect() };
        for index in order {
            if let Ok(reply) = &results[index] {
                on_reply(index, reply);
            }
        }
        results
    }
}

/// Words of all that a call's model reads.
fn words_of(call: &Call) -> usize {
    let words = |text: &str| text.split_whitespace().count();
    let prompt: usize = match &call.prompt {
        Prompt::Chat(messages) => messages.iter().map(|message| words(&message.content)).sum(),
        Prompt::Raw(segments) => segments.iter().map(|segment| words(segment.text())).sum(),
    };
    prompt + call.prefill.iter().map(|segment| words(segment.text())).sum::<usize>()
}

/// `text` up to the end of its `count`-th word.
fn first_words(text: &str, count: usize) -> &str {
    let mut end = 0;
    for word in text.split_whitespace().take(count) {
        // Words are slices of `text`, so their addresses say where they end.
        end = word.as_ptr() as usize - text.as_ptr() as usize + word.len();
    }
    if text.split_whitespace().nth(count).is_none() { text } else { &text[..end] }
}
