//! Progress on standard error while a model is found, fetched and loaded.

use crate::units::readable;
use indicatif::{ProgressBar, ProgressStyle};
use moot_models::source::FetchEvent;
use std::fmt::Display;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// Interval of progress lines if standard error is not a terminal.
const PLAIN_EVERY: Duration = Duration::from_secs(20);

/// A bar of `length` steps; none where standard error is not a terminal.
pub(in crate::cli) fn bar(length: u64, template: &str) -> Option<ProgressBar> {
    let style = ProgressStyle::with_template(template).expect("a template of ours (bug)");
    std::io::stderr().is_terminal().then(|| ProgressBar::new(length).with_style(style))
}

/// Shows progress: a bar on a terminal, otherwise a line at intervals.
#[derive(Debug)]
pub(in crate::cli) struct Shown {
    name: String,
    bar: Option<ProgressBar>,
    fetching: bool,
    /// Reason of the last failure, printed together with the next source.
    failed: Option<String>,
    /// Size of the file last printed, and the time of the last line.
    told: (u64, Instant),
    found: Instant,
}

impl Shown {
    pub(in crate::cli) fn new(name: &str) -> Self {
        let bar = bar(0, "{bar:24} {bytes}/{total_bytes}  {bytes_per_sec}  {eta} left  {msg}");
        let name = name.to_owned();
        Self { name, bar, fetching: false, failed: None, told: (0, Instant::now()), found: Instant::now() }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(in crate::cli) fn show(&mut self, progress: &FetchEvent) {
        match progress {
            FetchEvent::Trying { source } => {
                self.fetching = true;
                let failed = self.failed.take().map_or_else(String::new, |failed| format!("{failed}; "));
                tell(&format!("{failed}fetching {} from {source}", self.name));
            }
            // The last source's reason is part of the error.
            FetchEvent::Failed { source, reason } => self.failed = Some(format!("not from {source}: {reason}")),
            FetchEvent::NextFile { index, count } => match &self.bar {
                Some(bar) => bar.set_message(format!("part {index} of {count}")),
                None => tell(&format!("part {index} of {count}")),
            },
            FetchEvent::Bytes { done, total } => self.bytes(*done, *total),
            FetchEvent::Using { source } => self.using(source),
        }
    }

    fn bytes(&mut self, done: u64, total: u64) {
        if let Some(bar) = &self.bar {
            bar.set_length(total);
            bar.set_position(done);
            return;
        }
        let (told, at) = self.told;
        if told != total || at.elapsed() >= PLAIN_EVERY {
            let share = if done > 0 {
                format!(", {:.0} % here", 100.0 * done as f64 / total.max(1) as f64)
            } else {
                String::new()
            };
            tell(&format!("{}{share}", readable(total)));
            self.told = (total, Instant::now());
        }
    }

    fn using(&mut self, source: &str) {
        if let Some(bar) = self.bar.as_ref().filter(|_| self.fetching) {
            bar.finish_and_clear();
        }
        let failed = self.failed.take().map_or_else(String::new, |failed| format!("{failed}; "));
        tell(&format!("{failed}{}: from {source}", self.name));
        self.found = Instant::now();
    }

    /// Seconds since its files were found.
    pub(super) fn seconds(&self) -> f64 {
        self.found.elapsed().as_secs_f64()
    }
}

pub(in crate::cli) fn tell(line: &str) {
    error_line(super::columns::printable(line));
}

/// Writes a line to standard error. Where that cannot be written (a full disk), the line is lost and the work goes on:
/// `eprintln` would end the program.
pub(crate) fn error_line(line: impl Display) {
    let _ = writeln!(anstream::stderr(), "{line}");
}
