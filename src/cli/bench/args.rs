//! The arguments of `moot lab bench`.

use crate::cli::args::model;
use crate::cli::args::values;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  moot lab bench --model smollm2-135m
  moot lab bench --prompt 512 --generate 64 --rows 1,8,32 --shared-prefix --json
  moot lab bench --model llama-3.1-8b --weights random:q4_k
  moot lab bench --prompt 1536 --shared 1024 --group 8 --rows 8,64
  moot record calls out.jsonl > calls.jsonl && moot lab bench --calls calls.jsonl";

/// Measure prefill and decoding speed by rows, and their share of this machine's limits
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Prompt tokens per row
    #[arg(long, value_name = "N", default_value_t = 512, value_parser = values::count, allow_negative_numbers = true)]
    pub prompt: usize,
    /// Tokens generated per row
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = values::count, allow_negative_numbers = true)]
    pub generate: usize,
    /// Numbers of rows to measure
    #[arg(long, value_name = "N,..", value_delimiter = ',', default_value = "1,2,4,8")]
    #[arg(value_parser = values::count, allow_negative_numbers = true)]
    pub rows: Vec<usize>,
    /// All rows share their prompt except the last token
    #[arg(long)]
    pub shared_prefix: bool,
    /// Rows of a group share the first N tokens of their prompts
    #[arg(long, value_name = "N", conflicts_with = "shared_prefix", value_parser = values::count)]
    #[arg(allow_negative_numbers = true)]
    pub shared: Option<usize>,
    /// Rows per group (the agents of a question); by default all rows
    #[arg(long, value_name = "N", requires = "shared", value_parser = values::count, allow_negative_numbers = true)]
    pub group: Option<usize>,
    /// Measurements per number of rows; medians are reported
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = values::count, allow_negative_numbers = true)]
    pub repeat: usize,
    /// Run recorded calls instead, as printed by `moot record calls`, each forced to its recorded length
    #[arg(long, value_name = "FILE")]
    #[arg(conflicts_with_all = ["prompt", "generate", "rows", "shared_prefix", "shared", "repeat"])]
    pub calls: Option<PathBuf>,
    /// With --calls: questions in flight; the calls of a stage are always sent at once
    #[arg(long, value_name = "N", default_value_t = 1, requires = "calls", value_parser = values::count)]
    #[arg(allow_negative_numbers = true)]
    pub in_flight: usize,
    /// Print one JSON object per line
    #[arg(long)]
    pub json: bool,
    /// Model and runtime arguments.
    #[command(flatten)]
    pub model: model::ModelArgs,
}
