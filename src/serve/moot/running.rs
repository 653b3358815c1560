//! Questions that are being answered: one can be paused before its next stage, and cancelled.

use crate::cancel::Cancel;
use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Interval at which a paused question looks whether it was cancelled.
const TICK: Duration = Duration::from_millis(200);

/// Holds a question between two stages while it is paused.
#[derive(Default)]
pub(super) struct Gate {
    paused: Mutex<bool>,
    changed: Condvar,
}

impl Gate {
    fn paused(&self) -> MutexGuard<'_, bool> {
        self.paused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set(&self, paused: bool) {
        *self.paused() = paused;
        self.changed.notify_all();
    }

    /// Waits while the question is paused; `told` is called when the wait begins and when it ends.
    pub(super) fn pass(&self, cancel: &Cancel, told: impl Fn(bool)) {
        let mut paused = self.paused();
        if !*paused {
            return;
        }
        told(true);
        while *paused && !cancel.is_cancelled() {
            // With a timeout, since a cancellation does not notify `changed`.
            (paused, _) = self.changed.wait_timeout(paused, TICK).unwrap_or_else(PoisonError::into_inner);
        }
        drop(paused);
        told(false);
    }
}

/// A question that is being answered.
#[derive(Clone)]
pub(super) struct Question {
    pub gate: Arc<Gate>,
    pub cancel: Cancel,
}

/// All questions that are being answered, by the id of their record.
#[derive(Default)]
pub(in crate::serve) struct Running(Mutex<HashMap<String, Question>>);

impl Running {
    fn all(&self) -> MutexGuard<'_, HashMap<String, Question>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The question that is being answered as `id`.
    pub(super) fn get(&self, id: &str) -> Option<Question> {
        self.all().get(id).cloned()
    }

    /// Lists a question until the entry is dropped.
    pub(super) fn enter(&self, id: &str, cancel: &Cancel) -> Entry<'_> {
        let gate: Arc<Gate> = Arc::default();
        self.all().insert(id.to_owned(), Question { gate: gate.clone(), cancel: cancel.clone() });
        Entry { running: self, id: id.to_owned(), gate }
    }
}

/// A question in the list.
pub(super) struct Entry<'a> {
    running: &'a Running,
    id: String,
    pub gate: Arc<Gate>,
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        self.running.all().remove(&self.id);
    }
}
