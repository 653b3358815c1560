//! The program: reads what was typed, does it, and says in one line what went wrong.

use anstyle::{AnsiColor, Style};
use moot::MootError;
use moot::cli::Cli;
use moot::cli::terminal::columns::printable;
use moot::cli::terminal::interrupt;
use moot::retrieval::corpus::read_pdf_in;
use moot_models::ModelError;
use std::process::ExitCode;

/// Activations come and go by the megabyte at every operation; the system's allocator returns each to the kernel and
/// faults it in again.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Milliseconds for which the allocator keeps memory that was freed. With its own 10 it returns activations between two
/// steps; what loading has used is returned as well, a little later.
const KEEP: std::ffi::c_long = 10_000;

/// `mi_option_purge_delay` in mimalloc.h.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

fn main() -> ExitCode {
    const WRONG: Style = AnsiColor::Red.on_default().bold();
    const HINT: Style = AnsiColor::Cyan.on_default().bold();
    // SAFETY: it sets a number, before there are other threads.
    #[allow(unsafe_code)]
    unsafe {
        libmimalloc_sys::mi_option_set(PURGE_DELAY, KEEP);
    }
    if let Ok(program) = std::env::current_exe() {
        read_pdf_in(&program);
    }
    interrupt::keep_on_at_the_file_size_limit();
    let Err(error) = Cli::read().and_then(|cli| cli.run()) else { return ExitCode::SUCCESS };
    if let MootError::Interrupted = error {
        anstream::eprintln!("interrupted");
        return ExitCode::from(interrupt::exit_code());
    }
    if let MootError::Differ = error {
        // As `cmp` does: what differs has been printed, and nothing went wrong.
        return ExitCode::FAILURE;
    }
    // Names of files, fields and tensors stand in it, and those may hold anything.
    anstream::eprintln!("{WRONG}error:{WRONG:#} {}", printable(&error.to_string()));
    if let Some(hint) = error.hint() {
        anstream::eprintln!("{HINT}hint:{HINT:#} {}", printable(&hint));
    }
    ExitCode::from(if mistyped(&error) { 2 } else { 1 })
}

/// Whether the command line alone is to blame.
fn mistyped(error: &MootError) -> bool {
    matches!(
        error,
        MootError::Usage(_)
            | MootError::Arguments { .. }
            | MootError::UnknownName { .. }
            | MootError::Model(ModelError::UnknownModel { .. })
    )
}
