//! Threads (leaf module) where the system allows fewer than are wanted (`ulimit -u`): as many as there can be are started.

use crate::error::{MootError, Result};
use std::error::Error;
use std::num::NonZero;
use std::sync::mpsc::channel;
use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, JoinHandle, Scope};

/// Starts the pool that shares computations, of `wanted` threads, by default `RAYON_NUM_THREADS` or one a core. Further calls wait
/// for the first one and have no effect, nor has a call in a program that started the pool itself. Without it the pool would
/// start at its first use, and panic where the system allows fewer threads.
///
/// Where the system allows fewer, the pool gets half of those, since a run has other threads too; their number is returned.
///
/// # Errors
/// [`MootError::Threads`] where the pool cannot be started.
pub(crate) fn start_pool(wanted: Option<usize>) -> Result<Option<usize>> {
    static STARTED: Mutex<bool> = Mutex::new(false);
    let mut started = STARTED.lock().unwrap_or_else(PoisonError::into_inner);
    if *started {
        return Ok(None);
    }
    let set = || std::env::var("RAYON_NUM_THREADS").ok().and_then(|set| set.parse().ok()).filter(|&set| set > 0);
    let cores = || std::thread::available_parallelism().map_or(1, NonZero::get);
    let wanted = wanted.or_else(set).unwrap_or_else(cores);
    let allowed = allowed(wanted);
    let threads = if allowed < wanted { (allowed / 2).max(1) } else { wanted };
    match rayon::ThreadPoolBuilder::new().num_threads(threads).build_global() {
        Ok(()) => {}
        // An error without a source means that the pool exists already; one with a source, that the system refused threads.
        Err(e) if e.source().is_none() => {
            *started = true;
            return Ok(None);
        }
        Err(e) => return Err(MootError::Threads(std::io::Error::other(e))),
    }
    *started = true;
    Ok((threads < wanted).then_some(threads))
}

/// Number of threads that can be started, up to `wanted`. Found by starting them: container limits cannot be queried
/// reliably.
fn allowed(wanted: usize) -> usize {
    let mut held = Vec::with_capacity(wanted);
    for _ in 0..wanted {
        let (sender, receiver) = channel::<()>();
        let wait = move || {
            let _ = receiver.recv();
        };
        match Builder::new().spawn(wait) {
            Ok(thread) => held.push((sender, thread)),
            Err(_) => break,
        }
    }
    let allowed = held.len();
    let (senders, threads): (Vec<_>, Vec<JoinHandle<()>>) = held.into_iter().unzip();
    drop(senders);
    threads.into_iter().for_each(|thread| drop(thread.join()));
    allowed
}

/// Starts up to `count` threads of what `work` returns, fewer where the system allows no more.
///
/// # Errors
/// [`MootError::Threads`] where not one of them can be started.
pub(crate) fn spawn_some<'scope, W: FnOnce() + Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    count: usize,
    mut work: impl FnMut() -> W,
) -> Result<()> {
    for started in 0..count {
        match Builder::new().spawn_scoped(scope, work()) {
            Err(e) if started == 0 => return Err(MootError::Threads(e)),
            Err(_) => break,
            Ok(_) => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::start_pool;

    /// Several workspaces open at once; those that do not start the pool use it only once it is started.
    #[test]
    fn the_pool_is_started_once_and_may_have_been_started_by_others() {
        assert!(rayon::current_num_threads() > 0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    start_pool(Some(2)).unwrap();
                    rayon::join(|| (), || ());
                });
            }
        });
    }
}
