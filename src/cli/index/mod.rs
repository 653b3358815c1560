//! `moot index`: builds, updates, searches and copies an index of passages.

pub(crate) mod build;
pub(crate) mod info;
pub(super) mod inputs;
pub(crate) mod push;
pub(crate) mod search;
pub(crate) mod update;

use crate::error::Result;

const EXAMPLES: &str = "\
Examples:
  moot index build notes/ -o notes.index
  moot index build wiki.tsv -o wiki.index --embedder none
  moot index add notes.index letters/
  moot index update notes.index
  moot index search notes.index \"When did the bridge open?\" --by-source --top 2
  moot index push notes.index postgres://me@localhost/library#notes
  moot index info notes.index --verify";

/// Build, extend, update, search and describe an index of a corpus; put it on a server
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
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
    Push(push::Args),
}

/// Runs the subcommand.
///
/// # Errors
/// The subcommand's.
pub(crate) fn run(args: &Args) -> Result<()> {
    match &args.command {
        Command::Build(args) => build::build(args),
        Command::Add(args) => build::add(args),
        Command::Update(args) => update::run(args),
        Command::Info(args) => info::run(args),
        Command::Search(args) => search::run(args),
        Command::Push(args) => push::run(args),
    }
}
