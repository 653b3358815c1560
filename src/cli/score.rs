//! `moot score`: the metrics of records.

mod short;

use crate::cli::{output, show};
use crate::error::Result;
use crate::escape;
use crate::eval::computed_slices::SLICES;
use crate::eval::record::reader::Record;
use crate::eval::report;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  moot score madam.jsonl
  moot score madam.jsonl closed.jsonl --all
  moot score madam.jsonl closed.jsonl --json
  moot score qacc.jsonl --slice conflicting --slice non-conflicting
  moot score drag.jsonl naive.jsonl --slice gold-not-retrieved";

/// Score records: exact match, F1, unknown and malformed replies, calls, with intervals; --all for every metric
///
/// With several records, each is also compared with the first, question by question (paired bootstrap).
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Records, as `moot run -o` writes them
    #[arg(required = true, value_name = "RECORD")]
    pub records: Vec<PathBuf>,
    /// Score only the questions of this slice; several give a column each.
    #[arg(long, value_name = "NAME", help = slice_help())]
    pub slice: Vec<String>,
    /// Print every metric that applies, not the five that matter first
    #[arg(long, conflicts_with = "json")]
    pub all: bool,
    /// Print one JSON object, with every metric
    #[arg(long)]
    pub json: bool,
}

/// The help of `--slice`, from the table.
fn slice_help() -> String {
    let computed: Vec<_> = SLICES.iter().map(|slice| format!("{} ({})", slice.name, slice.about)).collect();
    let computed = computed.join(", ");
    format!("Score only the questions of this slice; several give a column each. A slice of the dataset, or {computed}")
}

/// Prints the scores of `args.records`.
///
/// # Errors
/// A record that cannot be read, or is corrupt; a slice that a record does not have.
pub fn run(args: &Args) -> Result<()> {
    let records = args.records.iter().map(|path| show::read(path)).collect::<Result<Vec<_>>>()?;
    // One group a slice; records are compared within their group.
    let groups: Vec<Vec<Record>> = if args.slice.is_empty() {
        vec![records]
    } else {
        let sliced = |name: &String| records.iter().map(|record| report::slice(record, name)).collect();
        args.slice.iter().map(sliced).collect::<Result<_>>()?
    };
    let scores: Vec<_> = groups.iter().flatten().map(report::score).collect();
    let compared =
        |group: &Vec<Record>| group.iter().skip(1).map(|other| report::compare(&group[0], other)).collect::<Vec<_>>();
    let differences: Vec<_> = groups.iter().flat_map(compared).collect();
    if args.json {
        return output::print(&format!("{}\n", escape::json(&report::json(&scores, &differences).to_string())));
    }
    if args.all {
        return output::print(&escape::lines(&report::table(&scores, &differences)));
    }
    output::print(&escape::lines(&short::table(&scores, &differences, output::columns())))
}
