//! One model on several servers: its calls are shared among them, and a server that fails is left alone for a while.

use crate::cancel::Cancel;
use crate::error::{MootError, Result};
use crate::fault::RemoteFault;
use crate::llm::remote::{Address, Key, Notice, Patience, Remote};
use crate::llm::{Call, Capabilities, Llm, ModelIdentity, OnFailure, OnReply, Reply};
use crate::threads;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Between addresses: `http://a:8000/v1#name+http://b:8000/v1#name`.
const BETWEEN: [&str; 2] = ["+http://", "+https://"];

/// How long a server that failed is left alone; twice as long after each further failure.
const PAUSE: Duration = Duration::from_secs(2);
/// The longest such time.
const LONGEST_PAUSE: Duration = Duration::from_secs(120);

/// One model on several servers.
pub struct Replicas {
    servers: Vec<Replica>,
    identity: ModelIdentity,
    patience: Patience,
    notice: Notice,
    cancel: Cancel,
}

/// A server with its calls.
struct Replica {
    remote: Remote,
    in_flight: AtomicUsize,
    health: Mutex<Health>,
}

/// Whether a server answers.
#[derive(Default)]
struct Health {
    /// Failures since its last answer.
    failures: u32,
    /// Until when it is left alone.
    until: Option<Instant>,
}

/// The addresses of one name; `None` where it is not several.
#[must_use]
pub fn addresses(name: &str) -> Option<Vec<&str>> {
    let mut starts: Vec<usize> =
        BETWEEN.iter().flat_map(|between| name.match_indices(between)).map(|(at, _)| at).collect();
    starts.sort_unstable();
    let mut addresses = Vec::new();
    let mut begin = 0;
    for at in starts {
        addresses.push(&name[begin..at]);
        begin = at + 1;
    }
    if addresses.is_empty() {
        return None;
    }
    addresses.push(&name[begin..]);
    Some(addresses)
}

impl Replicas {
    /// Asks every server for the model. One that does not answer is noted and left out; `key` gives each its key.
    ///
    /// # Errors
    /// The error of the first server where none answers; [`MootError::Usage`] where two have other models or other abilities.
    pub fn open(
        addresses: &[&str],
        key: impl Fn(&Address) -> Option<Key>,
        patience: Patience,
        notice: &Notice,
        cancel: &Cancel,
    ) -> Result<Self> {
        // A call that fails goes to another server instead of waiting for the same one.
        let once = Patience { retries: 0, ..patience };
        let (mut servers, mut failed) = (Vec::<Replica>::new(), None);
        for address in addresses {
            let address = Address::parse(address)?;
            let key = key(&address);
            match Remote::open(address, key, once, notice.clone(), cancel.child()) {
                Ok(remote) => servers.push(Replica::new(remote)),
                Err(error @ MootError::Remote { .. }) => {
                    notice.tell(&format!("{error}: it is left out, the other servers answer all calls"));
                    failed = failed.or(Some(error));
                }
                Err(error) => return Err(error),
            }
        }
        let Some(first) = servers.first() else {
            return Err(failed.unwrap_or_else(|| MootError::Usage("the model's address is empty".into())));
        };
        if let Some(other) = servers.iter().find(|other| !first.equals(other)) {
            let (a, b) = (&first.remote.identity().name, &other.remote.identity().name);
            return Err(MootError::Usage(format!(
                "--model: expected servers of one model and one kind, found {a} and {b}"
            )));
        }
        let names: Vec<&str> = servers.iter().map(|server| server.remote.identity().name.as_str()).collect();
        let identity = ModelIdentity { name: names.join("+"), ..first.remote.identity().clone() };
        Ok(Self { servers, identity, patience, notice: notice.clone(), cancel: cancel.clone() })
    }

    /// The healthy server with the fewest calls; where none is, how long until the first may be asked again.
    fn choose(&self, tried: &[usize]) -> std::result::Result<usize, Duration> {
        let now = Instant::now();
        let rest = |server: &Replica| {
            server.health().until.map_or(Duration::ZERO, |until| until.saturating_duration_since(now))
        };
        let free = (0..self.servers.len()).filter(|at| !tried.contains(at) && rest(&self.servers[*at]).is_zero());
        let least = free.min_by_key(|&at| self.servers[at].in_flight.load(Ordering::Relaxed));
        least.ok_or_else(|| self.servers.iter().map(rest).min().unwrap_or_default())
    }

    /// Answers `call` by one server after another until one answers, as often as [`Patience::retries`] says.
    fn answer_one(&self, call: &Call) -> Result<Reply> {
        let (mut tried, mut failures) = (Vec::new(), 0);
        loop {
            let at = match self.choose(&tried) {
                Ok(at) => at,
                Err(wait) => {
                    // The wait is 0 if a healthy server was tried already; without a pause this loop would spin.
                    crate::llm::remote::patience::sleep(wait.max(Duration::from_millis(50)), &call.cancel)?;
                    // All servers have been tried or are left alone: a second try is allowed.
                    tried.clear();
                    continue;
                }
            };
            let server = &self.servers[at];
            server.in_flight.fetch_add(1, Ordering::Relaxed);
            let ended = || Err(MootError::Interrupted);
            // `answer` watches the cancellation while another thread waits for the reply, and cuts its connection.
            let mut answered = server.remote.answer(std::slice::from_ref(call), OnFailure::Continue, &mut |_, _| {});
            let answered = answered.pop().unwrap_or_else(ended);
            server.in_flight.fetch_sub(1, Ordering::Relaxed);
            match answered {
                Err(MootError::Remote { kind, .. }) if is_passing(kind) && failures < self.patience.retries => {
                    self.failed(server);
                    failures += 1;
                    tried.push(at);
                }
                answered => {
                    if answered.is_ok() {
                        self.answers(server);
                    }
                    return answered;
                }
            }
        }
    }

    /// Leaves `server` alone for a while.
    fn failed(&self, server: &Replica) {
        let mut health = server.health();
        // Calls that were in flight fail together: that is one failure.
        if health.until.is_some_and(|until| until > Instant::now()) {
            return;
        }
        // Six doublings exceed the longest pause; without the bound the shift would overflow.
        let pause = PAUSE.saturating_mul(1 << health.failures.min(6)).min(LONGEST_PAUSE);
        health.failures += 1;
        health.until = Some(Instant::now() + pause);
        if health.failures == 1 {
            let name = &server.remote.identity().name;
            self.notice.tell(&format!("{name} does not answer: the other servers answer its calls"));
        }
    }

    fn answers(&self, server: &Replica) {
        let mut health = server.health();
        if std::mem::take(&mut *health).failures > 0 {
            self.notice.tell(&format!("{} answers again", server.remote.identity().name));
        }
    }
}

impl Replica {
    fn new(remote: Remote) -> Self {
        Self { remote, in_flight: AtomicUsize::new(0), health: Mutex::default() }
    }

    fn health(&self) -> std::sync::MutexGuard<'_, Health> {
        self.health.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the two have one model, as far as servers say, and the same abilities.
    fn equals(&self, other: &Self) -> bool {
        let (a, b) = (self.remote.identity(), other.remote.identity());
        let served = |identity: &ModelIdentity| identity.name.split_once('#').map(|(_, name)| name.to_owned());
        let same =
            if a.sha256.is_empty() { served(a) == served(b) } else { a.sha256 == b.sha256 && a.recipe == b.recipe };
        same && self.remote.capabilities("") == other.remote.capabilities("")
    }
}

/// Whether another server, or the same one later, may answer.
fn is_passing(kind: RemoteFault) -> bool {
    matches!(kind, RemoteFault::Unreachable | RemoteFault::Busy | RemoteFault::Silent | RemoteFault::Broken)
}

impl Llm for Replicas {
    fn identity(&self) -> &ModelIdentity {
        &self.identity
    }

    fn capabilities(&self, role: &str) -> Capabilities {
        // `open` refuses servers whose abilities differ.
        self.servers[0].remote.capabilities(role)
    }

    fn token(&self, role: &str, text: &str) -> Option<u32> {
        self.servers.iter().find_map(|server| server.remote.token(role, text))
    }

    fn is_deterministic(&self, role: &str) -> bool {
        self.servers[0].remote.is_deterministic(role)
    }

    fn answer(&self, calls: &[Call], on_failure: OnFailure, on_reply: &mut OnReply<'_>) -> Vec<Result<Reply>> {
        let stage = self.cancel.child();
        let calls: Vec<Call> =
            calls.iter().map(|call| Call { cancel: stage.child_of_both(&call.cancel), ..call.clone() }).collect();
        let mut results: Vec<Option<Result<Reply>>> = calls.iter().map(|_| None).collect();
        let most = self.patience.calls.saturating_mul(self.servers.len());
        let answer = |at: usize, sender: &Sender<(usize, Result<Reply>)>| {
            !stage.is_cancelled() && sender.send((at, self.answer_one(&calls[at]))).is_ok()
        };
        let started = threads::for_each(calls.len(), most, answer, |inbox| {
            for (at, result) in inbox {
                match &result {
                    Ok(reply) => on_reply(at, reply),
                    Err(_) if on_failure == OnFailure::Cancel => stage.cancel(),
                    Err(_) => {}
                }
                results[at] = Some(result);
            }
        });
        if let (Err(error), Some(first)) = (started, results.first_mut()) {
            *first = Some(Err(error));
        }
        results.into_iter().map(|result| result.unwrap_or(Err(MootError::Interrupted))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::addresses;

    #[test]
    fn several_addresses_are_told_from_one() {
        assert_eq!(addresses("http://a:1/v1#m"), None);
        assert_eq!(addresses("qwen+http"), None);
        assert_eq!(addresses("http://a/v1#m+x"), None);
        let three = addresses("http://a/v1#m+https://b/v1#m+http://c");
        assert_eq!(three, Some(vec!["http://a/v1#m", "https://b/v1#m", "http://c"]));
    }
}
