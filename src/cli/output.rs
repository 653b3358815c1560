//! What goes to standard output, where nobody may be listening any more.

use crate::error::{MootError, Result};
use std::io::{self, ErrorKind, Write};
use std::ops::ControlFlow;
use std::path::Path;

/// Writes `bytes` to standard output; `Break` where the reader has closed it (`| head`), which is no error but
/// the end of the work.
///
/// # Errors
/// [`MootError::Io`] for anything else that goes wrong, as a full disk.
pub fn write(bytes: &[u8]) -> Result<ControlFlow<()>> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Ok(()) => Ok(ControlFlow::Continue(())),
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(ControlFlow::Break(())),
        Err(e) => Err(MootError::io(Path::new("standard output"), "write", e)),
    }
}

/// [`write`] of a text that is the command's last.
///
/// # Errors
/// As [`write`].
pub fn print(text: &str) -> Result<()> {
    write(text.as_bytes()).map(drop)
}
