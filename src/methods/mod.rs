//! Ways to answer a question from documents: one file a method, one row a file.

use crate::error::{MootError, Result};
use crate::eval::record::QuestionRecord;
use crate::llm::Llm;
use crate::question::{Conclusion, Question};
use ctx::{Observer, Settings};
use serde::{Deserialize, Serialize};
use std::time::Instant;

pub mod closed_book;
pub mod concatenated;
pub mod ctx;
pub mod madam_rag;
pub mod normalise;
pub mod reply;
pub mod vote;

pub use ctx::Ctx;

/// One way to answer. Straight-line blocking code: batching belongs to the engine.
pub trait Method: Send + Sync {
    /// Answers `question`; every call goes through `ctx`, which records it.
    ///
    /// # Errors
    /// A call that failed, or a prompt that cannot be rendered. A malformed reply is no error.
    fn answer(&self, question: &Question, ctx: &mut Ctx<'_>) -> Result<Conclusion>;

    /// The switches as resolved, for the record.
    fn switches(&self) -> serde_json::Value;
}

/// What agents of a later round are told of the round before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum History {
    /// The aggregator's answers and explanation (MADAM-RAG, section 4).
    Aggregate,
    /// The other agents' replies (MADAM-RAG, appendix E and its reference code).
    Peers,
}

/// Switches as typed: `None` where nothing was; a method refuses those it has no use for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Switches {
    /// Debate rounds at most.
    pub rounds: Option<usize>,
    /// What later rounds are told.
    pub history: Option<History>,
    /// Concatenate the agents' answers instead of aggregating.
    pub no_aggregator: bool,
}

impl Switches {
    /// For a method without switches.
    fn refuse_all(&self, method: &str) -> Result<()> {
        let typed = [
            (self.rounds.is_some(), "rounds"),
            (self.history.is_some(), "history"),
            (self.no_aggregator, "no aggregator"),
        ];
        match typed.iter().find(|(typed, _)| *typed) {
            Some((_, switch)) => {
                Err(MootError::Usage(format!("{method} has no debate: the switch `{switch}` has no meaning")))
            }
            None => Ok(()),
        }
    }
}

fn require_documents(method: &str, question: &Question) -> Result<()> {
    if question.documents.is_empty() {
        return Err(MootError::Usage(format!(
            "{method} needs at least 1 document, question {:?} has none (the method closed-book answers without)",
            question.id
        )));
    }
    Ok(())
}

/// A row of [`METHODS`].
pub struct Row {
    /// As typed after `--method`.
    pub name: &'static str,
    /// Paper and section.
    pub paper: &'static str,
    /// One line for people.
    pub about: &'static str,
    /// Every prompt and grammar file it may use, by its name in [`crate::prompts::FILES`].
    pub prompts: &'static [&'static str],
    /// Who speaks in it: each may have a model of its own.
    pub roles: &'static [&'static str],
    /// Whether it has nothing to say without documents.
    pub needs_documents: bool,
    /// Resolves switches, refusing those without meaning here.
    pub build: fn(&Switches) -> Result<Box<dyn Method>>,
}

/// Every method there is.
pub const METHODS: &[Row] = &[madam_rag::ROW, concatenated::ROW, closed_book::ROW];

/// Builds the method called `name`.
///
/// # Errors
/// [`MootError::UnknownName`] with all known names; [`MootError::Usage`] for a switch without meaning.
pub fn build(name: &str, switches: &Switches) -> Result<Box<dyn Method>> {
    let row = METHODS.iter().find(|row| row.name == name).ok_or_else(|| MootError::UnknownName {
        kind: "method",
        name: name.to_owned(),
        known: METHODS.iter().map(|row| row.name).collect::<Vec<_>>().join(", "),
    })?;
    (row.build)(switches)
}

/// Answers `question` by `method` on `llm`, and records how: one debate from beginning to end.
///
/// # Errors
/// A call that failed, or a prompt that cannot be rendered.
pub fn hold(
    question: &Question,
    method: &dyn Method,
    llm: &dyn Llm,
    settings: &Settings,
    observer: &dyn Observer,
) -> Result<QuestionRecord> {
    let started = Instant::now();
    let mut ctx = Ctx::new(llm, settings, observer);
    let conclusion = method.answer(question, &mut ctx)?;
    Ok(QuestionRecord {
        question: question.clone(),
        conclusion: Some(conclusion),
        error: None,
        calls: ctx.into_calls(),
        seconds: started.elapsed().as_secs_f64(),
    })
}
