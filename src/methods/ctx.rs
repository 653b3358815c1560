//! What a method holds while it answers: it renders, seeds, sends, parses and records every call.

use crate::error::Result;
use crate::eval::record::CallRecord;
use crate::llm::{Call, Llm, Message, Reply, Role, Sampling};
use crate::methods::reply::Format;
use crate::prompts;
use crate::question::Question;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Settings of a run that every method obeys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// The run's seed; each call's is derived from (this, question id, role, round, call).
    pub seed: u64,
    /// Tokens a call may generate.
    pub max_tokens: usize,
    /// How tokens are chosen.
    pub sampling: Sampling,
    /// Replies are not held to their format by a grammar.
    pub free_form: bool,
    /// Tokens of thought before each reply, for models that can think; 0 keeps them from it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub think: usize,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl Default for Settings {
    fn default() -> Self {
        Self { seed: 0, max_tokens: 128, sampling: Sampling::Greedy, free_form: false, think: 0 }
    }
}

/// Sees each call as soon as its reply is parsed: `moot ask` prints from here.
pub trait Observer: Sync {
    /// `count` calls are in flight as stage `stage`.
    fn stage(&self, stage: usize, count: usize);
    /// One of them came back: the one asked in place `place` of its stage, from 0. They come in any order.
    fn call(&self, place: usize, call: &CallRecord);
}

/// An [`Observer`] that looks away.
pub struct Silent;

impl Observer for Silent {
    fn stage(&self, _: usize, _: usize) {}
    fn call(&self, _: usize, _: &CallRecord) {}
}

/// One call to make.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    /// "agent", "aggregator", "reader".
    pub role: &'static str,
    /// From 1.
    pub round: usize,
    /// The document that this agent speaks for, as a place in [`Question::documents`].
    pub document: Option<usize>,
    /// The prompt file.
    pub prompt: &'static str,
    /// What is put into it, an object.
    pub values: serde_json::Value,
    /// What the reply must look like.
    pub format: Format,
}

/// One question's way through a method.
pub struct Ctx<'a> {
    llm: &'a dyn Llm,
    settings: &'a Settings,
    observer: &'a dyn Observer,
    calls: Vec<CallRecord>,
    stage: usize,
}

impl<'a> Ctx<'a> {
    /// A fresh context for one question.
    pub fn new(llm: &'a dyn Llm, settings: &'a Settings, observer: &'a dyn Observer) -> Self {
        Self { llm, settings, observer, calls: Vec::new(), stage: 0 }
    }

    /// Every call answered, in the order asked.
    #[must_use]
    pub fn into_calls(self) -> Vec<CallRecord> {
        self.calls
    }

    /// Makes a stage of calls, all in flight at once; records each, and returns their records in the order of `asks`.
    ///
    /// # Errors
    /// A prompt that cannot be rendered; a call that failed, named by role, document and round. What was answered
    /// before is recorded.
    pub fn ask_all(&mut self, question: &Question, asks: &[Ask]) -> Result<Vec<CallRecord>> {
        let calls = self.prepare(question, asks)?;
        let (stage, llm, observer) = (self.stage, self.llm, self.observer);
        let mut records: Vec<Option<CallRecord>> = vec![None; calls.len()];
        observer.stage(stage, calls.len());
        let result = llm.ask_all(&calls, &mut |place, reply| {
            let record = record(stage, &asks[place], &calls[place], reply);
            observer.call(place, &record);
            records[place] = Some(record);
        });
        self.stage += 1;
        let records: Vec<CallRecord> = records.into_iter().flatten().collect();
        self.calls.extend_from_slice(&records);
        let replies = result?.len();
        assert!(
            records.len() == asks.len() && replies == asks.len(),
            "a model reports every reply that it returns (bug)"
        );
        Ok(records)
    }

    /// Makes one call, a stage of its own.
    ///
    /// # Errors
    /// As [`Ctx::ask_all`].
    pub fn ask(&mut self, question: &Question, ask: Ask) -> Result<CallRecord> {
        Ok(self.ask_all(question, &[ask])?.swap_remove(0))
    }

    /// Seeds what a role does by chance in a round, apart from every other role, round and question.
    #[must_use]
    pub fn seed(&self, question: &Question, role: &str, round: usize, call: usize) -> u64 {
        derive_seed(self.settings.seed, &question.id, role, round, call)
    }

    fn prepare(&self, question: &Question, asks: &[Ask]) -> Result<Vec<Call>> {
        let mut calls = Vec::with_capacity(asks.len());
        for (place, ask) in asks.iter().enumerate() {
            let before = self.calls.iter().filter(|call| call.role == ask.role && call.round == ask.round).count();
            let beside =
                asks[..place].iter().filter(|other| other.role == ask.role && other.round == ask.round).count();
            calls.push(Call {
                what: what(question, ask),
                role: ask.role,
                messages: vec![Message { role: Role::User, content: prompts::render(ask.prompt, &ask.values)? }],
                max_tokens: self.settings.max_tokens,
                think: self.settings.think,
                sampling: self.settings.sampling,
                seed: self.seed(question, ask.role, ask.round, before + beside),
                grammar: (!self.settings.free_form).then(|| ask.format.grammar()),
                schema: (!self.settings.free_form).then(|| ask.format.schema()),
                logprobs: None,
            });
        }
        Ok(calls)
    }
}

/// A call's seed: the first eight bytes, little-endian, of the SHA-256 of (run seed, question id, role, round, call),
/// each number as eight bytes, each text led by its length. A call is counted among those of its role and round.
#[must_use]
pub fn derive_seed(run: u64, question: &str, role: &str, round: usize, call: usize) -> u64 {
    let mut hash = Sha256::new();
    hash.update(run.to_le_bytes());
    for text in [question, role] {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text.as_bytes());
    }
    for number in [round, call] {
        hash.update((number as u64).to_le_bytes());
    }
    let digest = hash.finalize();
    u64::from_le_bytes(std::array::from_fn(|i| digest[i]))
}

fn what(question: &Question, ask: &Ask) -> String {
    let document = ask.document.and_then(|place| question.documents.get(place));
    let of = document.map(|document| format!(" of {}", document.name)).unwrap_or_default();
    format!("{}{of}, round {}", ask.role, ask.round)
}

fn record(stage: usize, ask: &Ask, call: &Call, reply: &Reply) -> CallRecord {
    let by_schema = call.schema.as_ref().is_some_and(|schema| reply.held_by.as_deref() == Some(schema.name));
    // Parsers and other agents read lines, whatever a server had to be asked for.
    let line = if by_schema { ask.format.line(&reply.text) } else { None };
    let raw = line.is_some().then(|| reply.text.clone());
    let text = line.unwrap_or_else(|| reply.text.clone());
    CallRecord {
        role: ask.role.to_owned(),
        round: ask.round,
        stage,
        document: ask.document,
        prompt: ask.prompt.to_owned(),
        grammar: reply.held_by.clone(),
        messages: call.messages.clone(),
        max_tokens: call.max_tokens,
        seed: call.seed,
        parsed: ask.format.parse(&text, reply.finish),
        reply: text,
        raw,
        thoughts: reply.thoughts.clone(),
        tokens: reply.tokens.clone(),
        finish: reply.finish,
        usage: reply.usage,
        seconds: reply.seconds,
    }
}
