//! A fork: a recorded debate that is held again from some round on, without a document, with another text of a
//! document, or with a text added to every prompt.
//!
//! The method runs again. Calls of earlier rounds keep their recorded replies, even if their prompts would differ now.
//! From the round on, a call that equals a recorded one gets its reply, and the model answers every other one.

use crate::error::{MootError, Result};
use crate::eval::record::reader::Record;
use crate::eval::record::{Forked, Header, RecordedMethod, VERSION};
use crate::eval::recorded_tools::RecordedTools;
use crate::eval::replay::gathered;
use crate::generation::Usage;
use crate::llm::identity::Identity;
use crate::llm::layer::{Layer, answer_known};
use crate::llm::replay::recorded_reply;
use crate::llm::{Call, Llm, OnFailure, OnReply, Reply};
use crate::methods;
use crate::protocol::ctx::{Observer, Tools};
use crate::protocol::{Built, Interjection};
use crate::question::{Document, Question};
use crate::transcript::{CallRecord, QuestionRecord};
use serde::Serialize;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// A change to a debate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The document of this number, from 0, is removed.
    Drop(usize),
    /// It has this text.
    Edit(usize, String),
    /// This text is the last paragraph of every prompt from the round on.
    Tell(String),
}

/// The round of a fork, and its change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fork {
    /// The first round that is held again, from 1.
    pub round: usize,
    /// The change, in force from that round on.
    pub change: Change,
}

/// A forked debate.
#[derive(Debug, Clone, PartialEq)]
pub struct Course {
    /// As a run would record it; a failure of the question's own is its error.
    pub record: QuestionRecord,
    /// Its cost.
    pub cost: Cost,
}

/// Calls of a forked debate, by the origin of their replies.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Cost {
    /// Calls of earlier rounds, with their recorded replies.
    pub kept: usize,
    /// Later calls that equal a recorded one.
    pub unchanged: usize,
    /// Calls that the model answered.
    pub computed: usize,
    /// Their tokens; `reused` are those that other calls had computed.
    pub usage: Usage,
    /// Wall time, that of other debates at the same time included.
    pub seconds: f64,
}

impl std::ops::AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        self.kept += other.kept;
        self.unchanged += other.unchanged;
        self.computed += other.computed;
        self.usage += other.usage;
        self.seconds += other.seconds;
    }
}

/// One line: calls by where their replies came from, and what the computed ones took.
impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kept, unchanged, computed, usage, seconds } = self;
        if *kept > 0 {
            write!(f, "{kept} of earlier rounds, ")?;
        }
        let (fresh, reused, out) = (usage.computed, usage.reused, usage.generated);
        write!(
            f,
            "{unchanged} unchanged from the journal, {computed} computed: {fresh} prompt tokens, {reused} more from the \
             cache, {out} generated, {seconds:.1} s"
        )
    }
}

/// The method of a record with its recorded switches and prompts.
///
/// # Errors
/// [`MootError::Input`] for a method, a switch or a prompt that this program does not have.
pub fn method_of(record: &Record) -> Result<Built> {
    let header = &record.header;
    let refused = |expected: &str, error: &MootError| MootError::Input {
        path: record.path.clone(),
        line: Some(1),
        expected: expected.into(),
        found: error.to_string(),
    };
    let recorded = RecordedMethod::of(header).map_err(|e| refused("a method of this program", &e))?;
    let mut method = recorded.build().map_err(|e| refused("its recorded switches", &e))?;
    for (name, text) in recorded.own_prompts(header) {
        method
            .prompts
            .replace_named(&name, &text, &methods::replaceable())
            .map_err(|e| refused("its recorded prompts", &e))?;
    }
    Ok(method)
}

/// The prompts, grammars and schemas whose files differ from the record's: their calls are computed anew.
#[must_use]
pub fn other_files(header: &Header, method: &Built) -> Vec<String> {
    let hashes = method.hashes();
    RecordedMethod::of(header).map_or_else(|_| Vec::new(), |recorded| recorded.other_files(header, &hashes))
}

/// The header of a record of one fork. `chain` is the last hash of the record that it was forked from.
#[must_use]
pub fn header(record: &Record, method: &Built, chain: &str, question: &QuestionRecord, fork: &Fork) -> Header {
    let old = &record.header;
    let name = record.path.file_name().map(|name| name.to_string_lossy().into_owned());
    Header {
        moot_record: VERSION,
        program: concat!("moot ", env!("CARGO_PKG_VERSION")).to_owned(),
        method: method.row.name.to_owned(),
        switches: method.values.json(),
        label: method.values.label().map(str::to_owned),
        prompts: method.hashes(),
        own_prompts: method.prompts.among(method.row.files()),
        forked: Some(Forked {
            record: name.unwrap_or_default(),
            chain: chain.to_owned(),
            question: question.question.id.clone(),
            round: fork.round,
            change: fork.describe(question),
        }),
        ..old.clone()
    }
}

impl Fork {
    /// The change in words, with the document's name: "without document 3, notes.txt".
    #[must_use]
    pub fn describe(&self, old: &QuestionRecord) -> String {
        let name = |number: usize| old.document(number).map_or("?", |document| document.name.as_str()).to_owned();
        match &self.change {
            Change::Drop(number) => format!("without document {}, {}", number + 1, name(*number)),
            Change::Edit(number, _) => format!("with another text of document {}, {}", number + 1, name(*number)),
            Change::Tell(text) => format!("told {text:?}"),
        }
    }

    /// The number that document `number` of the changed debate has in the recorded one.
    fn before(&self, number: usize) -> usize {
        match self.change {
            Change::Drop(dropped) if number >= dropped => number + 1,
            _ => number,
        }
    }

    /// The question as it is read now.
    pub(crate) fn question(&self, old: &Question) -> Question {
        let mut question = old.clone();
        match &self.change {
            Change::Drop(number) if *number < question.documents.len() => {
                question.documents.remove(*number);
                for claim in &mut question.claims {
                    if *number < claim.relations.len() {
                        claim.relations.remove(*number);
                    }
                }
            }
            Change::Edit(number, text) if *number < question.documents.len() => {
                question.documents[*number].text.clone_from(text);
            }
            // A retrieved passage is not among them: `RecordedTools` leaves it out of searches.
            _ => {}
        }
        question
    }

    /// The document that is gone or edited, with its new text.
    fn document<'a>(&'a self, old: &'a QuestionRecord) -> Option<(&'a Document, Option<&'a str>)> {
        match &self.change {
            Change::Drop(number) => Some((old.document(*number)?, None)),
            Change::Edit(number, text) => Some((old.document(*number)?, Some(text))),
            Change::Tell(_) => None,
        }
    }

    /// Holds the debate `old` of a record with `header` again by `method`. What the recorded run searched and classified is
    /// taken from it; anything else is asked of `tools`.
    ///
    /// # Errors
    /// [`MootError::Usage`] for a round or a document that the debate did not have; what would end a run.
    pub fn hold(
        &self,
        header: &Header,
        method: Built,
        old: &QuestionRecord,
        tools: Tools<'_>,
        observer: &dyn Observer,
    ) -> Result<Course> {
        self.check(old)?;
        let started = Instant::now();
        let interjection = match &self.change {
            Change::Tell(text) => Some(Interjection { round: self.round, text: text.clone() }),
            _ => None,
        };
        let method = Built { interjection, ..method };
        let question = self.question(&old.question);
        let line = Line { llm: tools.llm, old, fork: self, state: Mutex::default() };
        let recorded = RecordedTools::new(header, old).before(tools);
        let recorded = match self.document(old) {
            Some((document, instead)) => recorded.changed(document, instead),
            None => recorded,
        };
        let own =
            Tools { embedder: tools.embedder, weights: tools.weights, cancel: tools.cancel, ..recorded.tools(&line) };
        let needs = method.row.needs;
        let must_have = needs.documents || needs.passages && own.retriever.is_none();
        let (record, error) = if must_have && question.documents.is_empty() {
            let error = MootError::Question(format!("{} needs at least 1 document, none is left", method.row.name));
            (QuestionRecord { question, ..QuestionRecord::default() }, Some(error))
        } else {
            let events = gathered(method.row, old);
            method.record_gathered(&question, events, own, &header.settings, observer)
        };
        let error = match error {
            Some(error) if !error.is_of_one_question() => return Err(error),
            error => error.map(|error| error.to_string()),
        };
        let seconds = started.elapsed().as_secs_f64();
        let calls = self.with_the_past(old, record.calls);
        let cost = line.state.into_inner().unwrap_or_else(PoisonError::into_inner).cost;
        Ok(Course { record: QuestionRecord { calls, seconds, error, ..record }, cost: Cost { seconds, ..cost } })
    }

    /// Whether the debate `old` has the round and the document.
    ///
    /// # Errors
    /// [`MootError::Usage`] with those that it has.
    pub fn check(&self, old: &QuestionRecord) -> Result<()> {
        let id = &old.question.id;
        let rounds = old.calls.iter().map(|call| call.round).max().unwrap_or(0);
        if self.round == 0 || self.round > rounds.max(1) {
            let wrong = format!("question {id}: expected a round from 1 to {rounds}, found {}", self.round);
            return Err(MootError::Usage(wrong));
        }
        match self.change {
            Change::Drop(number) | Change::Edit(number, _) if old.document(number).is_none() => {
                let documents = old.question.documents.len() + old.retrieved.len();
                let wrong = format!("question {id}: expected a document from 1 to {documents}, found {}", number + 1);
                Err(MootError::Usage(wrong))
            }
            _ => Ok(()),
        }
    }

    /// The calls of earlier rounds as they were sent then: their replies belong to those prompts.
    fn with_the_past(&self, old: &QuestionRecord, calls: Vec<CallRecord>) -> Vec<CallRecord> {
        let mut past = Past::default();
        let as_sent = |call: CallRecord| match past.take(self, &old.calls, &call.role, call.round, call.document) {
            Some(then) => CallRecord {
                number: call.number,
                stage: call.stage,
                document: call.document,
                // As read today: the method went on with it.
                parsed: call.parsed,
                ..then.clone()
            },
            None => call,
        };
        calls.into_iter().map(as_sent).collect()
    }
}

/// The number of calls of earlier rounds that were used, by role, round and document.
#[derive(Default)]
struct Past {
    taken: HashMap<(String, usize, Option<usize>), usize>,
}

impl Past {
    /// The recorded call of an earlier round that answers the next call of this role, round and document.
    fn take<'a>(
        &mut self,
        fork: &Fork,
        old: &'a [CallRecord],
        role: &str,
        round: usize,
        document: Option<usize>,
    ) -> Option<&'a CallRecord> {
        if round >= fork.round {
            return None;
        }
        let document = document.map(|number| fork.before(number));
        let taken = self.taken.entry((role.to_owned(), round, document)).or_default();
        let same = |call: &&CallRecord| call.role == role && call.round == round && call.document == document;
        let found = old.iter().filter(same).nth(*taken);
        *taken += 1;
        found
    }
}

/// The model of a forked debate.
struct Line<'a> {
    llm: &'a dyn Llm,
    old: &'a QuestionRecord,
    fork: &'a Fork,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    past: Past,
    cost: Cost,
}

impl Line<'_> {
    fn known(&self, call: &Call) -> Option<Reply> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(then) = state.past.take(self.fork, &self.old.calls, &call.role, call.round, call.document) {
            state.cost.kept += 1;
            return Some(recorded_reply(then));
        }
        let wanted = Identity::from(call).deciding();
        let then = self.old.calls.iter().find(|then| Identity::from(*then).deciding() == wanted)?;
        state.cost.unchanged += 1;
        Some(recorded_reply(then))
    }
}

impl Layer for Line<'_> {
    fn inner(&self) -> &dyn Llm {
        self.llm
    }

    fn answer_stage(&self, calls: &[Call], on_failure: OnFailure, on_reply: &mut OnReply<'_>) -> Vec<Result<Reply>> {
        let mut known = Vec::with_capacity(calls.len());
        let results = answer_known(self.llm, calls, on_failure, on_reply, |call| {
            let reply = self.known(call);
            known.push(reply.is_some());
            reply
        });
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        for reply in
            results.iter().zip(known).filter(|(_, known)| !known).filter_map(|(result, _)| result.as_ref().ok())
        {
            state.cost.computed += 1;
            state.cost.usage += reply.usage;
        }
        results
    }
}
