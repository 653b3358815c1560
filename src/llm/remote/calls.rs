//! Calls of `moot serve`: a call is sent whole and its reply comes whole, grammar, scores and token ids included. So a model
//! on such a server answers as a model in this process does.

use super::client::{Client, Stage};
use super::fault::Fault;
use super::inbound::Bounds;
use crate::cancel::Cancel;
use crate::error::Result;
use crate::generation::{Grammar, Logprobs, Prompt, Sampling, Segment, Thoughts};
use crate::llm::{Call, Reply};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::Instant;

/// Below the server's root.
const PATH: &str = "/moot/v1/calls";

/// Log-probabilities of a reply, over all its tokens.
pub const MOST_LOGPROBS: usize = 1 << 20;
/// Texts that end a reply, and the bytes of one: they are searched at every token.
pub const MOST_STOPS: usize = 16;
/// See [`MOST_STOPS`].
pub const STOP_BYTES: usize = 1024;
/// Bytes of a grammar: it is compiled between two steps.
pub const GRAMMAR_BYTES: usize = 64 << 10;
/// Messages or segments of a call, and tokens that it watches.
const MOST_ENTRIES: usize = 20_000;

/// A call as it is sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SentCall {
    /// The model as the server calls it.
    pub model: String,
    prompt: Prompt,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    prefill: Vec<Segment>,
    #[serde(default)]
    score: bool,
    max_tokens: usize,
    #[serde(default)]
    think: usize,
    #[serde(default)]
    sampling: Sampling,
    #[serde(default)]
    seed: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    stop: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    grammar: Option<SentGrammar>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    logprobs: Option<Logprobs>,
}

/// A grammar as it is sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct SentGrammar {
    name: String,
    lark: String,
}

impl SentCall {
    fn of(model: &str, call: &Call) -> Self {
        let grammar = call.grammar.as_ref();
        Self {
            model: model.to_owned(),
            prompt: call.prompt.clone(),
            prefill: call.prefill.clone(),
            score: call.score,
            max_tokens: call.max_tokens,
            think: call.think,
            sampling: call.sampling,
            seed: call.seed,
            stop: call.stop.clone(),
            grammar: grammar
                .map(|grammar| SentGrammar { name: grammar.name.to_string(), lark: grammar.lark.to_string() }),
            logprobs: call.logprobs.clone(),
        }
    }

    /// The call, which `cancel` ends.
    ///
    /// # Errors
    /// One line for what a server does not take from a client: more than a method of moot asks for.
    pub fn call(self, cancel: &Cancel) -> std::result::Result<Call, String> {
        self.check()?;
        let sampling = self
            .sampling
            .checked()
            .map_err(|wrong| format!("sampling.{}: expected {}, found {}", wrong.field, wrong.expected, wrong.found))?;
        let grammar = self.grammar.map(|sent| Grammar { name: sent.name.into(), lark: sent.lark.into() });
        Ok(Call {
            prefill: self.prefill,
            score: self.score,
            think: self.think,
            sampling,
            seed: self.seed,
            stop: self.stop,
            grammar,
            logprobs: self.logprobs,
            cancel: cancel.clone(),
            ..Call::new("call", "", self.prompt, self.max_tokens)
        })
    }

    /// Checks the lengths of what a client sent.
    ///
    /// # Errors
    /// As [`SentCall::call`].
    fn check(&self) -> std::result::Result<(), String> {
        let prompt = match &self.prompt {
            Prompt::Chat(messages) => messages.len(),
            Prompt::Raw(segments) => segments.len(),
        };
        let (top, watched) = self.logprobs.as_ref().map_or((0, 0), |wanted| (wanted.top, wanted.watch.len()));
        // Bytes, since nothing is tokenised yet: a text has no more tokens than bytes.
        let given: usize = self.prefill.iter().map(|segment| segment.text().len()).sum();
        let logprobs = top.saturating_add(watched).saturating_mul(self.max_tokens.saturating_add(given));
        let longest = self.stop.iter().map(String::len).max().unwrap_or(0);
        let grammar = self.grammar.as_ref().map_or(0, |grammar| grammar.lark.len());
        let bounds = [
            ("prompt", prompt, MOST_ENTRIES, "entries"),
            ("prefill", self.prefill.len(), MOST_ENTRIES, "entries"),
            ("logprobs.watch", watched, MOST_ENTRIES, "entries"),
            ("logprobs", logprobs, MOST_LOGPROBS, "in all"),
            ("stop", self.stop.len(), MOST_STOPS, "entries"),
            ("stop", longest, STOP_BYTES, "bytes each"),
            ("grammar", grammar, GRAMMAR_BYTES, "bytes"),
        ];
        match bounds.iter().find(|(_, found, most, _)| found > most) {
            Some((field, found, most, what)) => Err(format!("{field}: expected at most {most} {what}, found {found}")),
            None => Ok(()),
        }
    }
}

/// Has the server of `client`, a moot, answer `call` by its model `model` until `ends`.
///
/// # Errors
/// As [`Client::persist`].
pub(super) fn answer(client: &Client, model: &str, call: &Call, stage: &Stage, ends: Instant) -> Result<Reply> {
    let started = Instant::now();
    let body = serde_json::to_value(SentCall::of(model, call)).unwrap_or(Value::Null);
    let given: usize = call.prefill.iter().map(|segment| segment.text().len()).sum();
    let reported = call.logprobs.as_ref().map_or(0, |wanted| wanted.top + wanted.watch.len());
    let bounds = Bounds::of(call.max_tokens.saturating_add(call.think).saturating_add(given), reported);
    let reply = client.persist((&call.what, call.seed), &stage.cancel, ends, |left| {
        let json = client.json(client.post(&stage.agent, PATH, &body, left)?, bounds)?;
        serde_json::from_value::<Reply>(json).map_err(|e| Fault::broken(format!("no reply: {e}")))
    })?;
    let hide = |text: String| client.inbound.hide(&text);
    let (mut logprobs, mut scores) = (reply.logprobs, reply.scores);
    client.inbound.hide_in_tokens(&mut logprobs);
    client.inbound.hide_in_tokens(&mut scores);
    let thoughts = reply.thoughts.map(|thoughts| Thoughts { text: hide(thoughts.text), ..thoughts });
    // Not the server's own time, which lacks the network and the attempts before.
    let seconds = started.elapsed().as_secs_f64();
    Ok(Reply { text: hide(reply.text), thoughts, logprobs, scores, seconds, ..reply })
}

#[cfg(test)]
mod tests {
    use super::SentCall;
    use crate::cancel::Cancel;
    use crate::generation::{Grammar, Logprobs, Message, Prompt, Role, Sampling, Segment};
    use crate::llm::Call;

    #[test]
    fn a_call_arrives_as_it_was_sent() {
        let chat = Prompt::Chat(vec![Message::new(Role::System, "s"), Message::new(Role::User, "u")]);
        let raw = Prompt::Raw(vec![Segment::Scaffold("<s>".into()), Segment::Content("x".into())]);
        let seeded = Sampling::Seeded { temperature: 0.7, top_k: 3, top_p: 0.9 };
        for (prompt, sampling) in [(chat, Sampling::Greedy), (raw, seeded)] {
            let call = Call {
                prefill: vec![Segment::Content("It".into())],
                score: true,
                think: 7,
                sampling,
                seed: u64::MAX,
                stop: vec!["\n".into()],
                grammar: Some(Grammar { name: "g".into(), lark: "start: \"a\"".into() }),
                logprobs: Some(Logprobs { top: 2, watch: vec![4] }),
                ..Call::new("call", "", prompt, 9)
            };
            let sent = serde_json::to_string(&SentCall::of("m", &call)).unwrap();
            let arrived = serde_json::from_str::<SentCall>(&sent).unwrap().call(&Cancel::default()).unwrap();
            assert_eq!(format!("{arrived:?}"), format!("{call:?}"));
        }
    }
}
