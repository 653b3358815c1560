//! A reply as the server sends it: a stream of events, or one object.

use super::fault::{Again, Fault};
use super::inbound::{Bounds, Events, Inbound};
use crate::fault::RemoteFault;
use crate::generation::{Alternative, Finish, TokenLogprob, Usage};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, Read};
use ureq::http::StatusCode;

/// A reply as it grows.
#[derive(Debug, Default)]
pub(super) struct Received {
    pub text: String,
    /// Thoughts that the server sent apart from the text.
    pub thoughts: String,
    pub finish: Option<Finish>,
    pub usage: Option<Usage>,
    pub thought_tokens: usize,
    pub logprobs: Vec<TokenLogprob>,
    /// One a token of the prefill.
    pub scores: Vec<TokenLogprob>,
    /// Events with text, for a server that does not count tokens.
    pub pieces: usize,
}

/// Reads events from `stream` until the reply is complete; `go_on` is asked between events.
///
/// A reply is complete with its finish reason and its count of tokens, or with its finish reason and the stream's end:
/// the connection need not close. A stream that ends without a finish reason was broken off, also where it says
/// `[DONE]`: vLLM, SGLang, llama.cpp and OpenAI send the reason before it.
///
/// # Errors
/// The stream is broken off, is not UTF-8 or not JSON, is longer than `bounds`, or holds an error of the server's.
pub(super) fn events(
    stream: impl BufRead,
    bounds: Bounds,
    inbound: &Inbound,
    go_on: &dyn Fn() -> bool,
) -> Result<Received, Fault> {
    let mut events = Events::new(stream, bounds);
    let mut received = Received::default();
    while go_on() {
        let data = match events.next() {
            Ok(Some(data)) if data.trim_ascii() != b"[DONE]" => data,
            // A fault after the finish reason cannot change the reply.
            Ok(_) | Err(_) if received.finish.is_some() => return Ok(received.without_key(inbound)),
            Ok(Some(_)) => return Err(Fault::broken("the stream ended without a finish reason")),
            Ok(None) => return Err(Fault::broken("the stream was cut before its end")),
            Err(fault) => return Err(fault),
        };
        match parse(&data, inbound, bounds).and_then(|chunk| received.take(&chunk, bounds, inbound)) {
            Err(_) if received.finish.is_some() => return Ok(received.without_key(inbound)),
            taken => taken?,
        }
        if received.finish.is_some() && received.usage.is_some() {
            return Ok(received.without_key(inbound));
        }
    }
    Err(Fault::new(RemoteFault::Silent, Again::Never, "cancelled"))
}

/// Reads the one object of a server that does not stream.
///
/// # Errors
/// It is not UTF-8, not JSON, not a reply, longer than `bounds`, or an error of the server's.
pub(super) fn whole(body: &mut impl Read, bounds: Bounds, inbound: &Inbound) -> Result<Received, Fault> {
    let mut bytes = Vec::new();
    body.read_to_end(&mut bytes).map_err(|e| bounds.fault(e))?;
    let mut received = Received::default();
    received.take(&parse(&bytes, inbound, bounds)?, bounds, inbound)?;
    match received.finish {
        Some(_) => Ok(received.without_key(inbound)),
        None => Err(Fault::broken("the reply has no `finish_reason`")),
    }
}

fn parse(data: &[u8], inbound: &Inbound, bounds: Bounds) -> Result<Chunk, Fault> {
    inbound.parse(data, bounds.values())?.map_err(|why| {
        // Parsed and written again, so that the key is found also where JSON escapes hide it.
        let found = inbound.json(data, bounds.values()).map_or_else(|_| inbound.text(data), |value| value.to_string());
        Fault::broken(format!("the reply is no completion: {why}: {}", inbound.excerpt(found.as_bytes())))
    })
}

/// An event of a stream, or a whole reply: the two differ in the name of one field.
#[derive(Deserialize)]
struct Chunk {
    #[serde(default)]
    choices: Vec<Choice>,
    usage: Option<Counts>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    index: usize,
    #[serde(alias = "message")]
    delta: Option<Delta>,
    /// Of a completion without a chat.
    text: Option<String>,
    finish_reason: Option<String>,
    logprobs: Option<Logprobs>,
}

#[derive(Deserialize)]
struct Delta {
    content: Option<String>,
    /// llama.cpp, SGLang, vLLM before 0.12.
    reasoning_content: Option<String>,
    /// vLLM from 0.12, OpenRouter.
    reasoning: Option<String>,
}

/// Of a chat (and of llama.cpp's other completions): `content`. Of other completions: three lists of one length.
#[derive(Deserialize)]
struct Logprobs {
    content: Option<Vec<Chosen>>,
    tokens: Option<Vec<String>>,
    token_logprobs: Option<Vec<Option<f32>>>,
    top_logprobs: Option<Vec<Option<BTreeMap<String, f32>>>>,
}

#[derive(Deserialize)]
struct Chosen {
    #[serde(flatten)]
    token: Scored,
    top_logprobs: Option<Vec<Scored>>,
}

#[derive(Deserialize)]
struct Scored {
    /// llama.cpp.
    id: Option<u32>,
    token: String,
    logprob: f32,
}

impl Logprobs {
    fn tokens(&self) -> Vec<TokenLogprob> {
        let chat = self.content.iter().flatten().map(|chosen| {
            let Scored { id, ref token, logprob } = chosen.token;
            let other =
                |other: &Scored| Alternative { id: other.id, text: other.token.clone(), logprob: other.logprob };
            let top = chosen.top_logprobs.iter().flatten().map(other).collect();
            TokenLogprob { id, text: token.clone(), logprob, top, watched: Vec::new() }
        });
        let own = self.tokens.iter().flatten().zip(self.token_logprobs.iter().flatten());
        let listed = own.enumerate().filter_map(|(at, (token, logprob))| {
            let top = self.top_logprobs.as_ref().and_then(|top| top.get(at)?.as_ref());
            let other =
                |(text, logprob): (&String, &f32)| Alternative { id: None, text: text.clone(), logprob: *logprob };
            let top = top.into_iter().flatten().map(other).collect();
            Some(TokenLogprob { id: None, text: token.clone(), logprob: (*logprob)?, top, watched: Vec::new() })
        });
        chat.chain(listed).collect()
    }
}

#[derive(Deserialize)]
struct Counts {
    #[serde(default)]
    prompt_tokens: usize,
    #[serde(default)]
    completion_tokens: usize,
    prompt_tokens_details: Option<Details>,
    completion_tokens_details: Option<Details>,
}

#[derive(Deserialize)]
struct Details {
    cached_tokens: Option<usize>,
    reasoning_tokens: Option<usize>,
}

impl Received {
    fn take(&mut self, chunk: &Chunk, bounds: Bounds, inbound: &Inbound) -> Result<(), Fault> {
        if let Some(error) = &chunk.error {
            let mut error = error.clone();
            inbound.hide_in_value(&mut error);
            return Err(error_event(&error));
        }
        if let Some(counts) = &chunk.usage {
            self.count(counts);
        }
        for choice in chunk.choices.iter().filter(|choice| choice.index == 0) {
            // Events after the finish reason are repetitions.
            if self.finish.is_none() {
                self.grow(choice);
                bounds.check(self.text.len() + self.thoughts.len())?;
            }
            if let Some(reason) = &choice.finish_reason {
                self.finish = Some(finish(reason)?);
            }
        }
        Ok(())
    }

    fn grow(&mut self, choice: &Choice) {
        if let Some(delta) = &choice.delta {
            let thought = delta.reasoning_content.as_ref().or(delta.reasoning.as_ref());
            self.thoughts.push_str(thought.map_or("", String::as_str));
            self.text.push_str(delta.content.as_deref().unwrap_or_default());
            self.pieces += 1;
        }
        if let Some(text) = &choice.text {
            self.text.push_str(text);
            self.pieces += 1;
        }
        self.logprobs.extend(choice.logprobs.iter().flat_map(Logprobs::tokens));
    }

    /// The last count is that of the whole reply.
    fn count(&mut self, counts: &Counts) {
        let prompt = counts.prompt_tokens;
        let reused = counts.prompt_tokens_details.as_ref().and_then(|details| details.cached_tokens).unwrap_or(0);
        let reused = reused.min(prompt);
        self.usage = Some(Usage { prompt, reused, computed: prompt - reused, generated: counts.completion_tokens });
        let thought = counts.completion_tokens_details.as_ref().and_then(|details| details.reasoning_tokens);
        self.thought_tokens = thought.unwrap_or(self.thought_tokens);
    }

    /// The reply without the key, which may have come in several events.
    pub(super) fn without_key(mut self, inbound: &Inbound) -> Self {
        self.text = inbound.hide(&self.text);
        self.thoughts = inbound.hide(&self.thoughts);
        inbound.hide_in_tokens(&mut self.logprobs);
        inbound.hide_in_tokens(&mut self.scores);
        self
    }

    /// The text without `start`, where it begins so.
    pub(super) fn without_start(&mut self, start: &str) {
        if let Some(rest) = self.text.strip_prefix(start) {
            self.text = rest.to_owned();
        }
    }

    /// Ends the text before the first of `stop`, and the log-probabilities with the text; of alternatives the `top`
    /// likeliest stay.
    pub(super) fn cut(&mut self, stop: &[String], top: usize) {
        if let Some(end) = stop.iter().filter_map(|stop| self.text.find(stop.as_str())).min() {
            self.text.truncate(end);
        }
        let told: String = self.logprobs.iter().map(|token| token.text.as_str()).collect();
        if told.starts_with(&self.text) {
            let mut at = 0;
            self.logprobs.retain(|token| {
                let start = at;
                at += token.text.len();
                start < self.text.len()
            });
        }
        for token in &mut self.logprobs {
            token.top.sort_by(|a, b| b.logprob.total_cmp(&a.logprob).then_with(|| a.text.cmp(&b.text)));
            token.top.truncate(top);
        }
    }
}

/// # Errors
/// The server says that it did not finish the reply.
fn finish(reason: &str) -> Result<Finish, Fault> {
    match reason {
        "length" => Ok(Finish::Length),
        "abort" | "error" => Err(Fault::broken(format!("the server broke the reply off (finish reason `{reason}`)"))),
        _ => Ok(Finish::Stop),
    }
}

/// The fault of an error event in a stream: its status was sent before the error.
fn error_event(error: &Value) -> Fault {
    let code = error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
    let status = code.and_then(|code| StatusCode::from_u16(code).ok());
    let status = status.filter(|status| !status.is_success()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    Fault::of_status(status, None, &serde_json::json!({ "error": error }).to_string())
}

#[cfg(test)]
mod tests {
    use super::{Received, events};
    use crate::generation::Finish;
    use crate::llm::remote::inbound::{Bounds, Inbound};

    fn read(stream: &str) -> Result<Received, String> {
        events(stream.as_bytes(), Bounds::of(20, 0), &Inbound::new(None), &|| true).map_err(|fault| fault.reason)
    }

    fn said(text: &str) -> String {
        format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n")
    }

    const END: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";

    #[test]
    fn lines_end_in_any_way_and_comments_are_none() {
        let stream = [": hello\r\n\r\n", &said("a").replace('\n', "\r\n"), "event: x\n\n", &said("b"), END].concat();
        assert_eq!(read(&stream).unwrap().text, "ab");
        assert_eq!(read(&[&said("a"), END, "data: [DONE]"].concat()).unwrap().finish, Some(Finish::Stop));
        let folded = "data: {\"choices\":[{\"delta\":\ndata: {\"content\":\"a\"},\"finish_reason\":\"length\"}]}\n\n";
        let received = read(folded).unwrap();
        assert_eq!((received.text.as_str(), received.finish), ("a", Some(Finish::Length)));
    }

    #[test]
    fn a_repeated_event_adds_no_text() {
        let twice = |id: &str| format!("id: {id}\n{}", said("a")).repeat(2);
        assert_eq!(read(&[twice("1"), twice("2"), END.into()].concat()).unwrap().text, "aa");
        assert_eq!(read(&[said("a"), END.into(), END.into(), said("again")].concat()).unwrap().text, "a");
    }

    #[test]
    fn an_incomplete_reply_is_an_error() {
        for (stream, reason) in [
            (said("a"), "cut before its end"),
            ([said("a"), "data: [DONE]\n\n".into()].concat(), "ended without a finish reason"),
            ([said("a"), END.replace("stop", "abort")].concat(), "finish reason `abort`"),
            ("data: {\"choices\":[{\"del".into(), "no JSON"),
            ("data: {\"choices\":7}\n\n".into(), "no completion"),
            (
                "data: {\"error\":{\"message\":\"out of memory\",\"code\":503}}\n\n".into(),
                "503 Service Unavailable: out of memory",
            ),
            (String::new(), "cut before its end"),
        ] {
            let found = read(&stream).unwrap_err();
            assert!(found.contains(reason), "{found}");
        }
        let bytes = [b"data: \xff\n\n".as_slice(), END.as_bytes()].concat();
        let found = events(bytes.as_slice(), Bounds::of(20, 0), &Inbound::new(None), &|| true).unwrap_err();
        assert!(found.reason.contains("no UTF-8"), "{}", found.reason);
    }
}
