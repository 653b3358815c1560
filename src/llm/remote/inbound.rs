//! The entry of everything that a server sends: bytes are bounded, and the API key is taken out of all text before it
//! can reach an error, a reply or a record.

use super::address::Key;
use super::fault::{Again, Fault, beginning};
use crate::fault::RemoteFault;
use crate::generation::TokenLogprob;
use crate::jsonl::{self, MAX_VALUES};
use crate::llm::Call;
use serde::Deserialize;
use serde_json::Value;
use std::io::{BufRead, Read};

/// Bytes that are read of an error's body.
pub(super) const MAX_COMPLAINT: u64 = 64 << 10;
/// Bytes of any response at most.
const MAX_RESPONSE: u64 = 64 << 20;
/// Bytes that one token of a reply may have: the longest tokens of published vocabularies have 128.
const TEXT_PER_TOKEN: usize = 256;
/// Bytes of text beyond that.
const TEXT_SLACK: usize = 4 << 10;
/// Bytes of a response for one token: an event of the stream has some 300.
const WIRE_PER_TOKEN: u64 = 4 << 10;
/// Bytes of a response for each alternative of a token.
const WIRE_PER_ALTERNATIVE: u64 = 512;
/// Bytes of a response beyond that.
const WIRE_SLACK: u64 = 64 << 10;
/// Bytes of a list of models: hosted services have some hundred models, of 2 kB each.
pub(super) const MAX_LIST: u64 = 8 << 20;
/// Bytes of a response for each value of its JSON: an event has values of some 10 bytes each. Values take more memory than
/// their bytes, which the bound of bytes alone would allow.
const WIRE_PER_VALUE: u64 = 8;

/// Bytes that the response to one call may have. A server that ignores `max_tokens` is cut off here.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    tokens: usize,
    /// Of the reply and its thoughts, in UTF-8.
    text: usize,
    /// Of the response's body.
    wire: u64,
}

impl Bounds {
    /// The bounds of a reply of `tokens` tokens with `top` alternatives each.
    pub(super) fn of(tokens: usize, top: usize) -> Self {
        let per_token = WIRE_PER_TOKEN.saturating_add(WIRE_PER_ALTERNATIVE.saturating_mul(top as u64));
        Self {
            tokens,
            text: tokens.saturating_mul(TEXT_PER_TOKEN).saturating_add(TEXT_SLACK),
            wire: per_token.saturating_mul(tokens as u64).saturating_add(WIRE_SLACK).min(MAX_RESPONSE),
        }
    }

    /// The bounds of the reply to `call`.
    pub(super) fn of_call(call: &Call) -> Self {
        Self::of(call.max_tokens.saturating_add(call.think), call.logprobs.as_ref().map_or(0, |wanted| wanted.top))
    }

    /// Bytes of the response's body.
    pub(super) fn wire(self) -> u64 {
        self.wire
    }

    /// Values of the JSON in it.
    pub(super) fn values(self) -> usize {
        values(self.wire)
    }

    /// # Errors
    /// `bytes` of text are more than the call's tokens can have.
    pub(super) fn check(self, bytes: usize) -> Result<(), Fault> {
        if bytes <= self.text {
            return Ok(());
        }
        let (tokens, limit) = (self.tokens, self.text);
        let reason = format!(
            "the reply is longer than max_tokens allows: {tokens} tokens have at most {limit} bytes \
             ({TEXT_PER_TOKEN} a token and {TEXT_SLACK})"
        );
        Err(Fault::new(RemoteFault::Broken, Again::Never, reason))
    }

    /// Why reading failed: the body was too long, or the connection broke.
    pub(super) fn fault(self, error: std::io::Error) -> Fault {
        match error.into() {
            ureq::Error::BodyExceedsLimit(limit) => {
                let tokens = self.tokens;
                let reason =
                    format!("the response is longer than max_tokens allows: {limit} bytes for {tokens} tokens");
                Fault::new(RemoteFault::Broken, Again::Never, reason)
            }
            other => Fault::of(other),
        }
    }
}

/// Values that JSON of at most `bytes` bytes may hold.
pub(super) fn values(bytes: u64) -> usize {
    usize::try_from(bytes / WIRE_PER_VALUE).map_or(MAX_VALUES, |values| values.min(MAX_VALUES))
}

/// Takes the key out of what a server sends.
#[derive(Debug)]
pub(super) struct Inbound {
    key: Option<Key>,
}

impl Inbound {
    pub(super) fn new(key: Option<Key>) -> Self {
        Self { key }
    }

    pub(super) fn key(&self) -> Option<&Key> {
        self.key.as_ref()
    }

    /// `text` without the key.
    pub(super) fn hide(&self, text: &str) -> String {
        self.key.as_ref().map_or_else(|| text.to_owned(), |key| key.hide_in(text))
    }

    /// Bytes as text without the key; bytes that are not UTF-8 become U+FFFD.
    pub(super) fn text(&self, bytes: &[u8]) -> String {
        self.hide(&String::from_utf8_lossy(bytes))
    }

    /// The beginning of `bytes` on one line, for an error.
    pub(super) fn excerpt(&self, bytes: &[u8]) -> String {
        beginning(&self.text(bytes).split_whitespace().collect::<Vec<_>>().join(" "))
    }

    /// Parses JSON of at most `most` values and takes the key out of its strings and of the names of its fields.
    ///
    /// # Errors
    /// It is not UTF-8 or not JSON, or has more values; the server may do better the next time.
    pub(super) fn json(&self, bytes: &[u8], most: usize) -> Result<Value, Fault> {
        let mut value: Value = self.parse(bytes, most)?.map_err(|why| Fault::broken(format!("the reply has {why}")))?;
        self.hide_in_value(&mut value);
        Ok(value)
    }

    /// Parses JSON of at most `most` values to a `T`. The key is left in its texts. The inner error says in which way JSON is no
    /// `T`.
    ///
    /// # Errors
    /// As [`Inbound::json`].
    pub(super) fn parse<'a, T: Deserialize<'a>>(
        &self,
        bytes: &'a [u8],
        most: usize,
    ) -> Result<Result<T, String>, Fault> {
        let text = std::str::from_utf8(bytes)
            .map_err(|e| Fault::broken(format!("the reply is no UTF-8 (byte {} of an event)", e.valid_up_to())))?;
        match jsonl::parse_within(text.as_bytes(), most) {
            Ok(parsed) => Ok(Ok(parsed)),
            // The message quotes a value of another kind unchanged.
            Err(e) if e.is_data() => Ok(Err(self.excerpt(e.to_string().as_bytes()))),
            Err(e) => Err(Fault::broken(format!("the reply is no JSON: {e}: {}", self.excerpt(bytes)))),
        }
    }

    /// Takes the key out of strings and names of fields.
    pub(super) fn hide_in_value(&self, value: &mut Value) {
        match value {
            Value::String(text) if self.key.as_ref().is_some_and(|key| key.is_in(text)) => *text = self.hide(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.hide_in_value(item)),
            Value::Object(fields) => {
                let key = self.key.as_ref();
                if fields.keys().any(|name| key.is_some_and(|key| key.is_in(name))) {
                    *fields = std::mem::take(fields).into_iter().map(|(name, item)| (self.hide(&name), item)).collect();
                }
                fields.values_mut().for_each(|item| self.hide_in_value(item));
            }
            _ => {}
        }
    }

    /// Takes the key out of tokens that spell it together.
    pub(super) fn hide_in_tokens(&self, tokens: &mut [TokenLogprob]) {
        let Some(key) = &self.key else { return };
        for other in tokens.iter_mut().flat_map(|token| &mut token.top).filter(|other| key.is_in(&other.text)) {
            other.text = key.hide_in(&other.text);
        }
        let text: String = tokens.iter().map(|token| token.text.as_str()).collect();
        let spans = key.spans_in(&text);
        let (mut at, mut next) = (0, 0);
        for token in tokens {
            let (start, end) = (at, at + token.text.len());
            at = end;
            // Tokens and spans are both in order.
            while spans.get(next).is_some_and(|span| span.end <= start) {
                next += 1;
            }
            if spans.get(next).is_some_and(|span| span.start < end && start < end) {
                token.text.clear();
                token.top.clear();
            }
        }
    }
}

/// The first `limit` bytes of `body`.
///
/// # Errors
/// Reading fails.
pub(super) fn read_start(body: impl Read, limit: u64) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    body.take(limit).read_to_end(&mut bytes).map_err(|e| Fault::of(e.into()))?;
    Ok(bytes)
}

/// The data of server-sent events (WHATWG HTML standard, section 9.2).
pub(super) struct Events<R> {
    stream: R,
    bounds: Bounds,
    last_id: Option<String>,
}

impl<R: BufRead> Events<R> {
    pub(super) fn new(stream: R, bounds: Bounds) -> Self {
        Self { stream, bounds, last_id: None }
    }

    /// The next event's data; `None` at the stream's end. Comments, which keep connections alive, and events without
    /// data are skipped, and so are events that repeat the id of the one before.
    ///
    /// # Errors
    /// The connection breaks, or the response is longer than its bounds.
    pub(super) fn next(&mut self) -> Result<Option<Vec<u8>>, Fault> {
        let (mut data, mut id): (Option<Vec<u8>>, Option<String>) = (None, None);
        loop {
            let Some(line) = self.line()? else { return Ok(data) };
            if line.is_empty() {
                let repeated = id.is_some() && id == self.last_id;
                // By the standard an event without an id keeps the one before.
                self.last_id = id.take().or(self.last_id.take());
                match data.take() {
                    Some(data) if !repeated => return Ok(Some(data)),
                    _ => continue,
                }
            }
            let colon = line.iter().position(|byte| *byte == b':');
            let (field, value) = colon.map_or((&line[..], &[][..]), |at| (&line[..at], &line[at + 1..]));
            let value = value.strip_prefix(b" ").unwrap_or(value);
            match field {
                b"data" => match &mut data {
                    Some(data) => {
                        data.push(b'\n');
                        data.extend_from_slice(value);
                    }
                    None => data = Some(value.to_owned()),
                },
                b"id" if !value.is_empty() => id = Some(String::from_utf8_lossy(value).into_owned()),
                _ => {}
            }
        }
    }

    /// A line without its end; `None` at the stream's end. Its length is bounded by the response's.
    fn line(&mut self) -> Result<Option<Vec<u8>>, Fault> {
        let mut line = Vec::new();
        let read = self.stream.read_until(b'\n', &mut line).map_err(|e| self.bounds.fault(e))?;
        while line.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
            line.pop();
        }
        Ok((read > 0).then_some(line))
    }
}

#[cfg(test)]
mod tests {
    use super::{Bounds, Inbound};
    use crate::generation::{Alternative, TokenLogprob};
    use crate::llm::remote::Key;

    fn inbound() -> Inbound {
        Inbound::new(Key::new("sk-12/345"))
    }

    #[test]
    fn the_key_is_taken_out_however_it_is_written() {
        let value = inbound().json(br#"{"a": ["x sk-12\/345", {"b": "\u0073k-12/345"}], "c": 1}"#, 99).unwrap();
        assert_eq!(value.to_string(), r#"{"a":["x (the key)",{"b":"(the key)"}],"c":1}"#);
        let value = inbound().json(br#"{"sk-12\/345": {"x \u0073k-12/345": 1}}"#, 99).unwrap();
        assert_eq!(value.to_string(), r#"{"(the key)":{"x (the key)":1}}"#);
        let broken = inbound().json(br#"{"a": "sk-12\/345 and sk-12/345"#, 99).unwrap_err();
        assert!(broken.reason.ends_with(r#"{"a": "(the key) and (the key)"#), "{}", broken.reason);
        // Messages leave out what cannot be seen, which would put the key together.
        let value = inbound().json("[\"x s\u{feff}k-12\u{200b}\\\\/345 y\"]".as_bytes(), 99).unwrap();
        assert_eq!(value.to_string(), r#"["x (the key) y"]"#);
        for ignored in ['\u{200d}', '\u{ad}', '\u{fe0f}', '\u{115f}', '\u{e0041}', '\u{202e}', '\u{34f}'] {
            let split = format!("x s{ignored}k-12{ignored}/345 y");
            assert_eq!(inbound().hide(&split), "x (the key) y", "{:x}", u32::from(ignored));
        }
        let unseen = Inbound::new(Key::new(&"\u{feff}".repeat(9)));
        assert_eq!(unseen.hide("x \u{feff} y"), "x \u{feff} y");
        // A cut falls behind the key, not into it.
        let long = format!("{}sk-12/345", "x".repeat(295));
        assert!(!inbound().excerpt(long.as_bytes()).contains("sk-"), "{long}");
    }

    #[test]
    fn tokens_that_spell_the_key_are_emptied() {
        let token = |text: &str| TokenLogprob {
            id: None,
            text: text.into(),
            logprob: -1.0,
            top: Vec::new(),
            watched: Vec::new(),
        };
        let mut tokens: Vec<_> = ["It is ", "sk-", "12/", "345", "."].map(token).into();
        inbound().hide_in_tokens(&mut tokens);
        assert_eq!(tokens.iter().map(|token| token.text.as_str()).collect::<Vec<_>>(), ["It is ", "", "", "", "."]);
        let other = Alternative { id: None, text: "a sk-12/345".into(), logprob: -2.0 };
        let mut tokens = [TokenLogprob { top: vec![other], ..token("It") }];
        inbound().hide_in_tokens(&mut tokens);
        assert_eq!(tokens[0].top[0].text, "a (the key)");
    }

    /// A server that repeats the key all the time: quadratic time would be minutes.
    #[test]
    fn many_keys_are_taken_out_in_linear_time() {
        let started = std::time::Instant::now();
        let token = TokenLogprob { id: None, text: "sk-12/345".into(), logprob: -1.0, top: vec![], watched: vec![] };
        let mut tokens = vec![token; 200_000];
        inbound().hide_in_tokens(&mut tokens);
        assert!(tokens.iter().all(|token| token.text.is_empty()));
        let text = inbound().hide(&"sk-12/345 ".repeat(200_000));
        assert_eq!(text, "(the key) ".repeat(200_000));
        assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
    }

    #[test]
    fn bounds_grow_with_the_tokens_and_their_alternatives() {
        assert!(Bounds::of(1, 0).check(4096 + 256).is_ok());
        assert!(Bounds::of(1, 0).check(4096 + 257).unwrap_err().reason.contains("1 tokens have at most 4352 bytes"));
        assert!(Bounds::of(10, 5).wire() > Bounds::of(10, 0).wire());
        assert_eq!(Bounds::of(usize::MAX, 9).wire(), 64 << 20);
        let lists = format!("[{}0]", "[],".repeat(100));
        assert!(inbound().json(lists.as_bytes(), 202).is_ok());
        let refused = inbound().json(lists.as_bytes(), 201).unwrap_err().reason;
        assert!(refused.contains("more than 201 values"), "{refused}");
        assert!(Bounds::of(0, 0).values() < 10_000 && Bounds::of(usize::MAX, 9).values() <= 1 << 20);
    }
}
