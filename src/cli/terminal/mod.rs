//! The terminal: lines and columns, standard output, progress on standard error, Ctrl-C.

pub mod columns;
pub(crate) mod interrupt;
pub(super) mod output;
mod progress;
pub(super) mod runs;
pub(super) mod status;

pub(crate) use progress::error_line;
pub(super) use progress::{Shown, bar, tell};
