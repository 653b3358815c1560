//! `moot record merge`: records of parts of a run as one.

use crate::cli::terminal::columns::printable;
use crate::cli::terminal::output;
use crate::error::Result;
use crate::eval::merge;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  moot run set.jsonl -o part1.jsonl --shard 1/2
  moot run set.jsonl -o part2.jsonl --shard 2/2
  moot record merge part1.jsonl part2.jsonl -o whole.jsonl";

/// Put records of the same run together (`moot run --shard`); also turns a record of an older version into one of today's
///
/// Headers must agree in everything that can change a number. The hashes of the new record are made anew.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Records, as `moot run -o` writes them
    #[arg(required = true, value_name = "RECORD")]
    pub records: Vec<PathBuf>,
    /// The new record
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
}

/// Writes the new record and prints its counts.
///
/// # Errors
/// As [`merge::merge`].
pub(crate) fn run(args: &Args) -> Result<()> {
    let merged = merge::merge(&args.records, &args.output)?;
    let of = merged.expected.map(|expected| format!(" of {expected}")).unwrap_or_default();
    let more = [
        (merged.errors, "with an error"),
        (merged.repeated, "in several records"),
        (merged.unfinished, "calls of unfinished questions"),
    ];
    let more: String =
        more.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!(", {count} {what}")).collect();
    output::print(&format!(
        "{}: {}{of} questions{more}\n",
        printable(&args.output.display().to_string()),
        merged.questions
    ))
}
