//! `moot sources`: how far each source can be trusted, estimated from records.

use crate::cli::terminal::output;
use crate::error::{MootError, Result};
use crate::eval::sources::report::Report;
use crate::files::outputs;
use crate::sources::SourceWeights;
use clap::Subcommand;
use std::path::Path;

mod build;
mod estimate;
mod report;
mod show;
mod simulate;

const EXAMPLES: &str = "\
Examples:
  moot sources estimate run.jsonl -o sources.json      weights from a record of ra-rag, majority-vote or madam-rag
  moot sources show sources.json                       intervals, copies, and the questions that cost a source most
  moot ask \"When did it open?\" --docs notes/ --method ra-rag --source-weights sources.json";

/// Estimate how far each source can be trusted, or show an estimate
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
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
}

/// Runs the subcommand.
///
/// # Errors
/// A record or a file of weights that cannot be read; records in which no source answered; a file that cannot be written.
pub fn run(args: &Args) -> Result<()> {
    match &args.command {
        Command::Estimate(args) => estimate::run(args),
        Command::Merge(args) => estimate::merge(args),
        Command::Show(args) => show::run(args),
        Command::Report(args) => report::run(args),
        Command::Build(args) => build::run(args),
        Command::Simulate(args) => simulate::run(args),
    }
}

/// Writes a file of weights; the file at `path` is kept until the new one is complete.
fn write(weights: &SourceWeights, path: &Path) -> Result<()> {
    let text = serde_json::to_string_pretty(weights)
        .map_err(|e| MootError::Usage(format!("the weights cannot be written as JSON: {e} (bug)")))?;
    outputs::write(path, (text + "\n").as_bytes())
}

/// A number from 0 to 1, to the digits typed: the nearest f32 to 0.9 is above 0.9.
fn share(name: &str, typed: f32) -> Result<f64> {
    let share = typed.to_string().parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| MootError::Usage(format!("{name} {typed}: expected a number from 0 to 1")))
}

/// The file name without folders.
fn name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Prints the table of weights, then the notes.
fn print(weights: &SourceWeights) -> Result<()> {
    let report = Report::new(weights);
    let notes: String = report.notes().iter().map(|note| format!("note: {note}\n")).collect();
    output::print(&(show::table(weights) + &notes))
}
