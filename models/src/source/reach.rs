//! Checks whether the sources of models can be reached.

use super::hub::{Hub, no_thread, proxied, reach};
use super::wheel::Python;
use std::sync::mpsc::channel;
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// Connection timeout for one source.
const PATIENCE: Duration = Duration::from_secs(3);

/// The result for one source.
#[derive(Debug, Clone, PartialEq)]
pub struct Reached {
    /// "hub" or "wheels".
    pub source: &'static str,
    /// Its address.
    pub address: String,
    /// Seconds to connect, or one line with the reason of failure. Not tried behind a proxy.
    pub outcome: Result<f64, String>,
    /// Whether a proxy is configured.
    pub proxied: bool,
}

/// Connects to the hub and to the package index; takes a few seconds at most.
#[must_use]
pub fn sources() -> Vec<Reached> {
    let python = Python::from_environment();
    let unknown = |why| Reached { source: "wheels", address: "pip".into(), outcome: Err(why), proxied: false };
    let index = move || match python.index() {
        Ok(address) => try_one("wheels", address),
        Err(why) => unknown(why),
    };
    let index = Builder::new().spawn(index);
    let hub = hub();
    match index.map(JoinHandle::join) {
        Ok(Ok(index)) => vec![hub, index],
        Ok(Err(_)) => vec![hub],
        Err(e) => vec![hub, unknown(no_thread(&e))],
    }
}

/// Connects to the hub alone; takes a few seconds at most.
#[must_use]
pub fn hub() -> Reached {
    try_one("hub", Hub::from_environment().endpoint)
}

fn try_one(source: &'static str, address: String) -> Reached {
    let started = Instant::now();
    // Name resolution has no timeout of ours: it runs in its own thread, which is abandoned after the timeout.
    let (sender, receiver) = channel();
    let asked = address.clone();
    let late = |_| Err(format!("no answer in {} seconds", PATIENCE.as_secs()));
    let outcome = match Builder::new().spawn(move || sender.send(reach(&asked, PATIENCE))) {
        Ok(_) => receiver.recv_timeout(PATIENCE).unwrap_or_else(late),
        Err(e) => Err(no_thread(&e)),
    };
    let outcome = outcome.map(|()| started.elapsed().as_secs_f64());
    // An address may contain a password.
    let shown = match (address.split_once("://"), address.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, host))) => format!("{scheme}://{host}"),
        _ => address,
    };
    Reached { source, address: shown, outcome, proxied: proxied() }
}
