//! `moot conflict correct`: labels that a person corrected, and the scores with them.

use super::printed::{Counted, print};
use crate::cli::args::form::Form;
use crate::cli::terminal::tell;
use crate::error::{MootError, Result};
use crate::eval::corrections::{CorrectedRecord, Counts};
use crate::eval::queries;
use crate::files::outputs;
use crate::units::plural;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  moot conflict answer.txt --docs notes/ -o claims.jsonl
  moot conflict correct claims.jsonl corrections.jsonl -o corrected.jsonl --format html > answer.html

A line of corrections.jsonl, with the numbers that `moot conflict` prints:
  {\"claim\": 2, \"document\": 3, \"label\": \"contradicts\", \"quote\": \"opened in 1931\"}";

/// Replace labels of a record by those of a person, and score the claims again, without a model
///
/// A line of CORRECTIONS has the numbers of a claim and of a document, a label (supports, contradicts or irrelevant) and, if you
/// like, a quote of the document and a reason; with several questions also the id of the \"question\". A person's label counts
/// without a quote.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A record of labelled claims, as `moot conflict -o` and `moot run --method conflict-score` write it
    #[arg(value_name = "RECORD")]
    pub record: PathBuf,
    /// A file of JSON lines, one a label
    #[arg(value_name = "CORRECTIONS")]
    pub corrections: PathBuf,
    /// Write the corrected record, which moot score and moot record show read
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Output format
    #[arg(long, value_name = "FORM", default_value = "text")]
    pub format: Form,
    /// How claims with neither supporters nor contradictors count in CS-R
    #[arg(long, value_name = "HOW", default_value = "left-out")]
    pub neither: Counted,
}

/// Corrects, writes, and prints the assessment where one question is corrected.
///
/// # Errors
/// As [`CorrectedRecord::read`]; corrections of several questions without -o; a file that cannot be written.
pub(super) fn run(args: &Args) -> Result<()> {
    if let Some(output) = &args.output {
        let inputs = [("RECORD", args.record.as_path()), ("CORRECTIONS", args.corrections.as_path())];
        outputs::distinct(&[("-o", output)], &inputs)?;
    }
    let corrected = CorrectedRecord::read(&args.record, &args.corrections)?;
    let questions = &corrected.counts.questions;
    if let (None, [_, _, ..]) = (&args.output, questions.as_slice()) {
        let count = questions.len();
        return Err(MootError::Usage(format!("corrections of {count} questions: expected -o FILE, found none")));
    }
    if let Some(output) = &args.output {
        corrected.write(output)?;
    }
    tell(&told(&corrected.counts));
    if let [only] = questions.as_slice() {
        let question = queries::find(&corrected.record.questions, only)?;
        print(args.format, args.neither, question, &corrected.record.header)?;
    }
    if let Some(output) = &args.output {
        let path = output.display();
        tell(&format!("recorded in {path}; `moot score {path}` scores it"));
    }
    Ok(())
}

/// "3 labels corrected in 1 question: 1 confirmed, 1 changed, 1 where none counted".
fn told(counts: &Counts) -> String {
    let Counts { corrections, confirmed, filled, questions } = counts;
    let changed = corrections - confirmed - filled;
    format!(
        "{} corrected in {}: {confirmed} confirmed, {changed} changed, {filled} where none counted",
        plural(*corrections, "label", "labels"),
        plural(questions.len(), "question", "questions")
    )
}
