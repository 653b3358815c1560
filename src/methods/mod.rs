//! Methods that answer a question from documents: one file a method, one row a file.

use crate::error::{MootError, Result};
use crate::llm::Capabilities;
use crate::prompts::{self, File};
use crate::question::{Conclusion, Question};
use crate::retrieval::Wanted;
use crate::transcript::{Event, QuestionRecord};
use ctx::{Observer, Settings, Tools};
use formats::Format;
use std::collections::BTreeMap;
use std::time::Instant;
use switches::{Switch, Typed, Values};

pub mod align;
pub mod ask;
pub mod astute_rag;
pub mod closed_book;
mod clusters;
pub mod concatenated;
pub mod conflict_report;
pub mod conflict_score;
pub mod ctx;
pub mod drag;
pub mod entailment;
pub mod equality;
pub mod evidence;
pub mod flare;
pub mod formats;
mod gather;
pub mod grounds;
pub mod ircot;
pub mod iter_retgen;
pub mod mad;
pub mod madam_rag;
pub mod majority_vote;
pub mod naive_rag;
pub mod normalise;
pub mod own_prompts;
pub mod passages;
pub mod presets;
pub mod ra_rag;
pub mod ra_rag_long;
pub mod regenerated_rag;
mod reply;
pub mod self_consistency;
pub mod self_rag;
pub mod self_reflection;
pub mod source_isolated_arbitration;
mod spans;
pub mod speculative_rag;
pub mod sure;
pub mod switches;
pub mod truthful_judge;
pub mod verification;
pub mod vote;

pub use ask::Ask;
pub use ctx::Ctx;
pub use own_prompts::OwnPrompts;

/// One way to answer. Straight-line blocking code: batching belongs to the engine.
pub trait Method: Send + Sync {
    /// Answers `question`; everything goes through `ctx`, which records it.
    ///
    /// # Errors
    /// A call that failed, or a prompt that cannot be rendered. A malformed reply is no error.
    fn answer(&self, question: &Question, ctx: &mut Ctx<'_>) -> Result<Conclusion>;

    /// Its roles, where they depend on its switches; `None` for those of its row.
    fn roles(&self) -> Option<Vec<String>> {
        None
    }

    /// What it asks of the retriever, where its protocol says so; `user` is what was typed. The record's header holds it.
    fn wanted(&self, user: Wanted) -> Wanted {
        user
    }
}

/// A row of [`METHODS`].
pub struct Row {
    /// As typed after `--method`.
    pub name: &'static str,
    /// Paper and section.
    pub paper: &'static str,
    /// A description, one line.
    pub about: &'static str,
    /// The protocol in at most ten lines.
    pub protocol: &'static str,
    /// Calls per question, as a formula.
    pub calls: &'static str,
    /// The paper's headline numbers, with model and data; empty where there are none.
    pub headline: &'static str,
    /// Every prompt file it may use.
    pub prompts: &'static [File],
    /// Every format its replies may have.
    pub formats: &'static [&'static Format],
    /// The roles: each may have a model of its own. Where switches change them, those of the default.
    pub roles: &'static [&'static str],
    /// Its switches.
    pub switches: &'static [Switch],
    /// Its requirements.
    pub needs: Needs,
    /// Builds it, with switches resolved; a default that depends on another switch is set here.
    pub build: fn(&mut Values) -> Result<Box<dyn Method>>,
}

/// Requirements of a method, and whether it embeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Needs {
    /// Documents that come with the question.
    pub documents: bool,
    /// Documents that come with the question, or something to search.
    pub passages: bool,
    /// Something to search.
    pub retriever: bool,
    /// Entailment: by a classifier, or by the role [`entailment::ROLE`].
    pub entailment: bool,
    /// It embeds texts where the run has an embedder, and does without where there is none.
    pub embedder: bool,
    /// Its paper ranks passages by their vectors alone: that is its search mode, unless another is typed.
    pub dense: bool,
    /// It counts answers, which a switch lets it compare by entailment ([`equality`]).
    pub equality: bool,
    /// Capabilities that every model of its roles needs.
    pub model: Capabilities,
}

impl Needs {
    /// A chat model alone.
    pub const NOTHING: Self = Self {
        documents: false,
        passages: false,
        retriever: false,
        entailment: false,
        embedder: false,
        dense: false,
        equality: false,
        model: Capabilities {
            grammar: false,
            schema: false,
            logprobs: false,
            watch: false,
            prefill: false,
            scores: false,
            raw: false,
        },
    };
    /// Whether a corpus is searched where there is one.
    #[must_use]
    pub fn searches(self) -> bool {
        self.documents || self.passages || self.retriever
    }

    /// Whether a corpus takes the place of documents that come with the question: of methods that retrieve for their own
    /// queries. Methods that hold a debate over given documents keep these.
    #[must_use]
    pub fn prefers_corpus(self) -> bool {
        self.passages || self.retriever
    }

    /// Whether pairs may be classified.
    #[must_use]
    pub fn entails(self) -> bool {
        self.entailment || self.equality
    }

    /// Documents.
    pub const DOCUMENTS: Self = Self { documents: true, ..Self::NOTHING };
    /// Documents or a retriever.
    pub const PASSAGES: Self = Self { passages: true, ..Self::NOTHING };
    /// A retriever.
    pub const RETRIEVER: Self = Self { retriever: true, ..Self::NOTHING };
}

/// Every method there is.
pub static METHODS: &[&Row] = &[
    &madam_rag::ROW,
    &concatenated::ROW,
    &closed_book::ROW,
    &self_reflection::ROW,
    &astute_rag::ROW,
    &source_isolated_arbitration::ROW,
    &self_consistency::ROW,
    &majority_vote::ROW,
    &ra_rag::ROW,
    &ra_rag_long::ROW,
    &drag::ROW,
    &naive_rag::ROW,
    &mad::ROW,
    &ircot::ROW,
    &iter_retgen::ROW,
    &flare::ROW,
    &sure::ROW,
    &self_rag::ROW,
    &speculative_rag::ROW,
    &verification::ROW,
    &conflict_score::ROW,
    &regenerated_rag::ROW,
    &conflict_report::ROW,
    &truthful_judge::ROW,
];

/// The table of methods as README prints it, in Markdown.
#[must_use]
pub fn readme_table() -> String {
    let line = |row: &&Row| format!("| `{}` | {} | {} |\n", row.name, row.about, row.paper);
    let lines: String = METHODS.iter().map(line).collect();
    format!("| method | what it is | source |\n|---|---|---|\n{lines}")
}

impl Row {
    /// The method called `name`.
    ///
    /// # Errors
    /// [`MootError::UnknownName`] with all known names.
    pub fn named(name: &str) -> Result<&'static Self> {
        METHODS.iter().copied().find(|row| row.name == name).ok_or_else(|| MootError::UnknownName {
            kind: "method",
            name: name.to_owned(),
            known: METHODS.iter().map(|row| row.name).collect::<Vec<_>>().join(", "),
        })
    }

    /// Every prompt, grammar and schema file that it may use.
    pub fn files(&self) -> impl Iterator<Item = File> + '_ {
        let entailment = self.needs.entails().then(|| entailment::FORMAT.files().chain([entailment::PROMPT]));
        let formats = self.formats.iter().flat_map(|format| format.files());
        self.prompts.iter().copied().chain(formats).chain(entailment.into_iter().flatten())
    }

    /// Its roles, the one that classifies pairs included where pairs may be classified.
    pub fn all_roles(&self) -> impl Iterator<Item = &'static str> {
        self.roles.iter().copied().chain(self.needs.entails().then_some(entailment::ROLE))
    }

    /// Resolves what was typed, and builds the method with it.
    ///
    /// # Errors
    /// [`MootError::Usage`] for a switch that it does not have, or a value that has no meaning.
    pub fn build(&'static self, typed: &Typed) -> Result<Built> {
        let mut values = Values::resolve(self.name, self.switches, typed)?;
        let method = (self.build)(&mut values)?;
        Ok(Built::new(self, values, method))
    }
}

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
    /// A round and a text: the text is the last paragraph of every prompt from that round on (`moot fork --tell`).
    pub note: Option<Note>,
}

/// A text of the user's that calls are told in a debate that goes on from some round (`moot fork --tell`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The first round whose calls are told, from 1.
    pub round: usize,
    /// The last paragraph of their last turn.
    pub text: String,
}

impl std::fmt::Debug for Built {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Built").field("row", &self.row.name).field("values", &self.values).finish_non_exhaustive()
    }
}

/// Builds the method called `name`.
///
/// # Errors
/// As [`Row::named`] and [`Row::build`].
pub fn build(name: &str, typed: &Typed) -> Result<Built> {
    Row::named(name)?.build(typed)
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
        Self { row, values, method, preset: None, prompts: OwnPrompts::default(), note: None }
    }

    /// With prompts of one's own in place of the program's.
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
        prompts::hashes(self.row.files().map(|file| self.prompts.of(file)))
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

    /// As [`Built::answer`]; where answering failed, the record has what was done until then, and no conclusion.
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
    pub fn record_gathered(
        &self,
        question: &Question,
        events: Vec<Event>,
        tools: Tools<'_>,
        settings: &Settings,
        observer: &dyn Observer,
    ) -> (QuestionRecord, Option<MootError>) {
        let started = Instant::now();
        let mut ctx = Ctx::new(self.row, question, tools, settings, observer).after(events).prompts(&self.prompts);
        ctx.note = self.note.as_ref();
        let (conclusion, error) = match self.method.answer(question, &mut ctx) {
            Ok(conclusion) => {
                let conclusion = Conclusion { weights: ctx.known_weights(&conclusion), ..conclusion };
                (Some(grounds::settle(conclusion, &mut ctx, &self.prompts)), None)
            }
            Err(error) => (None, Some(error)),
        };
        let seconds = started.elapsed().as_secs_f64();
        (QuestionRecord { conclusion, seconds, ..ctx.into_record() }, error)
    }
}
