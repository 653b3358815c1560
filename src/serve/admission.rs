//! Admission of requests: limits on running and waiting ones; each ends when its client leaves or its time is over.

use crate::cancel::Cancel;
use crate::serve::options::Limits;
use crate::serve::refusal::{Answer, Refusal};
use axum::http::StatusCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Seconds after which a refused client may try again.
const AGAIN: u32 = 2;

/// The slots of requests that compute.
pub(super) struct Admission {
    slots: Arc<Semaphore>,
    at_once: usize,
    most_waiting: usize,
    waiting: AtomicUsize,
}

impl Admission {
    pub(super) fn new(limits: &Limits) -> Self {
        let slots = Arc::new(Semaphore::new(limits.at_once));
        Self { slots, at_once: limits.at_once, most_waiting: limits.waiting, waiting: AtomicUsize::new(0) }
    }

    /// A slot, in the order of arrival; it is free again when the permit is dropped.
    pub(super) async fn enter(&self) -> Answer<OwnedSemaphorePermit> {
        // This overtakes no request that waits: tokio gives a permit that is returned to the first of them.
        if let Ok(permit) = self.slots.clone().try_acquire_owned() {
            return Ok(permit);
        }
        let Some(_waits) = Waits::of(self) else {
            let busy = format!("{} requests are answered and {} wait", self.at_once, self.most_waiting);
            return Err(Refusal::busy(StatusCode::TOO_MANY_REQUESTS, &busy, AGAIN));
        };
        // Not reached: nothing closes the semaphore.
        let closed = |_| Refusal::busy(StatusCode::SERVICE_UNAVAILABLE, "the server ends", AGAIN);
        self.slots.clone().acquire_owned().await.map_err(closed)
    }

    /// Requests that are answered now.
    pub(super) fn running(&self) -> usize {
        self.at_once - self.slots.available_permits()
    }

    /// Requests that wait for a slot.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }
}

/// Counts a request that waits, until it is dropped: the client may leave while it does.
struct Waits<'a>(&'a AtomicUsize);

impl<'a> Waits<'a> {
    fn of(admission: &'a Admission) -> Option<Self> {
        let one_more = |waiting| (waiting < admission.most_waiting).then_some(waiting + 1);
        let counted = admission.waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more);
        counted.ok().map(|_| Self(&admission.waiting))
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Cancels the work of a request when it is dropped: its client has left, or its time is over.
pub(super) struct Leave {
    cancel: Cancel,
    done: bool,
}

impl Leave {
    pub(super) fn new(cancel: &Cancel) -> Self {
        Self { cancel: cancel.clone(), done: false }
    }

    /// The work is done: nothing is cancelled.
    pub(super) fn done(&mut self) {
        self.done = true;
    }
}

impl Drop for Leave {
    fn drop(&mut self) {
        if !self.done {
            self.cancel.cancel();
        }
    }
}

/// Cancels `cancel` after `seconds`, unless the task is aborted before.
pub(super) fn end_after(seconds: u64, cancel: &Cancel) -> Timer {
    let cancel = cancel.clone();
    Timer(tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        cancel.cancel();
    }))
}

/// Ends with the request.
pub(super) struct Timer(tokio::task::JoinHandle<()>);

impl Drop for Timer {
    fn drop(&mut self) {
        // Dropping the handle alone would leave the task running until the limit.
        self.0.abort();
    }
}
