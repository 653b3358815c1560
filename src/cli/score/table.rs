//! The table of scores: the most important rows (right answers, missing answers, cost), or all of them.

use crate::cli::terminal::columns::{printable, wrap};
use crate::eval::metrics::{METRICS, Metric};
use crate::eval::scores::{self, Difference, Scores};
use crate::eval::stats::Estimate;
use std::collections::BTreeSet;
use std::ops::Range;

/// Rows of the short table: the first metrics by [`Metric::rank`] that apply. Those of one kind of dataset have the first
/// ranks.
const ROWS: usize = 5;

/// Fewest questions for a useful interval.
const FEW: usize = 30;

/// The table, what its rows mean, and notes, in lines of at most `columns`; `all` rows that apply, or the first ones.
pub(super) fn table(scores: &[Scores], differences: &[Difference], all: bool, columns: usize) -> String {
    let metrics = if all { applying(scores) } else { first(scores) };
    let mut text = String::new();
    for (number, score) in scores.iter().enumerate() {
        let (label, margin) = if scores.len() > 1 { (letter(number) + "  ", 3) } else { (String::new(), 0) };
        let lines = wrap(&scores::describe(score), columns - margin);
        lines.iter().enumerate().for_each(|(i, line)| {
            let label = if i == 0 { label.clone() } else { " ".repeat(margin) };
            text.push_str(&format!("{label}{line}\n"));
        });
    }
    if scores.iter().all(|score| score.questions == 0) {
        return text + "no question is recorded yet: nothing to score\n";
    }
    let names: Vec<String> = (0..scores.len()).map(letter).collect();
    let named = if scores.len() > 1 { names } else { vec![String::new()] };
    let values: Vec<&[Row]> = scores.iter().map(|score| &score.rows[..]).collect();
    text.push_str(&blocks(&metrics, &named, &values, false, columns));
    let heads: Vec<String> = differences.iter().map(|difference| head(scores, difference)).collect();
    let values: Vec<&[Row]> = differences.iter().map(|difference| &difference.rows[..]).collect();
    text.push_str(&blocks(&metrics, &heads, &values, true, columns));
    text.push('\n');
    for &index in &metrics {
        let metric = &METRICS[index];
        wrap(&format!("{}: {}", metric.name, metric.formula), columns).iter().for_each(|line| {
            text.push_str(&format!("{line}\n"));
        });
    }
    notes(scores, differences, &metrics).iter().flat_map(|note| wrap(note, columns)).for_each(|line| {
        text.push_str(&format!("{line}\n"));
    });
    text
}

/// A metric with its value in one record.
type Row = (&'static Metric, Option<Estimate>);

/// Indices in [`METRICS`] of the most important rows.
fn first(scores: &[Scores]) -> Vec<usize> {
    let mut ranked = applying(scores);
    ranked.retain(|&index| METRICS[index].rank.is_some());
    ranked.sort_by_key(|&index| METRICS[index].rank);
    ranked.truncate(ROWS);
    ranked
}

/// Indices in [`METRICS`] of the rows that have a value in some record.
fn applying(scores: &[Scores]) -> Vec<usize> {
    (0..METRICS.len()).filter(|&index| scores.iter().any(|score| score.rows[index].1.is_some())).collect()
}

/// The values below each other in as many tables as the width needs, each with as many records as fit.
fn blocks(metrics: &[usize], heads: &[String], values: &[&[Row]], signed: bool, columns: usize) -> String {
    let made = |part: Range<usize>| block(metrics, &heads[part.clone()], &values[part], signed);
    scores::divided(heads.len(), columns, made).concat()
}

fn block(metrics: &[usize], heads: &[String], values: &[&[Row]], signed: bool) -> String {
    let mut rows = Vec::new();
    if heads.iter().any(|head| !head.is_empty()) {
        rows.push(std::iter::once(String::new()).chain(heads.iter().cloned()).collect());
    }
    rows.extend(metrics.iter().map(|&index| {
        let metric = &METRICS[index];
        let cells = values.iter().map(|rows| scores::cell(metric, rows[index].1, signed));
        std::iter::once(metric.name.to_owned()).chain(cells).collect::<Vec<_>>()
    }));
    format!("\n{}", scores::aligned(&rows))
}

/// A record's name in the table: a letter, after Z a number.
fn letter(number: usize) -> String {
    match u8::try_from(number) {
        Ok(few) if few < 26 => char::from(b'A' + few).to_string(),
        _ => (number + 1).to_string(),
    }
}

/// "B - A", by the indices of the records.
fn head(scores: &[Scores], difference: &Difference) -> String {
    let of = |index: Option<usize>| index.map_or_else(|| "?".to_owned(), letter);
    // The same record may be given twice.
    let (from, to) = (
        scores.iter().position(|score| score.name == difference.from),
        scores.iter().rposition(|score| score.name == difference.to),
    );
    format!("{} - {}", of(to), of(from))
}

fn notes(scores: &[Scores], differences: &[Difference], printed: &[usize]) -> Vec<String> {
    let mut notes = vec!["[95 % interval over questions: percentile bootstrap, 10,000 resamples]".to_owned()];
    for difference in differences {
        let mut left_out = String::new();
        if difference.alone > 0 {
            left_out.push_str(&format!(", {} in one alone left out", difference.alone));
        }
        if difference.other_content > 0 {
            left_out.push_str(&format!(", {} with the same id and other content left out", difference.other_content));
        }
        let head = head(scores, difference);
        notes.push(format!("{head}: paired by question, {} in both{left_out}", difference.common));
    }
    let few: BTreeSet<usize> =
        scores.iter().map(|score| score.questions).filter(|questions| *questions < FEW).collect();
    if let Some(least) = few.first() {
        notes.push(format!(
            "warning: {least} questions are few: below {FEW} the intervals say little, and a difference may be chance"
        ));
    }
    let applying = applying(scores);
    if applying.len() > printed.len() {
        notes.push(format!("{} more rows: --all", applying.len() - printed.len()));
    } else {
        let without = METRICS.iter().enumerate().filter(|(index, _)| !applying.contains(index));
        let without: Vec<&str> = without.map(|(_, metric)| metric.name).collect();
        notes.push(format!("[not applicable: {}]", without.join(", ")));
    }
    notes.iter().map(|note| printable(note)).collect()
}
