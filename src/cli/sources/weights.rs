//! Weights of sources as a table.

use crate::cli::terminal::columns::{pad, printable, width};
use crate::cli::terminal::output;
use crate::error::Result;
use crate::eval::sources::report::Report;
use crate::sources::{SourceEstimate, SourceWeights};

/// Prints the table of weights, then the notes.
pub(super) fn print(weights: &SourceWeights) -> Result<()> {
    let report = Report::new(weights);
    let notes: String = report.notes().iter().map(|note| format!("note: {note}\n")).collect();
    output::print(&(table(weights) + &notes))
}

/// A row a source, the heaviest first.
pub(super) fn table(weights: &SourceWeights) -> String {
    let mut rows: Vec<_> = weights.sources.iter().collect();
    let weight = |estimate: &SourceEstimate| estimate.weight.unwrap_or(f64::NEG_INFINITY);
    rows.sort_by(|(a, x), (b, y)| weight(y).total_cmp(&weight(x)).then(a.cmp(b)));
    let column = rows.iter().map(|(source, _)| width(&printable(source))).max().unwrap_or(0).max("source".len());
    let head = format!(
        "{:>8}  {:>18}  {:>9}  {:>8}  {:>7}  {:>7}  {:>5}",
        "weight", "95 %", "agreement", "coverage", "answers", "dropped", "alone"
    );
    let mut text = format!("{}  {head}\n", pad("source", column));
    for (source, estimate) in rows {
        let number = |number: Option<f64>| number.map_or("none".to_owned(), |number| format!("{number:.3}"));
        let interval = estimate.interval.map_or(String::new(), |(low, high)| format!("[{low:.3}, {high:.3}]"));
        let share = |lone: usize| format!("{:.3}", lone as f64 / estimate.answers.max(1) as f64);
        let alone = estimate.lone.map_or("-".to_owned(), share);
        let coverage = estimate.answers as f64 / estimate.asked.max(1) as f64;
        text.push_str(&format!(
            "{}  {:>8}  {interval:>18}  {:>9}  {coverage:>8.3}  {:>7}  {:>7}  {alone:>5}\n",
            pad(&printable(source), column),
            number(estimate.weight),
            number(estimate.agreement),
            estimate.answers,
            estimate.dropped,
        ));
    }
    if weights.iterations == 0 {
        return text;
    }
    let state = if weights.converged { "converged" } else { "did not converge" };
    text + &format!("{} questions; weights {state} after {} iterations\n", weights.questions, weights.iterations)
}
