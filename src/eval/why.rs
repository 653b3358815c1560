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
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
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

    /// The answers of `old` without each of its documents. `courses` has one debate a document; all took `elapsed` seconds by the
    /// clock.
    #[must_use]
    pub fn of(old: &QuestionRecord, courses: Vec<Course>, elapsed: f64) -> Self {
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
pub fn is_open_to(old: &QuestionRecord) -> bool {
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
    /// Debates held at once.
    pub in_flight: usize,
}

/// A question and the number, from 0, of the document that is left out.
type Job = (usize, usize);

/// One debate that was held, with the times of its start and its end.
struct Held {
    job: Job,
    course: Result<Course>,
    times: (Instant, Instant),
}

impl Whys<'_> {
    /// Holds the debates of all of `olds`; hands over each question, in order, when all of its documents were left out.
    ///
    /// # Errors
    /// An error that would end a run, or one of `known`. No debate begins after it.
    pub fn hold(&self, olds: &[&QuestionRecord], known: &mut dyn FnMut(Why) -> Result<()>) -> Result<()> {
        let of = |(index, old): (usize, &&QuestionRecord)| (0..documents(old)).map(move |number| (index, number));
        let jobs: Vec<Job> = olds.iter().enumerate().flat_map(of).collect();
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            let (sender, receiver) = mpsc::channel();
            let workers = self.in_flight.min(jobs.len());
            threads::spawn_some(scope, workers, || {
                let (sender, jobs, next) = (sender.clone(), &jobs, &next);
                move || self.work(olds, jobs, next, &sender)
            })?;
            drop(sender);
            let handed = hand_over(olds, &receiver, known);
            if handed.is_err() {
                next.store(jobs.len(), Ordering::Relaxed);
            }
            handed
        })
    }

    /// Holds debates until there are none left.
    fn work(&self, olds: &[&QuestionRecord], jobs: &[Job], next: &AtomicUsize, sender: &Sender<Held>) {
        while let Some(&job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let started = Instant::now();
            let course = self.without(olds[job.0], job.1);
            if sender.send(Held { job, course, times: (started, Instant::now()) }).is_err() {
                return;
            }
        }
    }

    fn without(&self, old: &QuestionRecord, number: usize) -> Result<Course> {
        let fork = Fork { round: 1, change: Change::Drop(number) };
        fork.hold(self.header, (self.method)()?, old, self.tools, &Silent)
    }
}

/// Hands over each question, in order, as soon as all of its debates were held.
fn hand_over(olds: &[&QuestionRecord], held: &Receiver<Held>, known: &mut dyn FnMut(Why) -> Result<()>) -> Result<()> {
    let mut courses: BTreeMap<Job, (Course, Instant, Instant)> = BTreeMap::new();
    let mut next = 0;
    for Held { job, course, times: (started, ended) } in held {
        courses.insert(job, (course?, started, ended));
        while let Some(old) = olds.get(next) {
            let own: Vec<Job> = (0..documents(old)).map(|number| (next, number)).collect();
            if own.iter().any(|job| !courses.contains_key(job)) {
                break;
            }
            let own: Vec<_> = own.iter().filter_map(|job| courses.remove(job)).collect();
            let (first, last) = (own.iter().map(|(_, started, _)| *started).min(), own.iter().map(|one| one.2).max());
            let elapsed = first.zip(last).map_or(0.0, |(first, last)| (last - first).as_secs_f64());
            known(Why::of(old, own.into_iter().map(|(course, ..)| course).collect(), elapsed))?;
            next += 1;
        }
    }
    Ok(())
}

fn is_right(record: &QuestionRecord) -> Option<bool> {
    judgement::exact(record).map(|exact| exact == 1.0)
}
