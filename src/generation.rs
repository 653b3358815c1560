//! The vocabulary of generation (leaf module): the settings of a reply, and its parts besides the text.

pub use moot_models::tokenizer::{Message, Role, Segment, Thinking};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;

/// How the next token is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sampling {
    /// The most likely token; of equals the lowest id.
    #[default]
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

/// A parameter of sampling that is out of its range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OutOfRange {
    /// The parameter, as a field of a request: `top_p`.
    pub field: &'static str,
    /// Its range.
    pub expected: &'static str,
    /// The value.
    pub found: f32,
}

impl Sampling {
    /// Sampling with these parameters; at temperature 0 the most likely token. The one check of their ranges.
    ///
    /// # Errors
    /// The first parameter that is out of its range.
    pub fn new(temperature: f32, top_k: usize, top_p: f32) -> Result<Self, OutOfRange> {
        if !(temperature >= 0.0 && temperature.is_finite()) {
            return Err(OutOfRange { field: "temperature", expected: "a number of at least 0", found: temperature });
        }
        // Negated, so that NaN is refused too.
        if !(top_p > 0.0 && top_p <= 1.0) {
            return Err(OutOfRange { field: "top_p", expected: "a number above 0 and at most 1", found: top_p });
        }
        Ok(if temperature == 0.0 { Self::Greedy } else { Self::Seeded { temperature, top_k, top_p } })
    }

    /// Sampling that another program sent, checked.
    ///
    /// # Errors
    /// As [`Sampling::new`]; sampling by chance at temperature 0.
    pub fn checked(self) -> Result<Self, OutOfRange> {
        let Self::Seeded { temperature, top_k, top_p } = self else { return Ok(self) };
        match Self::new(temperature, top_k, top_p)? {
            Self::Greedy => Err(OutOfRange { field: "temperature", expected: "a number above 0", found: temperature }),
            seeded @ Self::Seeded { .. } => Ok(seeded),
        }
    }
}

/// A grammar that constrains a reply to its format while it is decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grammar {
    /// For the record: the file it came from.
    pub name: Arc<str>,
    /// In llguidance's Lark dialect.
    pub lark: Arc<str>,
}

/// A JSON schema of the same content, for servers that take schemas and no grammars. Such a reply is a JSON object; its
/// format turns it into the line that the grammar would have produced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema {
    /// For the record: the file it came from.
    pub name: Arc<str>,
    /// The schema itself, JSON.
    pub json: Arc<str>,
}

impl Schema {
    /// The schema `json` under `name`, and the grammar of the same replies.
    #[must_use]
    pub fn with_grammar(name: &str, json: &Value) -> (Grammar, Self) {
        let lark = format!("start: %json {}\n", Self::spaced(json));
        let grammar = Grammar { name: name.into(), lark: lark.into() };
        (grammar, Self { name: name.into(), json: json.to_string().into() })
    }

    /// `json` for replies with one space after commas and colons and no other white space: with any white space allowed, a
    /// small model may write nothing else until its tokens are used up.
    #[must_use]
    pub fn spaced(json: &Value) -> Value {
        let mut json = json.clone();
        if let Value::Object(fields) = &mut json {
            let spaces = json!({ "whitespace_flexible": false, "item_separator": ", ", "key_separator": ": " });
            fields.insert("x-guidance".into(), spaces);
        }
        json
    }
}

/// Input of a model before its reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Prompt {
    /// A chat, rendered by the model's chat template: an optional system message, then turns; the last one is the user's.
    Chat(Vec<Message>),
    /// The prompt itself, without a chat template. Control tokens are recognised in scaffold alone.
    Raw(Vec<Segment>),
}

impl Prompt {
    /// The chat's turns; empty for a raw prompt.
    #[must_use]
    pub fn messages(&self) -> &[Message] {
        match self {
            Self::Chat(messages) => messages,
            Self::Raw(_) => &[],
        }
    }
}

/// Which log-probabilities a call asks for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Logprobs {
    /// The likeliest tokens reported at each step; 0 reports the chosen token alone.
    #[serde(default)]
    pub top: usize,
    /// Token ids reported at every step, at any rank.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub watch: Vec<u32>,
}

/// Why a reply ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Finish {
    /// The model ended its turn, the grammar was complete, or a stop text came.
    #[default]
    Stop,
    /// `max_tokens` was reached; also where nothing was to be generated.
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

/// Sums stay at the largest number: a server or a record may claim any count.
impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.prompt = self.prompt.saturating_add(other.prompt);
        self.reused = self.reused.saturating_add(other.reused);
        self.computed = self.computed.saturating_add(other.computed);
        self.generated = self.generated.saturating_add(other.generated);
    }
}

/// One token and its log-probability: natural logarithm, before temperature and grammar.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TokenLogprob {
    /// The token's id, where the model gives ids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<u32>,
    /// The token's text; half a character becomes U+FFFD.
    pub text: String,
    /// Log-probability of this token after all tokens before it.
    pub logprob: f32,
    /// The likeliest tokens at this step, likeliest first: [`Logprobs::top`] of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub top: Vec<Alternative>,
    /// Log-probabilities of [`Logprobs::watch`] at this step, in its order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub watched: Vec<f32>,
}

/// A token that could have stood at a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Alternative {
    /// Its id, where the model gives ids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<u32>,
    /// Its text; half a character becomes U+FFFD.
    pub text: String,
    /// Its log-probability, natural logarithm.
    pub logprob: f32,
}

/// Thoughts before a reply.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Thoughts {
    /// Without the markers around it.
    pub text: String,
    /// Tokens of it, the markers included; 0 where a server does not say.
    pub tokens: usize,
    /// The budget was spent and the thought broken off.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}
