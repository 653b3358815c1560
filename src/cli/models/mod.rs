//! `moot models`: the catalog, and the copies on this machine.

pub mod copies;
pub mod info;
pub mod list;
pub mod pull;
pub mod verify;

use crate::cli::terminal::output;
use crate::error::{MootError, Result};
use crate::escape;
use moot_models::source::{self, Options};
use serde::Serialize;

const EXAMPLES: &str = "\
Examples:
  moot models list
  moot models pull qwen2.5-7b
  moot models info llama-3.1-8b --agents 8 --tokens 2048
  moot models verify
  moot models rm qwen2.5-7b";

/// List, fetch, describe, find and remove models
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
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
pub fn run(args: &Args) -> Result<()> {
    match &args.command {
        Command::List(args) => list::run(args),
        Command::Pull(args) => pull::run(args),
        Command::Info(args) => info::run(args),
        Command::Where(args) => copies::run_where(args),
        Command::Rm(args) => copies::run_rm(args),
        Command::Verify(args) => verify::run(args),
    }
}

/// No subcommand but `pull` uses the network.
fn offline() -> Result<Options> {
    Ok(Options { cache: source::default_cache()?, offline: true })
}

/// One JSON object, over several lines.
pub(in crate::cli) fn print_json(value: &impl Serialize) -> Result<()> {
    let json = serde_json::to_string_pretty(value).map_err(|e| MootError::Usage(format!("{e} (bug)")))?;
    output::print(&format!("{}\n", escape::json(&json)))
}

/// Rows as aligned columns, without trailing spaces.
pub(in crate::cli) fn table(rows: &[Vec<String>]) -> String {
    use crate::cli::terminal::columns::{pad, width};
    let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(|cell| escape::cell(cell)).collect()).collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widest = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| width(cell)).max();
    let widths: Vec<usize> = (0..columns).map(|column| widest(column).unwrap_or(0)).collect();
    let line = |row: &Vec<String>| {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, &width)| pad(cell, width)).collect();
        format!("{}\n", cells.join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}
