//! Log-probabilities in OpenAI's two forms.

use super::fields::{Body, Wanted};
use crate::generation::{Logprobs, TokenLogprob};
use crate::llm::remote::MOST_LOGPROBS;
use crate::serve::refusal::{Answer, Refusal};
use serde_json::{Map, Value, json};

/// Likeliest tokens reported at each position.
const MOST: usize = 20;

impl Body {
    /// The log-probabilities that a chat asks for.
    pub(super) fn chat_logprobs(&self) -> Answer<Option<Logprobs>> {
        let wanted = match self.logprobs {
            None | Some(Wanted::Whether(false)) => false,
            Some(Wanted::Whether(true)) => true,
            Some(Wanted::Top(number)) => return Err(Refusal::field("logprobs", "true or false", number)),
        };
        match (wanted, self.top_logprobs.unwrap_or(0)) {
            (false, 0) => Ok(None),
            (false, top) => Err(Refusal::field("top_logprobs", "\"logprobs\": true as well", top)),
            (true, top) => bounded("top_logprobs", top),
        }
    }

    /// The log-probabilities that a completion asks for.
    pub(super) fn completion_logprobs(&self) -> Answer<Option<Logprobs>> {
        match self.logprobs {
            None | Some(Wanted::Whether(false)) => Ok(None),
            Some(Wanted::Whether(true)) => bounded("logprobs", 1),
            Some(Wanted::Top(top)) => bounded("logprobs", top),
        }
    }
}

/// Refuses replies that together have more log-probabilities than a client may ask for.
pub(super) fn check(wanted: Option<&Logprobs>, replies: usize, max_tokens: usize) -> Answer<()> {
    let all = wanted.map_or(0, |wanted| wanted.top + 1).saturating_mul(replies).saturating_mul(max_tokens);
    if all > MOST_LOGPROBS {
        return Err(Refusal::field("logprobs", &format!("at most {MOST_LOGPROBS} in all replies"), all));
    }
    Ok(())
}

fn bounded(field: &str, top: usize) -> Answer<Option<Logprobs>> {
    // OpenAI's own limit for chats.
    if top > MOST {
        return Err(Refusal::field(field, &format!("at most {MOST}"), top));
    }
    Ok(Some(Logprobs { top, watch: Vec::new() }))
}

/// As a chat has them.
pub(super) fn of_chat(tokens: &[TokenLogprob]) -> Value {
    let one = |text: &str, logprob: f32| json!({ "token": text, "logprob": logprob, "bytes": text.as_bytes() });
    let content = tokens.iter().map(|token| {
        let top: Vec<Value> = token.top.iter().map(|other| one(&other.text, other.logprob)).collect();
        let mut entry = one(&token.text, token.logprob);
        entry["top_logprobs"] = Value::Array(top);
        entry
    });
    json!({ "content": content.collect::<Vec<_>>() })
}

/// A token of a completion; the first one of a text has no log-probability.
pub(super) struct Token<'a> {
    pub text: &'a str,
    pub logprob: Option<&'a TokenLogprob>,
}

/// As a completion has them: `offset` is the number of characters before the first token.
pub(super) fn of_completion<'a>(tokens: impl Iterator<Item = Token<'a>>, mut offset: usize) -> Value {
    let (mut texts, mut logprobs, mut tops, mut offsets) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for token in tokens {
        texts.push(Value::from(token.text));
        logprobs.push(token.logprob.map_or(Value::Null, |token| token.logprob.into()));
        let top = token.logprob.map(|token| {
            // Several tokens may be written alike, as halves of characters are: the likeliest is kept.
            let mut top = Map::new();
            for other in &token.top {
                top.entry(other.text.clone()).or_insert_with(|| other.logprob.into());
            }
            top.entry(token.text.clone()).or_insert_with(|| token.logprob.into());
            Value::Object(top)
        });
        tops.push(top.unwrap_or(Value::Null));
        offsets.push(Value::from(offset));
        offset += token.text.chars().count();
    }
    json!({ "tokens": texts, "token_logprobs": logprobs, "top_logprobs": tops, "text_offset": offsets })
}
