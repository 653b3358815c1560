//! Ctrl-C and SIGTERM. SIGHUP is left to the system, so that `nohup` works; what is recorded is on the disk by then.

use crate::cli::terminal::error_line;
use crate::cli::terminal::status::Status;
use crate::error::{MootError, Result};
use crate::workspace::Control;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

/// Exit code of a program that Ctrl-C ended, as shells report it.
const INTERRUPTED: u8 = 130;

/// The exit code of an interrupted program: 128 and the number of the signal, 130 where none was received.
static CODE: AtomicU8 = AtomicU8::new(INTERRUPTED);

/// The exit code of an interrupted program: 130 after Ctrl-C, 143 after SIGTERM.
#[must_use]
pub(crate) fn exit_code() -> u8 {
    CODE.load(Ordering::Relaxed)
}

/// Lets a write beyond the limit of a file's size (`ulimit -f`) fail with an error. Called before another thread is started.
pub(crate) fn keep_on_at_the_file_size_limit() {
    #[cfg(unix)]
    {
        use nix::sys::signal::{SigSet, Signal};
        let signals: SigSet = [Signal::SIGXFSZ].into_iter().collect();
        // By default the signal ends the program without a word. Blocked rather than ignored: that needs no unsafe code.
        let _ = signals.thread_block();
    }
}

/// Installs the handlers and returns the control of the subcommand's work, which is shown on standard error. Once per process,
/// and before another thread is started.
///
/// The first signal stops the work and cancels its calls. The second one ends the program at once, and so does the first one
/// while models are found and loaded: nothing is in progress that must be finished.
///
/// # Errors
/// [`MootError::Usage`] if the system refuses.
pub(in crate::cli) fn listen() -> Result<Control> {
    let working: Arc<AtomicBool> = Arc::default();
    let control = Control::new(Status::new(working.clone()));
    let received = || received(&control, &working);
    let failed = |e: &dyn std::fmt::Display| MootError::Usage(format!("Ctrl-C cannot be handled here: {e}"));
    // First, so that the thread of Ctrl-C does not receive the other signals either.
    termination::listen(received()).map_err(|e| failed(&e))?;
    let interrupted = received();
    ctrlc::set_handler(move || interrupted(INTERRUPTED)).map_err(|e| failed(&e))?;
    Ok(control)
}

/// Handles a signal, given by its exit code.
fn received(control: &Control, working: &Arc<AtomicBool>) -> impl Fn(u8) + Send + 'static {
    let (stop, cancel, working) = (control.stop.clone(), control.cancel.clone(), working.clone());
    move |code| {
        CODE.store(code, Ordering::Relaxed);
        if stop.swap(true, Ordering::Relaxed) || !working.load(Ordering::Relaxed) {
            error_line("interrupted");
            std::process::exit(i32::from(code));
        }
        cancel.cancel();
    }
}

/// SIGTERM: `ctrlc` would not tell it from Ctrl-C, so it is blocked and received by a thread.
#[cfg(unix)]
mod termination {
    use nix::sys::signal::{SigSet, Signal};

    pub(super) fn listen(received: impl Fn(u8) + Send + 'static) -> std::io::Result<()> {
        let signals: SigSet = [Signal::SIGTERM].into_iter().collect();
        signals.thread_block()?;
        let wait = move || {
            while let Ok(signal) = signals.wait() {
                received(128 + signal as u8);
            }
        };
        std::thread::Builder::new().name("signals".into()).spawn(wait).map(drop)
    }
}

#[cfg(not(unix))]
mod termination {
    pub(super) fn listen(_: impl Fn(u8) + Send + 'static) -> std::io::Result<()> {
        Ok(())
    }
}
