//! A method with its switches resolved: it gathers a question's documents, answers, and returns the record.

use crate::error::{MootError, Result};
use crate::prompts;
use crate::protocol::ctx::{Ctx, Observer, Settings, Tools};
use crate::protocol::interjection::Interjection;
use crate::protocol::own_prompts::OwnPrompts;
use crate::protocol::presets::{PAPER, Preset};
use crate::protocol::row::{Method, Row};
use crate::protocol::search::{nothing_found, search};
use crate::protocol::settle::settle;
use crate::protocol::switches::{Typed, Values};
use crate::question::{Conclusion, Question};
use crate::retrieval::{Retriever, Wanted, merged_documents};
use crate::transcript::{Event, QuestionRecord};
use std::collections::BTreeMap;
use std::time::Instant;

/// A method with its switches resolved.
pub struct Built {
    /// Its row.
    pub row: &'static Row,
    /// Its switches, for the record.
    pub values: Values,
    /// The method.
    pub method: Box<dyn Method>,
    /// The preset that it was built from, for the record.
    pub preset: Option<&'static str>,
    /// Prompts that replace the program's.
    pub prompts: OwnPrompts,
    /// A round and a text: the text is the last paragraph of every prompt from that round on (`moot record fork --tell`).
    pub interjection: Option<Interjection>,
}

impl std::fmt::Debug for Built {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Built").field("row", &self.row.name).field("values", &self.values).finish_non_exhaustive()
    }
}

impl Built {
    /// Its roles as its switches make them, without the one that classifies pairs.
    #[must_use]
    pub fn roles(&self) -> Vec<String> {
        self.method.roles().unwrap_or_else(|| self.row.roles.iter().map(|&role| role.to_owned()).collect())
    }

    /// The method of `row` with the program's prompts, of no preset.
    #[must_use]
    pub fn new(row: &'static Row, values: Values, method: Box<dyn Method>) -> Self {
        Self { row, values, method, preset: None, prompts: OwnPrompts::default(), interjection: None }
    }

    /// With the user's own prompts instead of the program's.
    ///
    /// # Errors
    /// [`MootError::Usage`] where none of them is a prompt of this method.
    pub fn with_prompts(self, prompts: OwnPrompts) -> Result<Self> {
        if !prompts.is_empty() && prompts.among(self.row.files()).is_empty() {
            let used: Vec<&str> =
                self.row.files().map(|file| file.name).filter(|name| name.ends_with(".jinja")).collect();
            return Err(MootError::Usage(format!(
                "{} uses none of the prompts given ({}); it uses {}",
                self.row.name,
                prompts.names().collect::<Vec<_>>().join(", "),
                used.join(", ")
            )));
        }
        Ok(Self { prompts, ..self })
    }

    /// Hex SHA-256 of each prompt, grammar and schema file as this method uses it, by name, for the record's header.
    #[must_use]
    pub fn hashes(&self) -> BTreeMap<String, String> {
        let mut hashes = prompts::hashes(self.row.files().map(|file| self.prompts.of(file)));
        // `among` names prompts too, whose hashes are there already.
        let own = self.prompts.among(self.row.files()).into_iter().filter(|(name, _)| !hashes.contains_key(name));
        let formats: BTreeMap<String, String> = own.map(|(name, text)| (name, prompts::hash(&text))).collect();
        hashes.extend(formats);
        hashes
    }

    /// Answers `question`: the record of one whole debate.
    ///
    /// # Errors
    /// A call that failed, or a prompt that cannot be rendered.
    pub fn answer(
        &self,
        question: &Question,
        tools: Tools<'_>,
        settings: &Settings,
        observer: &dyn Observer,
    ) -> Result<QuestionRecord> {
        let (record, error) = self.record(question, tools, settings, observer);
        error.map_or(Ok(record), Err)
    }

    /// As [`Built::answer`]; if answering failed, the record has the calls until then, and no conclusion.
    pub fn record(
        &self,
        question: &Question,
        tools: Tools<'_>,
        settings: &Settings,
        observer: &dyn Observer,
    ) -> (QuestionRecord, Option<MootError>) {
        match self.gather(question, tools) {
            Ok((question, events)) => self.record_gathered(&question, events, tools, settings, observer),
            Err(error) => (QuestionRecord { question: question.clone(), ..QuestionRecord::default() }, Some(error)),
        }
    }

    /// As [`Built::record`], of a question that [`Built::gather`] returned.
    pub(crate) fn record_gathered(
        &self,
        question: &Question,
        events: Vec<Event>,
        tools: Tools<'_>,
        settings: &Settings,
        observer: &dyn Observer,
    ) -> (QuestionRecord, Option<MootError>) {
        let started = Instant::now();
        let mut ctx = Ctx::new(self.row.name, self.row.files().collect(), question, tools, settings, observer)
            .after(events)
            .prompts(&self.prompts);
        ctx.interjection = self.interjection.as_ref();
        let (conclusion, error) = match self.method.answer(question, &mut ctx) {
            Ok(conclusion) => {
                let conclusion = Conclusion { weights: ctx.known_weights(), ..conclusion };
                (Some(settle(conclusion, &mut ctx, &self.prompts)), None)
            }
            Err(error) => (None, Some(error)),
        };
        let seconds = started.elapsed().as_secs_f64();
        (QuestionRecord { conclusion, seconds, ..ctx.into_record() }, error)
    }

    /// The question with the documents that the method reads. Where there is something to search, a method that needs
    /// documents keeps those that came with the question, and where none did, the passages found for the question's text
    /// become its documents; a method that retrieves for its own queries is given none. Returns what happened on the way.
    ///
    /// # Errors
    /// [`MootError::Question`] where the method needs documents and there are none; [`MootError::NothingFound`]; errors
    /// of the retriever.
    pub fn gather(&self, question: &Question, tools: Tools<'_>) -> Result<(Question, Vec<Event>)> {
        self.gather_from(question, tools.retriever, tools.wanted)
    }

    /// As [`Built::gather`], before a model is loaded.
    ///
    /// # Errors
    /// As [`Built::gather`].
    pub(crate) fn gather_from(
        &self,
        question: &Question,
        retriever: Option<&dyn Retriever>,
        wanted: &Wanted,
    ) -> Result<(Question, Vec<Event>)> {
        let question = question.clone().composed();
        let (name, needs) = (self.row.name, self.row.needs);
        if retriever.is_some() && needs.prefers_corpus() {
            return Ok((Question { documents: Vec::new(), ..question }, Vec::new()));
        }
        if !question.documents.is_empty() || !(needs.documents || needs.passages && retriever.is_none()) {
            return Ok((question, Vec::new()));
        }
        let Some(retriever) = retriever else {
            let id = &question.id;
            return Err(MootError::Question(format!(
                "{name} needs at least 1 document, question {id:?} has none (the method closed-book answers without)"
            )));
        };
        let (mut hits, event) = search(retriever, &[&question.text], wanted, 0)?;
        let hits = hits.pop().unwrap_or_default();
        if hits.is_empty() {
            return Err(nothing_found(name, retriever, wanted));
        }
        Ok((Question { documents: merged_documents(hits), ..question }, vec![event]))
    }
}

impl Row {
    /// Resolves what was typed, and builds the method with it.
    ///
    /// # Errors
    /// [`MootError::Usage`] for a switch that it does not have, or a value that has no meaning.
    pub fn build(&'static self, typed: &Typed) -> Result<Built> {
        let mut values = Values::resolve(self.name, self.switches, typed)?;
        let method = (self.build)(&mut values)?;
        Ok(Built::new(self, values, method))
    }

    /// The method's preset called `name`.
    ///
    /// # Errors
    /// [`MootError::Usage`] with the presets that it has.
    pub fn preset(&self, name: &str) -> Result<&'static Preset> {
        let own = self.presets.iter().find(|preset| preset.name == name);
        own.or((name == PAPER.name).then_some(&PAPER)).ok_or_else(|| {
            let mut has: Vec<&str> = self.presets.iter().map(|one| one.name).collect();
            if !has.contains(&PAPER.name) {
                has.insert(0, PAPER.name);
            }
            MootError::Usage(format!("{} has no preset {name:?} (it has: {})", self.name, has.join(", ")))
        })
    }

    /// Builds the method from one of its presets. Switches in `typed` override the preset's.
    ///
    /// # Errors
    /// As [`Row::build`].
    pub fn build_preset(&'static self, preset: &'static Preset, typed: &Typed) -> Result<Built> {
        let own = preset.switches.iter().map(|&(name, value)| (name.to_owned(), value.to_owned()));
        let mut switches: Typed = own.collect();
        // In this order a value that was typed replaces the preset's.
        switches.extend(typed.clone());
        Ok(Built { preset: Some(preset.name), ..self.build(&switches)? })
    }
}
