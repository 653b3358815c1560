//! The seam between methods and models: a stage of calls goes in, replies come out.

use crate::cancel::Cancel;
use crate::engine::{Engine, Stats};
use crate::error::{MootError, Result};
use crate::generation::{Finish, Grammar, Logprobs, Prompt, Sampling, Schema, Segment, Thoughts, TokenLogprob, Usage};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub mod identity;
pub(crate) mod layer;
pub mod local;
pub mod once;
pub mod remote;
pub mod replay;
pub mod replicas;
pub mod roles;
pub mod scripted;
pub(crate) mod thoughts;
pub mod turns;

/// One call of a model.
#[derive(Debug, Clone)]
pub struct Call {
    /// Names the call in errors: "agent of notes.txt, round 1". Not part of the prompt.
    pub what: String,
    /// The role that speaks: each role may have a model of its own (see [`roles`]).
    pub role: String,
    /// From 1. Not part of the prompt.
    pub round: usize,
    /// The document that it speaks for, by its number. Not part of the prompt.
    pub document: Option<usize>,
    /// The method of a run of several, by its number: an engine counts what methods share. Not part of the prompt.
    pub group: u32,
    /// The model's input.
    pub prompt: Prompt,
    /// The first part of the reply, which the model continues; empty for none.
    pub prefill: Vec<Segment>,
    /// Whether every token of `prefill` is scored ([`Reply::scores`]).
    pub score: bool,
    /// Most tokens generated after the prefill, thoughts not counted. 0 generates nothing: then `prefill` is scored.
    pub max_tokens: usize,
    /// Tokens of thought before the reply, for a model that can think; 0 turns thinking off.
    pub think: usize,
    /// How tokens are chosen.
    pub sampling: Sampling,
    /// Seeds this call alone; [`crate::protocol::ctx`] derives it.
    pub seed: u64,
    /// The reply ends before the first of these texts.
    pub stop: Vec<String>,
    /// Constrains what comes after the prefill, where the model can do that.
    pub grammar: Option<Grammar>,
    /// The same format for servers that take schemas alone.
    pub schema: Option<Schema>,
    /// The reply's format by its name ([`crate::protocol::formats`]), which `grammar` and `schema` are rendered from.
    pub format: &'static str,
    /// The values that they are rendered with.
    pub format_values: Value,
    /// Log-probabilities of the generated and the scored tokens; `None` reports none.
    pub logprobs: Option<Logprobs>,
    /// Ends this call when it is set, with [`MootError::Interrupted`]. Not part of the prompt.
    pub cancel: Cancel,
}

impl Call {
    /// A chat call with the defaults: nothing prefilled, greedy, seed 0, no grammar, no log-probabilities.
    #[must_use]
    pub fn new(what: impl Into<String>, role: impl Into<String>, prompt: Prompt, max_tokens: usize) -> Self {
        Self {
            what: what.into(),
            role: role.into(),
            round: 1,
            document: None,
            group: 0,
            prompt,
            prefill: Vec::new(),
            score: false,
            max_tokens,
            think: 0,
            sampling: Sampling::Greedy,
            seed: 0,
            stop: Vec::new(),
            grammar: None,
            schema: None,
            format: "",
            format_values: Value::Null,
            logprobs: None,
            cancel: Cancel::default(),
        }
    }

    /// Bytes of the text that the model reads, without what its chat template adds.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let prompt: usize = match &self.prompt {
            Prompt::Chat(messages) => messages.iter().map(|message| message.content.len()).sum(),
            Prompt::Raw(segments) => segments.iter().map(|segment| segment.text().len()).sum(),
        };
        prompt + self.prefill.iter().map(|segment| segment.text().len()).sum::<usize>()
    }

    /// Capabilities needed to answer this call. A grammar is not needed: a reply without one is parsed as strictly.
    #[must_use]
    pub fn needs(&self) -> Capabilities {
        Capabilities {
            logprobs: self.logprobs.is_some() && self.max_tokens > 0,
            watch: self.logprobs.as_ref().is_some_and(|wanted| !wanted.watch.is_empty()),
            prefill: !self.prefill.is_empty() && self.max_tokens > 0,
            scores: self.score,
            raw: matches!(self.prompt, Prompt::Raw(_)),
            ..Capabilities::default()
        }
    }
}

/// Capabilities of a model, or those that a method needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Capabilities {
    /// A reply can be constrained by a grammar.
    pub grammar: bool,
    /// A reply can be constrained by a JSON schema.
    pub schema: bool,
    /// Log-probabilities of generated tokens, with the likeliest alternatives.
    pub logprobs: bool,
    /// Log-probabilities of given token ids at every step.
    pub watch: bool,
    /// A reply can be begun by the caller and continued by the model.
    pub prefill: bool,
    /// Given text can be scored token by token.
    pub scores: bool,
    /// Prompts without a chat template.
    pub raw: bool,
}

impl Capabilities {
    /// A model in this process can do everything.
    pub const ALL: Self =
        Self { grammar: true, schema: true, logprobs: true, watch: true, prefill: true, scores: true, raw: true };

    /// The capabilities of `self` that `able` lacks, for messages.
    #[must_use]
    pub fn missing_from(self, able: Self) -> Vec<&'static str> {
        [
            (self.grammar, able.grammar, "grammars"),
            (self.schema, able.schema, "JSON schemas"),
            (self.logprobs, able.logprobs, "log-probabilities"),
            (self.watch, able.watch, "log-probabilities of given tokens"),
            (self.prefill, able.prefill, "prefilled replies"),
            (self.scores, able.scores, "scores of given text"),
            (self.raw, able.raw, "prompts without a chat template"),
        ]
        .into_iter()
        .filter(|(needed, able, _)| *needed && !able)
        .map(|(_, _, name)| name)
        .collect()
    }

    /// The union of the two.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            grammar: self.grammar || other.grammar,
            schema: self.schema || other.schema,
            logprobs: self.logprobs || other.logprobs,
            watch: self.watch || other.watch,
            prefill: self.prefill || other.prefill,
            scores: self.scores || other.scores,
            raw: self.raw || other.raw,
        }
    }
}

/// A model's reply.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Reply {
    /// The text generated after the prefill, without end-of-turn tokens and thoughts.
    pub text: String,
    /// Thoughts before the text, if any.
    pub thoughts: Option<Thoughts>,
    /// The grammar or schema that constrained the text, by name; `None` if none did.
    pub held_by: Option<String>,
    /// Why it ended.
    pub finish: Finish,
    /// Token counts.
    pub usage: Usage,
    /// The ids of everything generated, thoughts first; empty where a model gives no ids.
    pub tokens: Vec<u32>,
    /// One for each token of `text`, where they were asked for.
    pub logprobs: Vec<TokenLogprob>,
    /// One for each token of [`Call::prefill`], where it was to be scored.
    pub scores: Vec<TokenLogprob>,
    /// Fields left out because the server refused them.
    pub dropped: Vec<String>,
    /// From submission to the last token, waiting included.
    pub seconds: f64,
}

/// Which model answered; goes into every record.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ModelIdentity {
    /// As the user named it.
    pub name: String,
    /// Hex SHA-256 of the weights file; empty where there is none, as of a remote model.
    #[serde(default)]
    pub sha256: String,
    /// "llama", "qwen2", "remote", "scripted".
    pub architecture: String,
    /// Tokens a prompt and its reply may have together; 0 where a server does not say.
    pub context: usize,
    /// The arithmetic: the same file and the same recipe give the same bits. Empty if unknown, as of a remote model.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub recipe: String,
}

/// Treatment of a stage's other calls when one fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnFailure {
    /// They are cancelled and end with [`MootError::Interrupted`].
    Cancel,
    /// They go on.
    Continue,
}

/// Receives each reply of a stage as it arrives, with the call's index in the stage.
pub type OnReply<'a> = dyn FnMut(usize, &Reply) + 'a;

/// A piece of a reply that is being generated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delta<'a> {
    /// More of the thoughts.
    Thought(&'a str),
    /// More of the text.
    Text(&'a str),
}

/// Receives the pieces of a reply in their order.
pub type OnDelta<'a> = dyn FnMut(Delta<'_>) + 'a;

/// Anything that answers calls: the engine in this process, a server, a script, a record.
pub trait Llm: Send + Sync {
    /// Which model this is; of several, the one that answers where no role is named.
    fn identity(&self) -> &ModelIdentity;

    /// Which model answers the calls of `role`.
    fn identity_of(&self, role: &str) -> &ModelIdentity {
        let _ = role;
        self.identity()
    }

    /// Capabilities of the model of `role`.
    fn capabilities(&self, role: &str) -> Capabilities;

    /// The id of the one token that is written `text`, control tokens included; `None` where there is none, or where the
    /// model of `role` gives no ids.
    fn token(&self, role: &str, text: &str) -> Option<u32> {
        let _ = (role, text);
        None
    }

    /// Whether the model of `role` gives the same reply to the same call (same seed, or greedy), so that a call of a
    /// question that was answered need not be made again. True for models of this process; of a server it is not known.
    fn is_deterministic(&self, role: &str) -> bool {
        let _ = role;
        false
    }

    /// Whether `call` could ever run, as far as that is known without running it. For a model
    /// that is remote or not loaded it is not known, and no error.
    ///
    /// # Errors
    /// [`MootError::TooLong`] with the numbers; a prompt that cannot be rendered.
    fn fits(&self, call: &Call) -> Result<()> {
        let _ = call;
        Ok(())
    }

    /// Answers a stage of calls, all in flight at once; blocks until each has its result. Results are in the order of
    /// `calls`.
    ///
    /// `on_reply` is called as each reply arrives, from this thread, in order of arrival.
    ///
    /// # Errors
    /// Each call's own. A [`MootError::TooLong`] names the call as its [`Call::what`] does.
    fn answer(&self, calls: &[Call], on_failure: OnFailure, on_reply: &mut OnReply<'_>) -> Vec<Result<Reply>>;

    /// Answers one call; `on_delta` receives its text as it is generated. Where the model does not report it piece by piece,
    /// it is reported once, when it is whole.
    ///
    /// # Errors
    /// As [`Llm::answer`].
    fn stream(&self, call: &Call, on_delta: &mut OnDelta<'_>) -> Result<Reply> {
        let reply = self.ask_all(std::slice::from_ref(call), &mut |_, _| {})?.swap_remove(0);
        if let Some(thoughts) = &reply.thoughts {
            on_delta(Delta::Thought(&thoughts.text));
        }
        on_delta(Delta::Text(&reply.text));
        Ok(reply)
    }

    /// The engine of `role`'s model, where it runs in this process and stays loaded: for what needs its tokens.
    fn engine(&self, role: &str) -> Option<&Engine> {
        let _ = role;
        None
    }

    /// Answers a stage of calls of which all are needed.
    ///
    /// # Errors
    /// The failure that made the stage fail; the other calls are cancelled.
    fn ask_all(&self, calls: &[Call], on_reply: &mut OnReply<'_>) -> Result<Vec<Reply>> {
        all_or_first_failure(self.answer(calls, OnFailure::Cancel, on_reply))
    }

    /// Statistics of this process's engines; `None` if there is no engine.
    fn engine_stats(&self) -> Option<Stats> {
        None
    }
}

/// All results, or the first error by index that is not a consequence of another ([`MootError::Interrupted`]).
///
/// # Errors
/// That error.
pub(crate) fn all_or_first_failure<T>(results: Vec<Result<T>>) -> Result<Vec<T>> {
    let mut values = Vec::with_capacity(results.len());
    let mut failure = None;
    for result in results {
        match (result, &failure) {
            (Ok(value), _) => values.push(value),
            (Err(error), None | Some(MootError::Interrupted)) => failure = Some(error),
            (Err(_), Some(_)) => {}
        }
    }
    failure.map_or(Ok(values), Err)
}

/// Answers `calls` one after the other by `reply`, for models whose replies are known beforehand. With
/// [`OnFailure::Cancel`] the calls behind a failed one are [`MootError::Interrupted`].
pub(crate) fn answer_in_order(
    calls: &[Call],
    on_failure: OnFailure,
    on_reply: &mut OnReply<'_>,
    mut reply: impl FnMut(&Call) -> Result<Reply>,
) -> Vec<Result<Reply>> {
    let mut results = Vec::with_capacity(calls.len());
    for (index, call) in calls.iter().enumerate() {
        let result = reply(call);
        let failed = result.is_err();
        if let Ok(reply) = &result {
            on_reply(index, reply);
        }
        results.push(result);
        if failed && on_failure == OnFailure::Cancel {
            results.resize_with(calls.len(), || Err(MootError::Interrupted));
            break;
        }
    }
    results
}
