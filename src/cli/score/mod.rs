//! `moot score`: the metrics of records.

mod changes;
mod table;

use crate::cli::args::Switches;
use crate::cli::args::corpus::ClassifierArgs;
use crate::cli::args::model;
use crate::cli::records;
use crate::cli::terminal::interrupt;
use crate::cli::terminal::{output, tell};
use crate::error::{MootError, Result};
use crate::escape;
use crate::eval::check::misleading_lines;
use crate::eval::computed_slices::SLICES;
use crate::eval::datasets::{self, Options};
use crate::eval::metrics::calibration;
use crate::eval::predictions::Predictions;
use crate::eval::record::reader::Record;
use crate::eval::scores;
use crate::protocol::switches::Typed;
use crate::workspace::{CONFLICT, JUDGE, MethodOptions, PlanOptions, labelled};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  moot score madam.jsonl
  moot score madam.jsonl closed.jsonl --all
  moot score madam.jsonl closed.jsonl --json
  moot score madam.jsonl --conflict -m qwen2.5-coder-1.5b
  moot score rag.jsonl control.jsonl --changes
  moot score qacc.jsonl --slice conflicting --slice non-conflicting
  moot score drag.jsonl naive.jsonl --slice gold-not-retrieved
  moot score madam.jsonl --predictions theirs.csv --dataset ramdocs.jsonl";

/// Score records: exact match, F1, unknown and malformed replies, calls, with intervals; --all for every metric
///
/// With several records, each is also compared with the first, question by question (paired bootstrap).
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Records, as `moot run -o` writes them
    #[arg(required_unless_present = "predictions", value_name = "RECORD")]
    pub records: Vec<PathBuf>,
    /// Also score another system's answers: JSON lines or CSV with `id` and `answer` (or a list, `answers`), a .txt with an
    /// answer a line, or a record
    #[arg(long, value_name = "FILE", requires = "dataset", conflicts_with_all = ["conflict", "judge"])]
    pub predictions: Vec<PathBuf>,
    /// The dataset of the predictions, as `moot run` reads it
    #[arg(long, value_name = "FILE", requires = "predictions")]
    pub dataset: Option<PathBuf>,
    /// The dataset or the form of --dataset, where they are not detected
    #[arg(long, value_name = "NAME", requires = "dataset")]
    pub format: Option<String>,
    /// Score only the questions of this slice; several give a column each.
    #[arg(long, value_name = "NAME", help = slice_help())]
    pub slice: Vec<String>,
    /// Print every metric that applies, not only the five most important ones
    #[arg(long, conflicts_with = "json")]
    pub all: bool,
    /// Print one JSON object, with every metric
    #[arg(long)]
    pub json: bool,
    /// Also print how often labels of each probability are right (records of conflict-score with --labels scored)
    #[arg(long, conflicts_with = "json")]
    pub calibration: bool,
    /// Also print how many answers of the first record each other record keeps, corrects and spoils
    #[arg(long, conflicts_with = "json")]
    pub changes: bool,
    /// Label the claims of every answer against its documents first, for cs-c and cs-r; the labels are stored in the record's
    /// folder, as NAME.conflict.jsonl, and reused
    #[arg(long)]
    pub conflict: bool,
    /// Let a model judge first whether each answer is truthful and informative, by the dataset's right and wrong answers; the
    /// verdicts are stored in the record's folder, as NAME.judge.jsonl, and reused
    #[arg(long)]
    pub judge: bool,
    /// Switches of conflict-score.
    #[command(flatten)]
    pub switches: Switches,
    /// Classifier of pairs, for --labels entailment or both.
    #[command(flatten)]
    pub classifier: ClassifierArgs,
    /// Model and device of the labeller.
    #[command(flatten)]
    pub model: model::ModelArgs,
}

/// The help of `--slice`, from the table.
fn slice_help() -> String {
    let computed: Vec<_> = SLICES.iter().map(|slice| format!("{} ({})", slice.name, slice.about)).collect();
    let computed = computed.join(", ");
    format!("Score only the questions of this slice; several give a column each. A slice of the dataset, or {computed}")
}

/// Prints the scores of `args.records`.
///
/// # Errors
/// A record that cannot be read, or is corrupt; a slice that a record does not have.
pub fn run(args: &Args) -> Result<()> {
    let typed = args.switches.typed()?;
    if args.changes && args.records.len() + args.predictions.len() < 2 {
        return Err(MootError::Usage("--changes compares with the first record: expected two records or more".into()));
    }
    if !args.conflict && !typed.is_empty() {
        let names: Vec<&str> = typed.keys().map(String::as_str).collect();
        return Err(MootError::Usage(format!("{}: expected --conflict, whose labels it changes", names.join(", "))));
    }
    let mut records = args.records.iter().map(|path| records::read(path)).collect::<Result<Vec<_>>>()?;
    records.extend(args.predicted()?);
    for record in &records {
        for line in misleading_lines(record.questions.iter().map(|recorded| &recorded.question)) {
            tell(&format!("note: {}: {line}", record.path.display()));
        }
    }
    if args.conflict || args.judge {
        records = args.labelled(records, typed)?;
    }
    // One group a slice; records are compared within their group.
    let groups: Vec<Vec<Record>> = if args.slice.is_empty() {
        vec![records]
    } else {
        let sliced = |name: &String| records.iter().map(|record| scores::slice(record, name)).collect();
        args.slice.iter().map(sliced).collect::<Result<_>>()?
    };
    let scores: Vec<_> = groups.iter().flatten().map(scores::score).collect();
    let compared =
        |group: &Vec<Record>| group.iter().skip(1).map(|other| scores::compare(&group[0], other)).collect::<Vec<_>>();
    let differences: Vec<_> = groups.iter().flat_map(compared).collect();
    if args.json {
        return output::print(&format!("{}\n", escape::json(&scores::json(&scores, &differences).to_string())));
    }
    let mut table = table::table(&scores, &differences, args.all, output::columns());
    if args.calibration {
        for record in groups.iter().flatten() {
            let questions: Vec<_> = record.questions.iter().collect();
            let report = calibration::report(&questions).unwrap_or_else(|| "no label has a probability\n".to_owned());
            table.push_str(&format!("\n{}\n{report}", record.path.display()));
        }
    }
    if args.changes {
        groups.iter().filter_map(|group| group.split_first()).for_each(|(base, others)| {
            table.push_str(&changes::table(base, others));
        });
    }
    output::print(&escape::lines(&table))
}

impl Args {
    /// The predictions of other systems as records; says which questions and which predictions have no counterpart.
    fn predicted(&self) -> Result<Vec<Record>> {
        let Some(dataset) = &self.dataset else { return Ok(Vec::new()) };
        let options = self.format.iter().try_fold(Options::default(), |options, typed| options.format(typed))?;
        let dataset = datasets::load_with(dataset, &options)?;
        let one = |path: &PathBuf| {
            let Predictions { record, missing, unknown } = Predictions::read(path, &dataset)?;
            let note = |ids: &[String], of: usize, what: &str| {
                if !ids.is_empty() {
                    let named = ids.iter().take(5).map(String::as_str).collect::<Vec<_>>().join(", ");
                    let more = if ids.len() > 5 { ", ..." } else { "" };
                    tell(&format!("note: {}: {} of {of} {what}: {named}{more}", path.display(), ids.len()));
                }
            };
            note(&missing, dataset.questions.len(), "questions have no prediction and count as errors");
            let all = record.questions.len() - missing.len() + unknown.len();
            note(&unknown, all, "predictions are for no question of the dataset and are left out");
            Ok(record)
        };
        self.predictions.iter().map(one).collect()
    }

    /// `records` with the labels and verdicts that a model gives of their answers.
    fn labelled(&self, mut records: Vec<Record>, switches: Typed) -> Result<Vec<Record>> {
        let control = interrupt::listen()?;
        let options = |switches| PlanOptions {
            method: MethodOptions { switches, ..MethodOptions::default() },
            classifier: self.classifier.options(),
            model: self.model.name(),
            runtime: self.model.runtime.options(),
            ..PlanOptions::default()
        };
        if self.conflict {
            records = labelled(records, CONFLICT, &options(switches), &control)?;
        }
        if self.judge {
            records = labelled(records, JUDGE, &options(Typed::new()), &control)?;
        }
        Ok(records)
    }
}
