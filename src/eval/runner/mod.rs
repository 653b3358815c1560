//! Many questions in flight, each on its own worker; the engine batches the calls that they make at the same time. Runs of
//! several methods go side by side, question by question, so that their common prefixes are in the cache.

mod desk;
mod progress;
mod work;

pub use progress::Progress;
pub use work::Run;

use crate::error::{MootError, Result};
use crate::eval::record::{Entry, Writer};
use crate::protocol::ctx::Tools;
use crate::question::Question;
use crate::threads;
use crate::transcript::QuestionRecord;
use desk::{Desk, Finished, Message};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use work::{Flags, Work};

/// Interval of progress reports while no question finishes.
const TICK: Duration = Duration::from_millis(200);

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
    for (index, (run, writer)) in runs.iter().zip(writers.iter_mut()).enumerate() {
        let left = run.questions.iter().enumerate().filter(|(_, q)| !writer.finished().contains(&q.id));
        let before = jobs.len();
        jobs.extend(left.map(|(number, question)| Job { number, run: index, question }));
        // The line of the last of these questions marks the end of the run.
        writer.ends_after(jobs.len() - before);
        let done = run.questions.len() - (jobs.len() - before);
        states.push(Progress { total: run.questions.len(), done, before: done, ..Progress::default() });
        works.push(Work { run, index, journal: Mutex::new(writer.take_journal()), flags: &flags });
    }
    jobs.sort_by_key(|job| (job.number, job.run));
    progress(&states);
    let workers = runs.first().map_or(0, |run| run.in_flight.max(1));
    let answer_next = |index: usize, sender: &Sender<(usize, Message)>| {
        let job = &jobs[index];
        let work = &works[job.run];
        !work.stopped() && sender.send((job.run, answer(work, job, sender))).is_ok()
    };
    threads::for_each(jobs.len(), workers, answer_next, |receiver| {
        record_all(receiver, &works, writers, &mut states, progress)
    })??;
    if states.iter().any(|state| state.done < state.total) {
        return Err(MootError::Interrupted);
    }
    Ok(states)
}

/// A question to ask by one of the runs.
struct Job<'a> {
    /// The question's number in its run.
    number: usize,
    /// The run's index.
    run: usize,
    question: &'a Question,
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
        // Returns without a message too, so that the elapsed time is shown.
        let received = receiver.recv_timeout(TICK);
        for (state, work) in states.iter_mut().zip(works) {
            state.elapsed = start.elapsed();
            state.stopping = work.run.stop.load(Ordering::Relaxed);
        }
        let messages: Vec<(usize, Message)> = match received {
            // All messages that have arrived are written at once, one write a record.
            Ok(first) => std::iter::once(first).chain(receiver.try_iter().take(AT_ONCE)).collect(),
            Err(RecvTimeoutError::Timeout) => Vec::new(),
            Err(RecvTimeoutError::Disconnected) => return failure.map_or(Ok(()), Err),
        };
        for (index, (writer, state)) in writers.iter_mut().zip(states.iter_mut()).enumerate() {
            if let Err(error) = append(&messages, &works[index], writer, state) {
                works[index].flags.lost.store(true, Ordering::Relaxed);
                works[index].flags.over.store(true, Ordering::Relaxed);
                failure.get_or_insert(error);
            }
        }
        // After the write: `Message::Settle` is answered when everything before it is on the disk.
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

/// Appends the calls and questions of `work` among `messages` in one write, counts the questions, and shows them.
fn append(messages: &[(usize, Message)], work: &Work<'_>, writer: &mut Writer, state: &mut Progress) -> Result<()> {
    let entry = |message| match message {
        &Message::Call { ref of, entry, ref call, elapsed } => Some(Entry::Call { of, entry, call, elapsed }),
        Message::Question(finished) => Some(Entry::Question { record: &finished.record, entries: &finished.entries }),
        Message::Failed(_) | Message::Settle(_) => None,
    };
    let own = || messages.iter().filter(|(of, _)| *of == work.index).map(|(_, message)| message);
    let entries: Vec<Entry<'_>> = own().filter_map(entry).collect();
    if entries.is_empty() {
        return Ok(());
    }
    writer.append_all(&entries)?;
    for message in own() {
        if let Message::Question(finished) = message {
            state.count(&finished.record, finished.from_journal);
            work.run.recorded.iter().for_each(|shown| shown(&finished.record));
        }
    }
    Ok(())
}

/// Answers one question, and reports each of its calls to `sender`.
fn answer(work: &Work<'_>, job: &Job<'_>, sender: &Sender<(usize, Message)>) -> Message {
    let question = job.question;
    let journal = work.journal.lock().unwrap_or_else(PoisonError::into_inner).remove(&question.id);
    let desk = Desk::new(work, sender, &question.id, journal.unwrap_or_default());
    let tools = Tools { llm: &desk, ..work.run.tools };
    let (record, error) = match work.run.method.record(question, tools, work.run.settings, &desk) {
        (record, None) => (record, None),
        (record, Some(error)) if error.is_of_one_question() => (record, Some(error.to_string())),
        (_, Some(error)) => {
            // Set here, because this worker would start more questions before `record_all` receives the error.
            work.flags.over.store(true, Ordering::Relaxed);
            return Message::Failed(error);
        }
    };
    let (entries, from_journal) = desk.entries();
    assert_eq!(entries.len(), record.calls.len(), "every recorded call was reported (bug)");
    let record = QuestionRecord { error, place: Some(job.number), seconds: desk.elapsed(), ..record };
    Message::Question(Box::new(Finished { record, entries, from_journal }))
}
