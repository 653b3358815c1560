//! A model for any method: it replies in the format that a call asks for. Tests over the whole table use it.

use moot::generation::{Prompt, Segment};
use moot::llm::scripted::Scripted;
use moot::llm::{Call, Capabilities, Llm, ModelIdentity, OnFailure, OnReply, Reply};
use moot::protocol::formats::FORMATS;
use moot::transcript::Parsed;
use moot::{MootError, Result};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Which of the options offered a choice takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    First,
    Last,
}

/// A model with well-formed replies, except for those that a test spoils.
pub(super) struct Model {
    scripted: Scripted,
    /// The call that fails, counted from 0 in the order asked.
    fails: Option<usize>,
    asked: AtomicUsize,
}

impl Model {
    /// Every reply keeps its format.
    pub(super) fn good(takes: Takes) -> Self {
        Self::spoilt(takes, |_| None)
    }

    /// The replies for which `spoils` has a text are that text.
    pub(super) fn spoilt(takes: Takes, spoils: impl Fn(&Call) -> Option<&'static str> + Send + Sync + 'static) -> Self {
        let script = move |call: &Call| spoils(call).map_or_else(|| well_formed(call, takes), str::to_owned);
        Self { scripted: Scripted::new(script), fails: None, asked: AtomicUsize::new(0) }
    }

    /// The call of this number fails, with an error that names it.
    pub(super) fn failing(mut self, number: usize) -> Self {
        self.fails = Some(number);
        self
    }

    /// Refuses prompts that do not fit `words` together with their reply.
    pub(super) fn with_context(mut self, words: usize) -> Self {
        self.scripted = self.scripted.with_context(words);
        self
    }

    fn reply(&self, call: &Call) -> Result<Reply> {
        if self.fails == Some(self.asked.fetch_add(1, Ordering::Relaxed)) {
            return Err(MootError::Question(format!("{}: refused", call.what)));
        }
        self.scripted.answer(std::slice::from_ref(call), OnFailure::Continue, &mut |_, _| {}).swap_remove(0)
    }
}

impl Llm for Model {
    fn identity(&self) -> &ModelIdentity {
        self.scripted.identity()
    }

    fn capabilities(&self, role: &str) -> Capabilities {
        self.scripted.capabilities(role)
    }

    /// Every text is a token, so that methods with control tokens of their own run too.
    fn token(&self, _: &str, text: &str) -> Option<u32> {
        Some(text.bytes().fold(17, |id: u32, byte| id.wrapping_mul(31).wrapping_add(u32::from(byte))))
    }

    fn answer(&self, calls: &[Call], on_failure: OnFailure, on_reply: &mut OnReply<'_>) -> Vec<Result<Reply>> {
        let mut results: Vec<Result<Reply>> = calls.iter().map(|call| self.reply(call)).collect();
        if on_failure == OnFailure::Cancel && results.iter().any(Result::is_err) {
            results.iter_mut().filter(|result| result.is_ok()).for_each(|result| *result = Err(MootError::Interrupted));
        }
        for (index, result) in results.iter().enumerate() {
            result.iter().for_each(|reply| on_reply(index, reply));
        }
        results
    }
}

/// The whole prompt as one text.
pub(super) fn read_by(prompt: &Prompt) -> String {
    match prompt {
        Prompt::Chat(messages) => messages.iter().map(|message| format!("{}\n", message.content)).collect(),
        Prompt::Raw(segments) => segments.iter().map(Segment::text).collect(),
    }
}

/// The first year that a document of [`super::cases`] gives, or "unknown".
fn year(call: &Call) -> String {
    let read = read_by(&call.prompt);
    let after = read.split_once("the lamp was lit in ").map(|(_, after)| &after[..4]);
    after.filter(|year| year.bytes().all(|byte| byte.is_ascii_digit())).unwrap_or("unknown").to_owned()
}

fn well_formed(call: &Call, takes: Takes) -> String {
    let year = year(call);
    // Without a grammar the reply is free text.
    let format = call.grammar.as_ref().map_or("", |grammar| &*grammar.name);
    match format {
        "" => format!("A note says {year}."),
        "reply/answer.lark" => format!("Answer: {year}. Explanation: A note says it."),
        "reply/answers.lark" => format!(r#"All Correct Answers: ["{year}", "1899"]. Explanation: Two notes."#),
        "reply/list.lark" => format!(r#"Answers: ["{year}", "1899"]"#),
        "reply/items.lark" => format!(r#"Items: ["When was the lamp lit in {year}?", "Who says so?"]"#),
        "reply/short.lark" => year,
        "reply/thought.lark" => format!("Thought: A note says it.\nAnswer: {year}"),
        "reply/about.lark" => format!("About: the lamp\nAnswer: {year}"),
        "reply/choice.lark" => option(call, takes),
        "reply/subjects.lark" => "1: the lamp".to_owned(),
        "reply/query_action.lark" => format!("Argument: That is too little.\nQuery Expansion: lamp of {year}"),
        other => panic!("{other}: well_formed of tests/methods/scripted.rs has no reply in this format yet"),
    }
}

/// One of the options that the call offers.
fn option(call: &Call, takes: Takes) -> String {
    let options = call.format_values["options"].as_array().unwrap();
    let index = if takes == Takes::First { 0 } else { options.len() - 1 };
    options[index].as_str().unwrap().to_owned()
}

/// The premise of the tests of the whole table: a reply that this model calls well formed is read in every format, and
/// an empty one in none but a continuation.
#[test]
fn its_replies_keep_every_format_and_an_empty_one_none_but_a_continuation() {
    let values =
        json!({ "options": ["yes", "no"], "queries": ["When?"], "most": 3, "numbers": [1], "text": "the lamp" });
    for format in FORMATS.iter().filter(|format| {
        format.name != "scores" && !format.name.starts_with("claim") && !format.name.starts_with("free")
    }) {
        let chat = Prompt::Chat(vec![]);
        let mut call = Call::new("x", "agent", chat, 100);
        let templates = format.files().any(|file| file.text.contains("{{"));
        let values = if templates { values.clone() } else { Value::Null };
        (call.grammar, call.schema) = (format.grammar(&values).unwrap(), format.schema(&values).unwrap());
        call.format_values = values.clone();
        for takes in [Takes::First, Takes::Last] {
            let reply = Model::good(takes).reply(&call).unwrap();
            assert_ne!(format.read(&reply.text, reply.finish, &values), Parsed::Malformed, "{}", format.name);
        }
        let reply = Model::spoilt(Takes::First, |_| Some("")).reply(&call).unwrap();
        let ended = format.name == "continuation"; // nothing is the end of a text
        assert_eq!(format.read(&reply.text, reply.finish, &values) == Parsed::Malformed, !ended, "{}", format.name);
    }
}
