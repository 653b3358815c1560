//! `moot lab reproduce`: a paper's table, what it needs, and our numbers beside the published ones.

use crate::cli::args::corpus;
use crate::cli::args::model;
use crate::cli::args::values;
use crate::cli::terminal::columns::printable;
use crate::cli::terminal::interrupt;
use crate::cli::terminal::output;
use crate::cli::terminal::runs::print_reports;
use crate::cli::terminal::tell;
use crate::error::{MootError, Result};
use crate::escape;
use crate::eval::compare::tables::{csv_rows, markdown_table};
use crate::eval::datasets::{self, Dataset};
use crate::eval::record::reader::Record;
use crate::eval::reproduce::{Beside, Needed, PaperTable, Row, beside, tables};
use crate::eval::scores::aligned;
use crate::files::outputs;
use crate::protocol::ctx::Settings;
use crate::sources::SourceWeights;
use crate::workspace::{MethodPlan, Plan, PlanOptions, Recording, RunOptions, Workspace, model_label};
use clap::ValueEnum;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const EXAMPLES: &str = "\
Examples:
  moot lab reproduce                                   the tables
  moot lab reproduce madam-rag-1                       its datasets, methods, settings and published numbers
  moot lab reproduce madam-rag-1 --data ramdocs=RAMDocs_test.jsonl -o repro/ --limit 100
  moot lab reproduce madam-rag-1 -o repro/ --format markdown    what is recorded, without a run";

/// Reproduce a table of one of the papers: what it needs, and published numbers beside ours
///
/// Runs the methods of the table on the datasets that are given, each with a record in the folder -o, and lists what is missing.
/// The same command goes on where it stopped.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The table; without one, all are listed
    #[arg(value_name = "TABLE")]
    pub table: Option<String>,
    /// A dataset of the table that is at hand; may be repeated
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
    /// Seeds the sample
    #[arg(long, value_name = "SEED", default_value_t = 0, value_parser = values::whole::<u64>)]
    #[arg(allow_negative_numbers = true)]
    pub sample_seed: u64,
    /// Tokens of a reply at most, instead of the table's
    #[arg(long, value_name = "N", value_parser = values::count, allow_negative_numbers = true)]
    pub max_tokens: Option<usize>,
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
pub enum Format {
    /// What the table needs, then its numbers, for a terminal
    Terminal,
    /// A Markdown table
    Markdown,
    /// One row per row and column of the table
    Csv,
    /// One JSON object
    Json,
}

/// Lists the tables, describes one, or runs what is at hand and prints it.
///
/// # Errors
/// An unknown table, dataset or row; what ends a run.
pub fn run(args: &Args) -> Result<()> {
    let Some(name) = &args.table else { return output::print(&list()) };
    let table = PaperTable::named(name)?;
    let rows = table.rows(&args.row)?;
    let data = data(table, &args.data)?;
    let mut unanswered = None;
    if let Some(folder) = args.output.as_ref().filter(|_| !data.is_empty()) {
        match run_rows(args, table, &rows, &data, folder) {
            Err(error @ MootError::Unanswered { .. }) => unanswered = Some(error),
            ended => ended?,
        }
    }
    let none = || Ok(None);
    let all = beside(table, &|row, needed| {
        args.output.as_ref().map_or_else(none, |folder| recorded(&record_path(folder, table, row, needed, args)))
    })?;
    output::print(&match args.format {
        Format::Terminal => described(table, args, &data) + "\n" + &escape::lines(&aligned(&cells(&all))),
        Format::Markdown => markdown_table(&cells(&all)),
        Format::Csv => csv_rows(&cells(&all))?,
        Format::Json => format!("{}\n", escape::json(&json!({ "table": table.name, "numbers": all }).to_string())),
    })?;
    unanswered.map_or(Ok(()), Err)
}

fn list() -> String {
    let rows = tables().map(|table| vec![table.name.to_owned(), format!("{}: {}", table.paper, table.about)]);
    rows.map(|row| format!("{:<16}  {}\n", row[0], row[1])).collect()
}

/// The files of `--data`, by the name of their dataset.
fn data(table: &PaperTable, typed: &[String]) -> Result<BTreeMap<&'static str, PathBuf>> {
    let mut files = BTreeMap::new();
    for typed in typed {
        let wrong = || MootError::Usage(format!("--data {typed}: expected NAME=FILE, found no `=`"));
        let (name, path) = typed.split_once('=').ok_or_else(wrong)?;
        let needed = table.dataset(name.trim())?;
        if files.insert(needed.name, PathBuf::from(path.trim())).is_some() {
            return Err(MootError::Usage(format!("--data {typed}: {name} is given twice")));
        }
    }
    Ok(files)
}

/// The record of a row on a dataset by the model.
fn record_path(folder: &Path, table: &PaperTable, row: &Row, needed: &Needed, args: &Args) -> PathBuf {
    let model = model_label(&args.model.model);
    folder.join(format!("{}.{}.{}.{model}.jsonl", table.name, needed.name, row.name))
}

fn recorded(path: &Path) -> Result<Option<Record>> {
    if path.exists() { Record::read(path).map(Some) } else { Ok(None) }
}

/// Why a row cannot run here, where it cannot.
fn hindered(table: &PaperTable, row: &Row, args: &Args) -> Result<Option<String>> {
    let needs = row.build()?.row.needs;
    let missing = |what: &str| Some(format!("{}: {what}", row.label));
    // Of a table that searches a corpus, a method that could read a question's own documents must not: its numbers would stand
    // beside those of an open corpus.
    let searches = needs.retriever || needs.passages && table.corpus;
    Ok(if searches && !args.retrieve.options().is_given() { missing("needs --corpus") } else { None })
}

/// Runs `rows` on every dataset at hand, side by side.
fn run_rows(
    args: &Args,
    table: &PaperTable,
    rows: &[&'static Row],
    data: &BTreeMap<&'static str, PathBuf>,
    folder: &Path,
) -> Result<()> {
    let mut able = Vec::new();
    for row in rows {
        if hindered(table, row, args)?.is_none() {
            able.push(*row);
        }
    }
    let run = RunOptions { in_flight: args.in_flight, retry_errors: args.retry_errors, ..RunOptions::default() };
    let mut batches: Vec<Vec<Recording>> = Vec::new();
    std::fs::create_dir_all(folder).map_err(|e| MootError::io(folder, "create", e))?;
    for (name, path) in data {
        let needed = table.dataset(name)?;
        let dataset = Arc::new(load(args, needed, path)?);
        let of = |row: &&'static Row| {
            let output = record_path(folder, table, row, needed, args);
            Ok(Recording::new(Arc::new(method(table, row, args)?), dataset.clone(), output, Arc::default(), &run))
        };
        batches.push(able.iter().map(of).collect::<Result<_>>()?);
        let records: Vec<_> = batches.iter().flatten().map(|recording| ("-o", recording.path())).collect();
        outputs::distinct(&records, &[("--data", path)])?;
    }
    if batches.first().is_none_or(Vec::is_empty) {
        return Ok(());
    }
    let options = PlanOptions {
        corpus: args.retrieve.options(),
        classifier: args.classifier.options(),
        model: args.model.model.clone(),
        runtime: args.model.runtime.options(),
        run: Some(run),
        ..PlanOptions::default()
    };
    let control = interrupt::listen()?;
    let workspace = Workspace::open(Plan::of_batches(options, batches)?, &control)?;
    let reports = workspace.run()?;
    workspace.note_counts();
    print_reports(reports).map_or(Ok(()), Err)
}

fn load(args: &Args, needed: &Needed, path: &Path) -> Result<Dataset> {
    let mut dataset = datasets::load(path)?;
    if dataset.format != needed.form {
        tell(&format!(
            "note: {} is of the form {}, the table's {} is {}",
            path.display(),
            dataset.format,
            needed.name,
            needed.form
        ));
    }
    if let Some(count) = args.sample {
        dataset.sample(count, args.sample_seed);
    }
    dataset.questions.truncate(args.limit.unwrap_or(usize::MAX));
    Ok(dataset)
}

fn method(table: &PaperTable, row: &Row, args: &Args) -> Result<MethodPlan> {
    let weights = args.source_weights.as_deref().filter(|_| row.on_demand).map(SourceWeights::read).transpose()?;
    let max_tokens = args.max_tokens.unwrap_or(table.max_tokens);
    let settings = Settings { max_tokens, ..Settings::default() };
    Ok(MethodPlan { weights, settings, ..MethodPlan::of(row.build()?) })
}

/// Paper, settings, datasets and methods, with what is at hand and what is missing.
fn described(table: &PaperTable, args: &Args, data: &BTreeMap<&'static str, PathBuf>) -> String {
    let mut text = format!("{}: {}\n", table.paper, table.about);
    table.settings.iter().for_each(|line| text.push_str(&format!("  {line}\n")));
    text.push_str(&format!("  at most {} new tokens a reply (--max-tokens)\n", table.max_tokens));
    text.push_str("Datasets\n");
    for needed in table.data {
        let found = match data.get(needed.name) {
            Some(path) => format!("at hand: {}", printable(&path.display().to_string())),
            None => format!("missing: {} (--data {}=FILE)", needed.get, needed.name),
        };
        text.push_str(&format!("  {}: {found}\n", needed.name));
    }
    text.push_str("Methods\n");
    for row in table.rows {
        let missing = hindered(table, row, args).ok().flatten().map(|_| "missing: needs --corpus".to_owned());
        let note = missing.into_iter().chain((!row.note.is_empty()).then(|| row.note.to_owned()));
        let note = note.map(|note| format!(" ({note})")).collect::<String>();
        text.push_str(&format!("  {}: {}{note}\n", row.label, row.typed()));
    }
    text
}

fn cells(all: &[Beside]) -> Vec<Vec<String>> {
    let mut models: Vec<&str> = Vec::new();
    for (model, _) in all.iter().flat_map(|one| &one.published) {
        if !models.contains(model) {
            models.push(model);
        }
    }
    let ours = all.iter().find_map(|one| one.model.clone()).unwrap_or_else(|| "ours".into());
    let mut head = vec!["method".to_owned(), "measure".to_owned()];
    head.extend(models.iter().map(|model| (*model).to_owned()));
    head.extend([format!("here: {}", escape::line(&ours)), "n".to_owned()]);
    let mut rows = vec![head];
    for one in all {
        let number = |model: &&str| one.published.iter().find(|(known, _)| known == model).map(|(_, value)| *value);
        let mut row = vec![one.row.to_owned(), one.column.to_owned()];
        let digits = if one.published.iter().all(|(_, value)| *value <= 1.0) { 4 } else { 2 };
        row.extend(
            models.iter().map(|model| number(model).map_or("-".to_owned(), |value| format!("{value:.digits$}"))),
        );
        row.push(
            one.ours
                .map_or("-".to_owned(), |e| format!("{:.digits$} [{:.digits$}, {:.digits$}]", e.mean, e.low, e.high)),
        );
        row.push(one.ours.map_or("-".to_owned(), |e| e.n.to_string()));
        rows.push(row);
    }
    rows
}
