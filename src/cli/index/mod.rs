//! `moot index`: builds, updates and searches an index of passages.

pub mod build;
pub mod info;
pub(super) mod inputs;
pub mod search;
pub mod update;

use crate::error::Result;

const EXAMPLES: &str = "\
Examples:
  moot index build notes/ -o notes.index
  moot index build wiki.tsv -o wiki.index --embedder none
  moot index add notes.index letters/
  moot index update notes.index
  moot index search notes.index \"When did the bridge open?\" --by-source --top 2
  moot index info notes.index --verify";

/// Build, extend, update, describe and search an index of a corpus
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Build(build::BuildArgs),
    Add(build::AddArgs),
    Update(update::Args),
    Info(info::Args),
    Search(search::Args),
}

/// Runs the subcommand.
///
/// # Errors
/// The subcommand's.
pub fn run(args: &Args) -> Result<()> {
    match &args.command {
        Command::Build(args) => build::build(args),
        Command::Add(args) => build::add(args),
        Command::Update(args) => update::run(args),
        Command::Info(args) => info::run(args),
        Command::Search(args) => search::run(args),
    }
}
