//! When two calls are equal: the fields that decide a reply, of a call to be sent and of a recorded one.
//!
//! | projection | for |
//! |---|---|
//! | the whole | a question that goes on after an interruption ([`eval::runner`](crate::eval::runner)) |
//! | [`Identity::deciding`] | calls of one question ([`protocol::ctx`](crate::protocol::ctx)), `moot record fork`, replies of other records (`--reuse`) |
//! | [`Identity::replayed`] | replies of one run, which fewer fields distinguish ([`replay`](super::replay), [`once`](super::once)) |
//! | [`Identity::prompted`] | a key for calls that may be equal |
//! | [`Identity::difference`] | a replayed run (`moot record replay`): how a call differs from the recorded call that answers it |
//!
//! A new field of a call or of its record does not compile until this file says whether two calls may differ in it.

use super::Call;
use crate::generation::{Logprobs, Message, Prompt, Sampling, Segment};
use crate::transcript::CallRecord;
use serde::Serialize;
use serde_json::Value;

/// The fields of a call that decide its reply. The model and the texts of format files are not among them: the headers
/// of records name these. `None` is a field that a projection leaves out, or that version 1 did not record for each
/// call.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Identity<'a> {
    role: Option<&'a str>,
    prompt: Sent<'a>,
    prefill: &'a [Segment],
    score: bool,
    max_tokens: usize,
    think: Option<usize>,
    sampling: Option<Sampling>,
    seed: Option<u64>,
    stop: &'a [String],
    logprobs: Option<&'a Logprobs>,
    /// The name of the reply's format, and the values of its grammar and schema.
    format: Option<(&'a str, &'a Value)>,
}

/// The model's input.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
enum Sent<'a> {
    Chat(&'a [Message]),
    Raw(&'a [Segment]),
}

/// An identity as text, for maps.
pub type Key = String;

impl<'a> Identity<'a> {
    /// Without the seed if decoding is greedy: then it changes nothing.
    #[must_use]
    pub fn deciding(self) -> Self {
        let seed = self.seed.filter(|_| self.sampling != Some(Sampling::Greedy));
        Self { seed, ..self }
    }

    /// The fields that distinguish the calls of one run, in records of every version: all but the role, the sampling,
    /// the thoughts, the log-probabilities and the format, which a run gives to each of its prompts in one way.
    #[must_use]
    pub fn replayed(self) -> Self {
        Self { role: None, think: None, sampling: None, logprobs: None, format: None, ..self }
    }

    /// The role and the prompt.
    #[must_use]
    pub fn prompted(self) -> Self {
        Self { prefill: &[], score: false, max_tokens: 0, seed: None, stop: &[], role: self.role, ..self.replayed() }
    }

    /// The identity as text. It depends on the order of a format's values, so it is for projections without them.
    #[must_use]
    pub fn key(&self) -> Key {
        serde_json::json!(self).to_string()
    }

    /// The first part in which this recorded call differs from `now`; fields that the record lacks are not compared,
    /// nor are role and seed, by which the two were paired.
    #[must_use]
    pub fn difference(&self, now: &Self) -> Option<&'static str> {
        let Self { prompt, prefill, max_tokens, stop, sampling, think, .. } = self;
        [
            (*prompt != now.prompt, PROMPT),
            (*prefill != now.prefill, "the beginning of the reply"),
            (*max_tokens != now.max_tokens, "the token limit"),
            (*stop != now.stop, "the stop texts"),
            (sampling.is_some() && *sampling != now.sampling, "the sampling"),
            (think.is_some() && *think != now.think, "the tokens of thought"),
        ]
        .into_iter()
        .find_map(|(differs, what)| differs.then_some(what))
    }
}

/// The name of a difference of prompts.
pub const PROMPT: &str = "the prompt";

impl<'a> From<&'a Call> for Identity<'a> {
    fn from(call: &'a Call) -> Self {
        let Call {
            cancel: _,
            // For messages and counts.
            what: _,
            round: _,
            document: _,
            group: _,
            role,
            prompt,
            prefill,
            score,
            max_tokens,
            think,
            sampling,
            seed,
            stop,
            // Rendered from the format, where the run constrains replies.
            grammar: _,
            schema: _,
            format,
            format_values,
            logprobs,
        } = call;
        let prompt = match prompt {
            Prompt::Chat(messages) => Sent::Chat(messages),
            Prompt::Raw(segments) => Sent::Raw(segments),
        };
        Self {
            role: Some(role),
            prompt,
            prefill,
            score: *score,
            max_tokens: *max_tokens,
            think: Some(*think),
            sampling: Some(*sampling),
            seed: Some(*seed),
            stop,
            logprobs: logprobs.as_ref(),
            format: Some((format, format_values)),
        }
    }
}

impl<'a> From<&'a CallRecord> for Identity<'a> {
    fn from(call: &'a CallRecord) -> Self {
        let CallRecord {
            // The call's position in the debate.
            number: _,
            round: _,
            stage: _,
            document: _,
            about: _,
            sample: _,
            taken_from: _,
            // The prompt's file is not compared: the sent text decides.
            prompt: _,
            // The constraint of the reply, and the reply.
            grammar: _,
            reply: _,
            raw: _,
            thoughts: _,
            tokens: _,
            logprobs: _,
            scores: _,
            dropped: _,
            finish: _,
            parsed: _,
            not_held: _,
            usage: _,
            seconds: _,
            role,
            format,
            format_values,
            messages,
            raw_prompt,
            prefill,
            score,
            max_tokens,
            think,
            sampling,
            seed,
            stop,
            wanted_logprobs,
        } = call;
        Self {
            role: Some(role),
            prompt: if raw_prompt.is_empty() { Sent::Chat(messages) } else { Sent::Raw(raw_prompt) },
            prefill,
            score: *score,
            max_tokens: *max_tokens,
            think: *think,
            sampling: *sampling,
            seed: Some(*seed),
            stop,
            logprobs: wanted_logprobs.as_ref(),
            format: Some((format, format_values)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Identity;
    use crate::generation::{Logprobs, Message, Prompt, Role, Sampling, Segment};
    use crate::llm::Call;
    use crate::transcript::CallRecord;
    use serde_json::json;

    fn call() -> Call {
        Call::new("agent, round 1", "agent", Prompt::Chat(vec![Message::new(Role::User, "When?")]), 20)
    }

    fn same(a: &Call, b: &Call) -> [bool; 3] {
        let (a, b) = (Identity::from(a), Identity::from(b));
        [a == b, a.clone().deciding() == b.clone().deciding(), a.replayed().key() == b.replayed().key()]
    }

    #[test]
    fn each_field_decides_where_it_should() {
        let drawn = Call { sampling: Sampling::Seeded { temperature: 1.0, top_k: 0, top_p: 1.0 }, ..call() };
        for (other, want) in [
            (call(), [true, true, true]),
            (Call { what: "x".into(), round: 2, document: Some(1), group: 3, ..call() }, [true, true, true]),
            (Call { role: "reader".into(), ..call() }, [false, false, true]),
            (Call { prompt: Prompt::Raw(Vec::new()), ..call() }, [false, false, false]),
            (Call { prefill: vec![Segment::Content("It".into())], ..call() }, [false, false, false]),
            (Call { score: true, ..call() }, [false, false, false]),
            (Call { max_tokens: 21, ..call() }, [false, false, false]),
            (Call { think: 1, ..call() }, [false, false, true]),
            (drawn.clone(), [false, false, true]),
            (Call { seed: 1, ..call() }, [false, true, false]),
            (Call { stop: vec![".".into()], ..call() }, [false, false, false]),
            (Call { format: "short", ..call() }, [false, false, true]),
            (Call { format_values: json!({ "most": 2 }), ..call() }, [false, false, true]),
            (Call { logprobs: Some(Logprobs::default()), ..call() }, [false, false, true]),
        ] {
            assert_eq!(same(&call(), &other), want, "{other:?}");
        }
        assert_eq!(same(&drawn, &Call { seed: 1, ..drawn.clone() }), [false, false, false]);
    }

    #[test]
    fn a_recorded_call_is_the_call_that_was_sent() {
        let sent = Call { format: "answer", seed: 7, ..call() };
        let recorded = CallRecord {
            number: 3,
            role: "agent".into(),
            prompt: "x.jinja".into(),
            format: "answer".into(),
            messages: sent.prompt.messages().to_vec(),
            max_tokens: 20,
            think: Some(0),
            sampling: Some(Sampling::Greedy),
            seed: 7,
            reply: "Answer: 1931. Explanation: x".into(),
            ..CallRecord::default()
        };
        assert_eq!(Identity::from(&recorded), Identity::from(&sent));
        assert_eq!(Identity::from(&recorded).difference(&Identity::from(&sent)), None);
        let other = Call { max_tokens: 21, ..sent.clone() };
        assert_eq!(Identity::from(&recorded).difference(&Identity::from(&other)), Some("the token limit"));
        // Version 1 has neither thoughts nor sampling of a call.
        let old = CallRecord { think: None, sampling: None, ..recorded };
        assert_ne!(Identity::from(&old), Identity::from(&sent));
        assert_eq!(Identity::from(&old).difference(&Identity::from(&sent)), None);
        assert_eq!(Identity::from(&old).replayed().key(), Identity::from(&sent).replayed().key());
    }
}
