//! A fetch from a hub: the download runs in a thread of its own, and is given up when it falls silent.

use super::address::HubAddress;
use super::download::{Download, Event, Refusal};
use super::event::FetchEvent;
use super::hub::{Hub, no_thread, reach};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// Connection timeout of the hub, name resolution included.
const CONNECT: Duration = Duration::from_secs(5);

impl Hub {
    /// Fetches the model from the hub into the cache; `notes` is the folder of stored hashes.
    ///
    /// # Errors
    /// The reason; within seconds if the hub does not answer.
    pub(super) fn fetch(
        &self,
        address: &HubAddress,
        notes: &Path,
        progress: &mut dyn FnMut(FetchEvent),
    ) -> Result<PathBuf, Refusal> {
        // Names are resolved at the system's own pace, so this is a thread that is left to itself when it falls silent.
        let (sender, receiver) = channel();
        let (hub, address, notes) = (self.clone(), address.clone(), notes.to_owned());
        let fetch = move || {
            let result = reach(&hub.endpoint, CONNECT).map_err(Refusal::Unreachable).and_then(|()| {
                let _ = sender.send(Event::Connected);
                Download { hub: &hub, address: &address, notes: &notes, events: sender.clone() }.run()
            });
            let _ = sender.send(Event::Done(result));
        };
        std::thread::Builder::new().spawn(fetch).map_err(|e| Refusal::Failed(no_thread(&e)))?;
        self.wait(&receiver, progress)
    }

    /// Forwards events until the download ends or the silence timeout expires.
    fn wait(&self, events: &Receiver<Event>, progress: &mut dyn FnMut(FetchEvent)) -> Result<PathBuf, Refusal> {
        let mut patience = CONNECT;
        loop {
            match events.recv_timeout(patience) {
                Ok(Event::Connected) => patience = self.silence,
                Ok(Event::Bytes { done, total }) => {
                    progress(FetchEvent::Bytes { done, total });
                    // The whole file is hashed before the next event.
                    let hashing = Duration::from_secs(total / (50 << 20));
                    patience = if done == total { self.silence + hashing } else { self.silence };
                }
                Ok(Event::NextFile { index, count }) => progress(FetchEvent::NextFile { index, count }),
                Ok(Event::Done(result)) => return result,
                Err(RecvTimeoutError::Timeout) => {
                    let line = format!("no answer from {} in {} seconds", self.endpoint, patience.as_secs());
                    return Err(Refusal::Unreachable(line));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Refusal::Failed("the hub's client stopped".into()));
                }
            }
        }
    }
}

#[cfg(test)]
#[path = "hub_tests.rs"]
mod tests;
