//! The arguments of a benchmark of sources, as `build` and `trials` take them.

use crate::cli::args::values;
use crate::eval::sources::bench::Lies;
use crate::workspace::SourceBenchOptions;
use std::path::PathBuf;

/// The arguments of a benchmark.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct BenchArgs {
    /// Labelled datasets, as `moot run` reads them, or a record of the method source-pools; without one, questions are invented
    #[arg(value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,
    /// Sources
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = values::count, allow_negative_numbers = true)]
    pub(super) sources: usize,
    /// Mean of the reliabilities, drawn from Beta(2 w / (1 - w), 2)
    #[arg(long, value_name = "W", default_value_t = 0.6, value_parser = values::number::<f64>, allow_negative_numbers = true)]
    mean: f64,
    /// Number of spammers (reliability 0.1) among hammers (0.9), instead of --mean
    #[arg(long, value_name = "N", value_parser = values::count_or_none, conflicts_with = "mean")]
    pub(super) spammers: Option<usize>,
    /// The reliability of each source, as 0.9,0.6,0.1, instead of drawn ones
    #[arg(long, value_name = "P,...", value_delimiter = ',', value_parser = values::number::<f64>)]
    #[arg(conflicts_with_all = ["mean", "spammers", "sources"])]
    pub(super) reliability: Vec<f64>,
    /// Additional sources that repeat one spammer's documents
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = values::count_or_none)]
    copies: usize,
    /// The probability that a source has relevant documents: one number, or one for each source, as 0.6,0.1,0.1
    #[arg(long, value_name = "R,...", value_delimiter = ',', default_value = "0.6", value_parser = values::number::<f64>)]
    #[arg(allow_negative_numbers = true)]
    coverage: Vec<f64>,
    /// All liars tell the same lie: the case in which the estimate collapses
    #[arg(long)]
    shared_lie: bool,
    /// Wrong answers of a question at most
    #[arg(long, value_name = "N", default_value_t = 9, value_parser = values::count, allow_negative_numbers = true)]
    wrong: usize,
    /// Documents of a source on a question at most
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = values::count, allow_negative_numbers = true)]
    per_source: usize,
    /// Questions to estimate from; 0 for none, with build alone [default: 200 invented ones, or 40 % of the usable ones]
    #[arg(long, value_name = "N", value_parser = values::count_or_none, allow_negative_numbers = true)]
    estimate: Option<usize>,
    /// Questions to test [default: 1400 invented ones, or the other usable ones]
    #[arg(long, value_name = "N", value_parser = values::count, allow_negative_numbers = true)]
    test: Option<usize>,
    /// Seeds everything that is drawn
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = values::whole::<u64>, allow_negative_numbers = true)]
    pub(super) seed: u64,
}

impl BenchArgs {
    /// As the workspace takes them.
    pub(super) fn options(&self) -> SourceBenchOptions {
        SourceBenchOptions {
            files: self.files.clone(),
            sources: self.sources,
            mean: self.mean,
            spammers: self.spammers,
            reliability: self.reliability.clone(),
            copies: self.copies,
            coverage: self.coverage.clone(),
            lies: if self.shared_lie { Lies::Shared } else { Lies::Own },
            wrong: self.wrong,
            per_source: self.per_source,
            estimate: self.estimate,
            test: self.test,
            seed: self.seed,
        }
    }
}
