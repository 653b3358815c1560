//! Models from a Hugging Face hub, through hf-hub: its cache layout, so that what other tools fetched is found.
//!
//! `HF_HOME`, `HF_ENDPOINT`, `HF_TOKEN` and `HF_HUB_OFFLINE` mean what they mean to those tools.

use super::Progress;
use super::catalog::HubFile;
use crate::error::{ModelError, Result};
use hf_hub::api::sync::ApiBuilder;
use hf_hub::{Cache, Repo, RepoType};
use std::net::{TcpStream, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// How long the hub has to accept a connection, names resolved and all.
const CONNECT: Duration = Duration::from_secs(5);

/// How long the hub may say nothing once connected. Its redirect to storage can take several seconds.
const SILENCE: Duration = Duration::from_secs(30);

/// Progress is passed on every so many bytes: hf-hub reports each read of a few KiB.
const REPORT_EVERY: u64 = 1 << 20;

const DEFAULT_ENDPOINT: &str = "https://huggingface.co";

/// One hub and its cache on this machine.
#[derive(Debug, Clone)]
pub(super) struct Hub {
    /// With the scheme, without a final slash.
    pub(super) endpoint: String,
    pub(super) cache: Cache,
    pub(super) token: Option<String>,
    /// Nothing is to be fetched, by the hub tools' own setting.
    pub(super) offline: bool,
    /// How long the hub may say nothing once connected.
    pub(super) silence: Duration,
}

impl Hub {
    /// The hub that the environment names, as other tools of the hub see it.
    pub(super) fn from_environment() -> Self {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let cache = Cache::from_env();
        Self {
            endpoint: variable("HF_ENDPOINT").unwrap_or_else(|| DEFAULT_ENDPOINT.to_owned()),
            token: variable("HF_TOKEN").or_else(|| cache.token()),
            offline: variable("HF_HUB_OFFLINE")
                .is_some_and(|value| matches!(value.to_lowercase().as_str(), "1" | "true" | "yes" | "on")),
            silence: SILENCE,
            cache,
        }
    }

    /// The file in the cache on this machine, when it is there. No network.
    pub(super) fn cached(&self, file: &HubFile) -> Option<PathBuf> {
        self.cache.repo(repo(file)).get(&file.file)
    }

    /// The file from the hub, into the cache.
    ///
    /// # Errors
    /// [`ModelError::Unreachable`] within seconds when the hub does not answer, and when it refuses.
    pub(super) fn fetch(&self, file: &HubFile, progress: &mut dyn FnMut(Progress)) -> Result<PathBuf> {
        let refused = |reason: &str| ModelError::Unreachable {
            name: format!("{}/{}", file.repo, file.file),
            reasons: vec![reason.replace('\n', " ")],
        };
        if self.offline {
            return Err(refused("HF_HUB_OFFLINE is set"));
        }
        // hf-hub has no setting for patience, so it works in a thread that is left to itself when it falls silent.
        let (sender, receiver) = channel();
        let (hub, wanted) = (self.clone(), file.clone());
        std::thread::spawn(move || {
            let result = connect(&hub.endpoint).and_then(|()| {
                let _ = sender.send(Event::Connected);
                hub.download(&wanted, sender.clone())
            });
            let _ = sender.send(Event::Done(result));
        });
        self.wait(&receiver, progress).map_err(|reason| refused(&reason))
    }

    /// Passes events on until the download ends, or nothing has come for too long.
    fn wait(
        &self,
        events: &Receiver<Event>,
        progress: &mut dyn FnMut(Progress),
    ) -> std::result::Result<PathBuf, String> {
        let mut patience = CONNECT;
        loop {
            match events.recv_timeout(patience) {
                Ok(Event::Connected) => patience = self.silence,
                Ok(Event::Bytes { done, total }) => progress(Progress::Bytes { done, total }),
                Ok(Event::Done(result)) => return result,
                Err(RecvTimeoutError::Timeout) => {
                    return Err(format!("no answer from {} in {} seconds", self.endpoint, patience.as_secs()));
                }
                Err(RecvTimeoutError::Disconnected) => return Err("the hub's client stopped".into()),
            }
        }
    }

    fn download(&self, file: &HubFile, sender: Sender<Event>) -> std::result::Result<PathBuf, String> {
        let api = ApiBuilder::from_cache(self.cache.clone())
            .with_endpoint(self.endpoint.clone())
            .with_token(self.token.clone())
            .with_progress(false)
            .build()
            .map_err(|error| error.to_string())?;
        let report = Report { sender, done: 0, reported: 0, total: 0 };
        api.repo(repo(file)).download_with_progress(&file.file, report).map_err(|error| error.to_string())
    }
}

fn repo(file: &HubFile) -> Repo {
    Repo::with_revision(file.repo.clone(), RepoType::Model, file.revision.clone())
}

enum Event {
    Connected,
    Bytes { done: u64, total: u64 },
    Done(std::result::Result<PathBuf, String>),
}

/// Opens and closes a connection, so that a hub that is not there is known in seconds. A proxy is not probed: behind
/// one, only the download itself can tell.
fn connect(endpoint: &str) -> std::result::Result<(), String> {
    let proxies = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];
    if proxies.iter().any(|name| std::env::var_os(name).is_some()) {
        return Ok(());
    }
    let (scheme, rest) = endpoint.split_once("://").unwrap_or(("https", endpoint));
    let host = rest.split('/').next().unwrap_or_default();
    let with_port = if host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok()) {
        host.to_owned()
    } else {
        format!("{host}:{}", if scheme == "http" { 80 } else { 443 })
    };
    let addresses = with_port.to_socket_addrs().map_err(|error| format!("{host}: {error}"))?;
    let mut last = format!("{host} has no address");
    for address in addresses.take(2) {
        match TcpStream::connect_timeout(&address, CONNECT / 2) {
            Ok(_) => return Ok(()),
            Err(error) => last = format!("{host}: {error}"),
        }
    }
    Err(last)
}

/// hf-hub's progress, sent to the thread that waits.
struct Report {
    sender: Sender<Event>,
    done: u64,
    reported: u64,
    total: u64,
}

impl Report {
    fn send(&mut self) {
        self.reported = self.done;
        let _ = self.sender.send(Event::Bytes { done: self.done, total: self.total });
    }
}

impl hf_hub::api::Progress for Report {
    fn init(&mut self, size: usize, _file: &str) {
        self.total = size as u64;
        self.done = 0;
        self.send();
    }

    fn update(&mut self, size: usize) {
        self.done += size as u64;
        if self.done - self.reported >= REPORT_EVERY {
            self.send();
        }
    }

    fn finish(&mut self) {
        self.send();
    }
}

#[cfg(test)]
#[path = "hub_tests.rs"]
mod tests;
