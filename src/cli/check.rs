//! `moot lab check`: counts and faults of a dataset.

use crate::cli::terminal::columns::table;
use crate::cli::terminal::output;
use crate::error::Result;
use crate::eval::check::{Check, Distribution, Problem};
use crate::eval::datasets::{self, Options};
use std::path::PathBuf;

/// Ids of a problem that are printed.
const SHOWN: usize = 5;

/// Check a dataset: counts of documents and answers, and questions that cannot be scored as they are meant
///
/// Prints the statistics of RAMDocs' Figure 5 for any dataset whose documents are labelled, and questions with a right answer that
/// is also wrong, that is in no document, and the like. `--json` lists every id.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The dataset
    #[arg(value_name = "DATASET")]
    pub dataset: PathBuf,
    /// The dataset or the form of the file, where they are not detected
    #[arg(long, value_name = "NAME")]
    pub format: Option<String>,
    /// Leave out items that cannot be read
    #[arg(long)]
    pub skip_bad: bool,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Checks the dataset and prints the findings.
///
/// # Errors
/// A dataset that cannot be read.
pub(crate) fn run(args: &Args) -> Result<()> {
    let options = Options { skip_bad: args.skip_bad, ..Options::default() };
    let options = args.format.iter().try_fold(options, |options, typed| options.format(typed))?;
    let dataset = datasets::load_with(&args.dataset, &options)?;
    let check = Check::of(&dataset);
    if args.json {
        return output::print_pretty_json(&check);
    }
    let mut text = format!("{}: {}, {} questions\n", dataset.identity.name, check.format, check.questions);
    dataset.skipped.iter().for_each(|line| text.push_str(&format!("left out: {line}\n")));
    if !check.slices.is_empty() {
        let slices = check.slices.iter().map(|(name, count)| format!("{name} {count}"));
        text.push_str(&format!("slices: {}\n", slices.collect::<Vec<_>>().join(", ")));
    }
    let rows: Vec<Vec<String>> = check.distributions.iter().map(distribution).collect();
    if !rows.is_empty() {
        let heads = ["".to_owned(), "mean".to_owned(), "how often each number".to_owned()];
        text.push_str(&format!("\n{}", table(&[vec![heads.to_vec()], rows].concat())));
    }
    text.push_str(if check.problems.is_empty() { "\nno problem found\n" } else { "\nproblems\n" });
    check.problems.iter().for_each(|one| text.push_str(&problem(one)));
    output::print_lines(&text)
}

fn distribution(of: &Distribution) -> Vec<String> {
    let counts = of.counts.iter().map(|(number, count)| format!("{number}: {count}"));
    vec![of.name.clone(), format!("{:.2}", of.mean), counts.collect::<Vec<_>>().join(", ")]
}

fn problem(of: &Problem) -> String {
    let ids: Vec<&str> = of.questions.iter().take(SHOWN).map(String::as_str).collect();
    let more = of.questions.len().saturating_sub(SHOWN);
    let more = if more == 0 { String::new() } else { format!(", and {more} more") };
    let count = of.questions.len();
    let questions = if count == 1 { "question" } else { "questions" };
    format!("  {count} {questions}: {}\n    {}{more}\n", of.what, ids.join(", "))
}
