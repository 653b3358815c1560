//! Threads (leaf module) where the system allows fewer than are wanted (`ulimit -u`): as many as there can be are started.

use crate::error::{MootError, Result};
use std::collections::BTreeMap;
use std::error::Error;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

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
            // Each thread waits until its sender is dropped, so that all of them exist at once.
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

/// Calls `work` with each index below `items`, in ascending order, on up to `workers` threads, fewer where the system allows no
/// more. `receive` gets on this thread what `work` sends; its channel ends with the last thread. Once `work` has returned `false`,
/// or `receive` has returned, no index is begun any more.
///
/// # Errors
/// [`MootError::Threads`] where not one thread can be started; `receive` is not called then.
pub(crate) fn for_each<M: Send, R>(
    items: usize,
    workers: usize,
    work: impl Fn(usize, &Sender<M>) -> bool + Sync,
    receive: impl FnOnce(&Receiver<M>) -> R,
) -> Result<R> {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let (sender, receiver) = channel::<M>();
        for started in 0..workers.min(items) {
            let (sender, next, work) = (sender.clone(), &next, &work);
            let take = move || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|&index| index < items);
            let thread = Builder::new().spawn_scoped(scope, move || {
                while let Some(index) = take() {
                    if !work(index, &sender) {
                        next.store(items, Ordering::Relaxed);
                    }
                }
            });
            match thread {
                Err(e) if started == 0 => return Err(MootError::Threads(e)),
                Err(_) => break,
                Ok(_) => {}
            }
        }
        // Otherwise the receiver would never see that all threads have ended.
        drop(sender);
        let received = receive(&receiver);
        next.store(items, Ordering::Relaxed);
        Ok(received)
    })
}

/// As [`for_each`], for one result an item: `known` receives them in the order of `items`, each as soon as those before it are
/// known.
///
/// # Errors
/// As [`for_each`]; the first error of `work` to arrive, or one of `known`. No item is begun after it.
pub(crate) fn in_order<T: Sync, R: Send>(
    items: &[T],
    workers: usize,
    work: impl Fn(&T) -> Result<R> + Sync,
    mut known: impl FnMut(R) -> Result<()>,
) -> Result<()> {
    let send = |index: usize, sender: &Sender<(usize, Result<R>)>| {
        let result = work(&items[index]);
        let is_ok = result.is_ok();
        sender.send((index, result)).is_ok() && is_ok
    };
    for_each(items.len(), workers, send, |receiver| -> Result<()> {
        let (mut waiting, mut next) = (BTreeMap::new(), 0_usize);
        for (index, result) in receiver {
            waiting.insert(index, result?);
            while let Some(result) = waiting.remove(&next) {
                known(result)?;
                next += 1;
            }
        }
        Ok(())
    })?
}

#[cfg(test)]
mod tests {
    use super::{for_each, in_order, start_pool};
    use crate::error::MootError;
    use std::collections::HashSet;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::sync::mpsc::Sender;
    use std::time::Duration;

    /// The result of the first item arrives behind that of the second one.
    #[test]
    fn results_are_known_in_the_order_of_their_items() {
        let (third, threads) = (AtomicBool::new(false), Mutex::new(HashSet::new()));
        let work = |item: &usize| {
            threads.lock().unwrap().insert(std::thread::current().id());
            match item {
                0 => (0..10_000).take_while(|_| !third.load(Ordering::SeqCst)).for_each(|_| pause()),
                2 => third.store(true, Ordering::SeqCst),
                _ => {}
            }
            Ok(10 * item)
        };
        let mut known = Vec::new();
        let ended = in_order(&[0_usize, 1, 2], 2, work, |result| {
            known.push(result);
            Ok(())
        });
        assert!(ended.is_ok() && third.load(Ordering::SeqCst));
        assert_eq!((known, threads.lock().unwrap().len()), (vec![0, 10, 20], 2));
    }

    fn pause() {
        std::thread::sleep(Duration::from_millis(1));
    }

    /// One thread: what it begins after an error is counted exactly.
    #[test]
    fn the_first_error_ends_the_work() {
        let (items, begun, mut known) = ((0..100).collect::<Vec<usize>>(), AtomicUsize::new(0), Vec::new());
        let work = |item: &usize| {
            begun.fetch_add(1, Ordering::SeqCst);
            if *item == 3 { Err(MootError::Usage("item 3".into())) } else { Ok(*item) }
        };
        let ended = in_order(&items, 1, work, |item| {
            known.push(item);
            Ok(())
        });
        assert!(ended.unwrap_err().to_string().contains("item 3"));
        assert_eq!((known, begun.load(Ordering::SeqCst)), (vec![0, 1, 2], 4));
    }

    #[test]
    fn an_error_of_the_receiver_ends_the_work() {
        let (items, begun) = (vec![(); 1000], AtomicUsize::new(0));
        let work = |_: &()| {
            begun.fetch_add(1, Ordering::SeqCst);
            pause();
            Ok(())
        };
        let ended = in_order(&items, 2, work, |()| Err(MootError::Interrupted));
        assert!(matches!(ended, Err(MootError::Interrupted)));
        assert!(begun.load(Ordering::SeqCst) < 500, "{begun:?}");
    }

    /// A thread that stops stops the others; what was sent before is received.
    #[test]
    fn a_stop_ends_the_work_of_all_threads() {
        let work = |index: usize, sender: &Sender<usize>| {
            pause();
            sender.send(index).is_ok() && index != 5
        };
        let received = for_each(1000, 3, work, |inbox| inbox.iter().collect::<HashSet<usize>>()).unwrap();
        assert!((0..=5).all(|index| received.contains(&index)) && received.len() < 500, "{received:?}");
    }

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
