//! One server over HTTP: requests with its key and its limits of time, repeated while that may help.

use super::address::{Address, Key};
use super::fault::{Again, Fault};
use super::in_process::InProcess;
use super::inbound::{Bounds, Inbound, MAX_COMPLAINT, read_start, values};
use super::patience::{self, Admission, Gate, Patience};
use crate::cancel::Cancel;
use crate::error::{MootError, Result};
use crate::fault::RemoteFault;
use crate::resolver;
use serde_json::Value;
use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use ureq::config::AutoHeaderValue;
use ureq::http::Response;
use ureq::{Agent, Body};

/// The result of a request, or why it failed.
pub(super) type Attempt<T> = std::result::Result<T, Fault>;

/// Requests to one server.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) address: Address,
    pub(super) inbound: Inbound,
    patience: Patience,
    gate: Gate,
    /// Answers requests instead of a connection.
    stand_in: Option<InProcess>,
    /// The server has answered before, so calls wait for it if it cannot be reached now.
    reached: AtomicBool,
}

/// The connections of one stage of calls, which end together.
pub(super) struct Stage {
    pub agent: Agent,
    pub cancel: Cancel,
}

impl Stage {
    /// Cuts every connection off, so that the server stops its work.
    pub(super) fn end(&self) {
        // First the flag: a connection that breaks is then a cancellation, not a fault that is worth another attempt.
        self.cancel.cancel();
        // `shutdown` consumes an agent; its clones share the connections.
        self.agent.clone().shutdown();
    }
}

impl Client {
    pub(super) fn new(address: Address, key: Option<Key>, patience: Patience) -> Self {
        let gate = Gate::new(patience.calls);
        let (inbound, reached) = (Inbound::new(key), AtomicBool::default());
        Self { address, inbound, patience, gate, stand_in: None, reached }
    }

    /// With `server` instead of connections.
    pub(super) fn answered_by(self, server: InProcess) -> Self {
        Self { stand_in: Some(server), ..self }
    }

    /// Connections of their own for one stage.
    pub(super) fn stage(&self, cancel: Cancel) -> Stage {
        // Compression delays events: a server collects text before it compresses.
        let mut config = self.patience.connections(self.address.is_loopback()).accept_encoding(AutoHeaderValue::None);
        if let Some(server) = &self.stand_in {
            config = config.middleware(server.clone());
        }
        Stage { agent: resolver::agent(config.build()), cancel }
    }

    /// Waits until a call may be in flight.
    pub(super) fn enter(&self, cancel: &Cancel) -> Result<Admission<'_>> {
        self.gate.enter(cancel)
    }

    /// The address of `path`: below the API's version, or where it begins with a slash below the server's root.
    fn url(&self, path: &str) -> String {
        let base = &self.address.base;
        match path.strip_prefix('/') {
            Some(path) => format!("{}/{path}", base.strip_suffix("/v1").unwrap_or(base)),
            None => format!("{base}/{path}"),
        }
    }

    /// Sends a GET request that has `left` time.
    pub(super) fn get(&self, agent: &Agent, path: &str, left: Duration) -> Attempt<Response<Body>> {
        let mut request = agent.get(self.url(path)).header("accept", "application/json");
        if let Some(key) = self.inbound.key() {
            request = request.header("authorization", key.bearer());
        }
        let request = request.config().timeout_global(Some(left)).build();
        self.check(request.call().map_err(Fault::of)?)
    }

    /// Sends `body` in a POST request that has `left` time.
    pub(super) fn post(&self, agent: &Agent, path: &str, body: &Value, left: Duration) -> Attempt<Response<Body>> {
        let mut request = agent
            .post(self.url(path))
            .header("accept", "text/event-stream, application/json")
            .content_type("application/json");
        if let Some(key) = self.inbound.key() {
            request = request.header("authorization", key.bearer());
        }
        let request = request.config().timeout_global(Some(left)).build();
        self.check(request.send(body.to_string()).map_err(Fault::of)?)
    }

    /// The response to one GET request of a page that a server need not have.
    pub(super) fn page(&self, stage: &Stage, path: &str) -> Option<Value> {
        let response = self.get(&stage.agent, path, self.patience.connect).ok()?;
        self.json(response, Bounds::of(0, 0)).ok()
    }

    /// Whether the server's host is `host`.
    pub(super) fn is_at(&self, host: &str) -> bool {
        let uri = self.address.base.parse::<ureq::http::Uri>();
        uri.is_ok_and(|uri| uri.host().is_some_and(|found| found.eq_ignore_ascii_case(host)))
    }

    /// Deadline of a call that begins now.
    pub(super) fn deadline(&self) -> Instant {
        Instant::now() + self.patience.total
    }

    /// The JSON that a response holds.
    ///
    /// # Errors
    /// Reading fails, it is longer than `bounds`, or it is not JSON.
    pub(super) fn json(&self, response: Response<Body>, bounds: Bounds) -> Attempt<Value> {
        let mut bytes = Vec::new();
        let mut reader = response.into_body().into_with_config().limit(bounds.wire()).reader();
        reader.read_to_end(&mut bytes).map_err(|e| bounds.fault(e))?;
        self.inbound.json(&bytes, bounds.values())
    }

    /// A response of success; otherwise the server's message as an error.
    fn check(&self, mut response: Response<Body>) -> Attempt<Response<Body>> {
        // Also by a refusal: such a server runs, and is worth waiting for.
        self.reached.store(true, Ordering::Relaxed);
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let after = response.headers().get("retry-after").and_then(|value| patience::retry_after(value.to_str().ok()?));
        // The status is enough where the body cannot be read.
        let body = read_start(response.body_mut().as_reader(), MAX_COMPLAINT).unwrap_or_default();
        // Parsed and written again, so that the key is found even if JSON escapes hide it or the bytes are not UTF-8.
        let text = self.inbound.text(&body);
        let body = self.inbound.json(text.as_bytes(), values(MAX_COMPLAINT)).map_or(text, |json| json.to_string());
        Err(Fault::of_status(status, after, &body))
    }

    /// Repeats `attempt` until it succeeds, fails for good, or the limits of [`Patience`] are reached; the first
    /// argument is the call's name and its seed. An attempt gets the time that is left until the call `ends`.
    ///
    /// # Errors
    /// [`MootError::Remote`] with the last fault; [`MootError::Interrupted`] when `cancel` is set.
    pub(super) fn persist<T>(
        &self,
        (what, seed): (&str, u64),
        cancel: &Cancel,
        ends: Instant,
        mut attempt: impl FnMut(Duration) -> Attempt<T>,
    ) -> Result<T> {
        let left = || ends.saturating_duration_since(Instant::now());
        let mut attempts = 1;
        loop {
            self.gate.pass(seed, cancel)?;
            let fault = match attempt(left()) {
                Ok(value) => return Ok(value),
                Err(_) if cancel.is_cancelled() => return Err(MootError::Interrupted),
                Err(fault) => fault,
            };
            // A server that was never reached has a wrong address, or does not run: waiting does not help.
            let reachable = self.reached.load(Ordering::Relaxed) || fault.kind != RemoteFault::Unreachable;
            let wait = self.patience.wait(fault.again, attempts, seed).filter(|_| reachable);
            // No wait begins that would outlast the time of the call.
            let Some(wait) = wait.filter(|wait| *wait < left()) else {
                let late = wait.is_some() || left().is_zero();
                return Err(self.error(what, &fault, attempts, late));
            };
            if let Again::After(time) = fault.again {
                self.gate.close_for(time, self.patience.spread(time));
            }
            patience::sleep(wait, cancel)?;
            attempts += 1;
        }
    }

    /// The error of a call that failed after `attempts` attempts; `late` where its time was over.
    fn error(&self, what: &str, fault: &Fault, attempts: usize, late: bool) -> MootError {
        let tried = if attempts > 1 { format!(" ({attempts} attempts)") } else { String::new() };
        let over = if late { format!(" (a call has {:?} in all)", self.patience.total) } else { String::new() };
        let asks = match fault.again {
            Again::After(time) if time > self.patience.longest_wait => {
                format!(" (it asks to wait {} s)", time.as_secs())
            }
            _ => String::new(),
        };
        self.failure(fault.kind, format!("{what}: {}{asks}{tried}{over}", fault.reason))
    }

    /// An error that names this server.
    pub(super) fn failure(&self, kind: RemoteFault, reason: String) -> MootError {
        MootError::Remote { server: self.address.to_string(), kind, reason }
    }
}
