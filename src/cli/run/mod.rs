//! `moot run`: a method over a dataset.

mod dry;

use crate::cli::args::{corpus, method, model, values};
use crate::cli::terminal::{interrupt, output, runs, tell};
use crate::error::{MootError, Result};
use crate::eval::datasets;
use crate::workspace::{Control, DocumentOptions, Plan, PlanOptions, RunOptions, Workspace, find_models};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  moot run ramdocs.jsonl -o madam.jsonl --limit 20
  moot run ramdocs.jsonl -o closed.jsonl --limit 20 --method closed-book
  moot run ramdocs.jsonl -o madam.jsonl --dry-run
  moot run ramdocs.jsonl -o part1.jsonl --shard 1/4
  moot run ramdocs.jsonl -o runs/ --method madam-rag,concatenated --model qwen2.5-0.5b,smollm2-135m
  moot run questions.jsonl --corpus archive/ --answers answers.csv
  moot score madam.jsonl closed.jsonl";

/// Answer every question of a dataset and record it; the same command resumes a stopped run
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A dataset file, as its authors publish it or in the form of docs/data.md
    #[arg(value_name = "DATASET")]
    pub dataset: PathBuf,
    /// The record: one JSON object a line; an existing record is continued. With several methods or models, a folder of
    /// records, METHOD.MODEL.jsonl
    #[arg(short, long, value_name = "FILE", required_unless_present = "answers")]
    pub output: Option<PathBuf>,
    /// Also write the answers with their citations, .csv or .jsonl; without -o the record is written to the same folder
    /// (NAME.record.jsonl)
    #[arg(long, value_name = "FILE", value_parser = answers_file)]
    pub answers: Option<PathBuf>,
    /// The dataset or the form of the file, where they are not detected.
    #[arg(long, value_name = "NAME", help = format_help())]
    pub format: Option<String>,
    /// Skip items that cannot be read, and print which
    #[arg(long)]
    pub skip_bad: bool,
    /// Only the first N questions
    #[arg(long, value_name = "N", value_parser = values::count, allow_negative_numbers = true)]
    pub limit: Option<usize>,
    /// Only a uniform sample of N questions; a larger N contains the smaller
    #[arg(long, value_name = "N", conflicts_with = "limit")]
    #[arg(value_parser = values::count, allow_negative_numbers = true)]
    pub sample: Option<usize>,
    /// Seed of --sample (0 where none is given)
    #[arg(long, value_name = "SEED", requires = "sample")]
    #[arg(value_parser = values::whole::<u64>, allow_negative_numbers = true)]
    pub sample_seed: Option<u64>,
    /// Only part I of N parts of the questions, taken after --limit or --sample; `moot record merge` puts the records together
    #[arg(long, value_name = "I/N", value_parser = shard)]
    pub shard: Option<(usize, usize)>,
    /// Record nothing: count questions, calls and tokens, measure a few calls, and estimate the duration of the run
    #[arg(long)]
    pub dry_run: bool,
    /// Questions in flight
    #[arg(long, value_name = "N", default_value = "8", value_parser = values::count, allow_negative_numbers = true)]
    pub in_flight: usize,
    /// Ask the questions that were recorded with an error again
    #[arg(long)]
    pub retry_errors: bool,
    /// Take the replies to equal calls from this record; the model answers the others
    #[arg(long, value_name = "RECORD", conflicts_with = "dry_run")]
    pub reuse: Vec<PathBuf>,
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

fn shard(typed: &str) -> std::result::Result<(usize, usize), String> {
    let numbers = typed.split_once('/').and_then(|(part, parts)| Some((part.parse().ok()?, parts.parse().ok()?)));
    match numbers {
        Some((part, parts)) if (1..=parts).contains(&part) => Ok((part, parts)),
        _ => Err("expected I/N with I from 1 to N, such as 2/4".into()),
    }
}

/// The help of `--format`, from the tables.
fn format_help() -> String {
    let forms: Vec<_> = datasets::Form::NAMES.iter().map(|(name, _)| *name).collect();
    let (names, forms) = (datasets::names(), forms.join(", "));
    format!(
        "What DATASET is, where it is not detected: a dataset ({names}), a file form ({forms}), or both (popqa,tsv)"
    )
}

/// The path of a table of answers, whose ending says its form.
fn answers_file(typed: &str) -> std::result::Result<PathBuf, String> {
    match Path::new(typed).extension().and_then(|end| end.to_str()) {
        Some("csv" | "jsonl") => Ok(typed.into()),
        _ => Err("expected a file that ends in .csv or .jsonl".into()),
    }
}

impl Args {
    /// As the plan takes them.
    ///
    /// # Errors
    /// As [`method::MethodArgs::options`].
    pub fn options(&self) -> Result<PlanOptions> {
        let run = RunOptions {
            dataset: self.dataset.clone(),
            output: self.output.clone(),
            answers: self.answers.clone(),
            format: self.format.clone(),
            skip_bad: self.skip_bad,
            limit: self.limit,
            sample: self.sample,
            sample_seed: self.sample_seed.unwrap_or_default(),
            shard: self.shard,
            dry_run: self.dry_run,
            in_flight: self.in_flight,
            retry_errors: self.retry_errors,
            reuse: self.reuse.clone(),
        };
        Ok(PlanOptions {
            question: None,
            documents: DocumentOptions::default(),
            corpus: self.retrieve.options(),
            method: self.method.options()?,
            classifier: self.classifier.options(),
            model: self.model.name(),
            runtime: self.model.runtime.options(),
            run: Some(run),
        })
    }
}

/// Every method with the first model, then with the next one, so that each model is loaded once and has the memory for itself.
///
/// # Errors
/// Arguments, a dataset, an output or a model that cannot be used; what ends a run; [`MootError::Unanswered`] where all is
/// recorded, and some of it is an error.
pub(crate) fn run(args: &Args) -> Result<()> {
    let control = interrupt::listen()?;
    let plans = Plan::each(args.options()?, &control)?;
    let models: Vec<String> = plans.iter().map(|plan| plan.options().model.clone()).collect();
    if models.len() > 1 {
        find_models(&models, &args.model.runtime.options(), &control)?;
    }
    let mut unanswered = None;
    for plan in plans {
        let failed = one_model(plan, args.dry_run, &control)?;
        // The questions of the other model are still answered.
        unanswered = unanswered.or(failed);
    }
    unanswered.map_or(Ok(()), Err)
}

/// Runs a plan and prints the result; the error of questions that were not answered.
fn one_model(plan: Plan, dry_run: bool, control: &Control) -> Result<Option<MootError>> {
    let workspace = Workspace::open(plan, control)?;
    if dry_run {
        let runs = workspace.dry_run()?;
        for run in &runs {
            if runs.len() > 1 {
                tell(&format!("{}:", run.recording.path().display()));
            }
            output::print(&dry::text(run))?;
        }
        return Ok(None);
    }
    let reports = workspace.run()?;
    workspace.note_counts();
    Ok(runs::print_reports(reports))
}
