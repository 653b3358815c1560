//! Looks up the addresses of hosts (leaf module) where the system may allow no further thread (`ulimit -u`).

use std::sync::mpsc::sync_channel;
use std::thread::Builder;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};
use ureq::{Agent, Error};

/// An agent that looks up hosts as [`Lookup`] does.
pub(crate) fn agent(config: Config) -> Agent {
    Agent::with_parts(config, DefaultConnector::default(), Lookup)
}

/// Looks up a host on a thread of its own, whose time is limited, or on this one if no thread can be started. ureq's own
/// lookup with a limited time panics then.
#[derive(Debug)]
struct Lookup;

impl Resolver for Lookup {
    fn resolve(&self, uri: &Uri, config: &Config, timeout: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        resolve(Builder::new(), uri, config, timeout)
    }
}

fn resolve(thread: Builder, uri: &Uri, config: &Config, timeout: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
    let (sender, receiver) = sync_channel(1);
    // Owned by the thread, which goes on where the time is over.
    let (host, settings) = (uri.clone(), config.clone());
    let lookup = move || {
        // The receiver is gone where the time was over.
        let _ = sender.send(untimed(&host, &settings));
    };
    match thread.spawn(lookup) {
        Ok(_) => receiver.recv_timeout(*timeout.after).unwrap_or(Err(Error::Timeout(timeout.reason))),
        Err(_) => untimed(uri, config),
    }
}

/// Without a limit ureq starts no thread.
fn untimed(uri: &Uri, config: &Config) -> Result<ResolvedSocketAddrs, Error> {
    DefaultResolver::default().resolve(uri, config, NextTimeout::default())
}

#[cfg(test)]
mod tests {
    use super::resolve;
    use std::thread::Builder;
    use std::time::Duration;
    use ureq::Timeout;
    use ureq::config::Config;
    use ureq::unversioned::transport::NextTimeout;

    #[test]
    fn a_host_is_looked_up_with_and_without_a_thread() {
        let (uri, config) = ("http://127.0.0.1:9/v1".parse().unwrap(), Config::default());
        let timeout =
            NextTimeout { after: Duration::from_secs(60).into(), reason: Timeout::Resolve, ..Default::default() };
        // No address space has room for the second stack.
        for thread in [Builder::new(), Builder::new().stack_size(1 << 47)] {
            let found = resolve(thread, &uri, &config, timeout).unwrap();
            assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), ["127.0.0.1:9"]);
        }
    }
}
