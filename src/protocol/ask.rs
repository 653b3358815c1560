//! One call as a method asks for it.

use crate::generation::{Logprobs, Message, Sampling, Segment};
use crate::prompts::File;
use crate::protocol::formats::{CHOICE, Format, SCORES};
use serde_json::Value;

/// One call to make. [`Ask::new`] has the defaults; methods name what differs.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    /// "agent", "aggregator", "reader": each role may have a model of its own.
    pub role: String,
    /// From 1.
    pub round: usize,
    /// The document that this call speaks for, by its number.
    pub document: Option<usize>,
    /// The prompt file: the last user turn, or the whole raw prompt.
    pub prompt: File,
    /// Values for prompt and system message, an object.
    pub values: Value,
    /// The format of the reply.
    pub format: &'static Format,
    /// Values for the format's grammar and schema, an object; null for formats without values.
    pub format_values: Value,
    /// The prompt is sent as it is rendered, without the chat template.
    pub raw: bool,
    /// The system message's file.
    pub system: Option<File>,
    /// Earlier turns of the chat.
    pub turns: Vec<Message>,
    /// The first part of the reply, which the model continues.
    pub prefill: Vec<Segment>,
    /// The prefill is scored token by token.
    pub score: bool,
    /// An answer that the call's document does not hold counts as unknown: [`CallRecord::not_held`](crate::transcript::CallRecord).
    pub grounded: bool,
    /// Most tokens generated; `None` takes the run's setting.
    pub max_tokens: Option<usize>,
    /// How tokens are chosen; `None` takes the run's setting.
    pub sampling: Option<Sampling>,
    /// The reply ends before the first of these texts.
    pub stop: Vec<String>,
    /// Replies of this prompt, each with a seed of its own; their prompt is computed once.
    pub samples: usize,
    /// The subject of the call, in words for readers: [`CallRecord::about`](crate::transcript::CallRecord).
    pub about: Option<String>,
    /// Log-probabilities wanted.
    pub logprobs: Option<Logprobs>,
}

impl Ask {
    /// A chat of one user turn, rendered from `prompt` with `values`, in round 1.
    #[must_use]
    pub fn new(role: impl Into<String>, prompt: File, values: Value, format: &'static Format) -> Self {
        Self {
            role: role.into(),
            round: 1,
            document: None,
            prompt,
            values,
            format,
            format_values: Value::Null,
            raw: false,
            system: None,
            turns: Vec::new(),
            prefill: Vec::new(),
            score: false,
            grounded: false,
            max_tokens: None,
            sampling: None,
            stop: Vec::new(),
            samples: 1,
            about: None,
            logprobs: None,
        }
    }

    /// In this round, from 1.
    #[must_use]
    pub fn round(mut self, round: usize) -> Self {
        self.round = round;
        self
    }

    /// About this, in words for readers.
    #[must_use]
    pub(crate) fn about(mut self, about: impl Into<String>) -> Self {
        self.about = Some(about.into());
        self
    }

    /// For the document of this number.
    #[must_use]
    pub fn document(mut self, number: usize) -> Self {
        self.document = Some(number);
        self
    }

    /// With these values in the format's grammar and schema.
    #[must_use]
    pub fn format_values(mut self, values: Value) -> Self {
        self.format_values = values;
        self
    }

    /// Offering these options, for the formats that choose one.
    #[must_use]
    pub fn options<T: AsRef<str>>(self, options: impl IntoIterator<Item = T>) -> Self {
        let options: Vec<Value> = options.into_iter().map(|option| Value::from(option.as_ref())).collect();
        self.format_values(serde_json::json!({ "options": options }))
    }

    /// Without the chat template.
    #[must_use]
    pub fn raw(mut self) -> Self {
        self.raw = true;
        self
    }

    /// With a system message, rendered from `file` with the same values.
    #[must_use]
    pub fn system(mut self, file: File) -> Self {
        self.system = Some(file);
        self
    }

    /// After these turns of the same chat.
    #[must_use]
    pub fn after(mut self, turns: Vec<Message>) -> Self {
        self.turns = turns;
        self
    }

    /// With a reply that begins so: the model continues it.
    #[must_use]
    pub fn prefill(mut self, text: impl Into<String>) -> Self {
        self.prefill.push(Segment::Content(text.into()));
        self
    }

    /// As [`Ask::prefill`], with control tokens recognised: for text of the method's own, never of a document or a model.
    #[must_use]
    pub fn prefill_scaffold(mut self, text: impl Into<String>) -> Self {
        self.prefill.push(Segment::Scaffold(text.into()));
        self
    }

    /// Generates nothing and scores the prefill.
    #[must_use]
    pub fn scored(mut self) -> Self {
        (self.score, self.max_tokens, self.format) = (true, Some(0), &SCORES);
        self
    }

    /// With an answer that counts as unknown unless the call's document has it.
    #[must_use]
    pub(crate) fn grounded(mut self) -> Self {
        self.grounded = true;
        self
    }

    /// With at most this many tokens.
    #[must_use]
    pub fn max_tokens(mut self, tokens: usize) -> Self {
        self.max_tokens = Some(tokens);
        self
    }

    /// With tokens chosen so.
    #[must_use]
    pub fn sampling(mut self, sampling: Sampling) -> Self {
        self.sampling = Some(sampling);
        self
    }

    /// Ending before the first of these texts.
    #[must_use]
    pub fn stop<T: Into<String>>(mut self, texts: impl IntoIterator<Item = T>) -> Self {
        self.stop = texts.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the number of samples.
    #[must_use]
    pub fn samples(mut self, samples: usize) -> Self {
        self.samples = samples;
        self
    }

    /// With log-probabilities.
    #[must_use]
    pub fn logprobs(mut self, wanted: Logprobs) -> Self {
        self.logprobs = Some(wanted);
        self
    }

    /// Whether an option is chosen by the log-probabilities of the first token ([`super::scored`]).
    pub(super) fn is_scored_choice(&self) -> bool {
        self.logprobs.is_some() && self.format.name == CHOICE.name
    }
}
