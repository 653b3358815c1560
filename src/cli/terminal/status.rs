//! A workspace's progress and notes on standard error: bars on a terminal, else lines.

use crate::cli::terminal::progress::{Shown, bar, tell};
use crate::eval::runner::Progress;
use crate::retrieval::index::BuildProgress;
use crate::workspace::models::Opening;
use crate::workspace::{Phase, Watch};
use indicatif::{HumanDuration, ProgressBar};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Interval of a run's progress lines where there is no terminal.
const RUN_EVERY: Duration = Duration::from_secs(30);
/// Interval of an index's progress lines where there is no terminal.
const INDEX_EVERY: Duration = Duration::from_secs(20);
/// Remaining time of an index from which on there are such lines.
const INDEX_FROM: Duration = Duration::from_secs(10);

/// Shows a workspace's progress and notes.
pub(in crate::cli) struct Status {
    /// Set while an interruption must wait for work in progress.
    working: Arc<AtomicBool>,
    shown: Mutex<State>,
}

#[derive(Default)]
struct State {
    fetching: Option<Shown>,
    /// When the model that is being loaded was begun.
    loading: Option<Instant>,
    index: Option<IndexBar>,
    run: Option<RunBar>,
}

impl Status {
    /// A status that keeps `working` true to the phase.
    pub(in crate::cli) fn new(working: Arc<AtomicBool>) -> Self {
        Self { working, shown: Mutex::default() }
    }

    fn with<R>(&self, act: impl FnOnce(&mut State) -> R) -> R {
        act(&mut self.shown.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Watch for Status {
    fn note(&self, line: &str) {
        tell(line);
    }

    fn opening(&self, step: &Opening<'_>) {
        self.with(|state| state.opening(step));
    }

    fn indexing(&self, total: u64, progress: Option<&BuildProgress>) {
        self.with(|state| match progress {
            Some(progress) => state.index.get_or_insert_with(|| IndexBar::new(total)).show(progress),
            None => drop(state.index.take().inspect(IndexBar::clear)),
        });
    }

    fn running(&self, progress: Option<&Progress>) {
        self.with(|state| match progress {
            Some(progress) => state.run.get_or_insert_with(RunBar::new).show(progress),
            None => drop(state.run.take().inspect(RunBar::clear)),
        });
    }

    fn phase(&self, phase: Phase) {
        self.working.store(phase == Phase::Working, Ordering::Relaxed);
    }
}

impl State {
    fn opening(&mut self, step: &Opening<'_>) {
        match step {
            Opening::Finding(name, progress) => {
                if self.fetching.as_ref().is_none_or(|shown| shown.name() != *name) {
                    self.fetching = Some(Shown::new(name));
                }
                self.fetching.iter_mut().for_each(|shown| shown.show(progress));
            }
            Opening::Note(name, note) => tell(&format!("{name}: {note}")),
            Opening::Plan(plan) => plan.to_string().lines().for_each(tell),
            Opening::Loading(name) => {
                tell(&format!("{name}: loading"));
                self.loading = Some(Instant::now());
            }
            Opening::Loaded { name, thinks: _, remark } => {
                let found = self.fetching.as_ref().map_or(0.0, Shown::seconds);
                let seconds = self.loading.take().map_or(found, |began| began.elapsed().as_secs_f64());
                tell(&format!("{name} loaded in {seconds:.1} s"));
                remark.iter().for_each(|remark| tell(remark));
            }
            Opening::Elsewhere(name) => tell(&format!("{name}: answers")),
        }
    }
}

/// Shows passages per second and the remaining time.
struct IndexBar {
    bar: Option<ProgressBar>,
    total: u64,
    speed: Speed,
    /// When a plain line was printed last.
    told: Option<Instant>,
}

impl IndexBar {
    fn new(total: u64) -> Self {
        let bar = bar(total, "{bar:24} {human_pos}/{human_len} passages  {msg}");
        Self { bar, total, speed: Speed::default(), told: None }
    }

    fn show(&mut self, progress: &BuildProgress) {
        match progress {
            BuildProgress::Resumed(done) => {
                if self.speed.first.is_none() {
                    self.say("resuming a stopped build");
                }
                self.speed.first = Some((Instant::now(), *done));
                if let Some(bar) = &self.bar {
                    bar.set_position(*done);
                }
            }
            BuildProgress::Indexed(done) => self.indexed(*done),
            BuildProgress::Grouping { done: 0, .. } => self.say("grouping vectors for approximate search"),
            BuildProgress::Grouping { .. } => {}
        }
    }

    fn indexed(&mut self, done: u64) {
        if let Some(bar) = &self.bar {
            bar.set_position(done);
        }
        let Some((rate, left)) = self.speed.estimate(Instant::now(), done, self.total) else { return };
        let text = format!("{rate:.0} passages/s, {} left", HumanDuration(left));
        if let Some(bar) = &self.bar {
            bar.set_message(text);
        } else if self.told.map_or(left >= INDEX_FROM, |told| told.elapsed() >= INDEX_EVERY) {
            tell(&format!("{done} of {} passages, {text}", self.total));
            self.told = Some(Instant::now());
        }
    }

    fn say(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| tell(line)),
            None => tell(line),
        }
    }

    fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// The speed of a build since its first progress: how long the passages before took is not known.
#[derive(Default)]
struct Speed {
    first: Option<(Instant, u64)>,
}

impl Speed {
    /// Passages per second and the remaining time, where `done` of `total` passages are indexed; `None` at first.
    fn estimate(&mut self, now: Instant, done: u64, total: u64) -> Option<(f64, Duration)> {
        let (start, first) = *self.first.get_or_insert((now, done));
        let (passages, seconds) = (done.saturating_sub(first), now.duration_since(start).as_secs_f64());
        let rate = passages as f64 / seconds.max(1e-3);
        let left = total.saturating_sub(done) as f64 / rate.max(1e-3);
        // `from_secs_f64` panics beyond its range.
        (passages > 0).then(|| (rate, Duration::from_secs_f64(left.min(1e9))))
    }
}

/// Progress display: a bar on a terminal, else a line every [`RUN_EVERY`].
struct RunBar {
    bar: Option<ProgressBar>,
    last: Instant,
    told: Option<usize>,
}

impl RunBar {
    fn new() -> Self {
        Self { bar: bar(0, "{bar:24} {pos}/{len}  {wide_msg}"), last: Instant::now(), told: None }
    }

    fn show(&mut self, progress: &Progress) {
        if let Some(bar) = &self.bar {
            bar.set_length(progress.total as u64);
            bar.set_position(progress.done as u64);
            bar.set_message(rates(progress));
        } else if self.told.is_none() || (self.last.elapsed() >= RUN_EVERY && self.told != Some(progress.done)) {
            tell(&format!("{}/{} questions  {}", progress.done, progress.total, rates(progress)));
            self.last = Instant::now();
            self.told = Some(progress.done);
        }
    }

    fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn rates(progress: &Progress) -> String {
    let mut parts = Vec::new();
    if let Some(remaining) = progress.remaining() {
        parts.push(format!("{:.1}/min", progress.per_minute()));
        parts.push(format!("{} left", HumanDuration(remaining)));
    }
    parts.push(format!("{} malformed", progress.malformed));
    if progress.errors > 0 {
        parts.push(format!("{} errors", progress.errors));
    }
    parts.push(format!("{} tokens in, {} out", progress.usage.prompt, progress.usage.generated));
    parts.join("  ")
}

#[cfg(test)]
mod tests {
    use super::Speed;
    use std::time::{Duration, Instant};

    #[test]
    fn the_estimate_counts_what_was_indexed_since_the_first_progress() {
        let (mut speed, start) = (Speed::default(), Instant::now());
        assert_eq!(speed.estimate(start, 512, 5120), None, "the time of these is not known");
        let later = start + Duration::from_secs(8);
        assert_eq!(speed.estimate(later, 1024, 5120), Some((64.0, Duration::from_secs(64))));
    }
}
