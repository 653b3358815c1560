//! `moot record verify`: repeats recorded calls in other batches.

use crate::cli::args::model;
use crate::cli::args::values;
use crate::cli::terminal::columns::printable;
use crate::cli::terminal::interrupt;
use crate::cli::terminal::output;
use crate::cli::terminal::{bar, tell};
use crate::error::{MootError, Result};
use crate::eval::record::reader::{Ledger, Record};
use crate::eval::verify::Report;
use crate::workspace::VerifyOptions;
use indicatif::ProgressBar;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  moot record verify madam.jsonl --hashes
  moot record verify madam.jsonl --sample 20
  moot record verify madam.jsonl --model elsewhere/model.gguf --threads 1 --step-tokens 64";

/// Check that a record is as it was written, then repeat its calls in other batches and check that every token is the same
///
/// The hash of every line is compared first; with --hashes, nothing else is, and no model is needed: a record whose run did not
/// end, or that lost its end, then has exit code 1 too. Each call is asked twice, mixed with unrelated calls: all at once in
/// another order, and a few at a time or alone. Ends with exit code 1 if one differs.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A record, as `moot run -o` writes it
    #[arg(value_name = "RECORD")]
    pub record: PathBuf,
    /// Only check the hashes of its lines, and that its run ended
    #[arg(long, conflicts_with = "sample")]
    pub hashes: bool,
    /// Only N of its calls, chosen at random
    #[arg(long, value_name = "N", value_parser = values::count, allow_negative_numbers = true)]
    pub sample: Option<usize>,
    /// Seed for the choice of calls and batches
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = values::whole::<u64>)]
    #[arg(allow_negative_numbers = true)]
    pub seed: u64,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// The record's model, if it is now under another name or path
    #[arg(short, long, help_heading = "Model")]
    pub model: Option<String>,
    /// Runtime arguments.
    #[command(flatten)]
    pub runtime: model::Runtime,
}

/// Compares hashes, repeats the calls, compares and prints.
///
/// # Errors
/// A record that cannot be read or has no call of a local model; a model other than the record's; a failed call;
/// [`MootError::Differ`] if a line's hash or a reply differs.
pub(crate) fn run(args: &Args) -> Result<()> {
    let control = interrupt::listen()?;
    let (record, ledger) = Record::read_whole(&args.record)?;
    if record.torn {
        tell(&format!("note: {}: the last line was cut short and is left out", record.path.display()));
    }
    if !ledger.altered.is_empty() || args.hashes {
        return hashes(args, &record, &ledger);
    }
    let options = VerifyOptions {
        sample: args.sample,
        seed: args.seed,
        model: args.model.clone(),
        runtime: args.runtime.options(),
    };
    let bar = bar(0, "{bar:24} {pos}/{len} replies  {eta} left").unwrap_or_else(ProgressBar::hidden);
    let report = options.verify(&record, &control, &mut |done, total| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
    });
    bar.finish_and_clear();
    let report = report?;
    if args.json {
        output::print_json(&report)?;
    } else {
        remarks(&report).iter().for_each(|note| tell(&format!("note: {note}")));
        output::print(&text(&report))?;
    }
    if report.same { Ok(()) } else { Err(MootError::Differ) }
}

/// Prints which lines are not as they were written.
fn hashes(args: &Args, record: &Record, ledger: &Ledger) -> Result<()> {
    let Ledger { altered, chain, lines, .. } = ledger;
    let hashed = !chain.is_empty();
    let whole = record.is_whole(ledger);
    if args.json {
        let questions = record.questions.len();
        let object = serde_json::json!({
            "lines": lines, "altered": altered, "chain": chain, "questions": questions, "whole": whole,
        });
        output::print_json(&object)?;
    } else if !hashed && altered.is_empty() {
        let version = record.header.moot_record;
        output::print(&format!(
            "{lines} lines; records of version {version} have no hashes, so changes go unnoticed\n"
        ))?;
    } else if altered.is_empty() {
        output::print(&format!("{lines} lines are as they were written; the last hash is {chain}\n"))?;
        if !whole {
            output::print(&format!("{}\n", unfinished(record)))?;
        }
    } else {
        let told = altered
            .iter()
            .map(|line| format!("line {line}: hash mismatch: the line was edited, or an earlier line is missing\n"));
        output::print(
            &(told.collect::<String>() + &format!("{} of {lines} lines are not as they were written\n", altered.len())),
        )?;
    }
    if altered.is_empty() && (whole || !hashed) { Ok(()) } else { Err(MootError::Differ) }
}

/// The line on a record with sound lines whose run did not end. A cut at a line's end leaves no other trace.
fn unfinished(record: &Record) -> String {
    let questions = record.questions.len();
    let of = record.header.dataset.as_ref().map(|dataset| format!(" of {}", dataset.questions)).unwrap_or_default();
    format!(
        "{questions}{of} questions, and the last line is not the end of a run: the run did not finish, or the record was \
         cut at its end"
    )
}

/// Notes on what was not compared.
fn remarks(report: &Report) -> Vec<String> {
    let mut notes: Vec<String> = report
        .elsewhere
        .iter()
        .map(|(role, calls)| format!("{calls} calls of the {role} were answered by a remote model and are left out"))
        .collect();
    if report.by_text > 0 {
        notes.push(format!("the record has no token ids for {} calls: their text was compared", report.by_text));
    }
    notes
}

fn text(report: &Report) -> String {
    let mut lines: Vec<String> =
        report.differences.iter().map(|difference| printable(&difference.to_string())).collect();
    let calls = report.calls;
    let verdict =
        if report.same { "all the same".to_owned() } else { format!("{} of {calls} differ", report.differing) };
    lines.push(format!("{calls} calls repeated in other batches: {verdict}"));
    lines.join("\n") + "\n"
}
