//! Many questions in flight, each on its own worker; the engine batches the calls that they make at the same time.

mod desk;

use crate::error::{MootError, Result};
use crate::eval::record::reader::Journal;
use crate::eval::record::{Entry, Writer};
use crate::generation::Usage;
use crate::methods::Built;
use crate::methods::ctx::{Settings, Tools};
use crate::question::Question;
use crate::transcript::{Parsed, QuestionRecord};
pub(in crate::eval) use desk::sent_alike;
use desk::{Desk, Finished, Message};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Interval of progress reports while no question finishes.
const TICK: Duration = Duration::from_millis(200);

/// Questions, method and tools of a run.
pub struct Run<'a> {
    /// The questions; those already recorded are skipped.
    pub questions: &'a [Question],
    /// The method.
    pub method: &'a Built,
    /// The method's tools.
    pub tools: Tools<'a>,
    /// Settings of every method.
    pub settings: &'a Settings,
    /// Questions in flight; at least 1.
    pub in_flight: usize,
    /// Set by the caller to end early: no question and no stage starts after it.
    pub stop: &'a AtomicBool,
}

/// Progress of a run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Progress {
    /// Questions in all.
    pub total: usize,
    /// Questions recorded, those of earlier runs included.
    pub done: usize,
    /// Questions recorded before this run began.
    pub before: usize,
    /// Calls of the questions that this run recorded.
    pub calls: usize,
    /// Those of them that an earlier run had made.
    pub from_journal: usize,
    /// Replies of this run that did not keep their format.
    pub malformed: usize,
    /// Questions of this run recorded with an error.
    pub errors: usize,
    /// Tokens of these calls.
    pub usage: Usage,
    /// Since this run began.
    pub elapsed: Duration,
    /// The run was asked to stop and waits for calls in flight.
    pub stopping: bool,
}

impl Progress {
    /// Questions a minute in this run; 0 before the first has finished.
    #[must_use]
    pub fn per_minute(&self) -> f64 {
        let finished = self.done - self.before;
        if finished == 0 { 0.0 } else { finished as f64 * 60.0 / self.elapsed.as_secs_f64().max(1e-9) }
    }

    /// How long the rest will take at this run's rate; `None` before the first has finished.
    #[must_use]
    pub fn remaining(&self) -> Option<Duration> {
        let rate = self.per_minute();
        (rate > 0.0).then(|| Duration::try_from_secs_f64((self.total - self.done) as f64 * 60.0 / rate).ok()).flatten()
    }

    fn count(&mut self, finished: &Finished) {
        let record = &finished.record;
        self.done += 1;
        self.from_journal += finished.from_journal;
        self.calls += record.calls.len();
        self.malformed += record.calls.iter().filter(|call| call.parsed == Parsed::Malformed).count();
        self.errors += usize::from(record.error.is_some());
        for call in &record.calls {
            self.usage += call.usage;
        }
    }
}

/// Asks every question that `writer` has not recorded yet and records each call as its reply arrives, and each question as
/// it finishes. Calls that an earlier run of the same record had made are not made again.
///
/// `progress` is called on this thread: at the start, after each record is on the disk, and a few times a second.
/// An error that belongs to one question ([`MootError::is_of_one_question`]) is recorded with it. Any other ends the run:
/// no question is started after it, those in flight are waited for and recorded, and the first such error is returned. Where
/// the record cannot be written, those in flight end with their stage.
///
/// # Errors
/// [`MootError::Interrupted`] after [`Run::stop`] was set with questions left; else the error that ended the run.
/// Everything recorded until then stays.
pub fn run(run: &Run<'_>, writer: &mut Writer, progress: &mut dyn FnMut(&Progress)) -> Result<Progress> {
    let left: Vec<&Question> = run.questions.iter().filter(|q| !writer.finished().contains(&q.id)).collect();
    let before = run.questions.len() - left.len();
    let mut state = Progress { total: run.questions.len(), done: before, before, ..Progress::default() };
    progress(&state);
    let work = Work {
        run,
        left: &left,
        journal: Mutex::new(writer.take_journal()),
        next: AtomicUsize::new(0),
        over: AtomicBool::new(false),
        lost: AtomicBool::new(false),
    };
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        for _ in 0..run.in_flight.max(1).min(left.len()) {
            let (sender, work) = (sender.clone(), &work);
            scope.spawn(move || work.answer_all(&sender));
        }
        drop(sender);
        record_all(&receiver, &work, writer, &mut state, progress)
    })?;
    if state.done < state.total {
        return Err(MootError::Interrupted);
    }
    Ok(state)
}

/// Records until every worker has ended. After the first error that ends a run no question is started; questions that
/// are being answered are still recorded when they finish.
fn record_all(
    receiver: &Receiver<Message>,
    work: &Work<'_>,
    writer: &mut Writer,
    state: &mut Progress,
    progress: &mut dyn FnMut(&Progress),
) -> Result<()> {
    let start = Instant::now();
    let mut failure = None;
    loop {
        let received = receiver.recv_timeout(TICK);
        state.elapsed = start.elapsed();
        state.stopping = work.run.stop.load(Ordering::Relaxed);
        let messages = match received {
            // What has arrived meanwhile goes to the disk in one write.
            Ok(first) => std::iter::once(first).chain(receiver.try_iter().take(AT_ONCE)).collect(),
            Err(RecvTimeoutError::Timeout) => Vec::new(),
            Err(RecvTimeoutError::Disconnected) => return failure.map_or(Ok(()), Err),
        };
        if let Err(error) = append(&messages, writer, state) {
            work.lost.store(true, Ordering::Relaxed);
            work.over.store(true, Ordering::Relaxed);
            failure.get_or_insert(error);
        }
        for message in messages {
            match message {
                Message::Failed(error) => drop(failure.get_or_insert(error)),
                Message::Settle(settled) => drop(settled.send(())),
                Message::Call { .. } | Message::Question(_) => {}
            }
        }
        progress(state);
    }
}

/// Most messages that are written at once.
const AT_ONCE: usize = 256;

/// Appends the calls and questions of `messages` in one write, and counts the questions.
fn append(messages: &[Message], writer: &mut Writer, state: &mut Progress) -> Result<()> {
    let entry = |message| match message {
        &Message::Call { ref of, entry, ref call, elapsed } => Some(Entry::Call { of, entry, call, elapsed }),
        Message::Question(finished) => Some(Entry::Question { record: &finished.record, entries: &finished.entries }),
        Message::Failed(_) | Message::Settle(_) => None,
    };
    let entries: Vec<Entry<'_>> = messages.iter().filter_map(entry).collect();
    if entries.is_empty() {
        return Ok(());
    }
    writer.append_all(&entries)?;
    for message in messages {
        if let Message::Question(finished) = message {
            state.count(finished);
        }
    }
    Ok(())
}

struct Work<'a> {
    run: &'a Run<'a>,
    left: &'a [&'a Question],
    /// Calls that earlier runs recorded of questions that they did not finish.
    journal: Mutex<Journal>,
    /// Index in `left` of the next question.
    next: AtomicUsize,
    /// The run failed; no further question is started.
    over: AtomicBool,
    /// The record cannot be written: questions in flight are of no use.
    lost: AtomicBool,
}

impl Work<'_> {
    /// Answers questions until none is left or the run stops.
    fn answer_all(&self, sender: &Sender<Message>) {
        while !self.stopped() {
            let Some(question) = self.left.get(self.next.fetch_add(1, Ordering::Relaxed)) else { return };
            if sender.send(self.answer(question, sender)).is_err() {
                return;
            }
        }
    }

    fn answer(&self, question: &Question, sender: &Sender<Message>) -> Message {
        let journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner).remove(&question.id);
        let desk = Desk::new(self, sender, &question.id, journal.unwrap_or_default());
        let tools = Tools { llm: &desk, ..self.run.tools };
        let (record, error) = match self.run.method.record(question, tools, self.run.settings, &desk) {
            (record, None) => (record, None),
            (record, Some(error)) if error.is_of_one_question() => (record, Some(error.to_string())),
            (_, Some(error)) => {
                // Set here, because this worker would start more questions before `record_all` receives the error.
                self.over.store(true, Ordering::Relaxed);
                return Message::Failed(error);
            }
        };
        let (entries, from_journal) = desk.entries();
        assert_eq!(entries.len(), record.calls.len(), "every recorded call was reported (bug)");
        let record = QuestionRecord { error, seconds: desk.elapsed(), ..record };
        Message::Question(Box::new(Finished { record, entries, from_journal }))
    }

    fn stopped(&self) -> bool {
        self.run.stop.load(Ordering::Relaxed) || self.over.load(Ordering::Relaxed)
    }
}
