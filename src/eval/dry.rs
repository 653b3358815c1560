//! The calls of a run, counted beforehand: a pass over its questions with made-up replies.
//!
//! A method's calls depend on replies: a debate ends when every agent keeps its answer. So there are two passes. In one all
//! replies are alike, in the other each is different; for most methods the real number of calls lies between.

use crate::error::{MootError, Result};
use crate::generation::Prompt;
use crate::llm::layer::Layer;
use crate::llm::scripted::Scripted;
use crate::llm::{Call, Llm, OnFailure, OnReply, Reply};
use crate::protocol::Built;
use crate::protocol::ctx::{Settings, Silent, Tools};
use crate::question::Question;
use crate::transcript::Parsed;
use rayon::prelude::*;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// The counts of a pass.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pass {
    /// Questions that were gone through.
    pub questions: usize,
    /// Calls.
    pub calls: usize,
    /// Calls by role.
    pub roles: BTreeMap<String, usize>,
    /// Characters of all prompts.
    pub characters: usize,
    /// Calls whose made-up reply did not keep its format: the method's way through malformed replies was counted.
    pub malformed: usize,
    /// Questions that could not be gone through, with the reason.
    pub failed: Vec<(String, String)>,
}

/// Goes through `questions` with made-up replies; every one is different where `differing` is set.
///
/// # Errors
/// An error that would end the run (see [`MootError::is_of_one_question`](crate::MootError::is_of_one_question)).
pub fn pass(
    method: &Built,
    questions: &[Question],
    tools: Tools<'_>,
    settings: &Settings,
    differing: bool,
) -> Result<Pass> {
    // Held replies only: a made-up one is written to its schema.
    let settings = Settings { free_form: false, ..settings.clone() };
    let dry = Dry::new(tools.llm, differing);
    let tools = Tools { llm: &dry, ..tools };
    let one = |question: &Question| {
        let (record, error) = method.record(question, tools, &settings, &Silent);
        let mut pass = Pass { questions: 1, calls: record.calls.len(), ..Pass::default() };
        for call in &record.calls {
            *pass.roles.entry(call.role.clone()).or_default() += 1;
            pass.characters += characters(&call.sent());
            pass.malformed += usize::from(call.parsed == Parsed::Malformed);
        }
        match error {
            Some(error) if !error.is_of_one_question() => Err(error),
            error => {
                pass.failed.extend(error.map(|error| (question.id.clone(), error.to_string())));
                Ok(pass)
            }
        }
    };
    let passes: Vec<Result<Pass>> = questions.par_iter().map(one).collect();
    passes.into_iter().try_fold(Pass::default(), |sum, pass| Ok(sum.and(pass?)))
}

/// The calls that the first stage of `question` sends.
///
/// # Errors
/// As [`pass`].
fn first_stage(method: &Built, question: &Question, tools: Tools<'_>, settings: &Settings) -> Result<Vec<Call>> {
    let first = First { llm: tools.llm, calls: Mutex::default() };
    // Ends with an error: `First` interrupts the method behind its first stage.
    let _ = method.record(question, Tools { llm: &first, ..tools }, settings, &Silent);
    Ok(first.calls.into_inner().unwrap_or_default())
}

/// Characters that a model reads.
#[must_use]
pub(crate) fn characters(prompt: &Prompt) -> usize {
    match prompt {
        Prompt::Chat(messages) => messages.iter().map(|message| message.content.chars().count()).sum(),
        Prompt::Raw(segments) => segments.iter().map(|segment| segment.text().chars().count()).sum(),
    }
}

impl Pass {
    fn and(mut self, other: Self) -> Self {
        self.questions += other.questions;
        self.calls += other.calls;
        self.characters += other.characters;
        self.malformed += other.malformed;
        self.failed.extend(other.failed);
        for (role, calls) in other.roles {
            *self.roles.entry(role).or_default() += calls;
        }
        self
    }
}

/// A model with made-up replies and the real model's capabilities.
struct Dry<'a> {
    real: &'a dyn Llm,
    scripted: Scripted,
}

impl<'a> Dry<'a> {
    fn new(real: &'a dyn Llm, differing: bool) -> Self {
        let count = Arc::new(AtomicUsize::new(0));
        let scripted = Scripted::new(move |call| {
            let number = if differing { count.fetch_add(1, Ordering::Relaxed) } else { 0 };
            made_up(call, number)
        });
        Self { real, scripted: scripted.with_context(usize::MAX) }
    }
}

impl Layer for Dry<'_> {
    fn inner(&self) -> &dyn Llm {
        self.real
    }

    fn answer_stage(&self, calls: &[Call], on_failure: OnFailure, on_reply: &mut OnReply<'_>) -> Vec<Result<Reply>> {
        let by_schema = |index: usize, reply: &Reply| {
            let held_by = calls[index].schema.as_ref().map(|schema| schema.name.to_string());
            Reply { held_by, ..reply.clone() }
        };
        let results =
            self.scripted.answer(calls, on_failure, &mut |index, reply| on_reply(index, &by_schema(index, reply)));
        results.into_iter().enumerate().map(|(index, result)| result.map(|reply| by_schema(index, &reply))).collect()
    }
}

/// The reply number `number`: an object that keeps the call's schema, or a word.
fn made_up(call: &Call, number: usize) -> String {
    let schema = call.schema.as_ref().and_then(|schema| serde_json::from_str::<Value>(&schema.json).ok());
    schema.map_or_else(|| format!("word{number}"), |schema| instance(&schema, number).to_string())
}

/// A value that keeps `schema`; texts and choices depend on `number`.
fn instance(schema: &Value, number: usize) -> Value {
    let list = |name: &str| schema.get(name).and_then(Value::as_array).filter(|list| !list.is_empty());
    if let Some(value) = schema.get("const") {
        return value.clone();
    }
    if let Some(choices) = list("enum") {
        return choices[number % choices.len()].clone();
    }
    if let Some(one) = list("anyOf").or_else(|| list("oneOf")) {
        return instance(&one[0], number);
    }
    let kind = schema.get("type").map(|kind| kind.as_array().map_or(kind, |kinds| &kinds[0]));
    match kind.and_then(Value::as_str) {
        Some("object") => {
            let properties = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
            let fields = properties.iter().map(|(name, schema)| (name.clone(), instance(schema, number)));
            Value::Object(fields.collect::<Map<String, Value>>())
        }
        Some("array") => {
            let least = schema.get("minItems").and_then(Value::as_u64).unwrap_or(1).clamp(1, 8);
            let items = schema.get("items").cloned().unwrap_or_default();
            (0..least).map(|_| instance(&items, number)).collect()
        }
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or_else(|| 1.into()),
        Some("boolean") => true.into(),
        _ => format!("word{number}").into(),
    }
}

/// A model that answers nothing and keeps the first stage of calls.
struct First<'a> {
    llm: &'a dyn Llm,
    calls: Mutex<Vec<Call>>,
}

impl Layer for First<'_> {
    fn inner(&self) -> &dyn Llm {
        self.llm
    }

    fn answer_stage(&self, calls: &[Call], _: OnFailure, _: &mut OnReply<'_>) -> Vec<Result<Reply>> {
        // A method may go on without failed calls; its later stages are not kept.
        if let Ok(mut kept) = self.calls.lock()
            && kept.is_empty()
        {
            kept.extend_from_slice(calls);
        }
        calls.iter().map(|_| Err(MootError::Interrupted)).collect()
    }
}

/// Calls that are sent for a measurement, at most this many.
const PROBED: usize = 24;

/// The result of a short measurement.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Probe {
    /// Calls sent at once.
    pub calls: usize,
    /// Their prompts' characters.
    pub characters: usize,
    /// Their prompts' tokens.
    pub prompt_tokens: usize,
    /// Tokens generated.
    pub generated_tokens: usize,
    /// Wall time until each had its first token: mostly that of the prompts.
    pub prefill_seconds: f64,
    /// Wall time of the same calls to their end, their prompts in the cache.
    pub decode_seconds: f64,
}

/// Sends the first stages of up to `in_flight` questions at once, as a run would, for one token each and then to their ends,
/// and measures both; `None` where there is no call.
///
/// # Errors
/// As [`Llm::ask_all`].
pub fn probe(
    method: &Built,
    questions: &[Question],
    tools: Tools<'_>,
    settings: &Settings,
    in_flight: usize,
) -> Result<Option<Probe>> {
    let mut calls: Vec<Call> = Vec::new();
    for question in questions.iter().take(in_flight.max(1)) {
        let stage = first_stage(method, question, tools, settings)?;
        if !calls.is_empty() && calls.len() + stage.len() > PROBED {
            break;
        }
        calls.extend(stage);
    }
    calls.truncate(PROBED);
    if calls.is_empty() {
        return Ok(None);
    }
    let timed = |calls: &[Call]| {
        let started = Instant::now();
        let replies = tools.llm.ask_all(calls, &mut |_, _| {})?;
        Ok::<_, MootError>((replies, started.elapsed().as_secs_f64()))
    };
    let short: Vec<Call> =
        calls.iter().map(|call| Call { max_tokens: call.max_tokens.min(1), ..call.clone() }).collect();
    let (_, prefill_seconds) = timed(&short)?;
    let (replies, decode_seconds) = timed(&calls)?;
    Ok(Some(Probe {
        calls: calls.len(),
        characters: calls.iter().map(|call| characters(&call.prompt)).sum(),
        prompt_tokens: replies.iter().map(|reply| reply.usage.prompt).sum(),
        generated_tokens: replies.iter().map(|reply| reply.usage.generated).sum(),
        prefill_seconds,
        decode_seconds,
    }))
}

impl Probe {
    /// Prompt tokens of `characters`, at the rate of the measured prompts.
    #[must_use]
    pub fn tokens(&self, characters: usize) -> usize {
        (characters as f64 * self.prompt_tokens as f64 / self.characters.max(1) as f64).round() as usize
    }

    /// Seconds for this many calls with prompts of `characters` in all: the time of prompts grows with the characters, that of
    /// replies with the calls. What later calls find in the cache is not taken off.
    #[must_use]
    pub fn seconds(&self, calls: usize, characters: usize) -> f64 {
        let by_calls = calls as f64 / self.calls.max(1) as f64;
        let by_characters = characters as f64 / self.characters.max(1) as f64;
        self.prefill_seconds * by_characters + self.decode_seconds * by_calls
    }
}
