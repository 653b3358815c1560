//! `moot lab slices`: datasets of controlled conflicts, built from labelled documents.

use crate::cli::args::values;
use crate::cli::terminal::{output, tell};
use crate::error::{MootError, Result};
use crate::escape::line as printable;
use crate::eval::datasets::{self, BEST_INCORRECT, Dataset, Options};
use crate::eval::slices::binary::{self, NO_DOCUMENTS};
use crate::eval::slices::{KINDS, Kind, Slices, line};
use crate::files::outputs::{refuse_existing, write_new};
use std::collections::HashSet;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  moot lab slices ramdocs.jsonl --kind imbalance -o imbalance.jsonl
  moot lab slices ambigdocs.json --kind ramdocs -o ramdocs-like.jsonl
  moot lab slices contraqa.json ambigdocs.json --kind detection -o conflictbench.jsonl
  moot lab slices TruthfulQA.csv --documents found.jsonl --kind binary -o two-options.jsonl
  moot run imbalance.jsonl -o madam.jsonl
  moot score madam.jsonl --slice imbalance-1v1 --slice imbalance-1v2 --slice imbalance-1v3";

/// Build a dataset of controlled conflicts: unequal support, growing misinformation, or both with noise as in RAMDocs
///
/// Needs documents that are labelled correct or misinfo with the answer that they support, as in RAMDocs. Prints how many
/// questions qualify, and why the others do not.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Datasets with labelled documents; of several, each is a slice of the items by the name of its form
    #[arg(value_name = "DATASET", required = true, num_args = 1..)]
    pub dataset: Vec<PathBuf>,
    /// Documents for questions that have none: a dataset with the same questions. Those that it does not have are left out
    #[arg(long, value_name = "DATASET")]
    pub documents: Option<PathBuf>,
    /// The kind of slices.
    #[arg(long, value_name = "KIND", help = kinds())]
    pub kind: String,
    /// The dataset to write; a file that exists is not overwritten
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Seed of answers, documents and their order
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = values::whole::<u64>)]
    #[arg(allow_negative_numbers = true)]
    pub seed: u64,
    /// The dataset or the form of the file, where they are not detected
    #[arg(long, value_name = "NAME")]
    pub format: Option<String>,
}

/// The help of `--kind`, from the table.
fn kinds() -> String {
    let row = |kind: &Kind| format!("{}: {} ({})", kind.name, kind.about, kind.source);
    format!("What varies; {}", KINDS.iter().map(row).collect::<Vec<_>>().join("; "))
}

/// Builds, writes and reports.
///
/// # Errors
/// An unknown kind; a dataset that cannot be read or of which no question qualifies; a file that is there already.
pub(crate) fn run(args: &Args) -> Result<()> {
    let kind = Kind::named(&args.kind)?;
    refuse_existing(&args.output)?;
    let options = args.format.iter().try_fold(Options::default(), |options, typed| options.format(typed))?;
    let others = args.documents.as_deref().map(datasets::load).transpose()?;
    let (built, questions) = build(args, kind, &options, others.as_ref())?;
    let reasons = built.left_out.iter().map(|(reason, count)| format!("  {count}: {reason}\n"));
    let reasons: String = reasons.collect();
    let path = &args.output;
    if built.items.is_empty() {
        let reasons: Vec<&str> = built.left_out.keys().copied().collect();
        return Err(MootError::Input {
            path: args.dataset.first().cloned().unwrap_or_default(),
            line: None,
            expected: format!("a question that qualifies for {}", kind.name),
            found: format!("none of {questions} ({})", reasons.join("; ")),
        });
    }
    let lines: String = built.items.iter().map(|item| format!("{}\n", line(item))).collect();
    write_new(path, lines.as_bytes())?;
    let mut slices: Vec<&str> = built.items.iter().flat_map(|item| &item.slices).map(String::as_str).collect();
    slices.sort_unstable();
    slices.dedup();
    output::print(&format!(
        "{} of {questions} questions qualify: {} items in {} ({})\n{}{reasons}",
        built.qualified,
        built.items.len(),
        printable(&path.display().to_string()),
        slices.join(", "),
        if reasons.is_empty() { "" } else { "Left out:\n" },
    ))
}

/// The items built from all datasets, and the number of their questions.
fn build(args: &Args, kind: &Kind, options: &Options, others: Option<&Dataset>) -> Result<(Slices, usize)> {
    let mut all = Slices::default();
    let mut count = 0;
    for path in &args.dataset {
        let mut dataset = datasets::load_with(path, options)?;
        count += dataset.questions.len();
        if kind.name == "binary"
            && dataset.format == "truthfulqa"
            && !datasets::has_field(path, options, BEST_INCORRECT)?
        {
            let path = printable(&path.display().to_string());
            let why = "the first incorrect answer is the other option (the file of January 2025 has the best one)";
            tell(&format!("note: {path} has no field {BEST_INCORRECT:?}: {why}"));
        }
        if let Some(others) = others {
            let with = binary::with_documents(&mut dataset.questions, &others.questions);
            if with == 0 {
                let path = args.documents.clone().unwrap_or_default();
                let expected = format!("documents of a question of {}", printable(&dataset.identity.name));
                return Err(MootError::Input { path, line: None, expected, found: "none of its questions".into() });
            }
            let without = dataset.questions.len() - with;
            dataset.questions.retain(|question| !question.documents.is_empty());
            if without > 0 {
                *all.left_out.entry(NO_DOCUMENTS).or_default() += without;
            }
        }
        // Two files of one form are two parts.
        let part = part(&all, dataset.format);
        all.append(kind.build(&part, &dataset.questions, args.seed));
    }
    let mut ids = HashSet::new();
    if let Some(twice) = all.items.iter().find(|item| !ids.insert(item.id.as_str())) {
        let found = format!("{:?} twice", twice.id);
        let path = args.dataset.last().cloned().unwrap_or_default();
        return Err(MootError::Input { path, line: None, expected: "each id of an item once".into(), found });
    }
    Ok((all, count))
}

/// The first of "NAME", "NAME-2", "NAME-3" that is not a slice of `built` yet.
fn part(built: &Slices, name: &str) -> String {
    let known = |part: &str| built.items.iter().any(|item| item.slices.iter().any(|slice| slice == part));
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    std::iter::once(name.to_owned()).chain(numbered).find(|part| !known(part)).unwrap_or_default()
}
