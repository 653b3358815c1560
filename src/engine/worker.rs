//! The engine's thread: accepts requests, runs step after step, and sends the events.

use super::draft::Source;
use super::grammar::Grammars;
use super::next_token::{self, Next};
use super::reply::{complete, extend, report, scored};
use super::request::{Event, Request};
use super::runner::{self, Step};
use super::scheduler::{Chunk, Scheduler};
use super::sequence::Sequence;
use super::stats::Stats;
use crate::error::{MootError, Result};
use crate::generation::Finish;
use moot_models::{KvCache, Model, Replays};
use rayon::prelude::*;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};

/// How a step ended a sequence; `None` if it continues.
type Outcome = Result<Option<Finish>>;

/// State of the engine thread.
pub(super) struct Worker {
    pub model: Arc<Model>,
    pub kv: KvCache,
    pub replays: Replays,
    pub grammars: Grammars,
    pub scheduler: Scheduler,
    pub stats: Arc<Mutex<Stats>>,
}

impl Worker {
    /// Runs until the engine's handle is dropped and every request is answered.
    pub(super) fn serve(mut self, requests: &Receiver<Vec<Request>>) {
        while self.receive(requests) {
            // Before the step, so that waiting requests get the rows and pages of cancelled ones.
            self.drop_cancelled();
            self.step();
        }
    }

    /// One step of everything in flight.
    fn step(&mut self) {
        let chunks = self.scheduler.schedule();
        self.count_pages();
        let step = self.run(&chunks);
        let next = step.and_then(|step| step.map_or_else(|| Ok(Vec::new()), |step| self.sample(step)));
        self.extend(next);
    }

    /// Accepts submitted requests; blocks while there is nothing to do. False once the handle is dropped and all is done.
    fn receive(&mut self, requests: &Receiver<Vec<Request>>) -> bool {
        if self.scheduler.is_idle() {
            match requests.recv() {
                Ok(requests) => requests.into_iter().for_each(|request| self.accept(request)),
                Err(_) => return false,
            }
        }
        loop {
            match requests.try_recv() {
                Ok(requests) => requests.into_iter().for_each(|request| self.accept(request)),
                Err(TryRecvError::Empty) => return true,
                // The handle is dropped: requests in flight are still answered.
                Err(TryRecvError::Disconnected) => return !self.scheduler.is_idle(),
            }
        }
    }

    fn accept(&mut self, request: Request) {
        let constraint = self
            .check(&request)
            .and_then(|()| request.grammar.as_ref().map(|grammar| self.grammars.start(grammar)).transpose());
        self.stats.lock().unwrap_or_else(PoisonError::into_inner).grammars_compiled = self.grammars.compiled();
        match constraint {
            Ok(constraint) => self.scheduler.wait(Sequence::new(request, constraint)),
            Err(error) => report(&request, Event::Failed(error)),
        }
    }

    /// Whether `request` could ever run here. Its ids too: an unknown one would fail the whole step's forward.
    fn check(&self, request: &Request) -> Result<()> {
        let vocab = self.model.decoder.spec().vocab;
        // A token that is scored or watched needs logits, which rows that pad the embedding have not.
        let named = self.model.tokenizer.vocab_size().min(vocab);
        let watch = request.logprobs.as_ref().map_or(&[][..], |logprobs| &logprobs.watch);
        let ids = [("the prompt", &request.prompt[..], vocab), ("the prefill", &request.prefill, named)];
        for (part, ids, vocab) in ids.into_iter().chain([("the watch list", watch, named)]) {
            if let Some(id) = ids.iter().find(|&&id| id as usize >= vocab) {
                return Err(MootError::Usage(format!("token {id} of {part}: expected an id below {vocab}")));
            }
        }
        self.scheduler.check(request)
    }

    fn drop_cancelled(&mut self) {
        let cancelled = self.scheduler.drain(|sequence| sequence.request.cancel.is_cancelled());
        if !cancelled.is_empty() {
            self.count_pages();
        }
        for sequence in cancelled {
            report(&sequence.request, Event::Failed(MootError::Interrupted));
        }
    }

    fn run(&mut self, chunks: &[Chunk]) -> Result<Option<Step>> {
        if chunks.is_empty() {
            return Ok(None);
        }
        // Copies, so that the lock is not held while the step is computed, and a failed attempt is not counted.
        let before = self.stats();
        let attempt = |worker: &mut Self| worker.attempt(chunks, before);
        // Captured steps and unused memory may be what a step lacks. It writes the same keys and values again.
        let step = attempt_again(self, attempt, |worker| worker.replays.release(&worker.model.decoder));
        let (step, mut stats) = step.map_or_else(|error| (Err(error), before), |(step, stats)| (Ok(step), stats));
        stats.replays = self.replays.counts();
        stats.evicted = self.scheduler.tree.evicted();
        stats.freed_by_windows = self.scheduler.tree.freed_by_windows();
        if let Some(states) = &self.scheduler.tree.states {
            let counts = states.counts();
            (stats.states_kept, stats.states_reused, stats.states_evicted) =
                (counts.kept, counts.reused, counts.evicted);
        }
        *self.stats.lock().unwrap_or_else(PoisonError::into_inner) = stats;
        step.map(Some)
    }

    /// Computes `chunks`; with the counts after it.
    fn attempt(&mut self, chunks: &[Chunk], mut stats: Stats) -> Result<(Step, Stats)> {
        let (model, scheduler, memory) = (&self.model, &self.scheduler, (&self.kv, &mut self.replays));
        let step = if model.decoder.is_on_cpu() {
            // Run inside the pool; otherwise each of a step's hundreds of parallel loops wakes the pool from outside.
            rayon::scope(|_| runner::run(model, memory, scheduler, chunks, &mut stats))
        } else {
            // On this thread: what a GPU computes needs none of the pool's.
            runner::run(model, memory, scheduler, chunks, &mut stats)
        };
        step.map(|step| (step, stats))
    }

    /// Gives scores to their sequences, and its next token to each sequence that samples.
    fn sample(&mut self, step: Step) -> Result<Vec<Option<Next>>> {
        for (sequence, score) in step.scores {
            self.scheduler.running[sequence].scores.push(score);
        }
        let next = next_token::next(&step.logits, &step.sampling, &mut self.scheduler.running, &self.model);
        let mut stats = self.stats.lock().unwrap_or_else(PoisonError::into_inner);
        // Here and not after the forward pass: a GPU is done only once its tokens or logits have been read.
        stats.forward_seconds += step.started.elapsed().as_secs_f64();
        next
    }

    fn stats(&self) -> Stats {
        *self.stats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Samples for every row, sends the events, and takes out sequences that ended.
    fn extend(&mut self, next: Result<Vec<Option<Next>>>) {
        let next = match next {
            Ok(next) => next,
            Err(error) => return self.fail_all(&error),
        };
        let model = &self.model;
        let (outcomes, right): (Vec<Outcome>, Vec<(usize, Source)>) = self
            .scheduler
            .running
            // In parallel, since each mask and each sample read the whole vocabulary.
            .par_iter_mut()
            .zip(next)
            .map(|(sequence, next)| {
                let cached = sequence.cached;
                let outcome = match next {
                    Some(next) => extend(sequence, next, model),
                    None => scored(sequence, model),
                };
                // `extend` moves `cached` on by one for each right draft token.
                (outcome, (sequence.cached - cached, sequence.draft.source()))
            })
            .unzip();
        self.count_right(&right);
        let Scheduler { running, tree, .. } = &mut self.scheduler;
        for (sequence, (right, _)) in running.iter_mut().zip(&right) {
            sequence.settle_drafts(*right, tree);
        }
        let mut ended = Vec::new();
        // From the last one, so that earlier indices stay valid.
        for (index, outcome) in outcomes.into_iter().enumerate().rev() {
            if let Some(outcome) = outcome.transpose() {
                ended.push((self.scheduler.finish(index), outcome));
            }
        }
        self.count_pages();
        self.count_borrowed(&ended);
        // They were collected from the last one: events go out in the order of the sequences.
        for (sequence, outcome) in ended.into_iter().rev() {
            match outcome {
                Ok(finish) => complete(sequence, finish),
                Err(error) => report(&sequence.request, Event::Failed(error)),
            }
        }
    }

    /// Counts right draft tokens, with their sources.
    fn count_right(&self, right: &[(usize, Source)]) {
        let mut stats = self.stats.lock().unwrap_or_else(PoisonError::into_inner);
        for (count, source) in right {
            stats.decoded += count;
            stats.accepted += count;
            if *source == Source::Grammar {
                stats.accepted_by_grammar += count;
            }
        }
    }

    /// Counts prompt tokens that ended requests took over from requests of other groups. Before the events, as the pages.
    fn count_borrowed(&self, ended: &[(Sequence, Result<Finish>)]) {
        let borrowed: usize = ended.iter().map(|(sequence, _)| sequence.borrowed).sum();
        self.stats.lock().unwrap_or_else(PoisonError::into_inner).reused_across_groups += borrowed;
    }

    /// Counts pages in use. It goes before the events, so that the count is right once a request's last event is received.
    fn count_pages(&self) {
        let held = self.scheduler.pages_held();
        let mut stats = self.stats.lock().unwrap_or_else(PoisonError::into_inner);
        stats.pages_held = held;
        stats.peak_pages = stats.peak_pages.max(held);
    }

    /// A forward failed: pages may hold anything, so every request in flight fails and every cached prefix is dropped.
    fn fail_all(&mut self, error: &MootError) {
        // The error may be of sampling, which is not tried again.
        self.replays.release(&self.model.decoder);
        let all = self.scheduler.drain(|_| true);
        self.scheduler.tree.clear_unheld();
        self.count_pages();
        for sequence in all {
            // Errors cannot be cloned, so each request gets the text.
            report(&sequence.request, Event::Failed(MootError::Engine(error.to_string())));
        }
    }
}

/// `attempt`, and where it fails and `recover` says that this may help, once more.
fn attempt_again<W, T>(
    worker: &mut W,
    attempt: impl Fn(&mut W) -> Result<T>,
    recover: impl FnOnce(&mut W) -> bool,
) -> Result<T> {
    match attempt(worker) {
        Err(_) if recover(worker) => attempt(worker),
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_step_is_tried_once_more_where_that_may_help() {
        let tried = |failures: usize, recovers: bool| {
            let mut attempts = 0;
            let attempt = |attempts: &mut usize| {
                *attempts += 1;
                if *attempts <= failures { Err(MootError::Engine(format!("attempt {attempts}"))) } else { Ok(()) }
            };
            let done = attempt_again(&mut attempts, attempt, |_| recovers).map_err(|error| error.to_string());
            (attempts, done.err())
        };
        assert_eq!(tried(0, true), (1, None));
        assert_eq!(tried(1, true), (2, None));
        assert_eq!(tried(1, false).0, 1);
        let (attempts, error) = tried(2, true);
        assert!(attempts == 2 && error.is_some_and(|error| error.contains("attempt 2")));
    }
}
