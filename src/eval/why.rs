//! Which source turned an answer: the debate held again without each document in turn.
//!
//! Calls that do not read the document that is left out are answered from the record, and what the model has to compute
//! shares its prefixes with the other debates of the same question. A method that draws or shuffles by place may also change
//! its answer because the places of the other documents change.

use crate::error::Result;
use crate::eval::compare::{answers_differ, outcome};
use crate::eval::fork::{Change, Cost, Course, Fork};
use crate::eval::metrics::METRICS;
use crate::eval::record::Header;
use crate::protocol::Built;
use crate::protocol::ctx::{Silent, Tools};
use crate::transcript::QuestionRecord;
use serde::Serialize;

/// A question's answer, and what becomes of it without each document.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Why {
    /// The question's id.
    pub question: String,
    /// Its text.
    pub text: String,
    /// What was concluded, in one line.
    pub outcome: String,
    /// Strict exact match of what was concluded, where the dataset has answers.
    pub em: Option<f64>,
    /// One a document, in their order.
    pub documents: Vec<Without>,
    /// What all of it took.
    pub cost: Cost,
}

/// A question without one of its documents.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Without {
    /// The document's number, from 1.
    pub document: usize,
    /// Its name.
    pub name: String,
    /// Its source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// What the dataset says of it: "correct", "misinfo".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// What is concluded without it, in one line.
    pub outcome: String,
    /// Strict exact match without it.
    pub em: Option<f64>,
    /// The answers are others than with it: it turned the answer.
    pub turned: bool,
    /// What it took.
    pub cost: Cost,
}

impl Why {
    /// Documents that turned the answer.
    pub fn turning(&self) -> impl Iterator<Item = &Without> {
        self.documents.iter().filter(|without| without.turned)
    }

    /// What became of `old` without each of its documents, by `courses`, one a document.
    #[must_use]
    pub fn of(old: &QuestionRecord, courses: Vec<Course>) -> Self {
        let mut cost = Cost::default();
        let mut documents = Vec::with_capacity(courses.len());
        for (number, course) in courses.into_iter().enumerate() {
            cost += course.cost;
            let document = old.document(number).cloned().unwrap_or_default();
            documents.push(Without {
                document: number + 1,
                name: document.name,
                source: document.source,
                kind: document.label.map(|label| label.kind),
                outcome: outcome(&course.record),
                em: em(&course.record),
                turned: answers_differ(old, &course.record),
                cost: course.cost,
            });
        }
        let (question, text) = (old.question.id.clone(), old.question.text.clone());
        Self { question, text, outcome: outcome(old), em: em(old), documents, cost }
    }
}

/// Documents of a recorded question, those that were retrieved included.
#[must_use]
pub fn documents(old: &QuestionRecord) -> usize {
    old.question.documents.len() + old.retrieved.len()
}

/// The question `old` without document `number`, from 0.
///
/// # Errors
/// As [`Fork::hold`].
pub fn without(
    header: &Header,
    method: Built,
    old: &QuestionRecord,
    number: usize,
    tools: Tools<'_>,
) -> Result<Course> {
    Fork { round: 1, change: Change::Drop(number) }.hold(header, method, old, tools, &Silent)
}

fn em(record: &QuestionRecord) -> Option<f64> {
    METRICS.iter().find(|metric| metric.name == "em")?.of(record)
}
