//! A call as the body of a completion, and the fields that a server refuses.

use super::dialect::Dialect;
use crate::generation::{Message, Prompt, Role, Sampling, Schema, Segment};
use crate::llm::Call;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// Fields that a body may go without, each with the effect. (`temperature` is not among them: a reply that is sampled
/// otherwise than asked is another experiment; nor are log-probabilities, which a method computes with.)
const OPTIONAL: &[(&str, &str)] = &[
    ("json_schema", "replies are not held to their format, only read strictly"),
    ("response_format", "replies are not held to their format, only read strictly"),
    ("chat_template_kwargs", "whether it thinks is left to it"),
    ("stream_options", "it may not count tokens"),
    ("seed", "sampled replies cannot be repeated"),
    ("top_k", "all tokens are sampled from"),
];

/// Fields that a body goes without. `max_tokens` among them means that it is called `max_completion_tokens`.
pub(super) type Fields = BTreeSet<&'static str>;

/// The fields that a server is known to refuse: bodies with them were refused, and the same bodies without them were
/// answered.
#[derive(Debug, Default)]
pub(super) struct Refused {
    fields: Mutex<Fields>,
}

impl Refused {
    /// All of them.
    pub(super) fn known(&self) -> Fields {
        self.fields.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Remembers that a call was answered without `fields`; a line to tell for each that is new.
    pub(super) fn remember(&self, fields: &Fields) -> Vec<String> {
        let mut known = self.fields.lock().unwrap_or_else(PoisonError::into_inner);
        let new = fields.iter().filter(|field| known.insert(field));
        new.filter_map(|field| OPTIONAL.iter().find(|(name, _)| name == field))
            .map(|(field, effect)| format!("the server does not take `{field}`: {effect}"))
            .collect()
    }
}

/// The field of `sent` that a refusal for `reason` names and that can be left out.
pub(super) fn refused_field(sent: &Value, reason: &str) -> Option<&'static str> {
    if sent.get("max_tokens").is_some() && names(reason, "max_completion_tokens") {
        return Some("max_tokens");
    }
    let is_named = |field: &str| {
        // Some servers name the kind of format, not the field.
        names(reason, field) || (field == "response_format" && names(reason, "json_schema"))
    };
    OPTIONAL.iter().map(|(field, _)| *field).find(|field| sent.get(field).is_some() && is_named(field))
}

/// Whether `text` names `field` as a whole word: "seed" is not named by `seed-oss-36b`, `my/seed.7b` or `random_seed`.
fn names(text: &str, field: &str) -> bool {
    let in_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '/');
    text.match_indices(field).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + field.len()..]);
        let mut next = after.chars();
        let goes_on = match next.next() {
            // A full stop ends a sentence, or goes on with a name.
            Some('.' | ':') => next.next().is_some_and(char::is_alphanumeric),
            Some(c) => in_name(c),
            None => false,
        };
        !goes_on && !before.chars().next_back().is_some_and(in_name)
    })
}

/// The path below the API's version that answers `call`.
pub(super) fn path(call: &Call) -> &'static str {
    match call.prompt {
        Prompt::Chat(_) => "chat/completions",
        Prompt::Raw(_) => "completions",
    }
}

/// The text of `segments`.
pub(super) fn text(segments: &[Segment]) -> String {
    segments.iter().map(Segment::text).collect()
}

/// Bytes of what `call` sends, about: more than it has tokens.
pub(super) fn bytes(call: &Call) -> usize {
    const A_TURN: usize = 64;
    let prompt = match &call.prompt {
        Prompt::Chat(messages) => messages.iter().map(|message| message.content.len() + A_TURN).sum::<usize>(),
        Prompt::Raw(segments) => text(segments).len(),
    };
    prompt + text(&call.prefill).len() + A_TURN
}

/// The body of a completion that asks for `call`, without the fields in `without`.
pub(super) fn body(model: &str, call: &Call, dialect: Dialect, without: &Fields) -> Value {
    let mut body = Map::new();
    let mut put = |field: &str, value: Value| {
        if !without.contains(field) {
            body.insert(field.to_owned(), value);
        }
    };
    put("model", json!(model));
    prompt(call, dialect, &mut put);
    put("stream", json!(true));
    put("stream_options", json!({ "include_usage": true }));
    // Servers count thoughts among the tokens of the reply.
    let tokens = json!(call.max_tokens.saturating_add(call.think));
    // A server that refuses the one name takes the other.
    if without.contains("max_tokens") {
        put("max_completion_tokens", tokens);
    } else {
        put("max_tokens", tokens);
    }
    put("seed", json!(seed(call)));
    match call.sampling {
        Sampling::Greedy => put("temperature", json!(0)),
        Sampling::Seeded { temperature, top_k, top_p } => {
            put("temperature", json!(temperature));
            put("top_p", json!(top_p));
            // OpenAI's protocol does not have the field, and servers differ in the number that keeps all tokens.
            if top_k > 0 {
                put("top_k", json!(top_k));
            }
        }
    }
    if !call.stop.is_empty() {
        put("stop", json!(call.stop));
    }
    if let Some(schema) = &call.schema {
        let parsed = parsed(schema);
        if dialect == Dialect::LlamaCpp && matches!(call.prompt, Prompt::Raw(_)) {
            put("json_schema", parsed);
        } else {
            let named = json!({ "name": "reply", "strict": true, "schema": parsed });
            put("response_format", json!({ "type": "json_schema", "json_schema": named }));
        }
    }
    Value::Object(body)
}

/// The fields of the prompt, the prefill and the log-probabilities, in which chats and raw prompts differ.
fn prompt(call: &Call, dialect: Dialect, put: &mut impl FnMut(&str, Value)) {
    // llama.cpp reports nothing for 0 alternatives.
    let top = call.logprobs.as_ref().map(|wanted| wanted.top.max(usize::from(dialect == Dialect::LlamaCpp)));
    let prefill = text(&call.prefill);
    match &call.prompt {
        Prompt::Raw(segments) => {
            put("prompt", json!(text(segments) + &prefill));
            if let Some(top) = top {
                put("logprobs", json!(top));
            }
        }
        Prompt::Chat(messages) => {
            let mut messages = messages.clone();
            if !prefill.is_empty() {
                // llama.cpp continues a last message of the assistant unasked.
                messages.push(Message::new(Role::Assistant, prefill));
                if matches!(dialect, Dialect::Vllm | Dialect::Sglang) {
                    put("add_generation_prompt", json!(false));
                    put("continue_final_message", json!(true));
                }
            }
            put("messages", json!(messages));
            put("chat_template_kwargs", json!({ "enable_thinking": call.think > 0 }));
            if let Some(top) = top {
                put("logprobs", json!(true));
                put("top_logprobs", json!(top));
            }
        }
    }
}

/// The fields that `call` would have had and that are in `without`.
pub(super) fn dropped(call: &Call, dialect: Dialect, without: &Fields) -> Vec<String> {
    let full = body("", call, dialect, &Fields::new());
    let lost = without.iter().filter(|field| **field != "max_tokens" && full.get(**field).is_some());
    lost.map(|field| (*field).to_owned()).collect()
}

/// SGLang's own sampling parameters for `call`.
pub(super) fn sglang_sampling(call: &Call) -> Value {
    let (temperature, top_k, top_p) = match call.sampling {
        Sampling::Greedy => (0.0, 0, 1.0),
        Sampling::Seeded { temperature, top_k, top_p } => (temperature, top_k, top_p),
    };
    // SGLang's `top_k` of -1 keeps all tokens.
    let mut parameters = json!({
        "max_new_tokens": call.max_tokens, "temperature": temperature, "top_p": top_p, "stop": call.stop,
        "top_k": if top_k == 0 { -1 } else { i64::try_from(top_k).unwrap_or(i64::MAX) }, "sampling_seed": seed(call),
    });
    if let Some(schema) = &call.schema {
        // SGLang's own interface takes the schema as a text.
        parameters["json_schema"] = json!(&*schema.json);
    }
    parameters
}

/// Some servers keep seeds in 32 bits, signed. A call's seed is a hash: any 31 bits of it do.
fn seed(call: &Call) -> u64 {
    call.seed & 0x7fff_ffff
}

fn parsed(schema: &Schema) -> Value {
    serde_json::from_str(&schema.json).expect("a call's schema is JSON (bug)")
}

#[cfg(test)]
mod tests {
    use super::{Dialect, Fields, Refused, body, dropped, names, refused_field, sglang_sampling};
    use crate::generation::{Logprobs, Message, Prompt, Role, Sampling, Schema, Segment};
    use crate::llm::Call;

    fn call() -> Call {
        Call {
            think: 5,
            sampling: Sampling::Seeded { temperature: 0.5, top_k: 3, top_p: 0.25 },
            seed: u64::MAX,
            schema: Some(Schema { name: "s".into(), json: "{}".into() }),
            logprobs: Some(Logprobs { top: 2, watch: Vec::new() }),
            ..Call::new("a call", "agent", Prompt::Chat(vec![Message::new(Role::User, "What?")]), 10)
        }
    }

    #[test]
    fn everything_that_a_call_asks_for_is_sent() {
        let body = body("m", &call(), Dialect::Unknown, &Fields::new());
        assert_eq!(body["model"], "m");
        assert_eq!(body["messages"][0]["role"], "user");
        assert_eq!(body["messages"][0]["content"], "What?");
        assert_eq!((&body["max_tokens"], &body["seed"]), (&15.into(), &0x7fff_ffff.into()));
        assert_eq!((&body["temperature"], &body["top_p"], &body["top_k"]), (&0.5.into(), &0.25.into(), &3.into()));
        assert_eq!(body["chat_template_kwargs"]["enable_thinking"], true);
        assert_eq!(body["response_format"]["json_schema"]["strict"], true);
        assert_eq!(body["top_logprobs"], 2);
    }

    #[test]
    fn a_refused_field_is_left_out_and_reported_once() {
        let (refused, call) = (Refused::default(), call());
        let mut without = refused.known();
        let first = body("m", &call, Dialect::Unknown, &without);
        let reason = "Unrecognized request argument supplied: chat_template_kwargs";
        without.extend(refused_field(&first, reason));
        without.extend(refused_field(&first, "use 'max_completion_tokens' instead"));
        let second = body("m", &call, Dialect::Unknown, &without);
        assert!(second.get("chat_template_kwargs").is_none() && second.get("max_tokens").is_none());
        assert_eq!(second["max_completion_tokens"], 15);
        assert_eq!(refused_field(&second, reason), None, "it was not sent");
        assert_eq!(refused_field(&second, "the prompt is too long"), None);
        assert_eq!(dropped(&call, Dialect::Unknown, &without), ["chat_template_kwargs"]);
        let told = refused.remember(&without);
        assert!(told.len() == 1 && told[0].contains("`chat_template_kwargs`"), "{told:?}");
        assert_eq!((refused.remember(&without), refused.known()), (Vec::new(), without));
    }

    #[test]
    fn prefills_and_raw_prompts_are_sent_as_each_server_takes_them() {
        let prefilled = Call { prefill: vec![Segment::Content("It is".into())], ..call() };
        let chat = |dialect| body("m", &prefilled, dialect, &Fields::new());
        for (dialect, told) in [(Dialect::Vllm, true), (Dialect::Sglang, true), (Dialect::LlamaCpp, false)] {
            let body = chat(dialect);
            assert_eq!(body["messages"][1], serde_json::json!({ "role": "assistant", "content": "It is" }));
            assert_eq!(body.get("continue_final_message").is_some(), told, "{dialect:?}");
            assert_eq!(body.get("add_generation_prompt").is_some(), told, "{dialect:?}");
        }
        let segments = vec![Segment::Scaffold("<s>".into()), Segment::Content("Q: x\n".into())];
        let raw = Call { prompt: Prompt::Raw(segments), stop: vec!["\n".into()], ..prefilled };
        let sent = body("m", &raw, Dialect::Vllm, &Fields::new());
        assert_eq!((&sent["prompt"], &sent["stop"][0]), (&"<s>Q: x\nIt is".into(), &"\n".into()));
        assert!(sent["logprobs"] == 2 && sent.get("messages").is_none() && sent.get("chat_template_kwargs").is_none());
        assert!(sent.get("response_format").is_some());
        let scores = Call { logprobs: Some(Logprobs::default()), ..raw };
        let sent = body("m", &scores, Dialect::LlamaCpp, &Fields::new());
        assert!(sent["logprobs"] == 1 && sent.get("json_schema").is_some() && sent.get("response_format").is_none());
        let sampling = sglang_sampling(&scores);
        assert_eq!(
            (&sampling["top_k"], &sampling["max_new_tokens"], &sampling["json_schema"]),
            (&3.into(), &10.into(), &"{}".into())
        );
    }

    #[test]
    fn fields_are_named_as_whole_words() {
        for text in
            ["'seed' is unknown", "body.seed: extra", "no seed.", "seed", "[\"body\",\"seed\"]", "seed: unknown"]
        {
            assert!(names(text, "seed"), "{text}");
        }
        for text in
            ["seed-oss-36b is unknown", "no model my/seed", "seed.7b", "random_seed", "seeds", "seed:7b", "Seed"]
        {
            assert!(!names(text, "seed"), "{text}");
        }
        assert!(!names("top_logprobs", "logprobs"));
    }
}
