//! `moot record calls`: prints a run's calls, to send the same work to another server.

use crate::cli::terminal::output;
use crate::error::{MootError, Result};
use crate::escape;
use crate::eval::queries;
use crate::eval::record::Reader;
use std::path::{Path, PathBuf};

/// Print the calls of a record that were made, one JSON object per line
///
/// Calls of one question with the same stage depend only on earlier stages and can be sent at once. Calls whose replies were taken from equal ones are left out.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A record, as `moot run -o` writes it
    #[arg(value_name = "RECORD")]
    pub record: PathBuf,
}

/// Prints the calls of `args.record` that were made, question by question in the order recorded.
///
/// # Errors
/// A record that cannot be read, or is corrupt.
pub fn run(args: &Args) -> Result<()> {
    for record in Reader::open(&args.record)? {
        let record = record?;
        let mut lines = String::new();
        for call in queries::calls_made(&record) {
            let line = serde_json::to_string(&call);
            let line = line.map_err(|e| MootError::io(Path::new("standard output"), "write", e.into()))?;
            lines.push_str(&escape::json(&line));
            lines.push('\n');
        }
        if output::write(lines.as_bytes())?.is_break() {
            return Ok(());
        }
    }
    Ok(())
}
