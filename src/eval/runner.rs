//! Many questions in flight, each on its own worker; the engine below batches whatever they ask at once.

use crate::error::{MootError, Result};
use crate::eval::record::{Parsed, QuestionRecord, Writer};
use crate::llm::{Call, Llm, ModelIdentity, Reply, Usage};
use crate::methods::ctx::{Settings, Silent};
use crate::methods::{Ctx, Method};
use crate::question::Question;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

/// How often progress is told while no question finishes.
const TICK: Duration = Duration::from_millis(200);

/// What is asked, how, and of whom.
pub struct Run<'a> {
    /// Those that the record holds already are passed over.
    pub questions: &'a [Question],
    /// How each is answered.
    pub method: &'a dyn Method,
    /// Who answers calls.
    pub llm: &'a dyn Llm,
    /// What every method obeys.
    pub settings: &'a Settings,
    /// Questions at once; at least 1.
    pub in_flight: usize,
    /// Set from outside to end early: no question and no stage is started after it.
    pub stop: &'a AtomicBool,
}

/// How far a run is.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Progress {
    /// Questions in all.
    pub total: usize,
    /// Questions recorded, those of earlier runs included.
    pub done: usize,
    /// Questions recorded before this run began.
    pub before: usize,
    /// Calls of this run.
    pub calls: usize,
    /// Replies of this run that did not keep their format.
    pub malformed: usize,
    /// Questions of this run recorded with an error.
    pub errors: usize,
    /// Tokens of this run.
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

    fn count(&mut self, record: &QuestionRecord) {
        self.done += 1;
        self.calls += record.calls.len();
        self.malformed += record.calls.iter().filter(|call| call.parsed == Parsed::Malformed).count();
        self.errors += usize::from(record.error.is_some());
        for call in &record.calls {
            self.usage += call.usage;
        }
    }
}

/// Asks every question that `writer` has not recorded yet and records each as it finishes.
///
/// `progress` is called on this thread: at the start, after each record is on the disk, and a few times a second.
/// An error that belongs to one question (a document too long for the model) is recorded with it; one that would
/// befall the next just the same (the engine, the weights, the disk) ends the run.
///
/// # Errors
/// [`MootError::Interrupted`] after [`Run::stop`] was set with questions left; else the error that ended the run.
/// Everything recorded until then stays.
pub fn run(run: &Run<'_>, writer: &mut Writer, progress: &mut dyn FnMut(&Progress)) -> Result<Progress> {
    let left: Vec<&Question> = run.questions.iter().filter(|q| !writer.finished().contains(&q.id)).collect();
    let before = run.questions.len() - left.len();
    let mut state = Progress { total: run.questions.len(), done: before, before, ..Progress::default() };
    progress(&state);
    let work = Work { run, left: &left, next: AtomicUsize::new(0), over: AtomicBool::new(false) };
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        for _ in 0..run.in_flight.max(1).min(left.len()) {
            let (sender, work) = (sender.clone(), &work);
            scope.spawn(move || work.labour(&sender));
        }
        drop(sender);
        let recorded = record_all(&receiver, &work, writer, &mut state, progress);
        // Whatever ended the recording, workers still at it must not start anything more.
        work.over.store(true, Ordering::Relaxed);
        recorded
    })?;
    if state.done < state.total {
        return Err(MootError::Interrupted);
    }
    Ok(state)
}

/// Records until every worker has hung up, or the first error that ends a run.
fn record_all(
    receiver: &Receiver<Result<QuestionRecord>>,
    work: &Work<'_>,
    writer: &mut Writer,
    state: &mut Progress,
    progress: &mut dyn FnMut(&Progress),
) -> Result<()> {
    let start = Instant::now();
    loop {
        let received = receiver.recv_timeout(TICK);
        state.elapsed = start.elapsed();
        state.stopping = work.run.stop.load(Ordering::Relaxed);
        match received {
            Ok(Ok(record)) => {
                writer.append(&record)?;
                state.count(&record);
            }
            Ok(Err(e)) => return Err(e),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
        progress(state);
    }
}

struct Work<'a> {
    run: &'a Run<'a>,
    left: &'a [&'a Question],
    /// The next place in `left` that no worker has taken.
    next: AtomicUsize,
    /// The run failed elsewhere.
    over: AtomicBool,
}

impl Work<'_> {
    fn labour(&self, sender: &Sender<Result<QuestionRecord>>) {
        while !self.stopped() {
            let Some(question) = self.left.get(self.next.fetch_add(1, Ordering::Relaxed)) else { return };
            if sender.send(self.answer(question)).is_err() {
                return;
            }
        }
    }

    fn answer(&self, question: &Question) -> Result<QuestionRecord> {
        let start = Instant::now();
        let llm = Stoppable { work: self };
        let mut ctx = Ctx::new(&llm, self.run.settings, &Silent);
        let answered = self.run.method.answer(question, &mut ctx);
        let (conclusion, error) = match answered {
            Ok(conclusion) => (Some(conclusion), None),
            Err(e) if ends_run(&e) => return Err(e),
            Err(e) => (None, Some(e.to_string())),
        };
        let calls = ctx.into_calls();
        let seconds = start.elapsed().as_secs_f64();
        Ok(QuestionRecord { question: question.clone(), conclusion, error, calls, seconds })
    }

    fn stopped(&self) -> bool {
        self.run.stop.load(Ordering::Relaxed) || self.over.load(Ordering::Relaxed)
    }
}

/// The next question would fail in the same way, and recording the failure would make it final.
fn ends_run(e: &MootError) -> bool {
    match e {
        MootError::Interrupted | MootError::Engine(_) | MootError::Model(_) | MootError::Io { .. } => true,
        MootError::Remote { kind, .. } => kind.befalls_all(),
        _ => false,
    }
}

/// The model of a run that may end early: a question in flight gets no further than its stage.
struct Stoppable<'a> {
    work: &'a Work<'a>,
}

impl Llm for Stoppable<'_> {
    fn identity(&self) -> &ModelIdentity {
        self.work.run.llm.identity()
    }

    fn identity_of(&self, role: &str) -> &ModelIdentity {
        self.work.run.llm.identity_of(role)
    }

    fn ask_all(&self, calls: &[Call], on_reply: &mut dyn FnMut(usize, &Reply)) -> Result<Vec<Reply>> {
        if self.work.stopped() {
            return Err(MootError::Interrupted);
        }
        self.work.run.llm.ask_all(calls, on_reply)
    }
}
