//! `moot prompts compare`: variants of one prompt on a dataset, against the prompt in use.

use crate::cli::args::corpus;
use crate::cli::args::method;
use crate::cli::args::model;
use crate::cli::args::values;
use crate::cli::terminal::interrupt;
use crate::cli::terminal::output;
use crate::cli::terminal::runs::print_reports;
use crate::cli::terminal::tell;
use crate::error::Result;
use crate::escape;
use crate::eval::variants::Half;
use crate::workspace::{PlanOptions, PromptVariants, RunOptions};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  moot prompts compare ramdocs.jsonl -o agents/ --role agent --variant quote.jinja --variant short.jinja --rounds 1
  moot prompts compare ramdocs.jsonl -o agents/ --role agent --variant quote.jinja --rounds 1 --half confirm";

/// Compare variants of one prompt on one half of a dataset; the same command resumes a stopped comparison
///
/// Variant 0 is the prompt in use: the program's, or the one of --prompts. Each variant has a record in the folder, written as
/// `moot run` writes it. The variants go side by side: calls with the same prompt are made once, and what prompts begin with
/// in common is computed once.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A dataset file, as `moot run` reads it
    #[arg(value_name = "DATASET")]
    pub dataset: PathBuf,
    /// The folder of records, one a variant; records that exist are continued
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    /// The prompt that varies: its file, with or without folder and ending (`moot prompts list METHOD`)
    #[arg(long, value_name = "PROMPT")]
    pub role: String,
    /// A prompt file to compare with the one in use; up to five
    #[arg(long, value_name = "FILE", required = true)]
    pub variant: Vec<PathBuf>,
    /// The questions to compare on, by a hash of their ids: choose, confirm or both
    #[arg(long, value_name = "HALF", default_value = "choose")]
    pub half: String,
    /// Only the first N questions of the half
    #[arg(long, value_name = "N", value_parser = values::count, allow_negative_numbers = true)]
    pub limit: Option<usize>,
    /// The dataset or the form of the file, where they are not detected
    #[arg(long, value_name = "NAME")]
    pub format: Option<String>,
    /// Questions asked at once
    #[arg(long, value_name = "N", default_value = "8", value_parser = values::count, allow_negative_numbers = true)]
    pub in_flight: usize,
    /// Ask the questions that were recorded with an error again
    #[arg(long)]
    pub retry_errors: bool,
    /// Take the replies to equal calls from this record; the model answers the others
    #[arg(long, value_name = "RECORD")]
    pub reuse: Vec<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// The method and its settings.
    #[command(flatten)]
    pub method: method::MethodArgs,
    /// The corpus to search for documents.
    #[command(flatten)]
    pub retrieve: corpus::CorpusArgs,
    /// The classifier of pairs.
    #[command(flatten)]
    pub classifier: corpus::ClassifierArgs,
    /// Model and device.
    #[command(flatten)]
    pub model: model::ModelArgs,
}

/// Runs every variant, then prints the comparison.
///
/// # Errors
/// A name that no prompt of the method has, a variant that cannot be read or is given twice, a dataset that cannot be read; what
/// ends a run.
pub(crate) fn run(args: &Args) -> Result<()> {
    let half = Half::named(&args.half)?;
    let control = interrupt::listen()?;
    let (options, role, files) = (options(args)?, args.role.clone(), args.variant.clone());
    let comparison = PromptVariants { options, role, files, half }.prepare(&control)?;
    let (reports, shared) = comparison.record(&control)?;
    print_reports(reports).map_or(Ok(()), Err)?;
    if shared > 0 {
        tell(&format!("{shared} duplicate calls reused another variant's reply"));
    }
    let compared = comparison.compare()?;
    if args.json {
        return output::print(&format!("{}\n", escape::json(&compared.json().to_string())));
    }
    let (name, count) = (comparison.dataset(), comparison.questions());
    let head = format!("{} of {name}, {count} questions ({})\n\n", args.role, half.name());
    output::print(&escape::lines(&(head + &compared.table())))
}

fn options(args: &Args) -> Result<PlanOptions> {
    let run = RunOptions {
        dataset: args.dataset.clone(),
        output: Some(args.output.clone()),
        format: args.format.clone(),
        limit: args.limit,
        in_flight: args.in_flight,
        retry_errors: args.retry_errors,
        reuse: args.reuse.clone(),
        ..RunOptions::default()
    };
    Ok(PlanOptions {
        corpus: args.retrieve.options(),
        method: args.method.options()?,
        classifier: args.classifier.options(),
        model: args.model.name(),
        runtime: args.model.runtime.options(),
        run: Some(run),
        ..PlanOptions::default()
    })
}
