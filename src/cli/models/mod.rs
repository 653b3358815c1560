//! `moot models`: the catalog, and the copies on this machine.

pub(crate) mod copies;
pub(crate) mod info;
pub(crate) mod list;
mod local;
pub(crate) mod pull;
pub(crate) mod verify;

use crate::error::Result;

const EXAMPLES: &str = "\
Examples:
  moot models list
  moot models pull qwen2.5-7b
  moot models pull all-minilm-l6-v2
  moot models info llama-3.1-8b --agents 8 --tokens 2048
  moot models verify
  moot models rm qwen2.5-7b";

/// List, fetch, describe, find and remove models and encoders
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    List(list::Args),
    Pull(pull::Args),
    Info(info::Args),
    Where(copies::WhereArgs),
    Rm(copies::RmArgs),
    Verify(verify::Args),
}

/// Runs the subcommand.
///
/// # Errors
/// The subcommand's.
pub(crate) fn run(args: &Args) -> Result<()> {
    match &args.command {
        Command::List(args) => list::run(args),
        Command::Pull(args) => pull::run(args),
        Command::Info(args) => info::run(args),
        Command::Where(args) => copies::run_where(args),
        Command::Rm(args) => copies::run_rm(args),
        Command::Verify(args) => verify::run(args),
    }
}
