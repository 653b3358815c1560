//! Progress of a comparison: bars on a terminal, else lines.

use crate::cli::terminal::{bar, tell};
use crate::contradictions::{Event, Follow};
use crate::units::plural;
use crate::workspace::Control;
use indicatif::{HumanDuration, ProgressBar};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Interval of progress lines where there is no terminal.
const EVERY: Duration = Duration::from_secs(20);

/// Shows progress, and stops the comparison after Ctrl-C.
pub(super) struct Bars {
    control: Control,
    shown: Mutex<Option<Shown>>,
}

/// One kind of work.
struct Shown {
    what: &'static str,
    bar: Option<ProgressBar>,
    began: Instant,
    /// Finished when the work began.
    first: usize,
    told: Option<Instant>,
}

impl Bars {
    pub(super) fn new(control: Control) -> Self {
        Self { control, shown: Mutex::new(None) }
    }

    pub(super) fn clear(&self) {
        if let Some(bar) = self.lock().take().and_then(|shown| shown.bar) {
            bar.finish_and_clear();
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Shown>> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn show(&self, what: &'static str, done: usize, of: usize) {
        let mut shown = self.lock();
        if shown.as_ref().is_none_or(|shown| shown.what != what) {
            if let Some(bar) = shown.take().and_then(|shown| shown.bar) {
                bar.finish_and_clear();
            }
            let bar = bar(of as u64, "{bar:24} {human_pos}/{human_len} {msg}");
            if done > 0 {
                tell(&format!("{done} of {of} {what} are known from before"));
            }
            *shown = Some(Shown { what, bar, began: Instant::now(), first: done, told: None });
        }
        let Some(shown) = shown.as_mut() else { return };
        let left = shown.left(done, of);
        let left = left.map(|left| format!(", {} left", HumanDuration(left))).unwrap_or_default();
        if let Some(bar) = &shown.bar {
            bar.set_position(done as u64);
            bar.set_message(format!("{what}{left}"));
        } else if !left.is_empty() && done < of && shown.told.is_none_or(|told| told.elapsed() >= EVERY) {
            tell(&format!("{done} of {of} {what}{left}"));
            shown.told = Some(Instant::now());
        }
    }
}

impl Shown {
    /// Time that the rest will take, once some is done.
    fn left(&self, done: usize, of: usize) -> Option<Duration> {
        let made = done.checked_sub(self.first).filter(|made| *made > 0)?;
        let each = self.began.elapsed().as_secs_f64() / made as f64;
        Some(Duration::from_secs((each * of.saturating_sub(done) as f64).ceil() as u64))
    }
}

impl Follow for Bars {
    fn event(&self, event: &Event) {
        match *event {
            Event::Documents { .. } => {}
            Event::Reading { done, of } => self.show("passages read", done, of),
            Event::Embedding { done, of } => self.show("texts of claims embedded", done, of),
            Event::Pairs { claims, pairs, calls } => {
                self.clear();
                let (claims, pairs) = (plural(claims, "claim", "claims"), plural(pairs, "pair", "pairs"));
                tell(&format!("{claims}: {pairs} to label in {}", plural(calls, "call", "calls")));
            }
            Event::Labelling { done, of } => self.show("pairs labelled", done, of),
        }
    }

    fn note(&self, line: &str) {
        tell(line);
    }

    fn is_stopped(&self) -> bool {
        self.control.is_stopped() || self.control.cancel.is_cancelled()
    }
}
