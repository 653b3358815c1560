//! `moot sources build`.

use super::bench::BenchArgs;
use crate::cli::terminal::{interrupt, output};
use crate::error::Result;
use crate::sources::SourceEstimate;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  moot sources build -o bench                                        invented questions, 200 to estimate and 1400 to test
  moot sources build ramdocs.jsonl -o bench --sources 5              40 % of the usable questions to estimate, the rest to test
  moot sources build poisonedrag.json hotpotqa.jsonl -o bench        questions of the first file, documents of both
  moot sources build pools.jsonl -o bench                            a record of moot run --method source-pools";

/// Build a benchmark of sources with planted reliabilities (RA-RAG, section 4)
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The benchmark.
    #[command(flatten)]
    bench: BenchArgs,
    /// The folder to write: estimate.jsonl, test.jsonl, corpus.jsonl and oracle.json
    #[arg(short, long, value_name = "FOLDER")]
    output: PathBuf,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let built = args.bench.options().build(&args.output, &interrupt::listen()?)?;
    let planted =
        |(name, estimate): (&String, &SourceEstimate)| format!("  {name}  {:.2}\n", estimate.agreement.unwrap_or(0.0));
    let planted: String = built.oracle.sources.iter().map(planted).collect();
    let (estimate, test) = (built.estimate.len(), built.test.len());
    output::print(&format!("{estimate} questions to estimate from, {test} to test; planted reliabilities:\n{planted}"))
}
