//! The arguments of `moot lab reproduce`.

use super::given::Given;
use crate::cli::args::corpus;
use crate::cli::args::model;
use crate::cli::args::values;
use crate::eval::reproduce::PaperTable;
use crate::workspace::{MethodOptions, PlanOptions, RunOptions};
use clap::ValueEnum;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  moot lab reproduce                                   the tables and figures
  moot lab reproduce madam-rag-1                       its datasets, methods, settings and published numbers
  moot lab reproduce madam-rag-1 --data ramdocs=RAMDocs_test.jsonl -o repro/ --limit 100
  moot lab reproduce madam-rag-1 -o repro/ --format markdown    what is recorded, without a run
  moot lab reproduce madam-rag-figure-3 --data ramdocs=RAMDocs_test.jsonl -o repro/    also writes its charts there";

/// Reproduce a table or a figure of one of the papers: what it needs, and published numbers next to ours
///
/// Runs the methods of the table on the datasets that are given, each with a record in the folder -o, and lists what is missing.
/// Run the same command to resume. A figure is drawn into the folder (.svg, and .csv with its numbers). Tables of one
/// paper share the records of equal runs.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// What was typed. The first field: the others take their values out of the matches.
    #[command(flatten)]
    pub given: Given,
    /// The table or figure; without one, all are listed
    #[arg(value_name = "TABLE")]
    pub table: Option<String>,
    /// A file with one of the table's datasets; repeatable
    #[arg(long, value_name = "NAME=FILE", requires = "output")]
    pub data: Vec<String>,
    /// The folder of the records
    #[arg(short, long, value_name = "FOLDER", requires = "table")]
    pub output: Option<PathBuf>,
    /// Only these rows, among them rows that need more than datasets
    #[arg(long, value_name = "NAME", value_delimiter = ',', requires = "table")]
    pub row: Vec<String>,
    /// Only the first N questions of each dataset
    #[arg(long, value_name = "N", value_parser = values::count, allow_negative_numbers = true)]
    pub limit: Option<usize>,
    /// A uniform sample of N questions of each dataset
    #[arg(long, value_name = "N", value_parser = values::count, conflicts_with = "limit", allow_negative_numbers = true)]
    pub sample: Option<usize>,
    /// Seed of --sample (0 where none is given)
    #[arg(long, value_name = "SEED", requires = "sample", value_parser = values::whole::<u64>)]
    #[arg(allow_negative_numbers = true)]
    pub sample_seed: Option<u64>,
    /// Tokens of a reply at most, instead of the table's
    #[arg(long, value_name = "N", value_parser = values::count, allow_negative_numbers = true)]
    pub max_tokens: Option<usize>,
    /// A preset for the rows whose method has it (moot methods); such rows are marked
    #[arg(long, value_name = "NAME")]
    pub preset: Option<String>,
    /// A folder of your own prompts, for the rows that use them; such rows are marked
    #[arg(long, value_name = "DIR")]
    pub prompts: Option<PathBuf>,
    /// Take the replies to equal calls from this record; the model answers the others
    #[arg(long, value_name = "RECORD")]
    pub reuse: Vec<PathBuf>,
    /// Questions in flight
    #[arg(long, value_name = "N", default_value = "8", value_parser = values::count, allow_negative_numbers = true)]
    pub in_flight: usize,
    /// Ask the questions that were recorded with an error again
    #[arg(long)]
    pub retry_errors: bool,
    /// The weights of sources, for the rows that take them
    #[arg(long, value_name = "FILE")]
    pub source_weights: Option<PathBuf>,
    /// The output format
    #[arg(long, value_enum, default_value_t = Format::Terminal)]
    pub format: Format,
    /// The corpus, for the tables that search one.
    #[command(flatten)]
    pub retrieve: corpus::CorpusArgs,
    /// The classifier of pairs.
    #[command(flatten)]
    pub classifier: corpus::ClassifierArgs,
    /// Model and device.
    #[command(flatten)]
    pub model: model::ModelArgs,
}

/// The output format of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// What the table needs, then its numbers, for a terminal
    Terminal,
    /// A Markdown table
    Markdown,
    /// One row per row and column of the table
    Csv,
    /// One JSON object
    Json,
}

impl Args {
    /// As the workspace takes them, for `table`.
    pub(super) fn options(&self, table: &PaperTable) -> PlanOptions {
        let run = RunOptions {
            limit: self.limit,
            sample: self.sample,
            sample_seed: self.sample_seed.unwrap_or_default(),
            in_flight: self.in_flight,
            retry_errors: self.retry_errors,
            reuse: self.reuse.clone(),
            ..RunOptions::default()
        };
        let method = MethodOptions {
            preset: self.preset.clone(),
            prompts: self.prompts.clone(),
            source_weights: self.source_weights.clone(),
            max_tokens: Some(self.max_tokens.unwrap_or(table.max_tokens)),
            ..MethodOptions::default()
        };
        PlanOptions {
            corpus: self.retrieve.options(),
            classifier: self.classifier.options(),
            method,
            model: self.model.name(),
            runtime: self.model.runtime.options(),
            run: Some(run),
            ..PlanOptions::default()
        }
    }
}
