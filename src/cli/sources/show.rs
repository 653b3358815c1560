//! `moot sources show`.

use super::weights::table;
use crate::cli::terminal::columns::{printable, shorten, wrap};
use crate::cli::terminal::output;
use crate::error::Result;
use crate::eval::sources::report::{Cost, Report};
use crate::sources::SourceWeights;
use std::path::PathBuf;

/// Print the weights of a file, sources that agree too often, and the questions that cost a source most
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// As `moot sources estimate` wrote it
    #[arg(value_name = "FILE")]
    weights: PathBuf,
    /// Questions shown for each source
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = crate::cli::args::values::count_or_none)]
    questions: usize,
    /// Print the table of this source alone, with all its questions
    #[arg(long, value_name = "NAME")]
    source: Option<String>,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let (weights, identity) = SourceWeights::read(&args.weights)?;
    let report = Report::new(&weights);
    if let Some(source) = &args.source {
        if !weights.sources.contains_key(source) {
            return Err(crate::error::MootError::UnknownName {
                kind: "source",
                name: source.clone(),
                known: weights.sources.keys().cloned().collect::<Vec<_>>().join(", "),
            });
        }
        let text: String = costs(&report, source, usize::MAX);
        let none = format!("{} agrees with the estimated answer wherever it answers\n", printable(source));
        return output::print(if text.is_empty() { &none } else { &text });
    }
    let mut text = format!("{} ({})\n", printable(&identity.name), printable(&weights.estimator));
    text.push_str(&table(&weights));
    report.notes().iter().for_each(|note| text.push_str(&format!("note: {}\n", printable(note))));
    text.push_str(&pairs(&report));
    let asked: String = weights.sources.keys().map(|source| costs(&report, source, args.questions)).collect();
    if !asked.is_empty() {
        text.push_str(&format!("\nQuestions that cost a source most (margin of the others' votes)\n{asked}"));
    }
    output::print(&text)
}

/// The pairs that move together, the least likely coincidence first.
fn pairs(report: &Report<'_>) -> String {
    let moving: Vec<_> = report.pairs().into_iter().filter(|(_, _, pair)| pair.moves_together()).collect();
    if moving.is_empty() {
        return String::new();
    }
    let mut text = "\nSources that agree more often than their weights predict\n".to_owned();
    for (a, b, pair) in moving {
        let share = pair.agreed as f64 / pair.both as f64;
        text.push_str(&format!(
            "  {} and {}: agree on {} of {} ({share:.2}), expected {:.2}, coincidence {:.1e}\n",
            printable(a),
            printable(b),
            pair.agreed,
            pair.both,
            pair.expected,
            pair.coincidence
        ));
    }
    text
}

/// The questions on which one source is taken to be wrong, a line each.
fn costs(report: &Report<'_>, source: &str, most: usize) -> String {
    let line = |cost: Cost| {
        let said = format!(
            "{:+.2}  {} ({} against {})",
            -cost.margin,
            shorten(&printable(&cost.question), 60),
            printable(&cost.own),
            printable(&cost.estimated)
        );
        wrap(&said, output::columns() - 4).iter().map(|line| format!("    {line}\n")).collect::<String>()
    };
    let lines: String = report.costs(source).into_iter().take(most).map(line).collect();
    if lines.is_empty() { lines } else { format!("  {}\n{lines}", printable(source)) }
}
