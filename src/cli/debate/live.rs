//! Progress of a debate on standard error: replies that arrived and are missing, tokens read and written.

use crate::cli::terminal::columns::{shorten, width};
use crate::cli::terminal::output;
use crate::cli::terminal::tell;
use crate::engine::Stats;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Interval of lines where standard error is not a terminal, if nothing else was printed meanwhile.
const PLAIN_EVERY: Duration = Duration::from_secs(15);
/// Interval at which the line of a terminal is drawn again.
const DRAW_EVERY: Duration = Duration::from_millis(200);

/// The state of the stage in flight, shown as one line that is drawn again, or as a line now and then.
pub(in crate::cli) struct Live {
    bar: Option<ProgressBar>,
    over: AtomicBool,
    stage: Mutex<Stage>,
}

struct Stage {
    /// Calls of the stage, those of them that were answered, and those of these whose reply was computed for them.
    asked: usize,
    answered: usize,
    computed: usize,
    began: Instant,
    /// The engine's counts when it began.
    before: Stats,
    /// The last line or reply that was printed.
    last: Instant,
}

impl Live {
    /// A display that draws on standard error where that is a terminal.
    pub(in crate::cli) fn new() -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{spinner} {wide_msg}");
            ProgressBar::new_spinner().with_style(style.expect("a template of ours (bug)"))
        });
        let now = Instant::now();
        let before = Stats::default();
        let stage = Stage { asked: 0, answered: 0, computed: 0, began: now, before, last: now };
        Self { bar, over: AtomicBool::new(false), stage: Mutex::new(stage) }
    }

    /// `asked` calls are in flight.
    pub(super) fn stage(&self, asked: usize) {
        let mut stage = self.lock();
        (stage.asked, stage.answered, stage.computed, stage.began) = (asked, 0, 0, Instant::now());
        stage.before = Stats::default();
    }

    /// A reply arrived, which was computed or is that of an equal call; `print` prints it.
    pub(super) fn reply(&self, computed: bool, print: impl FnOnce()) {
        {
            let mut stage = self.lock();
            stage.answered += 1;
            stage.computed += usize::from(computed);
            stage.last = Instant::now();
        }
        // Without the lock: `watch` takes it to draw, and printing may wait for the reader of a pipe.
        self.aside(print);
    }

    /// Prints while the line is not drawn.
    pub(super) fn aside(&self, print: impl FnOnce()) {
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    /// Draws until [`Live::end`]; `stats` are the engine's counts, where there is one.
    pub(in crate::cli) fn watch(&self, stats: impl Fn() -> Option<Stats>) {
        let mut drawn = Instant::now();
        while !self.over.load(Ordering::Relaxed) {
            // In short steps, since the end of the debate waits for this thread.
            std::thread::sleep(DRAW_EVERY / 4);
            if drawn.elapsed() < DRAW_EVERY {
                continue;
            }
            drawn = Instant::now();
            let counts = stats();
            let mut stage = self.lock();
            // `stage` cannot ask the engine, so the counts at the first drawing stand for those at the beginning.
            if let Some(counts) = counts.filter(|_| stage.before == Stats::default()) {
                stage.before = counts;
            }
            let line = stage.line(counts);
            match &self.bar {
                Some(bar) => {
                    // The spinner and a space are before it, and a terminal may break a line that fills it.
                    bar.set_message(fitting(&line, output::error_columns().saturating_sub(3)));
                    bar.tick();
                }
                None if stage.last.elapsed() >= PLAIN_EVERY => {
                    stage.last = Instant::now();
                    tell(&line);
                }
                None => {}
            }
        }
    }

    /// Ends the display: nothing of it stays on the terminal.
    fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// Ends the display when it is dropped.
    pub(in crate::cli) fn until_dropped(&self) -> impl Drop + '_ {
        struct End<'a>(&'a Live);
        impl Drop for End<'_> {
            fn drop(&mut self) {
                self.0.end();
            }
        }
        End(self)
    }

    fn lock(&self) -> MutexGuard<'_, Stage> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stage {
    /// "2 of 5 replies, 6.1 a minute; reading prompts: 812 tokens read, 0 written (41/s); 19 s".
    fn line(&self, counts: Option<Stats>) -> String {
        let seconds = self.began.elapsed().as_secs_f64();
        if self.asked == 0 {
            return format!("preparing the first calls; {seconds:.0} s");
        }
        let mut parts = vec![format!("{} of {} replies", self.answered, self.asked)];
        if self.computed > 0 && seconds > 0.0 {
            parts[0].push_str(&format!(", {:.1} a minute", 60.0 * self.computed as f64 / seconds));
        }
        if let Some(now) = counts {
            let read = now.prefilled.saturating_sub(self.before.prefilled);
            let written = now.decoded.saturating_sub(self.before.decoded);
            let what = if written == 0 { "reading prompts" } else { "reading and writing" };
            let rate = |tokens: usize| tokens as f64 / seconds.max(0.001);
            parts.push(format!("{what}: {read} tokens read, {written} written ({:.0}/s)", rate(read + written)));
        }
        parts.push(format!("{seconds:.0} s"));
        parts.join("; ")
    }
}

/// As many whole parts of a line, from its beginning, as `columns` hold; of the first one whole words.
fn fitting(line: &str, columns: usize) -> String {
    let mut kept = line;
    while width(kept) > columns {
        match kept.rfind([',', ';', ':']) {
            Some(end) => kept = &kept[..end],
            None => return shorten(kept, columns),
        }
    }
    kept.to_owned()
}

#[cfg(test)]
mod tests {
    use super::{Live, Stage, Stats, fitting};
    use std::time::{Duration, Instant};

    #[test]
    fn the_line_shows_the_current_work() {
        let live = Live::new();
        assert!(live.lock().line(None).starts_with("preparing the first calls; "));
        live.stage(4);
        live.reply(true, || {});
        let began = Instant::now().checked_sub(Duration::from_secs(30)).unwrap();
        let stage = Stage { began, before: Stats { prefilled: 100, ..Stats::default() }, ..*live.lock() };
        assert_eq!(stage.line(None), "1 of 4 replies, 2.0 a minute; 30 s");
        let counts = Stats { prefilled: 700, ..Stats::default() };
        let reading = "1 of 4 replies, 2.0 a minute; reading prompts: 600 tokens read, 0 written (20/s); 30 s";
        assert_eq!(stage.line(Some(counts)), reading);
        let writing = stage.line(Some(Stats { decoded: 30, ..counts }));
        assert!(writing.contains("reading and writing: 600 tokens read, 30 written (21/s)"), "{writing}");
        // A call that was not made took no time.
        live.reply(false, || {});
        let stage = Stage { began, ..*live.lock() };
        assert_eq!(stage.line(None), "2 of 4 replies, 2.0 a minute; 30 s");
    }

    #[test]
    fn a_narrow_terminal_has_whole_parts() {
        let line = "1 of 4 replies, 2.0 a minute; reading prompts: 600 tokens read, 0 written (20/s); 30 s";
        for (columns, expected) in [
            (100, line),
            (80, "1 of 4 replies, 2.0 a minute; reading prompts: 600 tokens read, 0 written (20/s)"),
            (79, "1 of 4 replies, 2.0 a minute; reading prompts: 600 tokens read"),
            (60, "1 of 4 replies, 2.0 a minute; reading prompts"),
            (40, "1 of 4 replies, 2.0 a minute"),
            (27, "1 of 4 replies"),
            (9, "1 of 4…"),
        ] {
            assert_eq!(fitting(line, columns), expected);
        }
    }
}
