//! Standard output, which the reader may have closed.

use crate::error::{MootError, Result};
use std::io::{self, ErrorKind, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Writes `bytes` to standard output. Returns `Break` if the reader has closed it (`| head`), which ends the work without
/// an error.
///
/// # Errors
/// [`MootError::Io`] for any other failure, for example a full disk.
pub fn write(bytes: &[u8]) -> Result<ControlFlow<()>> {
    settled(send(io::stdout().lock(), bytes))
}

/// Prints the command's last text; colours are removed where they are not supported.
///
/// # Errors
/// As [`write`].
pub fn print(text: &str) -> Result<()> {
    settled(send(anstream::stdout().lock(), text.as_bytes())).map(drop)
}

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
pub fn columns() -> usize {
    let terminal = terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0));
    chosen(terminal, std::env::var("COLUMNS").ok().as_deref())
}

/// Width of standard error in columns, as [`columns`] has that of the output.
#[must_use]
pub fn error_columns() -> usize {
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
pub fn under_home(path: &Path) -> PathBuf {
    let home = std::env::home_dir().filter(|home| home.components().count() > 1);
    home.and_then(|home| path.strip_prefix(home).ok().map(|rest| Path::new("~").join(rest))).unwrap_or(path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::chosen;

    #[test]
    fn the_terminal_goes_before_what_columns_says() {
        assert_eq!(chosen(Some(72), Some("120")), 72);
        assert_eq!(chosen(Some(20), None), 40);
        assert_eq!(chosen(Some(0), Some("120")), 120);
        assert_eq!(chosen(None, Some("120")), 120);
        assert_eq!([chosen(None, Some("7")), chosen(None, Some("wide")), chosen(None, None)], [100; 3]);
    }
}
