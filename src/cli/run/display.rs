//! What a run shows while it goes, and its last line.

use crate::eval::runner::Progress;
use indicatif::{HumanDuration, ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Interval of progress lines where there is no terminal.
const PLAIN_EVERY: Duration = Duration::from_secs(30);

/// Prints a line on standard error.
pub(super) fn say(line: &str) {
    anstream::eprintln!("{}", crate::escape::line(line));
}

/// Progress display: a bar on a terminal, else a line every [`PLAIN_EVERY`].
pub(super) struct Display {
    bar: Option<ProgressBar>,
    last: Instant,
    told: Option<usize>,
}

impl Display {
    pub(super) fn new() -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{bar:24} {pos}/{len}  {wide_msg}");
            ProgressBar::new(0).with_style(style.expect("a template of ours (bug)"))
        });
        Self { bar, last: Instant::now(), told: None }
    }

    pub(super) fn show(&mut self, progress: &Progress) {
        if let Some(bar) = &self.bar {
            bar.set_length(progress.total as u64);
            bar.set_position(progress.done as u64);
            bar.set_message(rates(progress));
        } else if self.told.is_none() || (self.last.elapsed() >= PLAIN_EVERY && self.told != Some(progress.done)) {
            say(&format!("{}/{} questions  {}", progress.done, progress.total, rates(progress)));
            self.last = Instant::now();
            self.told = Some(progress.done);
        }
    }

    pub(super) fn clear(&mut self) {
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

/// What a run did: questions, calls, tokens.
pub(super) fn summary(progress: &Progress) -> String {
    let new = progress.done - progress.before;
    let earlier = if progress.before > 0 { format!(" ({} were there)", progress.before) } else { String::new() };
    let journal = match progress.from_journal {
        0 => String::new(),
        calls => format!(" ({calls} from the journal)"),
    };
    let taken_over = match progress.taken_over {
        0 => String::new(),
        calls => format!(" ({calls} not made: equal ones had been answered)"),
    };
    format!(
        "{new} questions{earlier} in {:.1} s: {} calls{journal}{taken_over}, {} malformed replies, {} errors, {} tokens in ({} reused), {} out",
        progress.elapsed.as_secs_f64(),
        progress.calls,
        progress.malformed,
        progress.errors,
        progress.usage.prompt,
        progress.usage.reused,
        progress.usage.generated
    )
}
