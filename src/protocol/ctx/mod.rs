//! The context that a method works in: it renders, seeds, sends, parses and records every call, retrieves passages and
//! classifies pairs.

mod entail;
mod record;
mod seed;

pub(crate) use entail::Entailed;
pub use seed::derive_seed;

use crate::cancel::Cancel;
use crate::error::{MootError, Result};
use crate::generation::Sampling;
use crate::llm::{Capabilities, Llm, ModelIdentity, OnFailure, all_or_first_failure};
use crate::nli::Classifier;
use crate::prompts::File;
use crate::protocol::ask::Ask;
use crate::protocol::search::{nothing_found, search};
use crate::protocol::{Interjection, OwnPrompts};
use crate::question::{Document, Hit, Question};
use crate::retrieval::{Embedder, Filter, Retriever, Side, Wanted, documents};
use crate::sources::SourceWeights;
use crate::transcript::{CallRecord, Event, QuestionRecord};
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// Settings of a run that every method obeys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// The run's seed; each call's is derived from (this, question id, role, round, call).
    pub seed: u64,
    /// Maximum tokens of a reply, unless a method asks otherwise.
    pub max_tokens: usize,
    /// Sampling, unless a method asks otherwise.
    pub sampling: Sampling,
    /// Replies are not constrained by a grammar.
    pub free_form: bool,
    /// Tokens of thought before each reply, for models that can think; 0 turns thinking off.
    #[serde(default, skip_serializing_if = "crate::units::is_zero")]
    pub think: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { seed: 0, max_tokens: 128, sampling: Sampling::Greedy, free_form: false, think: 0 }
    }
}

/// The tools of a method: a model, and optionally a retriever, a classifier of pairs, an embedder and source weights.
#[derive(Clone, Copy)]
pub struct Tools<'a> {
    /// Answers calls.
    pub llm: &'a dyn Llm,
    /// Finds passages.
    pub retriever: Option<&'a dyn Retriever>,
    /// The user's request to the retriever, unless a method asks otherwise: number of passages, and filters.
    pub wanted: &'a Wanted,
    /// Classifies pairs; without one a method's `entailment` role does.
    pub classifier: Option<&'a dyn Classifier>,
    /// Embeds texts; a method that uses one records a fallback if there is none.
    pub embedder: Option<&'a dyn Embedder>,
    /// The weight of each source, from earlier runs.
    pub weights: Option<&'a SourceWeights>,
    /// Ends the calls when it is set.
    pub cancel: Option<&'a Cancel>,
}

impl<'a> Tools<'a> {
    /// A model alone.
    #[must_use]
    pub fn new(llm: &'a dyn Llm) -> Self {
        const FIVE: &Wanted = &Wanted { top: 5, by_source: false, filter: Filter::NONE, fold: true };
        Self { llm, retriever: None, wanted: FIVE, classifier: None, embedder: None, weights: None, cancel: None }
    }
}

/// Sees each call as soon as its reply is parsed: `moot ask` prints from here.
pub trait Observer: Sync {
    /// `count` calls are in flight as stage `stage`.
    fn stage(&self, stage: usize, count: usize);
    /// The reply to call `index` of the stage, from 0, has arrived. Replies arrive in any order.
    fn call(&self, index: usize, call: &CallRecord);
    /// A retrieved passage became a document; its number goes on from those before.
    fn taken_up(&self, document: &Document) {
        let _ = document;
    }
    /// An event other than a call.
    fn event(&self, event: &Event) {
        let _ = event;
    }
}

/// An [`Observer`] that ignores everything.
pub struct Silent;

impl Observer for Silent {
    fn stage(&self, _: usize, _: usize) {}
    fn call(&self, _: usize, _: &CallRecord) {}
}

/// The context of one question.
pub struct Ctx<'a> {
    name: &'static str,
    files: Vec<File>,
    question: &'a Question,
    tools: Tools<'a>,
    settings: &'a Settings,
    observer: &'a dyn Observer,
    retrieved: Vec<Document>,
    calls: Vec<CallRecord>,
    events: Vec<Event>,
    stage: usize,
    prompts: Option<&'a OwnPrompts>,
    pub(super) interjection: Option<&'a Interjection>,
}

impl<'a> Ctx<'a> {
    /// A fresh context for one question, for the method `name`, which may use the prompt files `files`.
    pub fn new(
        name: &'static str,
        files: Vec<File>,
        question: &'a Question,
        tools: Tools<'a>,
        settings: &'a Settings,
        observer: &'a dyn Observer,
    ) -> Self {
        let (retrieved, calls, events) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            name,
            files,
            question,
            tools,
            settings,
            observer,
            retrieved,
            calls,
            events,
            stage: 0,
            prompts: None,
            interjection: None,
        }
    }

    /// Adds events that happened before; stages are numbered after them.
    #[must_use]
    pub fn after(mut self, events: Vec<Event>) -> Self {
        self.stage = events.len();
        self.events = events;
        self
    }

    /// With prompts that replace the program's.
    #[must_use]
    pub fn prompts(mut self, prompts: &'a OwnPrompts) -> Self {
        self.prompts = Some(prompts);
        self
    }

    /// The record so far, without conclusion and time.
    #[must_use]
    pub fn into_record(self) -> QuestionRecord {
        QuestionRecord {
            question: self.question.clone(),
            retrieved: self.retrieved,
            calls: self.calls,
            events: self.events,
            ..QuestionRecord::default()
        }
    }

    /// The prompt files that the method may use.
    pub(super) fn files(&self) -> &[File] {
        &self.files
    }

    /// The question.
    pub(super) fn question(&self) -> &'a Question {
        self.question
    }

    /// The run's settings.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        self.settings
    }

    /// The user's request to the retriever: number of passages, and filters.
    #[must_use]
    pub fn wanted(&self) -> &Wanted {
        self.tools.wanted
    }

    /// The vote of a document: its source's weight where weights were given, else 1.
    #[must_use]
    pub fn vote(&self, number: usize) -> f64 {
        let source = self.documents().nth(number).and_then(|document| document.source.as_deref());
        self.tools.weights.map_or(1.0, |weights| weights.vote(source))
    }

    /// The vote of each document, by its number; empty where no weights were given.
    pub(super) fn known_weights(&self) -> Vec<f64> {
        let documents = if self.tools.weights.is_some() { self.documents().len() } else { 0 };
        (0..documents).map(|number| self.vote(number)).collect()
    }

    /// How far each source can be trusted, where weights were given.
    #[must_use]
    pub fn weights(&self) -> Option<&SourceWeights> {
        self.tools.weights
    }

    /// Every answered call so far, in the order asked.
    #[must_use]
    pub fn calls(&self) -> &[CallRecord] {
        &self.calls
    }

    /// The question's documents, then the retrieved passages that were taken up; a document's number is its index here.
    pub fn documents(&self) -> impl ExactSizeIterator<Item = &Document> + Clone {
        let all: Vec<&Document> = self.question.documents.iter().chain(&self.retrieved).collect();
        all.into_iter()
    }

    /// Makes a stage of calls, all in flight at once; records each, and returns their records in the order of `asks`. An ask
    /// of several samples has as many records, next to each other.
    ///
    /// # Errors
    /// A prompt that cannot be rendered; a call that failed, named by role, document and round: the others are cancelled.
    /// Calls that were answered before are recorded.
    pub fn ask_all(&mut self, asks: &[Ask]) -> Result<Vec<CallRecord>> {
        all_or_first_failure(self.stage(asks, OnFailure::Cancel)?)
    }

    /// As [`Ctx::ask_all`], with one result a call: a call that fails leaves the others alone, and is recorded as an event.
    ///
    /// # Errors
    /// A prompt that cannot be rendered, and what would fail every call alike (an interruption, a lost engine or server).
    pub fn try_all(&mut self, asks: &[Ask]) -> Result<Vec<Result<CallRecord>>> {
        let stage = self.stage;
        let mut results = self.stage(asks, OnFailure::Continue)?;
        if let Some(fatal) = results.iter().position(|result| result.as_ref().is_err_and(|e| !e.is_of_one_question())) {
            return Err(results.swap_remove(fatal).expect_err("its error was looked at (bug)"));
        }
        let asked = asks.iter().flat_map(|ask| std::iter::repeat_n(ask, ask.samples));
        for (ask, result) in asked.zip(&results) {
            if let Err(error) = result {
                let (what, role, error) = (self.what(ask), ask.role.clone(), error.to_string());
                self.record_event(Event::Failure { stage, what, role, error });
            }
        }
        Ok(results)
    }

    /// Makes one call, a stage of its own.
    ///
    /// # Errors
    /// As [`Ctx::ask_all`].
    pub fn ask(&mut self, ask: Ask) -> Result<CallRecord> {
        assert_eq!(ask.samples, 1, "ask_all is for several samples (bug)");
        Ok(self.ask_all(&[ask])?.swap_remove(0))
    }

    /// The best passages for each of `queries`: one list a query. Each query is one retriever call.
    ///
    /// # Errors
    /// [`MootError::Usage`] where the run has nothing to search; errors of the retriever.
    pub fn retrieve(&mut self, queries: &[&str], wanted: &Wanted) -> Result<Vec<Vec<Hit>>> {
        let retriever = self
            .tools
            .retriever
            .ok_or_else(|| MootError::Usage(format!("{} retrieves: expected --corpus PATH, found none", self.name)))?;
        let (hits, event) = search(retriever, queries, wanted, self.stage)?;
        self.next_stage();
        self.record_event(event);
        Ok(hits)
    }

    /// The error for a search that found nothing, where the method needs a passage.
    pub(crate) fn nothing_found(&self, method: &str, wanted: &Wanted) -> MootError {
        match self.tools.retriever {
            Some(retriever) => nothing_found(method, retriever, wanted),
            None => MootError::Question(format!("{method} needs at least 1 document, and there is nothing to search")),
        }
    }

    /// Takes passages up as documents, each once; their numbers, in the order of `hits`.
    pub fn take_up(&mut self, hits: Vec<Hit>) -> Vec<usize> {
        let given = self.question.documents.len();
        documents(hits)
            .into_iter()
            .map(|document| {
                let same = |known: &Document| known.origin == document.origin && known.text == document.text;
                let index = self.retrieved.iter().position(same).unwrap_or_else(|| {
                    self.observer.taken_up(&document);
                    self.retrieved.push(document);
                    self.retrieved.len() - 1
                });
                given + index
            })
            .collect()
    }

    /// The vectors of `texts`, one a text, as passages; `None` where the run has no embedder.
    ///
    /// # Errors
    /// Errors of the embedder.
    pub fn embed(&mut self, texts: &[&str]) -> Result<Option<Vec<Vec<f32>>>> {
        self.embed_sides(&[(texts, Side::Passage)])
    }

    /// The vector of `query`, as a query, then those of `texts`, as passages; `None` where the run has no embedder.
    ///
    /// # Errors
    /// Errors of the embedder.
    pub(crate) fn embed_beside(&mut self, query: &str, texts: &[&str]) -> Result<Option<Vec<Vec<f32>>>> {
        self.embed_sides(&[(&[query], Side::Query), (texts, Side::Passage)])
    }

    /// The vectors of the texts of all `sides`, as one stage.
    fn embed_sides(&mut self, sides: &[(&[&str], Side)]) -> Result<Option<Vec<Vec<f32>>>> {
        let Some(embedder) = self.tools.embedder else { return Ok(None) };
        let started = Instant::now();
        let mut vectors: Vec<f32> = Vec::new();
        for &(texts, side) in sides {
            vectors.extend(embedder.embed(texts, side)?);
        }
        let stage = self.next_stage();
        self.record_event(Event::Embedding {
            stage,
            texts: sides.iter().map(|(texts, _)| texts.len()).sum(),
            by: embedder.identity().to_owned(),
            seconds: started.elapsed().as_secs_f64(),
        });
        Ok(Some(vectors.chunks_exact(embedder.dimension()).map(<[f32]>::to_vec).collect()))
    }

    /// Records a fallback: a deviation from the method's protocol, which `score` counts.
    pub fn fall_back(&mut self, what: impl Into<String>) {
        let event = Event::Fallback { stage: self.stage, what: what.into(), dropped: None };
        self.record_event(event);
    }

    /// Records that the method's own filter dropped the answer of call `number`, and why.
    pub(crate) fn drop_answer(&mut self, number: usize, why: impl Into<String>) {
        let event = Event::Fallback { stage: self.stage, what: why.into(), dropped: Some(number) };
        self.record_event(event);
    }

    /// Which model answers the calls of `role`.
    #[must_use]
    pub fn model(&self, role: &str) -> &ModelIdentity {
        self.tools.llm.identity_of(role)
    }

    /// Capabilities of the model of `role`.
    #[must_use]
    pub fn capabilities(&self, role: &str) -> Capabilities {
        self.tools.llm.capabilities(role)
    }

    /// Hex SHA-256 of a prompt as it is used: of the user's own where there is one.
    pub(crate) fn hash(&self, file: File) -> String {
        self.prompts.map_or(file, |prompts| prompts.of(file)).sha256()
    }

    /// The id of the token that the model of `role` writes as `text`.
    #[must_use]
    pub fn token(&self, role: &str, text: &str) -> Option<u32> {
        self.tools.llm.token(role, text)
    }

    /// The seed of a random choice by `role` in `round`; it differs for every role, round, call and question.
    #[must_use]
    pub fn seed(&self, role: &str, round: usize, call: usize) -> u64 {
        derive_seed(self.settings.seed, &self.question.id, role, round, call)
    }

    fn next_stage(&mut self) -> usize {
        self.stage += 1;
        self.stage - 1
    }

    fn record_event(&mut self, event: Event) {
        self.observer.event(&event);
        self.events.push(event);
    }
}
