//! The seam between methods and models: a stage of calls goes in, replies come out.

use crate::engine::Stats;
use crate::error::Result;
pub use moot_models::tokenizer::{Message, Role, Thinking};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

pub mod local;
pub mod remote;
pub mod replay;
pub mod roles;
pub mod scripted;
pub mod thoughts;
pub mod turns;

pub use thoughts::Thoughts;

/// How the next token is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sampling {
    /// The most likely token; of equals the lowest id.
    Greedy,
    /// By chance, reproducibly: temperature, then top-k, then top-p.
    Seeded {
        /// Above 0.
        temperature: f32,
        /// Keep the k most likely; 0 keeps all.
        top_k: usize,
        /// Keep the smallest set whose probability reaches p; 1 keeps all.
        top_p: f32,
    },
}

/// A grammar that holds a reply to its format while it is decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grammar {
    /// For the record: the file it came from.
    pub name: &'static str,
    /// In llguidance's Lark dialect.
    pub lark: Arc<str>,
}

/// A JSON schema that holds a reply to its content where a server knows schemas and no grammars. Such a reply is an
/// object; [`Format::line`](crate::methods::reply::Format::line) makes of it what the grammar would have let through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema {
    /// For the record: the file it came from.
    pub name: &'static str,
    /// The schema itself, JSON.
    pub json: Arc<str>,
}

/// One call of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Names the call in errors: "agent of notes.txt, round 1". No model sees it.
    pub what: String,
    /// Who speaks: each role may have a model of its own (see [`roles`]).
    pub role: &'static str,
    /// The chat so far.
    pub messages: Vec<Message>,
    /// At most this many tokens are generated, thoughts apart.
    pub max_tokens: usize,
    /// Tokens of thought before the reply, for a model that can think; 0 keeps it from thinking.
    pub think: usize,
    /// How tokens are chosen.
    pub sampling: Sampling,
    /// Seeds this call alone; see [`crate::methods::ctx`] for how it is derived.
    pub seed: u64,
    /// Holds the reply to a format, where the model can do that.
    pub grammar: Option<Grammar>,
    /// The same format for servers that know schemas alone.
    pub schema: Option<Schema>,
    /// How many of the likeliest tokens to report at each step of the reply; `None` reports nothing.
    pub logprobs: Option<usize>,
}

/// Why a reply ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Finish {
    /// The model ended its turn, or the grammar was complete.
    Stop,
    /// `max_tokens` was reached.
    Length,
}

/// Tokens of one call, or of many added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the prompt: `reused + computed`.
    pub prompt: usize,
    /// Prompt tokens whose keys and values another call had left or was making.
    pub reused: usize,
    /// Prompt tokens computed for this call.
    pub computed: usize,
    /// Tokens generated, thoughts included.
    pub generated: usize,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.prompt += other.prompt;
        self.reused += other.reused;
        self.computed += other.computed;
        self.generated += other.generated;
    }
}

/// One token of a reply and what else might have stood there, natural logarithms of probabilities before temperature and
/// grammar.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenLogprob {
    /// Of the token that was chosen; half a character turns into U+FFFD.
    pub text: String,
    /// Its own.
    pub logprob: f32,
    /// The likeliest tokens, likeliest first.
    pub top: Vec<(String, f32)>,
}

/// What a model replied.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// Without the template's end-of-turn tokens, and without thoughts.
    pub text: String,
    /// What was thought before, where the model did.
    pub thoughts: Option<Thoughts>,
    /// What held the text to its format: the grammar's name or the schema's; `None` where nothing did.
    pub held_by: Option<String>,
    /// Why it ended.
    pub finish: Finish,
    /// What it cost.
    pub usage: Usage,
    /// The ids of everything generated, thoughts first; none where a model does not tell them.
    pub tokens: Vec<u32>,
    /// One a token of `text`, where they were asked for and the model gives them.
    pub logprobs: Vec<TokenLogprob>,
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
    /// By which arithmetic: what is the same file and the same recipe gives the same bits. Empty where nobody knows, as of
    /// a remote model.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub recipe: String,
}

/// Anything that answers calls: the engine in this process, a server, a script, a record.
pub trait Llm: Send + Sync {
    /// Which model this is; of several, the one that answers where no role is named.
    fn identity(&self) -> &ModelIdentity;

    /// Which model answers the calls of `role`.
    fn identity_of(&self, role: &str) -> &ModelIdentity {
        let _ = role;
        self.identity()
    }

    /// Answers a stage of calls, all in flight at once; blocks until each has its reply, in the order of `calls`.
    ///
    /// `on_reply(i, reply)` is called as each reply arrives, from this thread, in order of arrival.
    ///
    /// # Errors
    /// The first call that failed, by its place in `calls`; the others are cancelled. A
    /// [`MootError::TooLong`](crate::MootError::TooLong) names the call as its [`Call::what`] does.
    fn ask_all(&self, calls: &[Call], on_reply: &mut dyn FnMut(usize, &Reply)) -> Result<Vec<Reply>>;

    /// What the engines of this process did for it, counted; `None` where none is at work.
    fn engine_stats(&self) -> Option<Stats> {
        None
    }
}
