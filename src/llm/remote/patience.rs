//! Limits of time and number: how long calls wait, and how many are in flight.

use super::fault::{Again, Fault};
use crate::cancel::Cancel;
use crate::dates::days_from_civil;
use crate::error::{MootError, Result};
use crate::fault::RemoteFault;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::ops::Range;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use ureq::Agent;
use ureq::config::ConfigBuilder;
use ureq::typestate::AgentScope;

/// Cancellation polling interval.
const TICK: Duration = Duration::from_millis(50);

/// Limits of time and number for one remote model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Calls in flight at once.
    pub calls: usize,
    /// For finding the host and connecting to it, TLS included.
    pub connect: Duration,
    /// Without a byte of the reply, also before the first: a loaded server queues calls there.
    pub silence: Duration,
    /// For one call: all its attempts and the waits between them. [`Patience::TOTAL_PER_SILENCE`] times `silence` unless
    /// said otherwise.
    pub total: Duration,
    /// Attempts after the first.
    pub retries: usize,
    /// Before the second attempt; each further one doubles it.
    pub first_wait: Duration,
    /// Before any attempt. A server that asks for more ends the call.
    pub longest_wait: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            calls: 32,
            connect: seconds(10),
            silence: seconds(300),
            total: Self::TOTAL_PER_SILENCE * seconds(300),
            retries: 6,
            first_wait: Duration::from_millis(500),
            longest_wait: seconds(120),
        }
    }
}

impl Patience {
    /// Settings of connections to a server: a refusal's body is read, a redirection is not followed, because it
    /// would receive the key, and no proxy is between this program and a server on the same machine.
    pub(crate) fn connections(&self, is_loopback: bool) -> ConfigBuilder<AgentScope> {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .user_agent(concat!("moot/", env!("CARGO_PKG_VERSION")))
            .timeout_resolve(Some(self.connect))
            .timeout_connect(Some(self.connect))
            .timeout_per_read(Some(self.silence))
            .timeout_per_write(Some(self.silence));
        if is_loopback { config.proxy(None) } else { config }
    }

    /// The default of `total`, in units of `silence`: a reply that trickles in ends here.
    pub(crate) const TOTAL_PER_SILENCE: u32 = 12;

    /// How long to wait before attempt `attempt`, from 1 for the first repetition; `None` to give up.
    ///
    /// A part of the wait is drawn from the call's `seed`, so that calls which failed together do not return together:
    /// half of a backoff; after a time given by the server, up to [`Patience::spread`].
    pub(crate) fn wait(&self, again: Again, attempt: usize, seed: u64) -> Option<Duration> {
        if attempt > self.retries || again == Again::Never {
            return None;
        }
        let doubled = 1_u32.checked_shl(attempt as u32 - 1).unwrap_or(u32::MAX);
        let most = self.first_wait.saturating_mul(doubled).min(self.longest_wait);
        let drawn = draw(seed.wrapping_add(attempt as u64));
        match again {
            Again::After(told) if told > self.longest_wait => None,
            Again::After(told) => Some(told + self.spread(told).mul_f64(drawn)),
            _ => Some(most.mul_f64(0.5 + 0.5 * drawn)),
        }
    }

    /// Makes `attempt` until it succeeds or no further one is to be made; the last fault then says how many there were. A
    /// server that was never `reached` is not tried again.
    pub(crate) fn persist<T>(
        &self,
        reached: impl Fn() -> bool,
        mut attempt: impl FnMut() -> std::result::Result<T, Fault>,
    ) -> std::result::Result<T, Fault> {
        let mut attempts = 1;
        loop {
            let fault = match attempt() {
                Ok(value) => return Ok(value),
                Err(fault) => fault,
            };
            let again = if fault.kind == RemoteFault::Unreachable && !reached() { Again::Never } else { fault.again };
            let Some(wait) = self.wait(again, attempts, 0) else {
                let tried = if attempts > 1 { format!(" ({attempts} attempts)") } else { String::new() };
                return Err(Fault { reason: format!("{}{tried}", fault.reason), ..fault });
            };
            std::thread::sleep(wait);
            attempts += 1;
        }
    }

    /// The spread of calls after the time `told` by the server: a quarter of it, at least the first wait and
    /// at most a quarter of the longest.
    pub(crate) fn spread(&self, told: Duration) -> Duration {
        (told / 4).min(self.longest_wait / 4).max(self.first_wait)
    }
}

/// A number from 0 to 1 that `seed` determines.
fn draw(seed: u64) -> f64 {
    f64::from(ChaCha8Rng::seed_from_u64(seed).next_u32()) / f64::from(u32::MAX)
}

/// Parses a `Retry-After` header (RFC 9110, section 10.2.3): seconds, or a date.
pub(crate) fn retry_after(value: &str) -> Option<Duration> {
    if let Ok(seconds) = value.trim().parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Some(Duration::from_secs(date(value.trim())?).saturating_sub(now))
}

/// Seconds since 1970 of a date as HTTP writes it: `Sun, 06 Nov 1994 08:49:37 GMT`.
fn date(text: &str) -> Option<u64> {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let parts: Vec<&str> = text.strip_suffix(" GMT")?.split_once(", ")?.1.split([' ', ':']).collect();
    let [day, month, year, hour, minute, second] = parts[..] else { return None };
    let within = |text: &str, range: Range<i64>| text.parse().ok().filter(|number| range.contains(number));
    let (day, year) = (within(day, 1..32)?, within(year, 1970..10_000)?);
    let month = MONTHS.iter().position(|name| *name == month)? as i64 + 1;
    // A minute with a leap second has 61 seconds.
    let (hour, minute, second) = (within(hour, 0..24)?, within(minute, 0..60)?, within(second, 0..61)?);
    u64::try_from(days_from_civil(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second).ok()
}

/// Admits a limited number of calls at once, and none before the time that a `Retry-After` named.
#[derive(Debug)]
pub(super) struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    free: usize,
    closed_until: Instant,
    /// Over how much time calls are admitted after that.
    spread: Duration,
}

/// One of the calls in flight; ends when dropped.
pub(super) struct Admission<'a>(&'a Gate);

impl Gate {
    pub(super) fn new(calls: usize) -> Self {
        let state = State { free: calls.max(1), closed_until: Instant::now(), spread: Duration::ZERO };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Waits until fewer calls than the limit are in flight.
    ///
    /// # Errors
    /// [`MootError::Interrupted`] when `cancel` is set.
    pub(super) fn enter(&self, cancel: &Cancel) -> Result<Admission<'_>> {
        let mut state = self.lock();
        while state.free == 0 {
            go_on(cancel)?;
            // With a timeout, since a cancellation does not notify `changed`.
            state = self.changed.wait_timeout(state, TICK).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.free -= 1;
        Ok(Admission(self))
    }

    /// Waits until the server takes calls again, and a time drawn from `seed` beyond that: calls that waited together
    /// are sent one after the other.
    ///
    /// # Errors
    /// As [`Gate::enter`].
    pub(super) fn pass(&self, seed: u64, cancel: &Cancel) -> Result<()> {
        let drawn = draw(seed);
        loop {
            let state = self.lock();
            let opens = state.closed_until + state.spread.mul_f64(drawn);
            // Released while waiting, so that other calls can pass or close the gate.
            drop(state);
            let left = opens.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return go_on(cancel);
            }
            // Checked again afterwards: the gate may be closed for longer by then.
            sleep(left, cancel)?;
        }
    }

    /// Admits no call for `time`, and the waiting ones over `spread` after that.
    pub(super) fn close_for(&self, time: Duration, spread: Duration) {
        let mut state = self.lock();
        let until = Instant::now() + time;
        if until > state.closed_until {
            (state.closed_until, state.spread) = (until, spread);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Admission<'_> {
    fn drop(&mut self) {
        self.0.lock().free += 1;
        self.0.changed.notify_one();
    }
}

/// Waits `time`.
///
/// # Errors
/// [`MootError::Interrupted`] when `cancel` is set, before or meanwhile.
pub(crate) fn sleep(time: Duration, cancel: &Cancel) -> Result<()> {
    let until = Instant::now() + time;
    loop {
        go_on(cancel)?;
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        std::thread::sleep(left.min(TICK));
    }
}

fn go_on(cancel: &Cancel) -> Result<()> {
    if cancel.is_cancelled() { Err(MootError::Interrupted) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::{Again, Cancel, Gate, Patience, date, retry_after};
    use std::time::{Duration, Instant};

    #[test]
    fn waits_double_differ_and_end() {
        let patience = Patience { retries: 4, longest_wait: Duration::from_secs(3), ..Patience::default() };
        for (attempt, most) in [(1, 0.5), (2, 1.0), (3, 2.0), (4, 3.0)] {
            let wait = patience.wait(Again::Later, attempt, 7).unwrap().as_secs_f64();
            assert!((most / 2.0..=most).contains(&wait), "{attempt}: {wait}");
        }
        assert_eq!(patience.wait(Again::Later, 1, 7), patience.wait(Again::Later, 1, 7));
        assert_ne!(patience.wait(Again::Later, 1, 7), patience.wait(Again::Later, 1, 8));
        assert_eq!(patience.wait(Again::Later, 5, 7), None);
        assert_eq!(patience.wait(Again::Never, 1, 7), None);
        assert_eq!(patience.wait(Again::After(Duration::from_secs(4)), 1, 7), None, "longer than the longest wait");
    }

    #[test]
    fn calls_resume_one_after_the_other_from_the_stated_time() {
        let (patience, told) = (Patience::default(), Duration::from_secs(8));
        let waits: Vec<Duration> =
            (0..64).map(|seed| patience.wait(Again::After(told), 1, seed * 1000).unwrap()).collect();
        let (first, last) = (waits.iter().min().unwrap(), waits.iter().max().unwrap());
        assert!(*first >= told && *last <= told + told / 4, "{first:?} to {last:?}");
        assert!(*last - *first > told / 8, "{first:?} to {last:?}");
        assert_eq!(patience.wait(Again::After(told), 1, 0), Some(waits[0]), "the seed determines it");
        // A short time is spread over the first wait at least.
        assert_eq!(patience.spread(Duration::ZERO), patience.first_wait);
        assert_eq!(patience.spread(Duration::from_secs(7200)), patience.longest_wait / 4);
    }

    #[test]
    fn a_gate_that_was_closed_admits_calls_one_after_the_other() {
        let gate = Gate::new(8);
        let (start, cancel) = (Instant::now(), Cancel::default());
        gate.close_for(Duration::from_millis(20), Duration::from_millis(100));
        let (gate, cancel) = (&gate, &cancel);
        let mut passed: Vec<Duration> = std::thread::scope(|scope| {
            let wait = |seed: u64| {
                move || {
                    gate.pass(seed, cancel).unwrap();
                    start.elapsed()
                }
            };
            let threads: Vec<_> = (0..8).map(|seed| scope.spawn(wait(seed * 1000))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        passed.sort();
        assert!(
            passed[0] >= Duration::from_millis(20) && passed[7] - passed[0] > Duration::from_millis(20),
            "{passed:?}"
        );
    }

    #[test]
    fn a_server_may_name_seconds_or_a_date() {
        assert_eq!(retry_after("7"), Some(Duration::from_secs(7)));
        assert_eq!(retry_after("Sun, 06 Nov 1994 08:49:37 GMT"), Some(Duration::ZERO));
        assert_eq!(date("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777));
        assert_eq!(date("Tue, 29 Feb 2028 00:00:00 GMT"), Some(1_835_395_200));
        for wrong in ["soon", "-1", "Sun, 06 Nox 1994 08:49:37 GMT", "Sun, 00 Nov 1994 08:49:37 GMT", "NaN", "inf"] {
            assert_eq!(retry_after(wrong), None, "{wrong}");
        }
        for time in ["24:00:00", "08:60:37", "08:49:61", "-1:49:37", "9999999999999999:49:37"] {
            assert_eq!(retry_after(&format!("Sun, 06 Nov 1994 {time} GMT")), None, "{time}");
        }
        assert_eq!(date("Sat, 31 Dec 2016 23:59:60 GMT"), date("Sun, 01 Jan 2017 00:00:00 GMT"));
    }
}
