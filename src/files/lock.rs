//! Locks against other processes.

use std::fs::{File, TryLockError};
use std::io;
use std::time::{Duration, Instant};

/// Time to wait for a lock: a process that was just killed, or is just starting another, releases it in a moment.
const PATIENCE: Duration = Duration::from_secs(1);

/// Locks `file` as long as it is open; `false` where another process holds the lock.
///
/// # Errors
/// The system's.
pub(crate) fn lock(file: &File) -> io::Result<bool> {
    let start = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::WouldBlock) if start.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(TryLockError::WouldBlock) => return Ok(false),
            // Some network file systems have no locks; work without one is better than none.
            Err(TryLockError::Error(e)) if e.kind() == io::ErrorKind::Unsupported => return Ok(true),
            Err(TryLockError::Error(e)) => return Err(e),
        }
    }
}
