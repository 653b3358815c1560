//! The first difference between a reply and the recorded one.

use crate::generation::{Finish, Thoughts};
use crate::llm::Reply;
use crate::transcript::CallRecord;
use serde::Serialize;
use std::fmt;

/// Characters shown on either side of the first difference of two texts.
const AROUND: usize = 24;

/// One call that was not as recorded.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// The question's id.
    pub question: String,
    /// The role of the call.
    pub role: String,
    /// For which document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub document: Option<String>,
    /// From 1.
    pub round: usize,
    /// Its number among the question's calls, from 1.
    pub call: usize,
    /// Calls that were in flight with it.
    pub beside: usize,
    /// The first difference.
    #[serde(flatten)]
    pub what: What,
}

/// The first difference.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "differs", rename_all = "snake_case")]
pub enum What {
    /// The prompt already has other tokens: the tokenizer or the template has changed.
    Prompt {
        /// Tokens.
        recorded: usize,
        /// Tokens.
        again: usize,
    },
    /// A token.
    Token {
        /// From 1, thoughts included.
        token: usize,
        /// Its id; `None` where the reply had ended.
        recorded: Option<u32>,
        /// As `recorded`.
        again: Option<u32>,
        /// The text around the first difference.
        recorded_text: String,
        /// As `recorded_text`.
        again_text: String,
    },
    /// The text differs, but no token is known to: the record has no ids, or ids that do not give its text.
    Text {
        /// From 1.
        character: usize,
        /// Around it.
        recorded_text: String,
        /// As `recorded_text`.
        again_text: String,
    },
    /// How it ended.
    End {
        /// Why, and after how many tokens.
        recorded: (Finish, usize),
        /// As `recorded`.
        again: (Finish, usize),
    },
    /// The tokens are as recorded, and one is not as likely in one batch as in the other.
    Bits {
        /// From 1, of the reply.
        token: usize,
        /// Natural logarithm of its probability the first time.
        first: f32,
        /// The second time.
        second: f32,
    },
}

/// The first difference of `again` from `recorded`.
pub(super) fn from_record(recorded: &CallRecord, again: &Reply) -> Option<What> {
    if recorded.usage.prompt != again.usage.prompt {
        return Some(What::Prompt { recorded: recorded.usage.prompt, again: again.usage.prompt });
    }
    let text = recorded.raw.as_ref().unwrap_or(&recorded.reply);
    let texts = (whole(recorded.thoughts.as_ref(), text), whole(again.thoughts.as_ref(), &again.text));
    let (character, recorded_text, again_text) = text_difference(&texts.0, &texts.1);
    if !recorded.tokens.is_empty()
        && let Some(index) = first(&recorded.tokens, &again.tokens)
    {
        let (there, here) = (recorded.tokens.get(index).copied(), again.tokens.get(index).copied());
        return Some(What::Token { token: index + 1, recorded: there, again: here, recorded_text, again_text });
    }
    if texts.0 != texts.1 {
        return Some(What::Text { character: character + 1, recorded_text, again_text });
    }
    // For a reply that an equal call gave, nothing was generated.
    let generated = if recorded.taken_from.is_some() { again.usage.generated } else { recorded.usage.generated };
    let ends = ((recorded.finish, generated), (again.finish, again.usage.generated));
    (ends.0 != ends.1).then_some(What::End { recorded: ends.0, again: ends.1 })
}

/// The first log-probability that has other bits in one list than in the other.
pub(super) fn of_bits(first: &[f32], second: &[f32]) -> Option<What> {
    let differs = |(a, b): (&f32, &f32)| a.to_bits() != b.to_bits();
    let index = first.iter().zip(second).position(differs)?;
    Some(What::Bits { token: index + 1, first: first[index], second: second[index] })
}

/// The first index at which two lists differ, which may be the end of one.
fn first<T: PartialEq>(a: &[T], b: &[T]) -> Option<usize> {
    let common = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    (common < a.len().max(b.len())).then_some(common)
}

fn whole(thoughts: Option<&Thoughts>, text: &str) -> String {
    format!("{}{text}", thoughts.map_or("", |thoughts| &thoughts.text))
}

/// The index of the first character that differs, or the common length, and the surroundings in each text.
fn text_difference(a: &str, b: &str) -> (usize, String, String) {
    let at = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    (at, around(a, at), around(b, at))
}

fn around(text: &str, at: usize) -> String {
    let from = at.saturating_sub(AROUND);
    let mut rest = text.chars().skip(from);
    let shown: String = rest.by_ref().take(at - from + AROUND).collect();
    let (before, after) = (if from > 0 { "…" } else { "" }, if rest.next().is_some() { "…" } else { "" });
    format!("{before}{shown}{after}")
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "question {}, {}", self.question, self.role)?;
        if let Some(document) = &self.document {
            write!(f, " of {document}")?;
        }
        write!(f, ", round {}, call {}, ", self.round, self.call)?;
        match self.beside {
            0 => write!(f, "alone: {}", self.what),
            1 => write!(f, "in a batch with 1 other call: {}", self.what),
            others => write!(f, "in a batch with {others} other calls: {}", self.what),
        }
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prompt { recorded, again } => write!(f, "a prompt of {again} tokens, recorded {recorded}"),
            Self::Token { token, recorded, again, recorded_text, again_text } => {
                let id = |id: &Option<u32>| id.map_or_else(|| "the end".to_owned(), |id| id.to_string());
                write!(f, "token {token} is {}, recorded {}: {again_text:?}", id(again), id(recorded))?;
                write!(f, ", recorded {recorded_text:?}")
            }
            Self::Text { character, recorded_text, again_text } => {
                write!(f, "character {character} differs: {again_text:?}, recorded {recorded_text:?}")
            }
            Self::End { recorded, again } => {
                let end = |(finish, tokens): (Finish, usize)| match finish {
                    Finish::Stop => format!("ended by itself after {tokens} tokens"),
                    Finish::Length => format!("cut after {tokens} tokens"),
                };
                write!(f, "{}, recorded as {}", end(*again), end(*recorded))
            }
            Self::Bits { token, first, second } => {
                write!(f, "token {token} has log-probability {second} here, {first} in the batch before")
            }
        }
    }
}
