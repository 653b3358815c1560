//! Whether the sources of models can be reached from here.

use super::hub::{Hub, proxied, reach};
use super::wheel::Python;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// How long one source has to accept a connection.
const PATIENCE: Duration = Duration::from_secs(3);

/// One source, tried.
#[derive(Debug, Clone, PartialEq)]
pub struct Reached {
    /// "hub" or "wheels".
    pub source: &'static str,
    /// Its address.
    pub address: String,
    /// Seconds to a connection; else one line why there was none. Behind a proxy nothing is tried.
    pub outcome: Result<f64, String>,
    /// Whether a proxy stands between.
    pub proxied: bool,
}

/// Connects to the hub and to the package index, and says how that went; takes some seconds at most.
#[must_use]
pub fn sources() -> Vec<Reached> {
    let hub = Hub::from_environment();
    let python = Python::from_environment();
    let index = std::thread::spawn(move || match python.index() {
        Ok(address) => try_one("wheels", address),
        Err(why) => Reached { source: "wheels", address: "pip".into(), outcome: Err(why), proxied: false },
    });
    let hub = try_one("hub", hub.endpoint);
    index.join().map_or_else(|_| vec![hub.clone()], |index| vec![hub.clone(), index])
}

fn try_one(source: &'static str, address: String) -> Reached {
    let started = Instant::now();
    // Names are resolved by the system, at its own pace: a thread of its own, left to itself when it takes too long.
    let (sender, receiver) = channel();
    let asked = address.clone();
    std::thread::spawn(move || sender.send(reach(&asked, PATIENCE)));
    let late = |_| Err(format!("no answer in {} seconds", PATIENCE.as_secs()));
    let outcome = receiver.recv_timeout(PATIENCE).unwrap_or_else(late);
    let outcome = outcome.map(|()| started.elapsed().as_secs_f64());
    // An address may hold a password.
    let shown = match (address.split_once("://"), address.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, host))) => format!("{scheme}://{host}"),
        _ => address,
    };
    Reached { source, address: shown, outcome, proxied: proxied() }
}
