//! `moot conflict calibrate`: label weights from a record of scored labels.

use crate::cli::args::values;
use crate::cli::terminal::{output, tell};
use crate::error::{MootError, Result};
use crate::eval::label_fit::{self, HeldOut};
use crate::eval::record::reader::Record;
use crate::eval::stats::Estimate;
use crate::files::outputs;
use crate::protocol::labelling::weights::RELATIONS;
use std::fmt::Write as _;
use std::path::PathBuf;

/// Fit the weights of scored labels to labelled claims, and measure them on the half of the claims that they were not fitted to
///
/// A record is of `moot run LABELS --method conflict-score --set labels=scored --set quotes=none`, where LABELS is a dataset
/// whose claims have labels. `--label-weights FILE` takes the weights.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Records of scored labels, of one model and one prompt
    #[arg(value_name = "RECORD", required = true)]
    records: Vec<PathBuf>,
    /// The file of weights to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Seeds the halves
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = values::whole::<u64>)]
    #[arg(allow_negative_numbers = true)]
    seed: u64,
}

/// Fits, prints and writes.
///
/// # Errors
/// A record that cannot be read or has too few labelled pairs; a file that cannot be written.
pub(super) fn run(args: &Args) -> Result<()> {
    let typed: Vec<_> = args.records.iter().map(|path| ("RECORD", path.as_path())).collect();
    outputs::distinct(&[("-o", &args.output)], &typed)?;
    outputs::check(&args.output)?;
    let records = args.records.iter().map(|path| Record::read(path)).collect::<Result<Vec<Record>>>()?;
    let fitted = label_fit::fit(&records, args.seed)?;
    output::print(&told(fitted.weights.pairs, &fitted.held_out))?;
    let json = serde_json::to_string_pretty(&fitted.weights);
    let json = json.map_err(|e| MootError::Usage(format!("label weights cannot be JSON: {e} (bug)")))?;
    outputs::write(&args.output, (json + "\n").as_bytes())?;
    tell(&format!("written to {}; --label-weights takes it", args.output.display()));
    Ok(())
}

fn told(fitted: usize, held: &HeldOut) -> String {
    let share = |of: &Estimate| format!("{:.3} [{:.3}, {:.3}]", of.mean, of.low, of.high);
    let mut text = format!(
        "fitted to {fitted} pairs, measured on {} pairs of {} other claims\n\n\
         accuracy           {}\n\
         of scores alone    {}\n\
         of one label       {}\n\
         macro F1           {:.3}\n\
         calibration error  {:.3}\n\n\
         {:<16}{:>12}{:>13}{:>12}\n",
        held.pairs,
        held.claims,
        share(&held.accuracy),
        share(&held.unweighed),
        share(&held.constant),
        held.macro_f1,
        held.ece,
        "dataset / found",
        label_fit::name(RELATIONS[0]),
        label_fit::name(RELATIONS[1]),
        label_fit::name(RELATIONS[2]),
    );
    for (gold, row) in RELATIONS.iter().zip(held.confusion) {
        let _ = writeln!(text, "{:<16}{:>12}{:>13}{:>12}", label_fit::name(*gold), row[0], row[1], row[2]);
    }
    text
}
