//! The engine: one thread that decodes everything in flight together.
//!
//! A [`Request`] waits until its pages are reserved, runs chunk by chunk and token by token in batches with the other
//! requests, and sends its events through the sender inside it. Requests with a common prefix share its pages while they
//! run. A request can begin the reply with a prefill, and have every token of it scored.

mod detokenize;
mod draft;
mod grammar;
mod next_token;
mod prefix;
#[cfg(test)]
mod prefix_tests;
mod recurrence;
mod reply;
mod request;
mod runner;
mod sampler;
mod scheduler;
mod scoring;
mod sequence;
mod states;
mod stats;
mod windows;
mod worker;

pub use request::{Completion, Event, Request, Think, TokenLogprobs};
pub use scheduler::Limits;
pub use stats::Stats;

use crate::error::{MootError, Result};
use grammar::Grammars;
use moot_models::memory::DRAFT_STATES;
use moot_models::{Device, Model, Replays};
use scheduler::Scheduler;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use worker::Worker;

/// Options of an engine.
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
    /// Whether draft tokens are computed, where that changes no token; off only to measure what it gains.
    pub speculate: bool,
}

/// The options for the CPU; see [`EngineOptions::on`].
impl Default for EngineOptions {
    fn default() -> Self {
        Self::on(&Device::Cpu)
    }
}

impl EngineOptions {
    /// The options for a model on `device`. A GPU needs more tokens in a step than a CPU to be busy.
    #[must_use]
    pub(crate) fn on(device: &Device) -> Self {
        let step_tokens = if device.is_cpu() { 512 } else { 8192 };
        Self { kv_memory: 1 << 30, rows: 64, step_tokens, share_prefixes: true, speculate: true }
    }
}

/// The number of recurrent states of sequences and of copies at shared prefixes, and that of states before draft
/// tokens. A state has `state_bytes`. Together they take at most half of the KV memory, and no more states are made
/// than are useful: a running sequence needs one.
fn states(options: &EngineOptions, rows: usize, state_bytes: usize) -> (usize, usize) {
    /// Copies of states that are useful for a row: at the ends of its instructions, its document and its prompt.
    const COPIES: usize = 3;
    let most = if options.share_prefixes { rows.saturating_mul(1 + COPIES) } else { rows };
    // `state_bytes` is 0 for a model without recurrent states.
    let room = (options.kv_memory / 2).checked_div(state_bytes).unwrap_or(0);
    // A quarter at most: a copy saves a whole prefix, a draft token one row of a step.
    let drafts = if options.speculate { DRAFT_STATES.min(room / 4) } else { 0 };
    (most.min(room - drafts), drafts)
}

/// A handle to the engine thread; dropping it ends the thread once the requests in flight are done.
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
    /// KV memory for less than one page, or more than the device has; a vocabulary that llguidance refuses.
    pub fn start(model: Model, options: EngineOptions) -> Result<Self> {
        let model = Arc::new(model);
        let groups = model.decoder.page_groups();
        let (page_bytes, state_bytes) = (model.decoder.group_page_bytes(&groups), model.decoder.state_bytes());
        let rows = options.rows.max(1);
        // On a GPU a row's bits depend on the batch, so draft tokens could change a reply.
        let speculate = options.speculate && model.decoder.is_on_cpu();
        let (states, draft_states) = states(&EngineOptions { speculate, ..options }, rows, state_bytes);
        let pages = options.kv_memory.saturating_sub((states + draft_states) * state_bytes) / page_bytes;
        let given = options.kv_memory;
        if pages < groups.count() || (state_bytes > 0 && states == 0) {
            let needed = match state_bytes {
                0 => format!("one page of this model takes {} bytes", page_bytes * groups.count()),
                _ => format!(
                    "this model needs at least {} bytes, for one recurrent state and as much for pages",
                    2 * state_bytes.max(page_bytes)
                ),
            };
            return Err(MootError::Usage(format!("--kv-memory {given}: {needed}")));
        }
        let limits = Limits {
            rows,
            tokens: options.step_tokens.max(1),
            context: model.decoder.spec().context,
            pages,
            groups,
            states,
            draft_states,
            share: options.share_prefixes,
            separate: model.decoder.separates_prompts(),
            speculate,
        };
        let kv = model.decoder.kv_cache_in_groups(&groups, pages, states + draft_states)?;
        let grammars = Grammars::new(model.clone())?;
        let stats = Arc::new(Mutex::new(Stats::default()));
        let (sender, receiver) = channel();
        let (scheduler, replays) = (Scheduler::new(limits), Replays::default());
        let worker = Worker { model: model.clone(), kv, replays, grammars, scheduler, stats: stats.clone() };
        let thread = std::thread::Builder::new().name("engine".into()).spawn(move || worker.serve(&receiver));
        let thread = thread.map_err(|e| MootError::Engine(format!("its thread did not start: {e}")))?;
        Ok(Self { model, limits, requests: Some(sender), stats, thread: Some(thread) })
    }

    /// The model it runs.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Limits of a step and of memory.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Counts so far.
    #[must_use]
    pub fn stats(&self) -> Stats {
        *self.stats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Submits `request`; results and errors come through its events.
    ///
    /// # Errors
    /// The engine thread is gone.
    pub fn submit(&self, request: Request) -> Result<()> {
        self.submit_all(vec![request])
    }

    /// Builds a request from a sender of events with `make`, and runs it to its end; `on_event` receives its text as it
    /// is generated.
    ///
    /// # Errors
    /// Those of `make`; the request's own.
    pub fn run(
        &self,
        make: impl FnOnce(Sender<(usize, Event)>) -> Result<Request>,
        on_event: &mut dyn FnMut(&Event),
    ) -> Result<Completion> {
        let (events, inbox) = channel();
        self.submit(make(events)?)?;
        for (_, event) in inbox {
            on_event(&event);
            match event {
                Event::Done(done) => return Ok(done),
                Event::Failed(error) => return Err(error),
                Event::Text(_) | Event::Thought(_) => {}
            }
        }
        // No last event came: the engine's thread has ended and dropped the sender.
        Err(MootError::Interrupted)
    }

    /// Submits `requests` at once: no step sees some of them without the others, so they start side by side where rows and
    /// memory allow it.
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
        // Closing the channel ends the thread.
        self.requests = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been printed already.
            let _ = thread.join();
        }
    }
}
