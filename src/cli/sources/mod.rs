//! `moot sources`: how far each source can be trusted, estimated from records.

use crate::error::Result;
use clap::Subcommand;

mod bench;
mod build;
mod estimate;
mod report;
mod show;
mod simulate;
mod trials;
mod weights;

const EXAMPLES: &str = "\
Examples:
  moot sources estimate run.jsonl -o sources.json      weights from a record of ra-rag, majority-vote or madam-rag
  moot sources show sources.json                       intervals, sources that agree too often, and the questions that cost a source most
  moot ask \"When did it open?\" --docs notes/ --method ra-rag --source-weights sources.json";

/// Estimate how far each source can be trusted, or show an estimate
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Estimate(estimate::Args),
    Merge(estimate::MergeArgs),
    Show(show::Args),
    Report(report::Args),
    Build(build::Args),
    Simulate(simulate::Args),
    Trials(Box<trials::Args>),
}

/// Runs the subcommand.
///
/// # Errors
/// A record or a file of weights that cannot be read; records in which no source answered; a file that cannot be written.
pub(crate) fn run(args: &Args) -> Result<()> {
    match &args.command {
        Command::Estimate(args) => estimate::run(args),
        Command::Merge(args) => estimate::merge(args),
        Command::Show(args) => show::run(args),
        Command::Report(args) => report::run(args),
        Command::Build(args) => build::run(args),
        Command::Simulate(args) => simulate::run(args),
        Command::Trials(args) => trials::run(args),
    }
}
