//! Recorded calls run again in other batches, and whether every token is the same.
//!
//! A reply depends on its own prompt, seed and format alone: not on what else was in the batch, on how the prompt was
//! cut into steps, nor on what the prefix tree held. A record has all that a call needs, so this can be tested on real
//! work: each call drawn is sent twice more, in other batches than in its run, and its reply is compared with the
//! record.

mod batches;
mod difference;
mod drawn;

pub use difference::{Difference, What};

use crate::error::{MootError, Result};
use crate::escape;
use crate::eval::record::reader::Record;
use crate::generation::Grammar;
use crate::jsonl::shortened;
use crate::llm::{Call, Llm, ModelIdentity, Reply};
use crate::protocol::Row;
use crate::protocol::formats::{FORMATS, FREE_GRAMMAR, Format};
use crate::transcript::{CallRecord, QuestionRecord};
use batches::{Batch, Member};
use drawn::Drawn;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Calls of a record that are asked again.
pub struct Sample<'a> {
    record: &'a Record,
    /// Those whose calls can be asked again, in the order of their first call.
    roles: Vec<String>,
    drawn: Vec<Drawn<'a>>,
    total: usize,
    elsewhere: BTreeMap<String, usize>,
    random: ChaCha8Rng,
}

/// The result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Whether every token is as recorded, and every log-probability is the same in both batches.
    pub same: bool,
    /// Calls asked again.
    pub calls: usize,
    /// Calls of the record that could be.
    pub of: usize,
    /// Of the calls asked again, those that differ.
    pub differing: usize,
    /// Of the calls asked again, those whose token ids the record has not: their text was compared.
    pub by_text: usize,
    /// Tokens that were generated for them, both times together.
    pub tokens: usize,
    /// Number of batches that were sent.
    pub batches: usize,
    /// Other calls put among them.
    pub fillers: usize,
    /// By role, calls that a remote model answered.
    pub elsewhere: BTreeMap<String, usize>,
    /// In the order of the record; a call may differ in both batches.
    pub differences: Vec<Difference>,
}

impl<'a> Sample<'a> {
    /// Draws `count` of the calls that a model on this machine answered, or takes all of them; `seed` draws them and their
    /// batches.
    ///
    /// # Errors
    /// [`MootError::Input`] where there is no such call, or where this program has not the method, the role or the grammar
    /// of one.
    pub fn draw(record: &'a Record, count: Option<usize>, seed: u64) -> Result<Self> {
        let row = row(record)?;
        let (mut drawn, mut elsewhere) = (Vec::new(), BTreeMap::new());
        for question in &record.questions {
            for (before, recorded) in question.calls.iter().enumerate() {
                // A model on a server has no hash: its calls cannot be made again here.
                if record.header.model_of(&recorded.role).sha256.is_empty() {
                    *elsewhere.entry(recorded.role.clone()).or_default() += 1;
                    continue;
                }
                let call = call(record, row, question, recorded)?;
                drawn.push(Drawn { question, index: drawn.len(), number: before + 1, recorded, call });
            }
        }
        if drawn.is_empty() {
            return Err(nothing(record, &elsewhere));
        }
        let mut roles: Vec<String> = Vec::new();
        for call in &drawn {
            if !roles.contains(&call.call.role) {
                roles.push(call.call.role.clone());
            }
        }
        let (total, mut random) = (drawn.len(), ChaCha8Rng::seed_from_u64(seed));
        drawn.shuffle(&mut random);
        drawn.truncate(count.unwrap_or(total));
        Ok(Self { record, roles, drawn, total, elsewhere, random })
    }

    /// The roles whose calls can be asked again, each with the model that answered.
    pub fn roles(&self) -> impl Iterator<Item = (&str, &ModelIdentity)> {
        self.roles.iter().map(|role| (role.as_str(), self.record.header.model_of(role)))
    }

    /// Checks that `llm` has the weights that answered. Returns a line for each other difference that may change
    /// replies.
    ///
    /// # Errors
    /// [`MootError::Input`] for a role that other weights answered.
    pub fn check(&self, llm: &dyn Llm) -> Result<Vec<String>> {
        let mut notes = BTreeSet::new();
        for (role, recorded) in self.roles() {
            let here = llm.identity_of(role);
            if recorded.sha256 != here.sha256 {
                let expected = format!("{}s' replies by {}", escape::excerpt(role), weights(here));
                return Err(refused(self.record, expected, &format!("replies by {}", weights(recorded))));
            }
            match recorded.recipe.as_str() {
                same if same == here.recipe => {}
                "" => drop(notes.insert(format!(
                    "the record does not name the recipe of its arithmetic; this is {:?}",
                    here.recipe
                ))),
                other => drop(notes.insert(format!(
                    "recorded by the recipe {other:?}, this is {:?}: bits and tokens may differ, because the recipe changed",
                    here.recipe
                ))),
            }
        }
        Ok(notes.into_iter().collect())
    }

    /// Asks `llm` every call drawn, twice, and compares; `progress` gets the number of replies so far, and of all.
    ///
    /// # Errors
    /// As [`Llm::ask_all`].
    pub fn ask_again(&self, llm: &dyn Llm, progress: &mut dyn FnMut(usize, usize)) -> Result<Report> {
        let batches = self.batches(llm);
        let total = batches.iter().map(Vec::len).sum();
        let mut found = Findings { firsts: vec![None; self.drawn.len()], ..Findings::default() };
        let mut done = 0;
        for batch in &batches {
            let call = |member: &Member| match member {
                Member::Drawn(at) => self.drawn[*at].call.clone(),
                Member::Filler(call) => Call::clone(call),
            };
            let calls: Vec<Call> = batch.iter().map(call).collect();
            let replies = llm.ask_all(&calls, &mut |_, _| {
                done += 1;
                progress(done, total);
            })?;
            for (member, reply) in batch.iter().zip(&replies) {
                if let Member::Drawn(at) = member {
                    found.compare(*at, &self.drawn[*at], reply, batch.len() - 1);
                }
            }
        }
        Ok(self.report(&batches, found))
    }

    /// A batch is answered by one model: several may take turns, and each turn is a load.
    fn batches(&self, llm: &dyn Llm) -> Vec<Batch> {
        let mut by_model: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (at, drawn) in self.drawn.iter().enumerate() {
            by_model.entry(&llm.identity_of(&drawn.call.role).sha256).or_default().push(at);
        }
        // A copy: the same sample makes the same batches each time.
        let mut random = self.random.clone();
        by_model.values().flat_map(|group| batches::batches(&self.drawn, group, &mut random)).collect()
    }

    fn report(&self, batches: &[Batch], mut found: Findings) -> Report {
        found.differences.sort_by_key(|(index, _)| *index);
        let differing: BTreeSet<usize> = found.differences.iter().map(|(index, _)| *index).collect();
        Report {
            same: differing.is_empty(),
            calls: self.drawn.len(),
            of: self.total,
            differing: differing.len(),
            by_text: self.drawn.iter().filter(|drawn| drawn.recorded.tokens.is_empty()).count(),
            tokens: found.tokens,
            batches: batches.len(),
            fillers: batches.iter().flatten().filter(|member| matches!(member, Member::Filler(_))).count(),
            elsewhere: self.elsewhere.clone(),
            differences: found.differences.into_iter().map(|(_, difference)| difference).collect(),
        }
    }
}

#[derive(Default)]
struct Findings {
    /// Each with the index of its call.
    differences: Vec<(usize, Difference)>,
    /// By index in the sample: the log-probabilities that the call had the first time.
    firsts: Vec<Option<Vec<f32>>>,
    tokens: usize,
}

impl Findings {
    /// Compares `reply`, from a batch with `beside` other calls, with the record, and its bits with those of the first
    /// time.
    fn compare(&mut self, at: usize, drawn: &Drawn<'_>, reply: &Reply, beside: usize) {
        self.tokens += reply.usage.generated;
        let bits: Vec<f32> = reply.logprobs.iter().map(|token| token.logprob).collect();
        let earlier = self.firsts[at].replace(bits.clone());
        let what = difference::from_record(drawn.recorded, reply)
            .or_else(|| earlier.and_then(|earlier| difference::of_bits(&earlier, &bits)));
        let Some(what) = what else { return };
        let document = drawn.recorded.document.and_then(|index| drawn.question.question.documents.get(index));
        let difference = Difference {
            question: drawn.question.question.id.clone(),
            role: drawn.recorded.role.clone(),
            document: document.map(|document| document.name.clone()),
            round: drawn.recorded.round,
            call: drawn.number,
            beside,
            what,
        };
        self.differences.push((drawn.index, difference));
    }
}

fn refused(record: &Record, expected: String, found: &str) -> MootError {
    // Names of models and grammars are the record's.
    MootError::Input { path: record.path.clone(), line: None, expected, found: escape::excerpt(found) }
}

fn nothing(record: &Record, elsewhere: &BTreeMap<String, usize>) -> MootError {
    let found = match elsewhere.keys().next() {
        None => format!("{} questions and no call", record.questions.len()),
        Some(role) => format!("replies by {}", weights(record.header.model_of(role))),
    };
    refused(record, "calls that a model on this machine answered".into(), &found)
}

fn weights(model: &ModelIdentity) -> String {
    if model.sha256.is_empty() {
        return format!("{} (no weights here)", model.name);
    }
    let start: String = model.sha256.chars().take(12).collect();
    format!("{} (SHA-256 {start}...)", model.name)
}

fn row(record: &Record) -> Result<&'static Row> {
    Row::named(&record.header.method).map_err(|e| refused(record, "a method of this program".into(), &e.to_string()))
}

/// The call as it was sent, with the log-probabilities of its tokens where none were asked for.
fn call(record: &Record, row: &Row, question: &QuestionRecord, recorded: &CallRecord) -> Result<Call> {
    let settings = &record.header.settings;
    let role = &recorded.role;
    let what = format!("{role} of question {:?}, round {}", question.question.id, recorded.round);
    Ok(Call {
        prefill: recorded.prefill.clone(),
        score: recorded.score,
        think: recorded.think.unwrap_or(settings.think),
        sampling: recorded.sampling.unwrap_or(settings.sampling),
        seed: recorded.seed,
        stop: recorded.stop.clone(),
        grammar: grammar(record, row, recorded)?,
        logprobs: Some(recorded.wanted_logprobs.clone().unwrap_or_default()),
        ..Call::new(what, role, recorded.sent(), recorded.max_tokens)
    })
}

/// The grammar that constrained a reply, where its file is the one that was recorded.
fn grammar(record: &Record, row: &Row, recorded: &CallRecord) -> Result<Option<Grammar>> {
    let Some(name) = recorded.grammar.as_deref() else { return Ok(None) };
    let expected = || format!("a grammar of {}", row.name);
    let of_file = |format: &&&Format| format.grammar.is_some_and(|file| file.name == name);
    let format =
        FORMATS.iter().find(of_file).ok_or_else(|| refused(record, expected(), &format!("{:?}", shortened(name))))?;
    // The user's grammar is in the values of each call, and in the record by a name of its own.
    let own = **format == FREE_GRAMMAR;
    let here = format.grammar.map(|file| file.sha256());
    if !own && record.header.prompts.get(name) != here.as_ref() {
        return Err(refused(record, expected(), &format!("another {name:?} than this program has")));
    }
    format.grammar(&recorded.format_values)
}
