//! State that all requests share.

use crate::cancel::Cancel;
use crate::error::MootError;
use crate::llm::{Llm, ModelIdentity};
use crate::serve::admission::{Admission, Leave, end_after};
use crate::serve::key::Key;
use crate::serve::metrics::Metrics;
use crate::serve::moot::records::Records;
use crate::serve::options::Limits;
use crate::serve::refusal::{Answer, Refusal};
use crate::serve::stream::{self, Events};
use crate::workspace::{Watch, Workspace};
use axum::http::StatusCode;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Large bodies that are read at once.
const LARGE_AT_ONCE: usize = 16;

/// State that all requests share.
pub(super) struct State {
    /// Empty while the models are loaded. The log comes with the workspace.
    opened: OnceLock<(Workspace, Arc<dyn Watch>)>,
    pub(super) limits: Limits,
    pub(super) admission: Admission,
    pub(super) metrics: Metrics,
    pub(super) records: Records,
    pub(super) key: Option<Key>,
    /// Lower-case names by which clients may call this server.
    pub(super) names: Vec<String>,
    /// Ends the work of all requests.
    cancel: Cancel,
    /// Large bodies that are read at once.
    pub(super) large: Semaphore,
}

impl State {
    pub(super) fn new(limits: Limits, key: Option<Key>, names: &[String], records: Records, cancel: &Cancel) -> Self {
        Self {
            opened: OnceLock::new(),
            admission: Admission::new(&limits),
            metrics: Metrics::default(),
            records,
            key,
            names: names.iter().map(|name| name.to_ascii_lowercase()).collect(),
            limits,
            cancel: cancel.clone(),
            large: Semaphore::new(LARGE_AT_ONCE),
        }
    }

    /// A token for the work of one request.
    pub(super) fn child(&self) -> Cancel {
        self.cancel.child()
    }

    /// The models are loaded; `log` receives lines for the server's own user.
    pub(super) fn open(&self, workspace: Workspace, log: Arc<dyn Watch>) {
        // Called once.
        let _ = self.opened.set((workspace, log));
    }

    /// A line for the server's own user.
    pub(super) fn log(&self, line: &str) {
        if let Some((_, log)) = self.opened.get() {
            log.note(line);
        }
    }

    /// The workspace.
    ///
    /// # Errors
    /// 503 while the models are loaded.
    pub(super) fn workspace(&self) -> Answer<&Workspace> {
        let loading = || Refusal::busy(StatusCode::SERVICE_UNAVAILABLE, "the models are being loaded", 1);
        self.opened.get().map(|(workspace, _)| workspace).ok_or_else(loading)
    }

    /// The name by which clients ask for a model: of a file or a folder its last part, since its path is the server's own.
    pub(super) fn served(identity: &ModelIdentity) -> &str {
        let name = identity.name.as_str();
        if name.starts_with("hf:") || name.contains("://") {
            return name;
        }
        name.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().unwrap_or(name)
    }

    /// Runs `work` on the workspace; with `model`, on one in which that model has every role.
    ///
    /// # Errors
    /// 503 while the models are loaded, 404 for a model that is not loaded.
    pub(super) fn on_model<T>(&self, model: Option<&str>, work: impl FnOnce(&Workspace) -> T) -> Answer<T> {
        let workspace = self.workspace()?;
        let Some(name) = model.filter(|name| !name.is_empty()) else { return Ok(work(workspace)) };
        let alone = workspace.of_model(|identity| Self::served(identity) == name);
        alone.map(|alone| work(&alone)).ok_or_else(|| Self::unknown(workspace, name, ""))
    }

    /// The refusal of a model that is not loaded; `also` says what else is a model.
    fn unknown(workspace: &Workspace, name: &str, also: &str) -> Refusal {
        let models = workspace.models().models();
        let known = models.map(|model| Self::served(model.identity())).collect::<Vec<_>>().join(", ");
        let found = crate::escape::beginning(name, 100);
        Refusal::missing(format!("model: expected one of {known}{also}, found {found:?}"))
    }

    /// The model of this name, of those that the server was started with; the first one where no name is given.
    pub(super) fn model(&self, name: Option<&str>) -> Answer<&dyn Llm> {
        let workspace = self.workspace()?;
        let models = workspace.models();
        let named = |name: &str| models.models().find(|model| Self::served(model.identity()) == name);
        match name.filter(|name| !name.is_empty()) {
            None => models.models().next().ok_or_else(|| Refusal::missing("no model is loaded")),
            Some(name) => named(name).ok_or_else(|| Self::unknown(workspace, name, ", or moot/METHOD")),
        }
    }
}

/// Does `work` on a thread of its own once there is a slot. It is cancelled when the client leaves or its time is over.
pub(super) async fn run<T: Send + 'static>(
    state: Arc<State>,
    work: impl FnOnce(&State, &Cancel) -> Answer<T> + Send + 'static,
) -> Answer<T> {
    // Before the wait for a slot: clients learn at once that the models are being loaded.
    state.workspace()?;
    let permit = slot(&state).await?;
    let cancel = state.cancel.child();
    let (mut leave, _timer) = (Leave::new(&cancel), end_after(state.limits.seconds, &cancel));
    let done = tokio::task::spawn_blocking(move || {
        // Held until the work has ended, even if the client has left.
        let _permit = permit;
        let done = work(&state, &cancel);
        count_cancelled(&state, &cancel);
        done
    });
    let done = done.await;
    // Not reached if the client leaves: this future is dropped then, and `leave` cancels the work.
    leave.done();
    done.unwrap_or_else(|panic| {
        Err(Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, format!("the request's thread ended: {panic} (bug)")))
    })
}

/// As [`run`], of work that writes events; an error is the last event.
pub(super) async fn run_streamed(
    state: Arc<State>,
    work: impl FnOnce(&State, &Cancel, &Events) -> Answer<()> + Send + 'static,
) -> Answer {
    // As in `run`: before the wait for a slot.
    state.workspace()?;
    let permit = slot(&state).await?;
    let cancel = state.cancel.child();
    let (events, response) = stream::events(&cancel, end_after(state.limits.seconds, &cancel));
    tokio::task::spawn_blocking(move || {
        let _permit = permit;
        // A panic too must reach the client as the last event.
        let done = catch_unwind(AssertUnwindSafe(|| work(&state, &cancel, &events)));
        let bug = |_| Err(Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "the request's thread ended (bug)"));
        if let Err(refusal) = done.unwrap_or_else(bug) {
            events.data(&refusal.json());
        }
        count_cancelled(&state, &cancel);
    });
    Ok(response)
}

/// A slot, for which a request waits as long as it may take.
pub(super) async fn slot(state: &State) -> Answer<OwnedSemaphorePermit> {
    let waits = tokio::time::timeout(Duration::from_secs(state.limits.seconds), state.admission.enter());
    waits.await.unwrap_or_else(|_| Err(late(&state.limits)))
}

/// The request's time is over.
fn late(limits: &Limits) -> Refusal {
    let message = format!("cancelled, or not answered within {} seconds", limits.seconds);
    Refusal::new(StatusCode::GATEWAY_TIMEOUT, message)
}

pub(super) fn count_cancelled(state: &State, cancel: &Cancel) {
    if cancel.is_cancelled() {
        state.metrics.cancelled.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }
}

/// An error of the workspace, where the time of the request may be over.
pub(super) fn refused(error: MootError, limits: &Limits, cancel: &Cancel) -> Refusal {
    match error {
        MootError::Interrupted if cancel.is_cancelled() => late(limits),
        error => error.into(),
    }
}

/// As [`refused`], where the body is a call of a model.
pub(super) fn refused_call(error: MootError, limits: &Limits, cancel: &Cancel) -> Refusal {
    match error {
        MootError::Interrupted if cancel.is_cancelled() => late(limits),
        error => Refusal::of_call(error),
    }
}
