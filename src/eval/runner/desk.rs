//! One question in flight: its calls go to the journal as their replies arrive, and calls that the journal holds already are
//! answered from it.

use super::work::Work;
use crate::error::{MootError, Result};
use crate::eval::record::reader::Journaled;
use crate::llm::identity::Identity;
use crate::llm::layer::{Layer, answer_known};
use crate::llm::replay::recorded_reply;
use crate::llm::{Call, Llm, OnFailure, OnReply, Reply};
use crate::protocol::ctx::Observer;
use crate::transcript::CallRecord;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{SendError, Sender, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// A message from a worker to the thread that writes the records; it is sent with the index of its run.
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
    /// Answered when everything sent before is on the disk, or after a failed write, which sets `Flags::lost` first.
    Settle(SyncSender<()>),
}

/// A question that is finished.
pub(super) struct Finished {
    pub(super) record: crate::transcript::QuestionRecord,
    /// The numbers of its calls in its journal.
    pub(super) entries: Vec<usize>,
    /// Calls among them that an earlier run had made.
    pub(super) from_journal: usize,
}

/// The model and the observer of one question in flight.
///
/// A question gets no further than its stage once the run is to stop; after a failure elsewhere it continues to its
/// end.
pub(super) struct Desk<'a> {
    work: &'a Work<'a>,
    sender: &'a Sender<(usize, Message)>,
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
    /// By stage and index in it: the call's number.
    entries: BTreeMap<(usize, usize), usize>,
    /// The number of the reply from the journal that is being reported.
    reporting: Option<usize>,
    taken: usize,
}

impl State {
    /// The journal's entry of a call that is not made, now as in an earlier attempt, because it equals an earlier call.
    fn taken_over(&mut self, call: &CallRecord) -> Option<usize> {
        call.taken_from?;
        let is = |known: &Option<Journaled>| {
            known.as_ref().is_some_and(|Journaled { call: known, .. }| {
                known.taken_from.is_some()
                    && (known.seed, &known.role, known.stage) == (call.seed, &call.role, call.stage)
            })
        };
        let index = self.journal.iter().position(is)?;
        self.journal[index].take();
        Some(index)
    }
}

impl<'a> Desk<'a> {
    /// For the question `question`, whose earlier attempts recorded `journal`.
    pub(super) fn new(
        work: &'a Work<'a>,
        sender: &'a Sender<(usize, Message)>,
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
        (state.entries.values().copied().collect(), state.taken)
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The journaled call that is `call`, in all that was sent.
    fn take(&self, call: &Call) -> Option<(usize, Reply)> {
        let mut state = self.state();
        let wanted = Identity::from(call);
        let is = |known: &Option<Journaled>| known.as_ref().is_some_and(|known| Identity::from(&known.call) == wanted);
        let index = state.journal.iter().position(is)?;
        let known = state.journal[index].take()?;
        Some((index, recorded_reply(&known.call)))
    }

    /// Waits until every reply reported so far is on the disk, so that no method continues from a reply that could be
    /// lost.
    fn settle(&self) {
        let (settled, wait) = sync_channel(1);
        if self.send(Message::Settle(settled)).is_ok() {
            // Where the record cannot be written, `ended` stops the next stage.
            let _ = wait.recv();
        }
    }

    fn send(&self, message: Message) -> std::result::Result<(), SendError<(usize, Message)>> {
        self.sender.send((self.work.index, message))
    }

    fn ended(&self) -> bool {
        self.work.run.stop.load(Ordering::Relaxed) || self.work.flags.lost.load(Ordering::Relaxed)
    }
}

impl Layer for Desk<'_> {
    fn inner(&self) -> &dyn Llm {
        self.work.run.tools.llm
    }

    fn answer_stage(&self, calls: &[Call], on_failure: OnFailure, on_reply: &mut OnReply<'_>) -> Vec<Result<Reply>> {
        if self.ended() {
            return calls.iter().map(|_| Err(MootError::Interrupted)).collect();
        }
        let calls: Vec<Call> = calls.iter().map(|call| Call { group: self.work.group(), ..call.clone() }).collect();
        let mut taken = 0;
        let results = answer_known(self.inner(), &calls, on_failure, on_reply, |call| {
            let (entry, reply) = self.take(call)?;
            // `answer_known` reports a known reply before it looks for the next one, so one number is enough.
            self.state().reporting = Some(entry);
            taken += 1;
            Some(reply)
        });
        // If every reply came from the journal, none can be lost.
        if taken < calls.len() {
            self.settle();
        }
        results
    }
}

impl Observer for Desk<'_> {
    fn stage(&self, _: usize, _: usize) {}

    fn call(&self, index: usize, call: &CallRecord) {
        let mut state = self.state();
        let entry = if let Some(entry) = state.reporting.take().or_else(|| state.taken_over(call)) {
            state.taken += 1;
            entry
        } else {
            state.next += 1;
            let (of, elapsed) = (self.question.to_owned(), self.elapsed());
            let entry = state.next - 1;
            // If the receiver is gone, the run has ended and its error was reported.
            let _ = self.send(Message::Call { of, entry, call: Box::new(call.clone()), elapsed });
            entry
        };
        state.entries.insert((call.stage, index), entry);
    }
}
