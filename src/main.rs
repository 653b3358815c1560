//! The program: reads what was typed, does it, and says in one line what went wrong.

use anstyle::{AnsiColor, Style};
use clap::Parser;
use moot::MootError;
use moot::cli::{Cli, run::INTERRUPTED};
use std::process::ExitCode;

/// Activations come and go by the megabyte at every operation; the system's allocator returns each to the kernel and
/// faults it in again.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    const WRONG: Style = AnsiColor::Red.on_default().bold();
    const HINT: Style = AnsiColor::Cyan.on_default().bold();
    let Err(error) = Cli::parse().run() else { return ExitCode::SUCCESS };
    if let MootError::Interrupted = error {
        anstream::eprintln!("interrupted");
        return ExitCode::from(INTERRUPTED);
    }
    anstream::eprintln!("{WRONG}error:{WRONG:#} {error}");
    if let Some(hint) = error.hint() {
        anstream::eprintln!("{HINT}hint:{HINT:#} {hint}");
    }
    ExitCode::from(if let MootError::Usage(_) | MootError::UnknownName { .. } = error { 2 } else { 1 })
}
