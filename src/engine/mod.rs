//! The engine: one thread that decodes everything in flight together.
//!
//! A [`Request`] waits until its pages are sure, runs chunk by chunk and token by token in batches with whatever else
//! is ready, and reports through the sender inside it. Requests with a common prefix share its pages while they run.

mod detokenize;
mod draft;
mod draw;
mod grammar;
mod prefix;
mod request;
mod runner;
mod sampler;
mod scheduler;
mod sequence;
mod stats;

pub use request::{Cancel, Completion, Event, Request, Think, TokenLogprobs};
pub use scheduler::Limits;
pub use stats::Stats;

use crate::error::{MootError, Result};
use crate::llm::Finish;
use draw::Drawn;
use grammar::Grammars;
use moot_models::{KvCache, Model};
use rayon::prelude::*;
use runner::Step;
use scheduler::{Chunk, Scheduler};
use sequence::Sequence;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// How an engine is set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EngineOptions {
    /// Bytes of KV pages.
    pub kv_memory: usize,
    /// Sequences that run at once.
    pub rows: usize,
    /// Tokens of a step.
    pub step_tokens: usize,
    /// Whether prefixes are shared; off only to measure what sharing gains.
    pub share_prefixes: bool,
    /// Whether tokens are guessed ahead, where that changes none; off only to measure what it gains.
    pub speculate: bool,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self { kv_memory: 1 << 30, rows: 64, step_tokens: 512, share_prefixes: true, speculate: true }
    }
}

/// A handle to the engine thread; dropping it ends the thread once what is in flight is done.
#[derive(Debug)]
pub struct Engine {
    model: Arc<Model>,
    limits: Limits,
    requests: Option<Sender<Vec<Request>>>,
    stats: Arc<Mutex<Stats>>,
    thread: Option<JoinHandle<()>>,
}

impl Engine {
    /// Reserves KV memory and starts the thread.
    ///
    /// # Errors
    /// The memory does not hold one page, the device has not that much, or the vocabulary cannot carry grammars.
    pub fn start(model: Model, options: EngineOptions) -> Result<Self> {
        let model = Arc::new(model);
        let page_bytes = model.decoder.page_bytes();
        let pages = options.kv_memory / page_bytes;
        if pages == 0 {
            let given = options.kv_memory;
            return Err(MootError::Usage(format!(
                "--kv-memory {given}: one page of this model takes {page_bytes} bytes"
            )));
        }
        let limits = Limits {
            rows: options.rows.max(1),
            tokens: options.step_tokens.max(1),
            context: model.decoder.spec().context,
            pages,
            share: options.share_prefixes,
            // Elsewhere a row's bits depend on its company, and a guess would change what is said.
            speculate: options.speculate && model.decoder.is_on_cpu(),
        };
        let kv = model.decoder.kv_cache(pages)?;
        let grammars = Grammars::new(&model.tokenizer)?;
        let stats = Arc::new(Mutex::new(Stats::default()));
        let (sender, receiver) = channel();
        let worker =
            Worker { model: model.clone(), kv, grammars, scheduler: Scheduler::new(limits), stats: stats.clone() };
        let thread = std::thread::Builder::new().name("engine".into()).spawn(move || worker.serve(&receiver));
        let thread = thread.map_err(|e| MootError::Engine(format!("its thread did not start: {e}")))?;
        Ok(Self { model, limits, requests: Some(sender), stats, thread: Some(thread) })
    }

    /// The model it runs.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// What a step and the memory allow.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Counts so far.
    #[must_use]
    pub fn stats(&self) -> Stats {
        *self.stats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts `request` in line; everything else comes through its events.
    ///
    /// # Errors
    /// The engine thread is gone.
    pub fn submit(&self, request: Request) -> Result<()> {
        self.submit_all(vec![request])
    }

    /// Puts `requests` in line at once: no step sees some of them without the others, so they start side by side
    /// where rows and memory allow it.
    ///
    /// # Errors
    /// The engine thread is gone.
    pub fn submit_all(&self, requests: Vec<Request>) -> Result<()> {
        let gone = || MootError::Engine("its thread is gone".into());
        self.requests.as_ref().ok_or_else(gone)?.send(requests).map_err(|_| gone())
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.requests = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been printed; there is nobody left to tell.
            let _ = thread.join();
        }
    }
}

/// Whether a step ended a sequence, and how.
type Outcome = Result<Option<Finish>>;

/// What the engine thread owns.
struct Worker {
    model: Arc<Model>,
    kv: KvCache,
    grammars: Grammars,
    scheduler: Scheduler,
    stats: Arc<Mutex<Stats>>,
}

impl Worker {
    fn serve(mut self, requests: &Receiver<Vec<Request>>) {
        while self.receive(requests) {
            self.drop_cancelled();
            self.step();
        }
    }

    /// One step of everything in flight.
    fn step(&mut self) {
        let chunks = self.scheduler.schedule();
        self.count_pages();
        let step = self.run(&chunks);
        let drawn = step.and_then(|step| step.map_or_else(|| Ok(Vec::new()), |step| self.draw(&step)));
        self.settle(drawn);
    }

    /// Takes in what was submitted; blocks while there is nothing to do. False when nothing can come any more.
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
                Err(TryRecvError::Disconnected) => return !self.scheduler.is_idle(),
            }
        }
    }

    fn accept(&mut self, request: Request) {
        let constraint = self
            .check(&request)
            .and_then(|()| request.grammar.as_ref().map(|grammar| self.grammars.start(grammar)).transpose());
        match constraint {
            Ok(constraint) => self.scheduler.wait(Sequence::new(request, constraint)),
            Err(error) => report(&request, Event::Failed(error)),
        }
    }

    /// Whether `request` could ever run here. Its ids too: an unknown one would fail the whole step's forward.
    fn check(&self, request: &Request) -> Result<()> {
        let vocab = self.model.decoder.spec().vocab;
        if let Some(id) = request.prompt.iter().find(|&&id| id as usize >= vocab) {
            return Err(MootError::Usage(format!("token {id} of the prompt: the model knows those below {vocab}")));
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
        let mut stats = self.stats();
        let (decoder, kv, scheduler) = (&self.model.decoder, &self.kv, &self.scheduler);
        let step = if decoder.is_on_cpu() {
            // Inside the pool: each of a step's hundreds of small parallel loops would else wake it from outside.
            rayon::scope(|_| runner::run(decoder, kv, scheduler, chunks, &mut stats))
        } else {
            // Here: a GPU keeps the order of what one thread asks of it, and no other.
            runner::run(decoder, kv, scheduler, chunks, &mut stats)
        };
        stats.evicted = self.scheduler.tree.evicted();
        *self.stats.lock().unwrap_or_else(PoisonError::into_inner) = stats;
        step.map(Some)
    }

    fn draw(&mut self, step: &Step) -> Result<Vec<Option<Drawn>>> {
        let drawn = draw::draw(&step.logits, &step.places, &mut self.scheduler.running, &self.model);
        let mut stats = self.stats.lock().unwrap_or_else(PoisonError::into_inner);
        stats.forward_seconds += step.started.elapsed().as_secs_f64();
        drawn
    }

    fn stats(&self) -> Stats {
        *self.stats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Samples for every row, tells the askers, and lets go of what has ended.
    fn settle(&mut self, drawn: Result<Vec<Option<Drawn>>>) {
        let drawn = match drawn {
            Ok(drawn) => drawn,
            Err(error) => return self.fail_all(&error),
        };
        let model = &self.model;
        let (outcomes, right): (Vec<Option<Outcome>>, Vec<usize>) = self
            .scheduler
            .running
            .par_iter_mut()
            .zip(drawn)
            .map(|(sequence, drawn)| {
                let cached = sequence.cached;
                (drawn.map(|drawn| extend(sequence, drawn, model)), sequence.cached - cached)
            })
            .unzip();
        self.count_right(right.iter().sum());
        let mut ended = Vec::new();
        // From the last, so that the places before stay true.
        for (place, outcome) in outcomes.into_iter().enumerate().rev() {
            if let Some(outcome) = outcome.and_then(Result::transpose) {
                ended.push((self.scheduler.finish(place), outcome));
            }
        }
        self.count_pages();
        for (sequence, outcome) in ended.into_iter().rev() {
            match outcome {
                Ok(finish) => complete(sequence, finish),
                Err(error) => report(&sequence.request, Event::Failed(error)),
            }
        }
    }

    fn count_right(&self, guesses: usize) {
        let mut stats = self.stats.lock().unwrap_or_else(PoisonError::into_inner);
        stats.decoded += guesses;
        stats.guessed_right += guesses;
    }

    /// Counts pages in use: before events go out, so that whoever has the last of them finds every page given back.
    fn count_pages(&self) {
        let held = self.scheduler.pages_held();
        let mut stats = self.stats.lock().unwrap_or_else(PoisonError::into_inner);
        stats.pages_held = held;
        stats.peak_pages = stats.peak_pages.max(held);
    }

    /// A forward failed: pages may hold anything, so every request in flight ends and every prefix is forgotten.
    fn fail_all(&mut self, error: &MootError) {
        let all = self.scheduler.drain(|_| true);
        self.scheduler.tree.clear_unheld();
        self.count_pages();
        for sequence in all {
            report(&sequence.request, Event::Failed(MootError::Engine(error.to_string())));
        }
    }
}

/// Goes on with what was drawn for `sequence`: from logits after guessed tokens as long as the one before was guessed right.
/// Whether that ended it.
fn extend(sequence: &mut Sequence, drawn: Drawn, model: &Model) -> Result<Option<Finish>> {
    let rows = match drawn {
        Drawn::Logits(rows) => rows,
        Drawn::Token(token) => return say(sequence, token.ok_or_else(|| unsound(model))?, model),
        Drawn::Failed(error) => return Err(error),
    };
    for (place, logits) in rows.into_iter().enumerate() {
        let known = sequence.tokens.len();
        let token = choose(sequence, logits, model)?.ok_or_else(|| unsound(model))?;
        let finish = say(sequence, token, model)?;
        if finish.is_some() {
            return Ok(finish);
        }
        // A token more than the one chosen, or none, is a turn that no guess has foreseen.
        let chosen = match &sequence.tokens[known..] {
            [token] => Some(*token),
            _ => None,
        };
        if !sequence.draft.learn(place, chosen) {
            break;
        }
        sequence.cached += 1;
    }
    Ok(None)
}

/// The next token of `sequence`; `None` where no allowed logit is a number.
fn choose(sequence: &mut Sequence, mut logits: Vec<f32>, model: &Model) -> Result<Option<u32>> {
    // Rows beyond the vocabulary pad the embedding; they stand for nothing.
    logits.truncate(model.tokenizer.vocab_size());
    let replies = sequence.thinking.is_none();
    let original = sequence.request.logprobs.filter(|_| replies).map(|count| (logits.clone(), count));
    if let Some(constraint) = sequence.constraint.as_mut().filter(|_| replies) {
        constraint.mask(&mut logits)?;
    }
    if sequence.request.ignore_eos {
        model.tokenizer.eos_ids().iter().for_each(|&id| logits[id as usize] = f32::NEG_INFINITY);
    }
    let token = sequence.sampler.choose(&logits);
    if let (Some((logits, count)), Some(token)) = (original, token) {
        sequence.logprobs.push(sampler::logprobs(&logits, token, count));
    }
    Ok(token)
}

/// Adds one token to `sequence`; whether that ended it.
fn say(sequence: &mut Sequence, token: u32, model: &Model) -> Result<Option<Finish>> {
    if sequence.thinking.is_some() {
        return think(sequence, token, model).map(|()| None);
    }
    let eos = model.tokenizer.eos_ids();
    sequence.tokens.push(token);
    let ended = eos.contains(&token);
    let mut bytes = model.tokenizer.decode_bytes(&[token]);
    // A reply is a text of its own: the space that SentencePiece begins it with is no part of it.
    if sequence.replied() == 1 && model.tokenizer.leading_space() && bytes.first() == Some(&b' ') {
        bytes.remove(0);
    }
    let stopped = !ended && sequence.detokenizer.push(&bytes);
    let complete = match &mut sequence.constraint {
        Some(constraint) => constraint.accept(token)?,
        None => false,
    };
    if ended || stopped || complete {
        return Ok(Some(Finish::Stop));
    }
    if let Some(text) = sequence.detokenizer.ready() {
        report(&sequence.request, Event::Text(text));
    }
    Ok((sequence.replied() == sequence.request.max_tokens).then_some(Finish::Length))
}

/// Adds one token to what `sequence` thinks. A thought ends with its mark, with its budget, or where the model would
/// end its turn without a reply; then the reply's first token is next.
fn think(sequence: &mut Sequence, token: u32, model: &Model) -> Result<()> {
    let eos = model.tokenizer.eos_ids();
    let asked = sequence.request.think.as_ref().expect("who thinks was asked to (bug)");
    let text = sequence.thinking.as_mut().expect("a sequence that thinks has thoughts (bug)");
    let over = eos.contains(&token);
    let closed = asked.close_id == Some(token) || (!over && text.push(&model.tokenizer.decode_bytes(&[token])));
    if let Some(more) = text.ready() {
        report(&sequence.request, Event::Thought(more));
    }
    let spent = sequence.generated().len() + 1 >= asked.tokens;
    let next = match (closed, over || spent) {
        (true, _) => Some((asked.after.clone(), false)),
        (false, true) => Some((asked.forced.clone(), !over)),
        (false, false) => None,
    };
    if !over {
        sequence.tokens.push(token);
    }
    if let Some((tokens, cut)) = next
        && let Some(rest) = sequence.begin_reply(&tokens, cut)
    {
        report(&sequence.request, Event::Thought(rest));
    }
    Ok(())
}

fn unsound(model: &Model) -> MootError {
    MootError::Engine(format!("{} gives no token a finite logit: are its weights sound?", model.path.display()))
}

fn complete(mut sequence: Sequence, finish: Finish) {
    let (rest, text) = std::mem::take(&mut sequence.detokenizer).finish();
    if let Some(rest) = rest {
        report(&sequence.request, Event::Text(rest));
    }
    let completion = Completion {
        text,
        thoughts: sequence.thoughts.take(),
        tokens: sequence.generated().to_vec(),
        finish,
        usage: sequence.usage(),
        logprobs: std::mem::take(&mut sequence.logprobs),
        seconds: sequence.submitted.elapsed().as_secs_f64(),
    };
    report(&sequence.request, Event::Done(completion));
}

/// Sends an event; an asker that has gone away wants no more of them.
fn report(request: &Request, event: Event) {
    if request.events.send((request.tag, event)).is_err() {
        request.cancel.cancel();
    }
}
