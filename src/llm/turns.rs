//! Models that are loaded in turn, because they do not fit in memory together.
//!
//! One model is loaded at a time. Calls to it are answered; calls to another model wait. When the loaded model is idle, the
//! model with the most waiting calls replaces it. A question that waits for a model does nothing else, so all questions in
//! flight reach the same stage and one swap serves them all: a debate of three rounds costs six swaps for one question in
//! flight or for fifty. Looking ahead would save no swap, and swapping earlier would load a model for a single call.

use crate::cancel::Cancel;
use crate::engine::Stats;
use crate::error::{MootError, Result};
use crate::llm::{Call, Capabilities, Llm, ModelIdentity, OnFailure, OnReply, Reply};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Time that an idle model stays loaded while calls to others wait: a method that was just answered may call again once it
/// has parsed and recorded the reply and rendered the next prompt. Short compared with the time to load a model.
const LINGER: Duration = Duration::from_millis(100);

/// Loads a model.
pub type Loader = Box<dyn Fn() -> Result<Box<dyn Llm>> + Send + Sync>;

/// State shared by the models that take turns.
struct Turns {
    members: Vec<(ModelIdentity, Loader)>,
    state: Mutex<State>,
    changed: Condvar,
    cancel: Cancel,
}

struct State {
    loaded: Option<(usize, Arc<dyn Llm>)>,
    /// Stages that the loaded model is answering.
    busy: usize,
    /// End of the last of these stages.
    idle_since: Instant,
    /// Waiting calls by member.
    waiting: Vec<usize>,
    loads: usize,
    /// Statistics of each member's unloaded engines.
    stats: Vec<Option<Stats>>,
}

/// One of the models that take turns.
pub struct Turn {
    turns: Arc<Turns>,
    index: usize,
}

impl Turns {
    /// Waits until model `index` is loaded, and loads it when its turn has come. It stays loaded until the returned
    /// guard is dropped.
    fn enter(&self, index: usize, calls: usize) -> Result<Entered<'_>> {
        let mut state = self.lock();
        state.waiting[index] += calls;
        loop {
            if let Some(turn) = self.turn(&mut state, index).transpose() {
                state.waiting[index] -= calls;
                state.busy += usize::from(turn.is_ok());
                self.changed.notify_all();
                return turn.map(|llm| Entered { turns: self, llm: Some(llm) });
            }
            // Woken when a stage ends, and by a timeout that checks `LINGER`.
            state = self.changed.wait_timeout(state, LINGER / 4).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Model `index` if it is loaded or can be loaded now; `None` to keep waiting.
    fn turn(&self, state: &mut State, index: usize) -> Result<Option<Arc<dyn Llm>>> {
        if self.cancel.is_cancelled() {
            return Err(MootError::Interrupted);
        }
        match &state.loaded {
            Some((at, llm)) if *at == index => return Ok(Some(llm.clone())),
            _ if !state.is_free() || state.most_wanted() != index => return Ok(None),
            _ => {}
        }
        // Loads under the lock, because no call can be answered meanwhile. The old model is unloaded first: memory holds one.
        state.unload();
        let llm: Arc<dyn Llm> = (self.members[index].1)()?.into();
        state.loads += 1;
        state.loaded = Some((index, llm.clone()));
        Ok(Some(llm))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Whether another model may be loaded.
    fn is_free(&self) -> bool {
        self.busy == 0 && (self.loaded.is_none() || self.idle_since.elapsed() >= LINGER)
    }

    /// The member that most calls wait for; of equals the first.
    fn most_wanted(&self) -> usize {
        let by_calls = |&index: &usize| (self.waiting[index], std::cmp::Reverse(index));
        (0..self.waiting.len()).max_by_key(by_calls).unwrap_or(0)
    }

    fn unload(&mut self) {
        if let Some((index, llm)) = self.loaded.take() {
            let past = &mut self.stats[index];
            *past = [past.take(), llm.engine_stats()].into_iter().flatten().reduce(Stats::and);
        }
    }
}

/// A model that stays loaded while this lives.
struct Entered<'a> {
    turns: &'a Turns,
    llm: Option<Arc<dyn Llm>>,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        let mut state = self.turns.lock();
        // Dropped under the lock: with this handle alive, a model that the next turn unloads would stay in memory.
        self.llm = None;
        state.busy -= 1;
        state.idle_since = Instant::now();
        self.turns.changed.notify_all();
    }
}

impl Turn {
    /// One for each of `members`, whose identities are known before they are loaded. Nothing is loaded yet.
    #[must_use]
    pub fn each(members: Vec<(ModelIdentity, Loader)>, cancel: Cancel) -> Vec<Self> {
        let count = members.len();
        let state = State {
            loaded: None,
            busy: 0,
            idle_since: Instant::now(),
            waiting: vec![0; count],
            loads: 0,
            stats: vec![None; count],
        };
        let turns = Arc::new(Turns { members, state: Mutex::new(state), changed: Condvar::new(), cancel });
        (0..count).map(|index| Self { turns: turns.clone(), index }).collect()
    }

    /// Number of loads so far, of all models that take turns.
    #[must_use]
    pub fn loads(&self) -> usize {
        self.turns.lock().loads
    }
}

impl Llm for Turn {
    fn identity(&self) -> &ModelIdentity {
        &self.turns.members[self.index].0
    }

    /// Models that take turns are models of this process.
    fn capabilities(&self, _: &str) -> Capabilities {
        Capabilities::ALL
    }

    fn is_deterministic(&self, _: &str) -> bool {
        true
    }

    /// Waits for this model's turn: its vocabulary is not known before.
    fn token(&self, role: &str, text: &str) -> Option<u32> {
        let entered = self.turns.enter(self.index, 1).ok()?;
        entered.llm.as_ref()?.token(role, text)
    }

    fn answer(&self, calls: &[Call], on_failure: OnFailure, on_reply: &mut OnReply<'_>) -> Vec<Result<Reply>> {
        if calls.is_empty() {
            return Vec::new();
        }
        match self.turns.enter(self.index, calls.len()) {
            Ok(entered) => {
                let llm = entered.llm.as_ref().expect("an entered turn has its model (bug)");
                llm.answer(calls, on_failure, on_reply)
            }
            Err(error) => {
                let rest = calls.iter().skip(1).map(|_| Err(MootError::Interrupted));
                std::iter::once(Err(error)).chain(rest).collect()
            }
        }
    }

    fn engine_stats(&self) -> Option<Stats> {
        let state = self.turns.lock();
        let now = state.loaded.as_ref().filter(|(at, _)| *at == self.index).and_then(|(_, llm)| llm.engine_stats());
        [state.stats[self.index], now].into_iter().flatten().reduce(Stats::and)
    }
}
