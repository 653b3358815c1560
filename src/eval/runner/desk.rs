//! One question in flight: its calls go to the journal as their replies arrive, and calls that the journal holds already are
//! answered from it.

use super::Work;
use crate::error::{MootError, Result};
use crate::eval::record::reader::Journaled;
use crate::llm::replay::recorded_reply;
use crate::llm::{Call, Capabilities, Llm, ModelIdentity, OnFailure, OnReply, Reply};
use crate::methods::ctx::Observer;
use crate::methods::formats::Format;
use crate::transcript::CallRecord;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Sender, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// What workers send to the thread that writes the record.
pub(super) enum Message {
    /// A reply arrived.
    Call {
        /// The question's id.
        of: String,
        /// The call's number in the journal of the question.
        entry: usize,
        call: Box<CallRecord>,
        /// Seconds of the question's time.
        elapsed: f64,
    },
    /// A question is concluded, or failed by itself.
    Question(Box<Finished>),
    /// A question failed in a way that ends the run.
    Failed(MootError),
    /// Answered when everything sent before is on the disk; dropped where it could not be written.
    Settle(SyncSender<()>),
}

/// A question that needs not be asked again.
pub(super) struct Finished {
    pub(super) record: crate::transcript::QuestionRecord,
    /// The numbers of its calls in its journal.
    pub(super) entries: Vec<usize>,
    /// Calls among them that an earlier run had made.
    pub(super) from_journal: usize,
}

/// The model and the observer of one question in flight.
///
/// A question gets no further than its stage once the run is to stop; after a failure elsewhere it goes on to its end.
pub(super) struct Desk<'a> {
    work: &'a Work<'a>,
    sender: &'a Sender<Message>,
    question: &'a str,
    started: Instant,
    /// Seconds that earlier attempts took until their last recorded call.
    earlier: f64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Calls of earlier attempts by number; `None` once taken.
    journal: Vec<Option<Journaled>>,
    /// The number of the next call that is journaled.
    next: usize,
    /// By stage and place in it: the call's number.
    placed: BTreeMap<(usize, usize), usize>,
    /// The number of the reply from the journal that is being reported.
    reporting: Option<usize>,
    taken: usize,
}

impl<'a> Desk<'a> {
    /// For the question `question`, whose earlier attempts recorded `journal`.
    pub(super) fn new(
        work: &'a Work<'a>,
        sender: &'a Sender<Message>,
        question: &'a str,
        journal: Vec<Journaled>,
    ) -> Self {
        let earlier = journal.iter().map(|call| call.elapsed).fold(0.0, f64::max);
        let state = State { next: journal.len(), journal: journal.into_iter().map(Some).collect(), ..State::default() };
        Self { work, sender, question, started: Instant::now(), earlier, state: Mutex::new(state) }
    }

    /// Seconds of the question's time, earlier attempts included.
    pub(super) fn elapsed(&self) -> f64 {
        self.earlier + self.started.elapsed().as_secs_f64()
    }

    /// The numbers of all recorded calls in the order asked, and how many an earlier attempt had made.
    pub(super) fn entries(&self) -> (Vec<usize>, usize) {
        let state = self.state();
        (state.placed.values().copied().collect(), state.taken)
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The journaled call that is `call`, in all that was sent.
    fn take(&self, call: &Call) -> Option<(usize, Reply)> {
        let mut state = self.state();
        let free_form = self.work.run.settings.free_form;
        let same = |known: &CallRecord| known.seed == call.seed && sent_alike(known, call, free_form);
        let is = |known: &Option<Journaled>| known.as_ref().is_some_and(|known| same(&known.call));
        let place = state.journal.iter().position(is)?;
        let known = state.journal[place].take()?;
        Some((place, recorded_reply(&known.call)))
    }

    /// Waits until every reply reported so far is on the disk, so that no method goes on from one that could be lost.
    fn settle(&self) {
        let (settled, wait) = sync_channel(1);
        if self.sender.send(Message::Settle(settled)).is_ok() {
            let _ = wait.recv();
        }
    }

    fn ended(&self) -> bool {
        self.work.run.stop.load(Ordering::Relaxed) || self.work.lost.load(Ordering::Relaxed)
    }
}

/// Whether `recorded` was sent as `call` is, its format included, seeds apart; `free_form` says whether replies are
/// unconstrained.
pub(in crate::eval) fn sent_alike(recorded: &CallRecord, call: &Call, free_form: bool) -> bool {
    recorded.role == call.role
        && recorded.sent() == call.prompt
        && recorded.prefill == call.prefill
        && recorded.score == call.score
        && recorded.max_tokens == call.max_tokens
        && recorded.think == Some(call.think)
        && recorded.sampling == Some(call.sampling)
        && recorded.stop == call.stop
        && recorded.wanted_logprobs == call.logprobs
        && same_format(recorded, call, free_form)
}

/// The grammar and the schema that a call of the recorded format is sent with; the files themselves are in the header.
fn same_format(recorded: &CallRecord, call: &Call, free_form: bool) -> bool {
    if free_form || recorded.max_tokens == 0 {
        return call.grammar.is_none() && call.schema.is_none();
    }
    let Ok(format) = Format::named(&recorded.format) else { return false };
    let values = &recorded.format_values;
    format.grammar(values).is_ok_and(|grammar| grammar == call.grammar)
        && format.schema(values).is_ok_and(|schema| schema == call.schema)
}

impl Llm for Desk<'_> {
    fn identity(&self) -> &ModelIdentity {
        self.work.run.tools.llm.identity()
    }

    fn identity_of(&self, role: &str) -> &ModelIdentity {
        self.work.run.tools.llm.identity_of(role)
    }

    fn capabilities(&self, role: &str) -> Capabilities {
        self.work.run.tools.llm.capabilities(role)
    }

    fn token(&self, role: &str, text: &str) -> Option<u32> {
        self.work.run.tools.llm.token(role, text)
    }

    fn answer(&self, calls: &[Call], on_failure: OnFailure, on_reply: &mut OnReply<'_>) -> Vec<Result<Reply>> {
        if self.ended() {
            return calls.iter().map(|_| Err(MootError::Interrupted)).collect();
        }
        let mut results: Vec<Option<Result<Reply>>> = Vec::with_capacity(calls.len());
        let (mut left, mut places) = (Vec::new(), Vec::new());
        for (place, call) in calls.iter().enumerate() {
            let known = self.take(call);
            if let Some((entry, reply)) = &known {
                self.state().reporting = Some(*entry);
                on_reply(place, reply);
            } else {
                left.push(call.clone());
                places.push(place);
            }
            results.push(known.map(|(_, reply)| Ok(reply)));
        }
        if !left.is_empty() {
            let llm = self.work.run.tools.llm;
            let answered = llm.answer(&left, on_failure, &mut |place, reply| on_reply(places[place], reply));
            for (place, result) in places.iter().zip(answered) {
                results[*place] = Some(result);
            }
            self.settle();
        }
        let missing = || Err(MootError::Engine("a model gave no result for a call (bug)".into()));
        results.into_iter().map(|result| result.unwrap_or_else(missing)).collect()
    }
}

impl Observer for Desk<'_> {
    fn stage(&self, _: usize, _: usize) {}

    fn call(&self, place: usize, call: &CallRecord) {
        let mut state = self.state();
        let entry = if let Some(entry) = state.reporting.take() {
            state.taken += 1;
            entry
        } else {
            state.next += 1;
            let (of, elapsed) = (self.question.to_owned(), self.elapsed());
            let entry = state.next - 1;
            // Where nothing receives any more, the run is over, and its error was told.
            let _ = self.sender.send(Message::Call { of, entry, call: Box::new(call.clone()), elapsed });
            entry
        };
        state.placed.insert((call.stage, place), entry);
    }
}
