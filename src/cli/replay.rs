//! `moot record replay`: a recorded run again, without a model.

use crate::cli::terminal::columns::printable;
use crate::cli::terminal::output;
use crate::error::Result;
use crate::escape;
use crate::eval::replay::{OtherPrompt, Report};
use crate::workspace::{ReplayOptions, ReplayReport};
use serde_json::json;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  moot record replay madam.jsonl                       what the parsers of today make of its replies
  moot record replay madam.jsonl -o again.jsonl && moot compare madam.jsonl again.jsonl --changed";

/// Run a method again on the replies of a record, without a model: with the parsers, votes and prompts of this program
///
/// Prints which replies are parsed differently, which conclusions change, and which prompts differ from the recorded
/// ones.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A record, as `moot run -o` writes it
    #[arg(value_name = "RECORD")]
    pub record: PathBuf,
    /// Write the result as a new record
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// The weights of sources that its votes carried
    #[arg(long, value_name = "FILE")]
    pub source_weights: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Runs the method again and prints the changes.
///
/// # Errors
/// As [`ReplayOptions::replay`].
pub(crate) fn run(args: &Args) -> Result<()> {
    let Args { record, output, source_weights, .. } = args;
    let options =
        ReplayOptions { record: record.clone(), source_weights: source_weights.clone(), output: output.clone() };
    let ReplayReport { files, report } = options.replay()?;
    if args.json {
        let object = json!({ "files": files, "report": report });
        return output::print(&format!("{}\n", escape::json(&object.to_string())));
    }
    output::print(&text(&files, &report))
}

fn text(files: &[String], report: &Report) -> String {
    /// Lines of one kind that are printed.
    const SHOWN: usize = 10;
    let mut lines: Vec<String> = files.iter().map(|file| format!("{file} is not the recorded file")).collect();
    lines.extend(report.prompts.iter().take(SHOWN).map(other));
    let hidden = |count: usize| (count > SHOWN).then(|| format!("and {} more (--json lists them)", count - SHOWN));
    lines.extend(hidden(report.prompts.len()));
    lines.extend(report.failed.iter().take(SHOWN).map(|(id, reason)| format!("question {id}: {reason}")));
    lines.extend(hidden(report.failed.len()));
    lines.extend(
        report.concluded_otherwise.iter().take(SHOWN).map(|id| format!("question {id} has another conclusion")),
    );
    lines.extend(hidden(report.concluded_otherwise.len()));
    let Report { questions, calls, read_otherwise, newly_malformed, unused, .. } = report;
    lines.push(format!(
        "{questions} questions, {calls} calls: {} with other prompts, {read_otherwise} replies parsed otherwise \
         ({newly_malformed} newly malformed), {unused} recorded calls not made, {} questions with other conclusions, {} cannot be replayed",
        report.prompts.len(),
        report.concluded_otherwise.len(),
        report.failed.len(),
    ));
    lines.iter().map(|line| printable(line) + "\n").collect()
}

fn other(other: &OtherPrompt) -> String {
    let texts = other.texts.as_ref().map(|(then, now)| format!(": {now:?}, recorded {then:?}")).unwrap_or_default();
    format!("question {}, {}: {} differs{texts}", other.question, other.call, other.differs)
}
