//! `moot sources estimate` and `moot sources merge`.

use super::weights::print;
use crate::cli::args::values;
use crate::cli::terminal::interrupt;
use crate::error::Result;
use crate::workspace::EstimateOptions;
use std::path::{Path, PathBuf};

/// Estimate weights of sources from recorded runs, without labels or with some (RA-RAG, section 3.3)
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Records of a method that asks each source or document alone (ra-rag, majority-vote, madam-rag)
    #[arg(value_name = "RECORD", required = true)]
    records: Vec<PathBuf>,
    /// The file of weights to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Begin with the answers of this file of weights; a new answer replaces the one to the same question
    #[arg(long, value_name = "FILE")]
    update: Option<PathBuf>,
    /// ROUGE-1 precision against the source's documents below which an answer counts as unknown; 0 drops none [default: that
    /// of the updated file, else 0.9]
    #[arg(long, alias = "align", value_name = "P", value_parser = values::number::<f64>, allow_negative_numbers = true)]
    align_threshold: Option<f64>,
    /// Where recorded questions have gold answers, these decide which answers are right
    #[arg(long)]
    gold: bool,
    #[command(flatten)]
    settings: SettingsArgs,
}

/// Merge estimates, as if all their records had been estimated from at once
#[derive(Debug, clap::Args)]
pub(super) struct MergeArgs {
    /// Files that `moot sources estimate` wrote; the last answer of a source to a question replaces earlier ones
    #[arg(value_name = "FILE", required = true, num_args = 2..)]
    weights: Vec<PathBuf>,
    /// The file of weights to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    settings: SettingsArgs,
}

/// Options that are not given are taken from the first file that is read, else from the defaults.
#[derive(Debug, Clone, clap::Args)]
struct SettingsArgs {
    /// The N of `v = N w - 1` [default: the number of sources]
    #[arg(long, value_name = "N", value_parser = values::count, allow_negative_numbers = true)]
    sources: Option<usize>,
    /// Iterations at most [default: 100]
    #[arg(long, value_name = "T", value_parser = values::count, allow_negative_numbers = true)]
    iterations: Option<usize>,
    /// Resamples of the bootstrap intervals; 0 for none [default: 1000]
    #[arg(long, value_name = "N", value_parser = values::count_or_none, allow_negative_numbers = true)]
    resamples: Option<usize>,
    /// Seeds the bootstrap [default: 0]
    #[arg(long, value_name = "N", value_parser = values::whole::<u64>, allow_negative_numbers = true)]
    seed: Option<u64>,
    /// Shrink each weight to the mean, as if ANSWERS more answers had mean agreement; questions with a single source
    /// are ignored [default: 0]
    #[arg(long, value_name = "ANSWERS", value_parser = values::number::<f64>, allow_negative_numbers = true)]
    shrink: Option<f64>,
}

impl SettingsArgs {
    fn options(&self, output: &Path) -> EstimateOptions {
        EstimateOptions {
            output: output.to_owned(),
            sources: self.sources,
            iterations: self.iterations,
            resamples: self.resamples,
            seed: self.seed,
            shrink: self.shrink,
            ..EstimateOptions::default()
        }
    }
}

pub(super) fn run(args: &Args) -> Result<()> {
    let options = EstimateOptions {
        weights: args.update.iter().cloned().collect(),
        records: args.records.clone(),
        align: args.align_threshold,
        gold: args.gold,
        ..args.settings.options(&args.output)
    };
    print(&options.estimate(&interrupt::listen()?)?)
}

pub(super) fn merge(args: &MergeArgs) -> Result<()> {
    let options = EstimateOptions { weights: args.weights.clone(), ..args.settings.options(&args.output) };
    print(&options.estimate(&interrupt::listen()?)?)
}
