//! Requests to the engine and the events it answers with.

use crate::cancel::Cancel;
use crate::error::MootError;
use crate::generation::{Alternative, Finish, Grammar, Logprobs, Sampling, Thoughts, TokenLogprob, Usage};
use moot_models::Model;
use std::sync::mpsc::Sender;

/// One sequence to decode or to score.
#[derive(Debug)]
pub struct Request {
    /// Returned with every event: the caller's own number for this request.
    pub tag: usize,
    /// Requests that belong together, as the calls of one method: tokens that a request reuses from another group's pages
    /// are counted apart. It changes nothing else.
    pub group: u32,
    /// At least one token.
    pub prompt: Vec<u32>,
    /// First tokens of the reply, after `prompt` and after thoughts; the model continues them. They are no part of
    /// [`Completion::text`], and stop texts are not searched in them. Text that is split into a prompt and a prefill is
    /// tokenised apart: a word across the boundary becomes other tokens than the same word in one piece.
    pub prefill: Vec<u32>,
    /// Every token of `prefill` gets its log-probability: [`Completion::scores`].
    pub score: bool,
    /// Most tokens generated after the prefill, thoughts not counted. 0 generates nothing, which needs a prefill to score.
    pub max_tokens: usize,
    /// The model thinks first; `prompt` ends where its thoughts begin.
    pub think: Option<Think>,
    /// How tokens are chosen.
    pub sampling: Sampling,
    /// Seeds this request alone.
    pub seed: u64,
    /// Constrains what comes after the prefill.
    pub grammar: Option<Grammar>,
    /// The reply ends before the first of these texts.
    pub stop: Vec<String>,
    /// Log-probabilities reported for each token of the reply and each scored token. With `None` a scored token has its
    /// own alone, and a generated one has none.
    pub logprobs: Option<Logprobs>,
    /// End-of-turn tokens are never chosen: benches force lengths this way.
    pub ignore_eos: bool,
    /// Receives the events; a closed receiver cancels.
    pub events: Sender<(usize, Event)>,
    /// Cancels when set.
    pub cancel: Cancel,
}

/// Thoughts before a reply: without the reply's grammar and stop texts, with a token budget of their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Think {
    /// Most tokens of thought; then `forced` is appended.
    pub tokens: usize,
    /// Text that ends the thoughts.
    pub close: String,
    /// The control token written as `close`. Where there is one, only it ends thoughts: the same letters quoted from a
    /// document do not.
    pub close_id: Option<u32>,
    /// Appended to thoughts that the model ended.
    pub after: Vec<u32>,
    /// Appended to thoughts that the budget or an end of turn ended; at least one token.
    pub forced: Vec<u32>,
}

impl Request {
    /// Exactly `tokens` tokens after `prompt`, the likeliest that do not end the turn, as benches and comparisons need.
    #[must_use]
    pub fn of_length(tag: usize, prompt: Vec<u32>, tokens: usize, events: Sender<(usize, Event)>) -> Self {
        Self {
            tag,
            group: 0,
            prompt,
            prefill: Vec::new(),
            score: false,
            max_tokens: tokens,
            think: None,
            sampling: Sampling::Greedy,
            seed: 0,
            grammar: None,
            stop: Vec::new(),
            logprobs: None,
            ignore_eos: true,
            events,
            cancel: Cancel::default(),
        }
    }

    /// Tokens of the prompt and of the prefill.
    pub(super) fn given(&self) -> usize {
        self.prompt.len() + self.prefill.len()
    }

    /// Most tokens generated: thoughts, the tokens appended to them, and the reply.
    pub(super) fn generated_at_most(&self) -> usize {
        self.max_tokens.saturating_add(self.think.as_ref().map_or(0, Think::most))
    }
}

impl Think {
    /// The text that ends the thoughts, where no control token does.
    pub(super) fn spelt_close(&self) -> Vec<String> {
        if self.close_id.is_some() { Vec::new() } else { vec![self.close.clone()] }
    }

    /// Most tokens before the reply.
    pub(super) fn most(&self) -> usize {
        self.tokens.saturating_add(self.forced.len().max(self.after.len()))
    }
}

/// Progress of a request.
#[derive(Debug)]
pub enum Event {
    /// More text of the thoughts, whole characters only.
    Thought(String),
    /// More text, whole characters only.
    Text(String),
    /// The reply is finished; the last event.
    Done(Completion),
    /// The request failed; the last event.
    Failed(MootError),
}

/// A finished reply.
#[derive(Debug, Clone, PartialEq)]
pub struct Completion {
    /// Everything that was sent as [`Event::Text`]: the continuation, without the prefill.
    pub text: String,
    /// The thoughts, where they were requested: everything that was sent as [`Event::Thought`].
    pub thoughts: Option<Thoughts>,
    /// Generated tokens: thoughts, then the reply, an end-of-turn token included; without the prefill.
    pub tokens: Vec<u32>,
    /// Why it ended; [`Finish::Length`] where nothing was to be generated.
    pub finish: Finish,
    /// Tokens used. The prefill counts as prompt, its last token as computed.
    pub usage: Usage,
    /// One a token of the reply, where they were requested.
    pub logprobs: Vec<TokenLogprobs>,
    /// One a token of the prefill, where [`Request::score`] was set: what [`Completion::logprobs`] would report for the same
    /// tokens had they been sampled, to the last bit on the CPU.
    pub scores: Vec<TokenLogprobs>,
    /// From submission to the last token.
    pub seconds: f64,
}

impl TokenLogprobs {
    /// With the texts of its tokens.
    #[must_use]
    pub fn written(self, model: &Model) -> TokenLogprob {
        let text = |id: u32| String::from_utf8_lossy(&model.tokenizer.decode_bytes(&[id])).into_owned();
        let alternative = |(id, logprob)| Alternative { id: Some(id), text: text(id), logprob };
        TokenLogprob {
            id: Some(self.token),
            text: text(self.token),
            logprob: self.logprob,
            top: self.top.into_iter().map(alternative).collect(),
            watched: self.watched,
        }
    }
}

/// Natural logarithms of probabilities at one position, before temperature and grammar.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenLogprobs {
    /// The token at this position.
    pub token: u32,
    /// Its own.
    pub logprob: f32,
    /// The likeliest tokens, likeliest first; of equals the lowest id first.
    pub top: Vec<(u32, f32)>,
    /// One an id of [`Logprobs::watch`], in its order.
    pub watched: Vec<f32>,
}
