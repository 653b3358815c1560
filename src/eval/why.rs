//! Finds the documents that decided an answer: the debate is held again without each document in turn.
//!
//! Calls that do not read the document that is left out are answered from the record, and what the model has to compute
//! shares its prefixes with the other debates of the same question. A method that draws or shuffles by index may also
//! change its answer because the indices of the other documents change.

use crate::error::Result;
use crate::eval::compare::{answers_differ, outcome};
use crate::eval::fork::{Change, Cost, Course, Fork};
use crate::eval::judgement;
use crate::eval::record::Header;
use crate::protocol::Built;
use crate::protocol::ctx::{Silent, Tools};
use crate::threads;
use crate::transcript::QuestionRecord;
use serde::Serialize;
use std::time::Instant;

/// A question's answer, and the answers without each document.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Why {
    /// The question's id.
    pub question: String,
    /// Its text.
    pub text: String,
    /// The conclusion in one line.
    pub outcome: String,
    /// Whether that is right ([`judgement::exact`]), where the dataset has answers.
    pub right: Option<bool>,
    /// One a document, in their order.
    pub documents: Vec<Without>,
    /// The cost of all of it. `seconds` is the sum over its debates, of which several are held at once.
    pub cost: Cost,
    /// Seconds by the clock, from the start of its first debate to the end of its last one.
    pub elapsed: f64,
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
    /// Its label in the dataset: "correct", "misinfo".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The conclusion without it, in one line.
    pub outcome: String,
    /// Whether that is right.
    pub right: Option<bool>,
    /// Whether the answers differ from those with it: the document changed the answer.
    pub turned: bool,
    /// Its cost.
    pub cost: Cost,
}

impl Why {
    /// Documents that turned the answer.
    pub fn turning(&self) -> impl Iterator<Item = &Without> {
        self.documents.iter().filter(|without| without.turned)
    }

    /// The answers of `old` without each of its documents: `held` has one debate a document.
    fn of(old: &QuestionRecord, held: Vec<Held>) -> Self {
        let (first, last) = (held.iter().map(|one| one.started).min(), held.iter().map(|one| one.ended).max());
        let elapsed = first.zip(last).map_or(0.0, |(first, last)| (last - first).as_secs_f64());
        let mut cost = Cost::default();
        let mut documents = Vec::with_capacity(held.len());
        for (number, Held { course, .. }) in held.into_iter().enumerate() {
            cost += course.cost;
            let document = old.document(number).cloned().unwrap_or_default();
            documents.push(Without {
                document: number + 1,
                name: document.name,
                source: document.source,
                kind: document.label.map(|label| label.kind),
                outcome: outcome(&course.record),
                right: is_right(&course.record),
                turned: answers_differ(old, &course.record),
                cost: course.cost,
            });
        }
        let (question, text) = (old.question.id.clone(), old.question.text.clone());
        Self { question, text, outcome: outcome(old), right: is_right(old), documents, cost, elapsed }
    }
}

/// Documents of a recorded question, those that were retrieved included.
#[must_use]
pub fn documents(old: &QuestionRecord) -> usize {
    old.question.documents.len() + old.retrieved.len()
}

/// Whether something can be left out of `old`: it has documents and a conclusion.
#[must_use]
pub(crate) fn is_open_to(old: &QuestionRecord) -> bool {
    documents(old) > 0 && old.conclusion.is_some()
}

/// Debates of a record held again without each of their documents.
pub struct Whys<'a> {
    /// The record's header.
    pub header: &'a Header,
    /// Builds the record's method.
    pub method: &'a (dyn Fn() -> Result<Built> + Sync),
    /// Tools for what the record does not hold.
    pub tools: Tools<'a>,
    /// Debates held at once; at least 1.
    pub in_flight: usize,
}

/// A debate to hold: its question, and the number, from 0, of the document that is left out.
type Job<'a> = (&'a QuestionRecord, usize);

/// One debate that was held, with the times of its start and its end.
struct Held {
    course: Course,
    started: Instant,
    ended: Instant,
}

impl Whys<'_> {
    /// Holds the debates of all of `olds`; hands over each question, in order, when all of its documents were left out.
    ///
    /// # Errors
    /// An error that would end a run, or one of `known`. No debate begins after it.
    pub fn hold(&self, olds: &[&QuestionRecord], known: &mut dyn FnMut(Why) -> Result<()>) -> Result<()> {
        let jobs: Vec<Job<'_>> =
            olds.iter().flat_map(|&old| (0..documents(old)).map(move |number| (old, number))).collect();
        let (mut held, mut next) = (Vec::new(), 0_usize);
        let mut take = |one: Option<Held>| {
            held.extend(one);
            while let Some(old) = olds.get(next).filter(|old| held.len() >= documents(old)) {
                next += 1;
                known(Why::of(old, held.drain(..documents(old)).collect()))?;
            }
            Ok(())
        };
        // Questions without documents at the beginning are handed over before any debate is held.
        take(None)?;
        let hold = |job: &Job<'_>| self.without(job);
        threads::in_order(&jobs, self.in_flight.max(1), hold, |one| take(Some(one)))
    }

    fn without(&self, &(old, number): &Job<'_>) -> Result<Held> {
        let started = Instant::now();
        let fork = Fork { round: 1, change: Change::Drop(number) };
        let course = fork.hold(self.header, (self.method)()?, old, self.tools, &Silent)?;
        Ok(Held { course, started, ended: Instant::now() })
    }
}

fn is_right(record: &QuestionRecord) -> Option<bool> {
    judgement::exact(record).map(|exact| exact == 1.0)
}
