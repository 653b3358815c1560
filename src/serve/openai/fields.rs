//! The fields of a request for chat or completions. Unknown fields are ignored, as clients send many; one that asks for what
//! is not done here is refused.

use crate::jsonl::MAX_VALUES;
use crate::llm::remote::MOST_STOPS;
use crate::serve::body::{TextOrList, entries, list};
use crate::serve::moot::given::GivenDocument;
use crate::serve::refusal::{Answer, Refusal};
use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;

/// Replies of one request for completions, and so its prompts.
pub(super) const MOST_COMPLETIONS: usize = 2048;

/// A request for chat or completions.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Body {
    pub model: Option<String>,
    #[serde(deserialize_with = "list")]
    pub messages: Vec<Incoming>,
    pub prompt: Option<Prompts>,
    /// For a method: what its agents read.
    #[serde(deserialize_with = "list")]
    pub documents: Vec<GivenDocument>,
    pub max_tokens: Option<usize>,
    pub max_completion_tokens: Option<usize>,
    pub temperature: Option<f32>,
    pub top_p: Option<f32>,
    pub top_k: Option<i64>,
    pub seed: Option<i64>,
    pub stop: Option<TextOrList<String, MOST_STOPS>>,
    pub n: Option<usize>,
    pub stream: Option<bool>,
    pub stream_options: Option<StreamOptions>,
    pub logprobs: Option<Wanted>,
    pub top_logprobs: Option<usize>,
    pub echo: Option<bool>,
    pub add_special_tokens: Option<bool>,
    pub response_format: Option<ResponseFormat>,
    pub chat_template_kwargs: Option<TemplateOptions>,
    pub reasoning_effort: Option<String>,
    tool_choice: Option<Value>,
    function_call: Option<Value>,
    logit_bias: Option<BTreeMap<String, f32>>,
    presence_penalty: Option<f32>,
    frequency_penalty: Option<f32>,
    repetition_penalty: Option<f32>,
    min_p: Option<f32>,
    suffix: Option<String>,
    best_of: Option<usize>,
    min_tokens: Option<usize>,
    ignore_eos: Option<bool>,
    // Forms of replies as vLLM takes them.
    guided_json: Option<IgnoredAny>,
    guided_regex: Option<IgnoredAny>,
    guided_choice: Option<IgnoredAny>,
    guided_grammar: Option<IgnoredAny>,
    structured_outputs: Option<IgnoredAny>,
}

/// A message of a chat.
#[derive(Deserialize)]
pub(super) struct Incoming {
    pub role: String,
    #[serde(default)]
    pub content: Option<TextOrList<ContentPart>>,
    /// Of an assistant: tools that it called.
    #[serde(default, deserialize_with = "list")]
    pub tool_calls: Vec<ToolCall>,
    /// The same in an older form.
    #[serde(default)]
    pub function_call: Option<Function>,
    /// Of a tool: the call whose result this is.
    #[serde(default)]
    pub tool_call_id: Option<String>,
    /// Of a function: its name.
    #[serde(default)]
    pub name: Option<String>,
}

/// A tool that was called.
#[derive(Deserialize)]
pub(super) struct ToolCall {
    #[serde(default)]
    pub id: Option<String>,
    #[serde(default)]
    pub function: Option<Function>,
}

/// A function, and the arguments with which it was called: JSON as text, of some clients JSON itself.
#[derive(Deserialize)]
pub(super) struct Function {
    pub name: String,
    #[serde(default)]
    pub arguments: Value,
}

/// A part of a message.
#[derive(Deserialize)]
pub(super) struct ContentPart {
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(default)]
    pub text: Option<String>,
}

/// Prompts without a chat: texts, or tokens.
pub(super) enum Prompts {
    Text(String),
    Texts(Vec<String>),
    Tokens(Vec<u32>),
    TokenLists(Vec<Vec<u32>>),
}

/// The expected type of `prompt`.
pub(super) const PROMPTS: &str = "a text, a list of texts, tokens or lists of tokens";

impl<'de> Deserialize<'de> for Prompts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// The first entry, which determines the type of the others.
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "expected a text, a token or a list of tokens, found something else")]
        enum First {
            Text(String),
            Token(u32),
            Tokens(Vec<u32>),
        }

        struct TextsOrTokens;

        impl<'de> Visitor<'de> for TextsOrTokens {
            type Value = Prompts;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(PROMPTS)
            }

            fn visit_str<E>(self, text: &str) -> Result<Prompts, E> {
                Ok(Prompts::Text(text.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Prompts, A::Error> {
                match seq.next_element()? {
                    None => Ok(Prompts::Texts(Vec::new())),
                    Some(First::Text(text)) => entries(vec![text], seq, MOST_COMPLETIONS).map(Prompts::Texts),
                    // The context bounds them later: a body has no more values than this.
                    Some(First::Token(token)) => entries(vec![token], seq, MAX_VALUES).map(Prompts::Tokens),
                    Some(First::Tokens(one)) => entries(vec![one], seq, MOST_COMPLETIONS).map(Prompts::TokenLists),
                }
            }
        }

        deserializer.deserialize_any(TextsOrTokens)
    }
}

/// Whether log-probabilities are wanted (chat), or how many of the likeliest tokens (completions).
#[derive(Deserialize, Clone, Copy)]
#[serde(untagged, expecting = "expected true, false or a number, found something else")]
pub(super) enum Wanted {
    Whether(bool),
    Top(usize),
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct StreamOptions {
    pub include_usage: Option<bool>,
}

/// The form of a reply.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ResponseFormat {
    Text,
    JsonObject,
    JsonSchema { json_schema: NamedSchema },
}

#[derive(Deserialize)]
pub(super) struct NamedSchema {
    #[serde(default)]
    pub name: String,
    pub schema: Value,
}

/// Settings of the chat template.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct TemplateOptions {
    pub enable_thinking: Option<bool>,
    #[serde(flatten)]
    others: BTreeMap<String, IgnoredAny>,
}

/// The replacement for vLLM's fields.
const FORM: &str = "send response_format with a JSON schema";

impl TemplateOptions {
    /// Refuses settings that are not known here.
    pub(super) fn refuse_unknown(&self) -> Answer<()> {
        self.others.keys().next().map_or(Ok(()), |name| {
            let field = format!("chat_template_kwargs.{}", crate::escape::beginning(name, 40));
            Err(Refusal::unsupported(&field, "enable_thinking alone is known"))
        })
    }
}

/// Refuses the first requested field; each has its name, whether it is requested, and a replacement.
fn first(asks: &[(&str, bool, &str)]) -> Answer<()> {
    match asks.iter().find(|(_, asked, _)| *asked) {
        Some((field, _, instead)) => Err(Refusal::unsupported(field, instead)),
        None => Ok(()),
    }
}

impl Body {
    /// Refuses what would change the reply and is not done here.
    pub(super) fn refuse_unsupported(&self) -> Answer<()> {
        let off = |value: Option<f32>, neutral: f32| value.is_none_or(|value| value == neutral);
        // Chat clients offer tools with every message. A reply without a call is what a model may give then, unless the
        // request demands a call.
        let demanded =
            |choice: &Option<Value>| choice.as_ref().is_some_and(|choice| choice != "auto" && choice != "none");
        let asks = [
            ("tool_choice", demanded(&self.tool_choice), "send auto or none: tools are not called"),
            ("function_call", demanded(&self.function_call), "send auto or none: functions are not called"),
            ("logit_bias", self.logit_bias.as_ref().is_some_and(|bias| !bias.is_empty()), "leave it out"),
            ("presence_penalty", !off(self.presence_penalty, 0.0), "send 0"),
            ("frequency_penalty", !off(self.frequency_penalty, 0.0), "send 0"),
            ("repetition_penalty", !off(self.repetition_penalty, 1.0), "send 1"),
            ("min_p", !off(self.min_p, 0.0), "send 0"),
            ("suffix", self.suffix.as_ref().is_some_and(|text| !text.is_empty()), "leave it out"),
            ("best_of", self.best_of.is_some_and(|best| best > self.n.unwrap_or(1)), "send n alone"),
            ("min_tokens", self.min_tokens.is_some_and(|least| least > 0), "leave it out"),
            ("ignore_eos", self.ignore_eos == Some(true), "leave it out"),
            ("guided_json", self.guided_json.is_some(), FORM),
            ("guided_regex", self.guided_regex.is_some(), FORM),
            ("guided_choice", self.guided_choice.is_some(), FORM),
            ("guided_grammar", self.guided_grammar.is_some(), FORM),
            ("structured_outputs", self.structured_outputs.is_some(), FORM),
        ];
        first(&asks)?;
        self.chat_template_kwargs.as_ref().map_or(Ok(()), TemplateOptions::refuse_unknown)
    }

    /// Refuses what a method as a model does not heed. How tokens are chosen, and how many, is a setting of the method.
    pub(super) fn refuse_of_method(&self) -> Answer<()> {
        let form = self.response_format.as_ref().is_some_and(|form| !matches!(form, ResponseFormat::Text));
        let logprobs = self.logprobs.is_some_and(|wanted| !matches!(wanted, Wanted::Whether(false)));
        first(&[
            ("n", self.n.is_some_and(|n| n != 1), "a method gives one answer"),
            ("response_format", form, "read `moot` in the reply, which has the answer's structure"),
            ("logprobs", logprobs, "read the probabilities of answers in `moot`"),
            ("stop", !self.stops()?.is_empty(), "leave it out"),
        ])
    }

    /// Whether the reply is streamed.
    pub(super) fn streams(&self) -> bool {
        self.stream.unwrap_or(false)
    }

    /// Whether a stream ends with the usage.
    pub(super) fn includes_usage(&self) -> bool {
        self.stream_options.as_ref().and_then(|options| options.include_usage).unwrap_or(false)
    }
}
