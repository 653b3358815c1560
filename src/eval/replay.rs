//! Replays a recorded run without a model: this program's parsers, votes and metrics on the recorded replies.
//!
//! The method runs again. Each call is answered from the record: by the equal recorded call, else by the one of the
//! same role and seed, which is the same call with another prompt. Results of searches and classified pairs come from
//! the record's events.

use crate::error::{MootError, Result};
use crate::escape;
use crate::eval::record::reader::Record;
use crate::eval::record::{Header, RecordedMethod, Replayed, VERSION};
use crate::eval::recorded_tools::RecordedTools;
use crate::generation::Prompt;
use crate::llm::identity::{Identity, PROMPT};
use crate::llm::replay::recorded_reply;
use crate::llm::{Call, Capabilities, Llm, ModelIdentity, OnFailure, OnReply, Reply, answer_in_order};
use crate::methods;
use crate::protocol::ctx::{Silent, Tools};
use crate::protocol::{Built, OwnPrompts, Row};
use crate::sources::SourceWeights;
use crate::transcript::{CallRecord, Event, Parsed, QuestionRecord};
use rayon::prelude::*;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The result of a replay.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Report {
    /// Questions replayed.
    pub questions: usize,
    /// Calls that the method made.
    pub calls: usize,
    /// Replies that are parsed to another value than recorded.
    pub read_otherwise: usize,
    /// Replies that kept their format then and do not now.
    pub newly_malformed: usize,
    /// Ids of the questions whose conclusion is another one.
    pub concluded_otherwise: Vec<String>,
    /// Questions that cannot be replayed: id and reason.
    pub failed: Vec<(String, String)>,
    /// Recorded calls that the method did not make this time.
    pub unused: usize,
    /// Calls whose prompt differs from the recorded one.
    pub prompts: Vec<OtherPrompt>,
}

/// A call that was answered by a reply to another prompt.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OtherPrompt {
    /// The question's id.
    pub question: String,
    /// The call: "agent of notes.txt, round 2".
    pub call: String,
    /// The part that differs: "the prompt", "the token limit".
    pub differs: String,
    /// The recorded text around the position where the prompts begin to differ, and today's.
    pub texts: Option<(String, String)>,
}

/// The method and the header of a record as this program has them.
pub struct Replay<'a> {
    record: &'a Record,
    method: Built,
    /// The user's prompts of the record, by today's names.
    own_prompts: BTreeMap<String, String>,
    weights: Option<&'a SourceWeights>,
    /// Files whose hash is another one than was recorded.
    pub files: Vec<String>,
}

impl<'a> Replay<'a> {
    /// Builds the record's method with its recorded switches.
    ///
    /// # Errors
    /// [`MootError::Input`] for a method, or a switch, that this program does not have, or where source weights are missing.
    pub fn new(record: &'a Record, weights: Option<&'a SourceWeights>) -> Result<Self> {
        let header = &record.header;
        let refused = |expected: String, found: String| MootError::Input {
            path: record.path.clone(),
            line: Some(1),
            expected,
            found: escape::excerpt(&found),
        };
        let recorded =
            RecordedMethod::of(header).map_err(|e| refused("a method of this program".into(), e.to_string()))?;
        let mut method = recorded.build().map_err(|e| refused("its recorded switches".into(), e.to_string()))?;
        // Prompts are today's, but replies are read as the user's formats say.
        let own_prompts = recorded.own_prompts(header);
        for (name, text) in own_prompts.iter().filter(|(name, _)| OwnPrompts::is_of_format(name)) {
            let replaced = method.prompts.replace_named(name, text, &methods::replaceable());
            replaced.map_err(|e| refused("its recorded reply formats".into(), e.to_string()))?;
        }
        if header.weights.is_some() && weights.is_none() {
            return Err(MootError::Usage("its votes carried source weights: expected --source-weights FILE".into()));
        }
        if header.embedder.is_some() {
            let found = format!("{}, which embedded texts, and a record has no vectors", header.method);
            return Err(refused("a method whose run can be replayed without a model".into(), found));
        }
        let files = recorded.other_files(header, &method.hashes());
        Ok(Self { record, files, method, own_prompts, weights })
    }

    /// The header of the new record, which names its origin; `chain` is the old record's last hash.
    #[must_use]
    pub fn header(&self, chain: &str) -> Header {
        let old = &self.record.header;
        Header {
            moot_record: VERSION,
            program: concat!("moot ", env!("CARGO_PKG_VERSION")).to_owned(),
            method: self.method.row.name.to_owned(),
            switches: self.method.values.json(),
            label: self.method.values.label().map(str::to_owned),
            prompts: self.method.hashes(),
            own_prompts: self.own_prompts.clone(),
            replayed: Some(Replayed { chain: chain.to_owned(), prompts: old.prompts.clone() }),
            ..old.clone()
        }
    }

    /// Replays every question.
    ///
    /// # Errors
    /// Errors that would end a run, such as a prompt that cannot be rendered.
    pub fn run(&self) -> Result<(Vec<QuestionRecord>, Report)> {
        let told: Vec<Result<(QuestionRecord, Report)>> =
            self.record.questions.par_iter().map(|old| self.question(old)).collect();
        let (mut questions, mut report) = (Vec::new(), Report::default());
        for told in told {
            let (question, one) = told?;
            questions.push(question);
            report.questions += one.questions;
            report.calls += one.calls;
            report.read_otherwise += one.read_otherwise;
            report.newly_malformed += one.newly_malformed;
            report.unused += one.unused;
            report.concluded_otherwise.extend(one.concluded_otherwise);
            report.failed.extend(one.failed);
            report.prompts.extend(one.prompts);
        }
        Ok((questions, report))
    }

    fn question(&self, old: &QuestionRecord) -> Result<(QuestionRecord, Report)> {
        let header = &self.record.header;
        let told =
            RecordedQuestion { header, old, used: Mutex::new(vec![false; old.calls.len()]), prompts: Mutex::default() };
        let recorded = RecordedTools::new(header, old);
        let tools = Tools { weights: self.weights, ..recorded.tools(&told) };
        let events = gathered(self.method.row, old);
        let (new, error) = self.method.record_gathered(&old.question, events, tools, &header.settings, &Silent);
        let error = match error {
            Some(error) if !error.is_of_one_question() => return Err(error),
            // A question that failed in the recorded run keeps its error.
            Some(_) if old.error.is_some() => old.error.clone(),
            error => error.map(|error| error.to_string()),
        };
        // The replay's own time says nothing of the run.
        let mut new = QuestionRecord { seconds: old.seconds, place: old.place, error, ..new };
        // Every recorded reply is given as it is; equal calls are not looked for again.
        for call in &mut new.calls {
            let then = old.calls.iter().find(|then| then.seed == call.seed && then.role == call.role);
            call.taken_from = then.and_then(|then| then.taken_from);
        }
        let report = told.report(&new);
        Ok((new, report))
    }
}

/// The events of the search that found the question's documents, before the method began.
pub(super) fn gathered(row: &Row, old: &QuestionRecord) -> Vec<Event> {
    let found =
        !old.question.documents.is_empty() && old.question.documents.iter().all(|document| document.origin.is_some());
    match old.events.first() {
        Some(event @ Event::Retrieval { stage: 0, queries, .. })
            if found && row.needs.searches() && *queries == [old.question.text.clone()] =>
        {
            vec![event.clone()]
        }
        _ => Vec::new(),
    }
}

/// A recorded question as the model of its replay.
struct RecordedQuestion<'a> {
    header: &'a Header,
    old: &'a QuestionRecord,
    /// By recorded call: whether its reply was given.
    used: Mutex<Vec<bool>>,
    prompts: Mutex<Vec<OtherPrompt>>,
}

impl RecordedQuestion<'_> {
    fn reply(&self, call: &Call) -> Result<Reply> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let free = |index: &usize| {
            !used[*index] && self.old.calls[*index].seed == call.seed && self.old.calls[*index].role == call.role
        };
        let candidates: Vec<usize> = (0..used.len()).filter(free).collect();
        let alike = candidates.iter().find(|index| differs(&self.old.calls[**index], call).is_none());
        let Some(&index) = alike.or(candidates.first()) else {
            return Err(MootError::Question(format!("{}: the recorded run made no such call", call.what)));
        };
        used[index] = true;
        let recorded = &self.old.calls[index];
        if let Some((differs, texts)) = differs(recorded, call) {
            let (question, call) = (self.old.question.id.clone(), call.what.clone());
            let other = OtherPrompt { question, call, differs: differs.to_owned(), texts };
            self.prompts.lock().unwrap_or_else(PoisonError::into_inner).push(other);
        }
        Ok(recorded_reply(recorded))
    }

    fn report(self, new: &QuestionRecord) -> Report {
        let then = |call: &CallRecord| self.old.calls.iter().find(|old| old.seed == call.seed && old.role == call.role);
        let otherwise = |call: &&CallRecord| then(call).is_some_and(|old| old.parsed != call.parsed);
        let malformed = |call: &&CallRecord| call.parsed == Parsed::Malformed && otherwise(call);
        let id = &new.question.id;
        let failed = new.error.as_ref().filter(|_| self.old.error.is_none());
        // Numbers of calls may have moved without any other answer.
        let concluded = |record: &QuestionRecord| {
            let numberless = |conclusion| crate::question::Conclusion { calls: Vec::new(), ..conclusion };
            record.conclusion.clone().map(|conclusion| numberless(conclusion).unmarked())
        };
        Report {
            questions: 1,
            calls: new.calls.len(),
            read_otherwise: new.calls.iter().filter(otherwise).count(),
            newly_malformed: new.calls.iter().filter(malformed).count(),
            concluded_otherwise: (concluded(new) != concluded(self.old)).then(|| id.clone()).into_iter().collect(),
            failed: failed.map(|error| (id.clone(), error.clone())).into_iter().collect(),
            unused: self
                .used
                .into_inner()
                .unwrap_or_else(PoisonError::into_inner)
                .iter()
                .filter(|used| !**used)
                .count(),
            prompts: self.prompts.into_inner().unwrap_or_else(PoisonError::into_inner),
        }
    }
}

/// The part of `call` that differs from the recorded call, with both texts where two prompts differ.
fn differs(recorded: &CallRecord, call: &Call) -> Option<(&'static str, Option<(String, String)>)> {
    let what = Identity::from(recorded).difference(&Identity::from(call))?;
    let text = |prompt: &Prompt| serde_json::to_string(prompt).unwrap_or_default();
    Some((what, (what == PROMPT).then(|| parting(&text(&recorded.sent()), &text(&call.prompt)))))
}

/// Up to 60 characters of each text from shortly before their first difference.
fn parting(a: &str, b: &str) -> (String, String) {
    let at = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let from = |text: &str| text.chars().skip(at.saturating_sub(20)).take(60).collect();
    (from(a), from(b))
}

impl Llm for RecordedQuestion<'_> {
    fn identity(&self) -> &ModelIdentity {
        &self.header.model
    }

    fn identity_of(&self, role: &str) -> &ModelIdentity {
        self.header.model_of(role)
    }

    /// A record does not have the capabilities of its model.
    fn capabilities(&self, _: &str) -> Capabilities {
        Capabilities::ALL
    }

    fn answer(&self, calls: &[Call], on_failure: OnFailure, on_reply: &mut OnReply<'_>) -> Vec<Result<Reply>> {
        answer_in_order(calls, on_failure, on_reply, |call| self.reply(call))
    }
}
