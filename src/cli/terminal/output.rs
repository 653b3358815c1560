//! Standard output, whose reader may close it early (`| head`).

use crate::cli::terminal::columns::{width, wrap};
use crate::error::{MootError, Result};
use crate::escape;
use serde::Serialize;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Writes `bytes` to standard output. Returns `Break` if the reader has closed it (`| head`), which ends the work without
/// an error.
///
/// # Errors
/// [`MootError::Io`] for any other failure, for example a full disk.
pub(in crate::cli) fn write(bytes: &[u8]) -> Result<ControlFlow<()>> {
    settled(send(io::stdout().lock(), bytes))
}

/// Prints the command's last text; colours are removed where they are not supported, and other control characters everywhere.
///
/// # Errors
/// As [`write`].
pub(in crate::cli) fn print(text: &str) -> Result<()> {
    settled(send(anstream::stdout().lock(), escape::styled(text).as_bytes())).map(drop)
}

/// `value` as a line of JSON.
///
/// # Errors
/// A value that JSON cannot hold, which is a bug.
pub(in crate::cli) fn json(value: &impl Serialize) -> Result<String> {
    encoded(serde_json::to_string(value))
}

/// `value` as JSON over several lines.
///
/// # Errors
/// As [`json`].
pub(in crate::cli) fn pretty_json(value: &impl Serialize) -> Result<String> {
    encoded(serde_json::to_string_pretty(value))
}

fn encoded(json: serde_json::Result<String>) -> Result<String> {
    let json = json.map_err(|e| MootError::Usage(format!("the output cannot be written as JSON: {e} (bug)")))?;
    Ok(escape::json(&json) + "\n")
}

/// Prints [`json`] of `value`.
///
/// # Errors
/// As [`json`] and [`write`].
pub(in crate::cli) fn print_json(value: &impl Serialize) -> Result<()> {
    print(&json(value)?)
}

/// Prints [`pretty_json`] of `value`.
///
/// # Errors
/// As [`json`] and [`write`].
pub(in crate::cli) fn print_pretty_json(value: &impl Serialize) -> Result<()> {
    print(&pretty_json(value)?)
}

/// As [`print`], the lines as [`lines`] has them.
///
/// # Errors
/// As [`write`].
pub(in crate::cli) fn print_lines(text: &str) -> Result<()> {
    print(&lines(text))
}

/// The lines of `text` for standard output: in a terminal those that are wider than it are wrapped between words, and go on below
/// their beginning; a file or a pipe has every line as it is.
#[must_use]
pub(in crate::cli) fn lines(text: &str) -> String {
    if io::stdout().is_terminal() { folded(text, columns()) } else { text.to_owned() }
}

/// The lines of `text` in at most `columns`.
fn folded(text: &str, columns: usize) -> String {
    let mut out = String::new();
    for line in text.lines() {
        if width(line) <= columns {
            out.push_str(line);
        } else {
            let margin = line.len() - line.trim_start().len();
            let lines = wrap(line, columns.saturating_sub(margin + HANGING));
            let below = format!("\n{}", " ".repeat(margin + HANGING));
            out.push_str(&format!("{}{}", " ".repeat(margin), lines.join(&below)));
        }
        out.push('\n');
    }
    out
}

/// Columns by which the rest of a wrapped line is indented.
const HANGING: usize = 4;

fn send(mut out: impl Write, bytes: &[u8]) -> io::Result<()> {
    out.write_all(bytes)?;
    out.flush()
}

fn settled(result: io::Result<()>) -> Result<ControlFlow<()>> {
    match result {
        Ok(()) => Ok(ControlFlow::Continue(())),
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(ControlFlow::Break(())),
        Err(e) => Err(MootError::io(Path::new("standard output"), "write", e)),
    }
}

/// Width of the output in columns: the terminal's where standard output is one, else `COLUMNS`, else 100.
#[must_use]
pub(in crate::cli) fn columns() -> usize {
    let terminal = terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0));
    chosen(terminal, std::env::var("COLUMNS").ok().as_deref())
}

/// Width of standard error in columns, as [`columns`] has that of the output.
#[must_use]
pub(in crate::cli) fn error_columns() -> usize {
    let terminal = terminal_size::terminal_size_of(io::stderr()).map(|(width, _)| usize::from(width.0));
    chosen(terminal, std::env::var("COLUMNS").ok().as_deref())
}

/// The width from the terminal's and from what `COLUMNS` says. A narrower terminal than 40 columns counts as 40.
fn chosen(terminal: Option<usize>, told: Option<&str>) -> usize {
    const READABLE: usize = 100;
    const LEAST: usize = 40;
    let terminal = terminal.filter(|&columns| columns > 0).map(|columns| columns.max(LEAST));
    let told = || told?.parse().ok().filter(|&columns: &usize| columns >= LEAST);
    terminal.or_else(told).unwrap_or(READABLE)
}

/// `path` with `~` for the home folder.
#[must_use]
pub(in crate::cli) fn under_home(path: &Path) -> PathBuf {
    // A home folder of `/`, as services and containers have it, would turn every path into `~/...`.
    let home = std::env::home_dir().filter(|home| home.components().count() > 1);
    home.and_then(|home| path.strip_prefix(home).ok().map(|rest| Path::new("~").join(rest))).unwrap_or(path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{chosen, folded};

    #[test]
    fn a_wide_line_continues_below_its_beginning() {
        let text = "short\n  1  When was the bridge opened? -> 1884\n\nend\n";
        assert_eq!(folded(text, 80), text);
        assert_eq!(folded(text, 24), "short\n  1 When was the\n      bridge opened? ->\n      1884\n\nend\n");
    }

    #[test]
    fn the_terminal_overrides_columns() {
        assert_eq!(chosen(Some(72), Some("120")), 72);
        assert_eq!(chosen(Some(20), None), 40);
        assert_eq!(chosen(Some(0), Some("120")), 120);
        assert_eq!(chosen(None, Some("120")), 120);
        assert_eq!([chosen(None, Some("7")), chosen(None, Some("wide")), chosen(None, None)], [100; 3]);
    }
}
