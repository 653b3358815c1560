//! Work of several threads that share one model or index, computed together.
//!
//! It has no thread of its own and adds no delay: the first caller computes; calls that arrive meanwhile wait, and one
//! of them computes all that wait as soon as the model is free. A lone caller computes at once.

use crate::error::{MootError, Result};
use std::collections::HashMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Computations so far.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Computed {
    /// Items that were computed.
    pub(crate) items: u64,
    /// Times that the model was run.
    pub(crate) batches: u64,
    /// Time in which it ran.
    pub(crate) seconds: f64,
}

/// Items of type `T`, computed into results of type `R`.
#[derive(Debug)]
pub(crate) struct Gather<T, R> {
    state: Mutex<State<T, R>>,
    /// Notified when a round has ended.
    ended: Condvar,
}

#[derive(Debug)]
struct State<T, R> {
    /// Number of the next call.
    next: u64,
    waiting: Vec<(u64, Vec<T>)>,
    finished: HashMap<u64, Result<Vec<R>>>,
    computing: bool,
    computed: Computed,
}

impl<T, R> Default for Gather<T, R> {
    fn default() -> Self {
        let (waiting, finished) = (Vec::new(), HashMap::new());
        let state = State { next: 0, waiting, finished, computing: false, computed: Computed::default() };
        Self { state: Mutex::new(state), ended: Condvar::new() }
    }
}

impl<T, R> Gather<T, R> {
    /// One result an item, by `compute`, perhaps together with the items of other threads. All callers of one gatherer have
    /// to pass the same `compute`, whose results depend on each item alone.
    ///
    /// # Errors
    /// That of `compute`. Where a shared computation fails, each call is computed alone, so that an error reaches the call
    /// it belongs to.
    pub(crate) fn run(&self, items: Vec<T>, compute: &dyn Fn(&[T]) -> Result<Vec<R>>) -> Result<Vec<R>> {
        let mut state = self.lock();
        let number = state.next;
        state.next += 1;
        state.waiting.push((number, items));
        loop {
            if let Some(results) = state.finished.remove(&number) {
                return results;
            }
            if state.computing {
                state = self.ended.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            // The calls that came while others were computed, this thread's own among them.
            state.computing = true;
            let calls = std::mem::take(&mut state.waiting);
            drop(state);
            Round::of(self, calls).compute(compute);
            state = self.lock();
        }
    }

    /// The results so far.
    pub(crate) fn computed(&self) -> Computed {
        self.lock().computed
    }

    fn lock(&self) -> MutexGuard<'_, State<T, R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Calls that are computed together. Dropping it hands out the results, also when the computation panicked: the callers must
/// not wait for ever.
struct Round<'a, T, R> {
    gather: &'a Gather<T, R>,
    /// Calls by number, with how many items each has.
    calls: Vec<(u64, usize)>,
    items: Vec<T>,
    results: Vec<Result<Vec<R>>>,
    computed: Computed,
}

impl<'a, T, R> Round<'a, T, R> {
    fn of(gather: &'a Gather<T, R>, waiting: Vec<(u64, Vec<T>)>) -> Self {
        let calls: Vec<(u64, usize)> = waiting.iter().map(|(number, items)| (*number, items.len())).collect();
        let items = waiting.into_iter().flat_map(|(_, items)| items).collect();
        Self { gather, calls, items, results: Vec::new(), computed: Computed::default() }
    }

    fn compute(mut self, compute: &dyn Fn(&[T]) -> Result<Vec<R>>) {
        let whole = 0..self.items.len();
        match self.timed(whole, compute) {
            Ok(mut all) => {
                for &(_, count) in &self.calls {
                    // `timed` has checked the number of results, so the minimum only rules out a panic.
                    let rest = all.split_off(count.min(all.len()));
                    self.results.push(Ok(std::mem::replace(&mut all, rest)));
                }
            }
            Err(error) if self.calls.len() == 1 => self.results.push(Err(error)),
            Err(_) => {
                let mut from = 0;
                for (_, count) in self.calls.clone() {
                    let results = self.timed(from..from + count, compute);
                    self.results.push(results);
                    from += count;
                }
            }
        }
    }

    fn timed(&mut self, range: std::ops::Range<usize>, compute: &dyn Fn(&[T]) -> Result<Vec<R>>) -> Result<Vec<R>> {
        let (start, count) = (Instant::now(), range.len());
        let results = compute(&self.items[range]);
        self.computed.batches += 1;
        self.computed.seconds += start.elapsed().as_secs_f64();
        let results = results?;
        if results.len() != count {
            return Err(MootError::Engine(format!("{} results for {count} items (bug)", results.len())));
        }
        self.computed.items += count as u64;
        Ok(results)
    }
}

impl<T, R> Drop for Round<'_, T, R> {
    fn drop(&mut self) {
        let lost = || Err(MootError::Engine("a computation that this call shared panicked (bug)".into()));
        let results = std::mem::take(&mut self.results).into_iter().chain(std::iter::repeat_with(lost));
        let mut state = self.gather.lock();
        state.finished.extend(self.calls.iter().map(|(number, _)| *number).zip(results));
        state.computed.items += self.computed.items;
        state.computed.batches += self.computed.batches;
        state.computed.seconds += self.computed.seconds;
        state.computing = false;
        drop(state);
        self.gather.ended.notify_all();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::time::Duration;

    type Numbers = Gather<u32, u32>;

    fn squares(numbers: &[u32]) -> Result<Vec<u32>> {
        numbers.iter().map(|&x| if x == 13 { Err(MootError::Engine("13".into())) } else { Ok(x * x) }).collect()
    }

    /// Until `calls` calls wait for a computation.
    fn await_waiting(gather: &Numbers, calls: usize) {
        while gather.lock().waiting.len() < calls {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Starts a computation that lasts until the other calls of `lists` wait, then collects what each of them got.
    fn behind_one(gather: &Numbers, lists: &[Vec<u32>]) -> Vec<Result<Vec<u32>>> {
        let (started, has_started) = mpsc::channel();
        let (go_on, may_go_on) = mpsc::channel::<()>();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let slow = move |numbers: &[u32]| {
                    started.send(()).unwrap();
                    may_go_on.recv().unwrap();
                    squares(numbers)
                };
                assert_eq!(gather.run(vec![2], &slow).unwrap(), [4]);
            });
            has_started.recv().unwrap();
            let calls: Vec<_> =
                lists.iter().map(|list| scope.spawn(move || gather.run(list.clone(), &squares))).collect();
            await_waiting(gather, lists.len());
            go_on.send(()).unwrap();
            calls.into_iter().map(|call| call.join().unwrap()).collect()
        })
    }

    #[test]
    fn calls_that_wait_are_computed_together() {
        let gather = Numbers::default();
        let results = behind_one(&gather, &[vec![1, 2, 3], vec![], vec![5], vec![6, 7]]);
        let results: Vec<Vec<u32>> = results.into_iter().map(Result::unwrap).collect();
        assert_eq!(results, [vec![1, 4, 9], vec![], vec![25], vec![36, 49]]);
        let computed = gather.computed();
        assert_eq!((computed.items, computed.batches), (7, 2), "five calls, two computations");
        assert!(computed.seconds > 0.0);
    }

    #[test]
    fn a_call_alone_is_computed_at_once() {
        let gather = Numbers::default();
        for i in 0..4 {
            assert_eq!(gather.run(vec![i], &squares).unwrap(), [i * i]);
        }
        assert_eq!(gather.computed().batches, 4);
        let state = gather.lock();
        assert!(state.waiting.is_empty() && state.finished.is_empty() && !state.computing);
    }

    #[test]
    fn an_error_reaches_its_own_call() {
        let gather = Numbers::default();
        let results = behind_one(&gather, &[vec![3], vec![4, 13], vec![5]]);
        let shown: Vec<_> = results.iter().map(|result| result.as_ref().map_err(ToString::to_string)).collect();
        let failed = shown.iter().filter(|result| result.is_err()).count();
        assert_eq!((failed, &shown[0], &shown[2]), (1, &Ok(&vec![9]), &Ok(&vec![25])));
        assert_eq!(gather.computed().batches, 5, "one, all, and each alone");
        let short = gather.run(vec![1, 2], &|_| Ok(vec![1])).unwrap_err().to_string();
        assert!(short.contains("1 results for 2 items"), "{short}");
    }

    #[test]
    fn a_panic_leaves_no_call_waiting() {
        let gather = Numbers::default();
        let panics = |_: &[u32]| -> Result<Vec<u32>> { panic!("on purpose") };
        let first = std::thread::scope(|scope| scope.spawn(|| gather.run(vec![1], &panics)).join());
        assert!(first.is_err());
        assert_eq!(gather.run(vec![3], &squares).unwrap(), [9]);
    }
}
