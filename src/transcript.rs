//! The transcript of a question (leaf module): its calls and events as they are recorded.

use crate::generation::{Finish, Logprobs, Message, Prompt, Sampling, Segment, Thoughts, TokenLogprob, Usage};
use crate::question::{Conclusion, Document, Hit, Question};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One question's line in a record.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct QuestionRecord {
    /// With its documents, so that the record needs no other file.
    pub question: Question,
    /// Retrieved passages that a method took up as documents; their numbers go on from the question's documents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub retrieved: Vec<Document>,
    /// The conclusion; `None` if `error` says why there is none.
    pub conclusion: Option<Conclusion>,
    /// Why there is no conclusion; such a question scores wrong and is never dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Every answered call, in the order asked. In a record of version 3 they are lines of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CallRecord>,
    /// Events other than calls, in the order of their stages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<Event>,
    /// The question's index among those of its run, from 0, in the dataset's order. Records before this field have
    /// none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<usize>,
    /// Wall time, waiting for neighbours included; of a question that was interrupted, the time until then included.
    #[serde(default, skip_serializing_if = "is_no_time")]
    pub seconds: f64,
}

impl QuestionRecord {
    /// The document of this number: one of the question's, or one that was retrieved.
    #[must_use]
    pub fn document(&self, number: usize) -> Option<&Document> {
        let given = self.question.documents.len();
        if number < given { self.question.documents.get(number) } else { self.retrieved.get(number - given) }
    }

    /// The calls whose replies were the conclusion. Version-1 records do not mark them: there they are the calls of the last
    /// stage.
    #[must_use]
    pub fn concluding(&self) -> Vec<&CallRecord> {
        let marked = self.conclusion.as_ref().map_or(&[][..], |conclusion| &conclusion.calls);
        if !marked.is_empty() {
            return marked.iter().filter_map(|&number| self.calls.get(number)).collect();
        }
        let last = self.calls.iter().map(|call| call.stage).max();
        self.calls.iter().filter(|call| Some(call.stage) == last).collect()
    }
}

/// One call and its reply: everything that is needed to send it again.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct CallRecord {
    /// Its index in [`QuestionRecord::calls`], from 0. The reader of a record counts.
    #[serde(default, skip_serializing_if = "crate::units::is_zero")]
    pub number: usize,
    /// "agent", "aggregator", "reader".
    pub role: String,
    /// From 1.
    pub round: usize,
    /// From 0; calls of one stage depend only on earlier stages.
    pub stage: usize,
    /// The document that this call speaks for, by its number in the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<usize>,
    /// The subject of the call, in words for readers: an examined value, two compared documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// Which of several samples of one call, from 0.
    #[serde(default, skip_serializing_if = "crate::units::is_zero")]
    pub sample: usize,
    /// The prompt file.
    pub prompt: String,
    /// The reply's format, by its name in the table of formats; version-1 records have none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub format: String,
    /// Values of the format's grammar and schema, for formats that depend on the question.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub format_values: Value,
    /// The grammar file that constrained the reply, or the schema file where a server took a schema; absent where nothing did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grammar: Option<String>,
    /// The chat as sent; empty for a raw prompt.
    pub messages: Vec<Message>,
    /// The raw prompt as sent; empty for a chat.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub raw_prompt: Vec<Segment>,
    /// The first part of the reply, as sent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prefill: Vec<Segment>,
    /// Whether the prefill was scored.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub score: bool,
    /// As sent.
    pub max_tokens: usize,
    /// As sent; version-1 records have it in the header alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think: Option<usize>,
    /// As sent; version-1 records have it in the header alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling: Option<Sampling>,
    /// As sent.
    pub seed: u64,
    /// As sent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
    /// The log-probabilities that were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wanted_logprobs: Option<Logprobs>,
    /// As it came, without prefill and thoughts; of a reply constrained by a schema, the line that says the same.
    pub reply: String,
    /// As it came, where `reply` is a line made of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
    /// Thoughts before the reply; no parser and no other agent reads them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thoughts: Option<Thoughts>,
    /// The ids of everything generated, thoughts first; empty where the model gives no ids.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tokens: Vec<u32>,
    /// One for each token of the reply, where they were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub logprobs: Vec<TokenLogprob>,
    /// One for each token of a scored prefill.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scores: Vec<TokenLogprob>,
    /// Fields that a server refused, and that it was asked without.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<String>,
    /// Why it ended.
    pub finish: Finish,
    /// The parsed reply.
    pub parsed: Parsed,
    /// The reply's answer, where the document of the call does not hold it and it counts as unknown (`Ask::grounded`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_held: Option<String>,
    /// The number of the earlier equal call whose reply this is; the call itself was not made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_from: Option<usize>,
    /// Its tokens; of a call that was not made those of the prompt alone, all of them reused.
    pub usage: Usage,
    /// From submission to the last token.
    #[serde(default, skip_serializing_if = "is_no_time")]
    pub seconds: f64,
}

impl CallRecord {
    /// The model's input before its reply.
    #[must_use]
    pub fn sent(&self) -> Prompt {
        if self.raw_prompt.is_empty() {
            Prompt::Chat(self.messages.clone())
        } else {
            Prompt::Raw(self.raw_prompt.clone())
        }
    }

    /// The answer of a reply that gives one; `None` where it is unknown, malformed or of another format.
    #[must_use]
    pub fn answer(&self) -> Option<&str> {
        match &self.parsed {
            Parsed::Answer { answer, .. } => answer.as_deref(),
            _ => None,
        }
    }

    /// The explanation beside an answer, several answers or a choice.
    #[must_use]
    pub fn explanation(&self) -> Option<&str> {
        match &self.parsed {
            Parsed::Answer { explanation, .. }
            | Parsed::Answers { explanation, .. }
            | Parsed::Choice { explanation, .. } => Some(explanation),
            _ => None,
        }
    }

    /// The option that the reply chose, as the call offered it.
    #[must_use]
    pub fn chosen(&self) -> Option<&str> {
        match &self.parsed {
            Parsed::Choice { option, .. } => self.format_values.get("options")?.get(*option)?.as_str(),
            _ => None,
        }
    }

    /// The sum of the scored tokens' log-probabilities; 0 where nothing was scored.
    #[must_use]
    pub fn total_score(&self) -> f32 {
        self.scores.iter().map(|token| token.logprob).sum()
    }

    /// The mean of the scored tokens' log-probabilities; `None` where nothing was scored.
    #[must_use]
    pub fn mean_score(&self) -> Option<f32> {
        (!self.scores.is_empty()).then(|| self.total_score() / self.scores.len() as f32)
    }
}

fn is_no_time(seconds: &f64) -> bool {
    *seconds == 0.0
}

/// The parsed value of a reply.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Parsed {
    /// One answer; `None` is "unknown".
    Answer {
        /// As given, trimmed.
        answer: Option<String>,
        /// The reasons.
        explanation: String,
    },
    /// A list of answers; empty is "unknown".
    Answers {
        /// As given, trimmed, without repeats.
        answers: Vec<String>,
        /// The reasons.
        explanation: String,
    },
    /// Free text, not empty.
    Text(String),
    /// One of the options that the call offered.
    Choice {
        /// Its index among them, from 0.
        option: usize,
        /// The reasons; empty where the format has none.
        explanation: String,
    },
    /// Named fields, as the format's schema names them.
    Fields(serde_json::Map<String, Value>),
    /// Nothing was generated: the call was for its scores.
    Scored,
    /// The reply does not keep its format.
    #[default]
    Malformed,
}

/// An event of a question other than a call. Stages number calls and events together, so they give the order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// Passages were retrieved.
    Retrieval {
        /// Its stage.
        stage: usize,
        /// In the order given: each is one retriever call.
        queries: Vec<String>,
        /// Passages wanted: of each query, or of each source.
        top: usize,
        /// Whether `top` counted for each source.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        by_source: bool,
        /// One list a query, best first.
        hits: Vec<Vec<Hit>>,
        /// Wall time, waiting included.
        #[serde(default, skip_serializing_if = "is_no_time")]
        seconds: f64,
    },
    /// Pairs of texts were classified.
    Entailment {
        /// Its stage.
        stage: usize,
        /// The pairs classified.
        pairs: Vec<Pair>,
        /// One a pair.
        relations: Vec<Relation>,
        /// "classifier", or "calls" where a model's replies stood in for one.
        by: String,
        /// Wall time, waiting included.
        #[serde(default, skip_serializing_if = "is_no_time")]
        seconds: f64,
    },
    /// Texts were embedded; their vectors are not kept.
    Embedding {
        /// Its stage.
        stage: usize,
        /// How many texts.
        texts: usize,
        /// The embedder's identity.
        by: String,
        /// Wall time, waiting included.
        #[serde(default, skip_serializing_if = "is_no_time")]
        seconds: f64,
    },
    /// A call failed, and the method went on without it.
    Failure {
        /// Its stage.
        stage: usize,
        /// The call: "agent of notes.txt, round 1".
        what: String,
        /// The role.
        role: String,
        /// Why it failed.
        error: String,
    },
    /// A method did something else than its protocol says, and why.
    Fallback {
        /// The stage before which it happened.
        stage: usize,
        /// The action taken instead, one line.
        what: String,
        /// The call whose answer the method's own filter dropped: as the protocol says, so it counts as no fallback.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dropped: Option<usize>,
    },
}

impl Event {
    /// Its stage; of a fallback, the stage before which it happened.
    #[must_use]
    pub fn stage(&self) -> usize {
        match self {
            Self::Retrieval { stage, .. }
            | Self::Entailment { stage, .. }
            | Self::Embedding { stage, .. }
            | Self::Failure { stage, .. }
            | Self::Fallback { stage, .. } => *stage,
        }
    }
}

impl Event {
    /// Its wall time, where it has one.
    pub fn seconds_mut(&mut self) -> Option<&mut f64> {
        match self {
            Self::Retrieval { seconds, .. } | Self::Entailment { seconds, .. } | Self::Embedding { seconds, .. } => {
                Some(seconds)
            }
            Self::Failure { .. } | Self::Fallback { .. } => None,
        }
    }
}

/// A premise and what it may or may not entail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pair {
    /// The text that is given.
    pub premise: String,
    /// The statement that is judged by it.
    pub hypothesis: String,
}

/// How a premise relates to a hypothesis: probabilities that sum to 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Relation {
    /// The premise entails the hypothesis.
    pub entailment: f32,
    /// It does neither.
    pub neutral: f32,
    /// It contradicts the hypothesis.
    pub contradiction: f32,
}
