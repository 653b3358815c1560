//! `moot compare`: records side by side.

pub mod terminal;

use crate::cli::debate::beside;
use crate::cli::records;
use crate::cli::report_page;
use crate::cli::terminal::columns::printable;
use crate::cli::terminal::output;
use crate::error::{MootError, Result};
use crate::escape;
use crate::eval::compare::{self, Change, Compared, Options, tables};
use crate::eval::judgement;
use crate::eval::pairs::Pairs;
use crate::eval::queries;
use crate::eval::record::reader::Record;
use crate::eval::scores::aligned;
use clap::ValueEnum;
use serde_json::{Value, json};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  moot compare madam.jsonl concatenated.jsonl closed.jsonl
  moot compare madam.jsonl ra-rag.jsonl --all-slices --format markdown
  moot compare one-round.jsonl three-rounds.jsonl --changed
  moot compare one-round.jsonl three-rounds.jsonl --changed bridge";

/// Compare records question by question: metrics, paired intervals, wins and losses, costs, changed questions
///
/// Each record is compared with the first one, on the questions that both have. Questions are paired by id and content.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Two records or more, as `moot run -o` writes them
    #[arg(required = true, num_args = 1.., value_name = "RECORD")]
    pub records: Vec<PathBuf>,
    /// Metrics to compare, by the names that `moot score` prints, or `all`; by default the headline metrics that apply
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub metric: Vec<String>,
    /// Also compare the questions of this slice; may be repeated
    #[arg(long, value_name = "NAME")]
    pub slice: Vec<String>,
    /// Also compare the questions of each slice
    #[arg(long, conflicts_with = "slice")]
    pub all_slices: bool,
    /// Print the questions whose answers or whose metric differ, both debates side by side; with QUESTION, only that one:
    /// its id, its number, or part of its text. The metric is the first --metric, else em, or choice-accuracy of options
    #[arg(long, value_name = "QUESTION", num_args = 0..=1)]
    pub changed: Option<Option<String>>,
    /// Compare records of different datasets on the questions that both have
    #[arg(long)]
    pub across_datasets: bool,
    /// The output format
    #[arg(long, value_enum, default_value_t = Format::Terminal)]
    pub format: Format,
}

/// The output format of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Tables for a terminal
    Terminal,
    /// Markdown tables
    Markdown,
    /// One row per record, slice and metric
    Csv,
    /// One JSON object
    Json,
    /// One page, as `moot report` writes it, that begins with the questions that changed
    Html,
}

/// Prints the comparison, or the questions that changed.
///
/// # Errors
/// A record that cannot be read, records of different datasets, an unknown metric, slice or question.
pub(crate) fn run(args: &Args) -> Result<()> {
    if args.records.len() < 2 {
        return Err(MootError::Usage("moot compare: expected two records or more, found one".into()));
    }
    if args.format == Format::Html {
        return page(args);
    }
    let records = args.records.iter().map(|path| records::read(path)).collect::<Result<Vec<_>>>()?;
    let slices = if args.all_slices { compare::slices(&records) } else { args.slice.clone() };
    let options = Options { slices, metrics: args.metric.clone(), across_datasets: args.across_datasets };
    let compared = compare::compare(&records, &options)?;
    match &args.changed {
        Some(wanted) => changed(args, &records, &compared, wanted.as_deref()),
        None => output::print(&match args.format {
            Format::Terminal => terminal::tables(&compared, output::columns()),
            Format::Markdown => tables::markdown(&compared),
            Format::Csv => tables::csv(&compared)?,
            Format::Json | Format::Html => format!("{}\n", escape::json(&json!(compared).to_string())),
        }),
    }
}

/// The page of reports: changed questions first, both debates side by side. `--changed QUESTION` has no meaning there.
fn page(args: &Args) -> Result<()> {
    if let Some(Some(wanted)) = &args.changed {
        return Err(MootError::Usage(format!("--changed {wanted:?} with --format html: the page has every question")));
    }
    report_page::print(&args.records, |inputs| crate::report::Options {
        title: String::new(),
        compare: report_page::options(inputs, &args.metric, &args.slice, args.all_slices, args.across_datasets),
        changed: true,
    })
}

/// The changed questions of the first record and each other one.
fn changed(args: &Args, records: &[Record], compared: &Compared, wanted: Option<&str>) -> Result<()> {
    let of_kind = judgement::metric(&records[0].questions).0;
    let metric = args.metric.first().map_or(of_kind, String::as_str);
    let mut objects = Vec::new();
    let mut text = String::new();
    for (other, described) in records.iter().zip(&compared.records).skip(1) {
        let names = (compared.records[0].name.as_str(), described.name.as_str());
        let mut changes = compare::changed(&records[0], other, metric)?;
        if let Some(wanted) = wanted {
            changes = vec![one(&records[0], other, &changes, wanted)?];
        }
        let rows = tables::changes(names, metric, &changes);
        let count = format!(
            "{} and {}: {} of {} questions differ",
            names.0,
            names.1,
            changes.len(),
            pairs(compared, other, records)
        );
        match args.format {
            Format::Json | Format::Html => objects.extend(changes.iter().map(|change| object(names, metric, change))),
            Format::Csv => text.push_str(&tables::csv_rows(&rows)?),
            Format::Markdown => text.push_str(&format!("{}\n\n{}\n", printable(&count), tables::markdown_table(&rows))),
            Format::Terminal => {
                if wanted.is_none() {
                    text.push_str(&format!("{}\n\n{}", printable(&count), aligned(&short(rows))));
                }
                for change in &changes {
                    text.push_str(&beside::print(names, change, output::columns())?);
                }
            }
        }
    }
    if args.format == Format::Json {
        text = format!("{}\n", escape::json(&Value::from(objects).to_string()));
    }
    output::print(&text)
}

fn pairs(compared: &Compared, other: &Record, records: &[Record]) -> usize {
    let index = records.iter().position(|record| std::ptr::eq(record, other)).unwrap_or_default();
    compared.parts[0].sides[index].against.as_ref().map_or(0, |against| against.pairs)
}

/// The pair of the question named by `wanted`, whether it changed or not.
fn one<'a>(first: &'a Record, other: &'a Record, changes: &[Change<'a>], wanted: &str) -> Result<Change<'a>> {
    let found = queries::find(&first.questions, wanted)?;
    if let Some(change) = changes.iter().find(|change| std::ptr::eq(change.first, found)) {
        return Ok(*change);
    }
    let pair = Pairs::of(first, other).both.into_iter().find(|(question, _)| std::ptr::eq(*question, found));
    let missing = || {
        MootError::Usage(format!("{}: question {:?} is not recorded there", other.path.display(), found.question.id))
    };
    let (first, other) = pair.ok_or_else(missing)?;
    Ok(Change { first, other, values: None })
}

fn object(names: (&str, &str), metric: &str, change: &Change<'_>) -> Value {
    let side = |name: &str, record: &crate::transcript::QuestionRecord, value: Option<f64>| json!({ "name": name, metric: value, "outcome": compare::outcome(record), "conclusion": record.conclusion });
    json!({
        "question": change.first.question.id,
        "text": change.first.question.text,
        "first": side(names.0, change.first, change.values.map(|(a, _)| a)),
        "other": side(names.1, change.other, change.values.map(|(_, b)| b)),
    })
}

/// Cells of at most 40 columns.
fn short(rows: Vec<Vec<String>>) -> Vec<Vec<String>> {
    let cell = |text: String| crate::cli::terminal::columns::shorten(&text, 40);
    rows.into_iter().map(|row| row.into_iter().map(cell).collect()).collect()
}
