//! Many questions in flight, each on its own worker; the engine batches the calls that they make at the same time. Runs of
//! several methods go side by side, question by question, so that their common prefixes are in the cache.

mod desk;

use crate::error::{MootError, Result};
use crate::eval::record::reader::Journal;
use crate::eval::record::{Entry, Writer};
use crate::generation::Usage;
use crate::protocol::Built;
use crate::protocol::ctx::{Settings, Tools};
use crate::question::Question;
use crate::transcript::{Parsed, QuestionRecord};
use desk::{Desk, Finished, Message};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Interval of progress reports while no question finishes.
const TICK: Duration = Duration::from_millis(200);

/// Questions, method and tools of a run.
#[derive(Clone, Copy)]
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
    /// Those of them that were not made: their replies were taken over from equal calls.
    pub taken_over: usize,
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

    /// Several runs together: counts added up.
    #[must_use]
    pub fn sum(runs: &[Self]) -> Self {
        runs.iter().fold(Self::default(), |mut sum, one| {
            sum.total += one.total;
            sum.done += one.done;
            sum.before += one.before;
            sum.calls += one.calls;
            sum.taken_over += one.taken_over;
            sum.from_journal += one.from_journal;
            sum.malformed += one.malformed;
            sum.errors += one.errors;
            sum.usage += one.usage;
            sum.elapsed = sum.elapsed.max(one.elapsed);
            sum.stopping |= one.stopping;
            sum
        })
    }

    fn count(&mut self, finished: &Finished) {
        let record = &finished.record;
        self.done += 1;
        self.from_journal += finished.from_journal;
        self.calls += record.calls.len();
        self.taken_over += record.calls.iter().filter(|call| call.taken_from.is_some()).count();
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
    let ended = run_all(&[*run], &mut [writer], &mut |states| progress(&states[0]))?;
    Ok(Progress::sum(&ended))
}

/// As [`run`], for several runs with one record each: the first question by every method, then the second one, so that calls
/// with a common prefix are in flight at the same time. As many questions are in flight as the first run says, of all runs
/// together. What ends one run ends all.
///
/// # Errors
/// As [`run`].
pub fn run_all(
    runs: &[Run<'_>],
    writers: &mut [&mut Writer],
    progress: &mut dyn FnMut(&[Progress]),
) -> Result<Vec<Progress>> {
    assert_eq!(runs.len(), writers.len(), "every run has its record (bug)");
    let flags = Flags::default();
    let mut jobs: Vec<Job<'_>> = Vec::new();
    let mut works = Vec::with_capacity(runs.len());
    let mut states = Vec::with_capacity(runs.len());
    for (place, (run, writer)) in runs.iter().zip(writers.iter_mut()).enumerate() {
        let left = run.questions.iter().enumerate().filter(|(_, q)| !writer.finished().contains(&q.id));
        let before = jobs.len();
        jobs.extend(left.map(|(number, question)| Job { number, place, question }));
        let done = run.questions.len() - (jobs.len() - before);
        states.push(Progress { total: run.questions.len(), done, before: done, ..Progress::default() });
        works.push(Work { run, place, journal: Mutex::new(writer.take_journal()), flags: &flags });
    }
    jobs.sort_by_key(|job| (job.number, job.place));
    progress(&states);
    let (next, workers) = (AtomicUsize::new(0), runs.first().map_or(0, |run| run.in_flight.max(1)).min(jobs.len()));
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        for _ in 0..workers {
            let (sender, works, jobs, next) = (sender.clone(), &works, &jobs, &next);
            scope.spawn(move || answer_all(works, jobs, next, &sender));
        }
        drop(sender);
        record_all(&receiver, &works, writers, &mut states, progress)
    })?;
    if states.iter().any(|state| state.done < state.total) {
        return Err(MootError::Interrupted);
    }
    Ok(states)
}

/// A question to ask by one of the runs.
struct Job<'a> {
    /// The question's number in its run.
    number: usize,
    /// The run's place.
    place: usize,
    question: &'a Question,
}

/// Answers questions until none is left or the runs stop.
fn answer_all(works: &[Work<'_>], jobs: &[Job<'_>], next: &AtomicUsize, sender: &Sender<(usize, Message)>) {
    while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
        let work = &works[job.place];
        if work.stopped() || sender.send((job.place, work.answer(job, sender))).is_err() {
            return;
        }
    }
}

/// Records until every worker has ended. After the first error that ends a run no question is started; questions that
/// are being answered are still recorded when they finish.
fn record_all(
    receiver: &Receiver<(usize, Message)>,
    works: &[Work<'_>],
    writers: &mut [&mut Writer],
    states: &mut [Progress],
    progress: &mut dyn FnMut(&[Progress]),
) -> Result<()> {
    let start = Instant::now();
    let mut failure = None;
    loop {
        let received = receiver.recv_timeout(TICK);
        for (state, work) in states.iter_mut().zip(works) {
            state.elapsed = start.elapsed();
            state.stopping = work.run.stop.load(Ordering::Relaxed);
        }
        let messages: Vec<(usize, Message)> = match received {
            // What has arrived meanwhile goes to the disk in one write a record.
            Ok(first) => std::iter::once(first).chain(receiver.try_iter().take(AT_ONCE)).collect(),
            Err(RecvTimeoutError::Timeout) => Vec::new(),
            Err(RecvTimeoutError::Disconnected) => return failure.map_or(Ok(()), Err),
        };
        for (place, (writer, state)) in writers.iter_mut().zip(states.iter_mut()).enumerate() {
            if let Err(error) = append(&messages, place, writer, state) {
                works[place].flags.lost.store(true, Ordering::Relaxed);
                works[place].flags.over.store(true, Ordering::Relaxed);
                failure.get_or_insert(error);
            }
        }
        for (_, message) in messages {
            match message {
                Message::Failed(error) => drop(failure.get_or_insert(error)),
                Message::Settle(settled) => drop(settled.send(())),
                Message::Call { .. } | Message::Question(_) => {}
            }
        }
        progress(states);
    }
}

/// Most messages that are written at once.
const AT_ONCE: usize = 256;

/// Appends the calls and questions of run `place` among `messages` in one write, and counts the questions.
fn append(messages: &[(usize, Message)], place: usize, writer: &mut Writer, state: &mut Progress) -> Result<()> {
    let entry = |message| match message {
        &Message::Call { ref of, entry, ref call, elapsed } => Some(Entry::Call { of, entry, call, elapsed }),
        Message::Question(finished) => Some(Entry::Question { record: &finished.record, entries: &finished.entries }),
        Message::Failed(_) | Message::Settle(_) => None,
    };
    let own = || messages.iter().filter(|(of, _)| *of == place).map(|(_, message)| message);
    let entries: Vec<Entry<'_>> = own().filter_map(entry).collect();
    if entries.is_empty() {
        return Ok(());
    }
    writer.append_all(&entries)?;
    for message in own() {
        if let Message::Question(finished) = message {
            state.count(finished);
        }
    }
    Ok(())
}

/// What runs that go side by side have in common.
#[derive(Default)]
struct Flags {
    /// A run failed; no further question is started.
    over: AtomicBool,
    /// A record cannot be written: questions in flight are of no use.
    lost: AtomicBool,
}

struct Work<'a> {
    run: &'a Run<'a>,
    /// Its place among the runs.
    place: usize,
    /// Calls that earlier runs recorded of questions that they did not finish.
    journal: Mutex<Journal>,
    flags: &'a Flags,
}

impl Work<'_> {
    /// The group of its calls: prompt tokens that two runs share are counted apart.
    fn group(&self) -> u32 {
        u32::try_from(self.place).unwrap_or(u32::MAX)
    }

    fn answer(&self, job: &Job<'_>, sender: &Sender<(usize, Message)>) -> Message {
        let question = job.question;
        let journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner).remove(&question.id);
        let desk = Desk::new(self, sender, &question.id, journal.unwrap_or_default());
        let tools = Tools { llm: &desk, ..self.run.tools };
        let (record, error) = match self.run.method.record(question, tools, self.run.settings, &desk) {
            (record, None) => (record, None),
            (record, Some(error)) if error.is_of_one_question() => (record, Some(error.to_string())),
            (_, Some(error)) => {
                // Set here, because this worker would start more questions before `record_all` receives the error.
                self.flags.over.store(true, Ordering::Relaxed);
                return Message::Failed(error);
            }
        };
        let (entries, from_journal) = desk.entries();
        assert_eq!(entries.len(), record.calls.len(), "every recorded call was reported (bug)");
        let record = QuestionRecord { error, place: Some(job.number), seconds: desk.elapsed(), ..record };
        Message::Question(Box::new(Finished { record, entries, from_journal }))
    }

    fn stopped(&self) -> bool {
        self.run.stop.load(Ordering::Relaxed) || self.flags.over.load(Ordering::Relaxed)
    }
}
