//! `moot index`: passages of a corpus, found again by meaning and by words.

pub mod build;
pub mod info;
pub(super) mod inputs;
pub mod search;

use crate::error::Result;

const EXAMPLES: &str = "\
Examples:
  moot index build notes/ -o notes.index
  moot index build wiki.tsv -o wiki.index --embedder none
  moot index add notes.index letters/
  moot index search notes.index \"When did the bridge open?\" --by-source --top 2
  moot index info notes.index --verify";

/// Build an index of a corpus, add to it, describe it, search it
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
    Info(info::Args),
    Search(search::Args),
}

/// Does what was typed.
///
/// # Errors
/// The subcommand's.
pub fn run(args: &Args) -> Result<()> {
    match &args.command {
        Command::Build(args) => build::build(args),
        Command::Add(args) => build::add(args),
        Command::Info(args) => info::run(args),
        Command::Search(args) => search::run(args),
    }
}
