//! The program: parses the arguments, runs the command, and prints an error as one line.

use crate::cli::Cli;
use crate::cli::terminal::columns::printable;
use crate::cli::terminal::{error_line, interrupt};
use crate::error::MootError;
use anstyle::{AnsiColor, Style};
use moot_models::ModelError;
use std::ffi::OsString;

/// Runs the program as `typed`, its name first, and returns its exit code. For help or the version, prints them and exits.
///
/// The caller names the program that reads PDF files ([`read_pdf_in`](crate::retrieval::corpus::read_pdf_in)).
pub fn program(typed: impl IntoIterator<Item = OsString>) -> u8 {
    const WRONG: Style = AnsiColor::Red.on_default().bold();
    const HINT: Style = AnsiColor::Cyan.on_default().bold();
    interrupt::keep_on_at_the_file_size_limit();
    let (error, code) = match Cli::read(typed) {
        Err(error) => (error, 1),
        Ok(cli) => match cli.run() {
            Ok(()) => return 0,
            Err(error) => (error, cli.code_of_errors()),
        },
    };
    if let MootError::Interrupted = error {
        error_line("interrupted");
        return interrupt::exit_code();
    }
    if let MootError::Differ = error {
        // As `cmp` does: what differs has been printed, and nothing went wrong.
        return 1;
    }
    // It contains names of files, fields and tensors, and those may hold anything.
    error_line(format_args!("{WRONG}error:{WRONG:#} {}", printable(&error.to_string())));
    if let Some(hint) = error.hint() {
        error_line(format_args!("{HINT}hint:{HINT:#} {}", printable(&hint)));
    }
    if mistyped(&error) { 2 } else { code }
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
