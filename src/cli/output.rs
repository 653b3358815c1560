//! What goes to standard output, where nobody may be listening any more.

use crate::error::{MootError, Result};
use std::io::{self, ErrorKind, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Writes `bytes` to standard output; `Break` where the reader has closed it (`| head`), which is no error but
/// the end of the work.
///
/// # Errors
/// [`MootError::Io`] for anything else that goes wrong, as a full disk.
pub fn write(bytes: &[u8]) -> Result<ControlFlow<()>> {
    settled(send(io::stdout().lock(), bytes))
}

/// A text that is the command's last; its colours go where colours belong.
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

/// Columns that a debate may fill: the shell's `COLUMNS`, else what reads well.
#[must_use]
pub fn columns() -> usize {
    const READABLE: usize = 100;
    let told = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    told.filter(|&columns: &usize| columns >= 40).unwrap_or(READABLE)
}

/// `path` as the user's shell would write it, with `~` for the home folder.
#[must_use]
pub fn under_home(path: &Path) -> PathBuf {
    let home = std::env::home_dir().filter(|home| home.components().count() > 1);
    home.and_then(|home| path.strip_prefix(home).ok().map(|rest| Path::new("~").join(rest))).unwrap_or(path.to_owned())
}
