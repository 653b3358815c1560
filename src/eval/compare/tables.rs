//! A comparison as tables, as Markdown, as CSV.

use super::{Change, Compared, Contrast, Described, Outcomes, Side, SliceComparison, outcome};
use crate::error::{MootError, Result};
use crate::escape;
use crate::eval::metrics::{Metric, Unit};
use crate::eval::scores::figure;
use crate::eval::stats::Estimate;
use std::path::Path;

/// A table with a heading; the first column is text, the others are numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Its heading.
    pub title: String,
    /// Its rows; the first is the head.
    pub rows: Vec<Vec<String>>,
    /// Columns of one record behind the first column; 0 where records are rows.
    pub columns: usize,
}

/// The comparison as Markdown.
#[must_use]
pub fn markdown(compared: &Compared) -> String {
    let mut text = legend(compared).iter().map(|line| format!("- {}\n", cell(line))).collect::<String>();
    for part in &compared.parts {
        for table in tables(compared, part) {
            text.push_str(&format!("\n**{}**\n\n{}", cell(&table.title), markdown_table(&table.rows)));
        }
    }
    text + &format!("\n{NOTE}\n")
}

/// The meaning of the tables' stars and letters.
pub(crate) const NOTE: &str = "95 % intervals over questions: percentile bootstrap, 10,000 resamples, differences in pairs; * the \
    interval leaves out 0; W-L-T: questions better, worse and alike (of costs, unknown, malformed and errors less is better)";

/// The record of each column, and how its settings differ from the first one's.
#[must_use]
pub(crate) fn legend(compared: &Compared) -> Vec<String> {
    let mut lines = Vec::new();
    for record in &compared.records {
        let of = record.expected.filter(|&n| n != record.questions).map(|n| format!(" of {n}")).unwrap_or_default();
        let (name, path, model) = (&record.name, &record.record, &record.model);
        lines.push(escape::line(&format!(
            "{name}: {path}, {} with {model}, {}{of} questions",
            record.method, record.questions
        )));
        let settings: Vec<String> =
            record.settings.iter().map(|(field, there, here)| format!("{field} {here} (first: {there})")).collect();
        if !settings.is_empty() {
            lines.push(escape::line(&format!("{name} differs in {}", settings.join(", "))));
        }
    }
    lines
}

/// The tables of a part: values, differences where there are several records, costs.
#[must_use]
pub fn tables(compared: &Compared, part: &SliceComparison) -> Vec<Table> {
    let of = part.slice.as_ref().map(|slice| format!(", slice {slice}")).unwrap_or_default();
    let mut tables = vec![
        Table { title: format!("Values{of}"), rows: values(compared, part), columns: 1 },
        Table { title: format!("Cost by role{of}"), rows: costs(compared, part), columns: 0 },
    ];
    if part.sides.len() > 1 {
        let first = &compared.records[0].name;
        let title = format!("Difference from {}{of}", escape::line(first));
        tables.insert(1, Table { title, rows: differences(compared, part), columns: 2 });
    }
    tables
}

fn values(compared: &Compared, part: &SliceComparison) -> Vec<Vec<String>> {
    let mut head = vec!["metric".to_owned()];
    head.extend(compared.records.iter().map(|record| escape::line(&record.name)));
    let mut questions = vec!["questions".to_owned()];
    questions.extend(part.sides.iter().map(|side| side.questions.to_string()));
    let mut rows = vec![head, questions];
    let metrics = part.sides.first().map_or(0, |side| side.values.len());
    for index in (0..metrics).filter(|&index| part.sides.iter().any(|side| side.values[index].1.is_some())) {
        let name = part.sides[0].values[index].0;
        let mut row = vec![name.to_owned()];
        row.extend(part.sides.iter().map(|side| interval(name, side.values[index].1, false)));
        rows.push(row);
    }
    rows
}

fn differences(compared: &Compared, part: &SliceComparison) -> Vec<Vec<String>> {
    let mut head = vec!["metric".to_owned()];
    let mut paired = vec!["pairs (only in one)".to_owned()];
    let others: Vec<_> =
        part.sides.iter().zip(&compared.records).filter_map(|(s, r)| Some((s.against.as_ref()?, r))).collect();
    for (against, record) in &others {
        head.extend([escape::line(&record.name), "W-L-T".to_owned()]);
        paired.extend([format!("{} ({})", against.pairs, against.unpaired), String::new()]);
    }
    let mut rows = vec![head, paired];
    let metrics = others.first().map_or(0, |(against, _)| against.rows.len());
    for index in
        (0..metrics).filter(|&index| others.iter().any(|(against, _)| against.rows[index].difference.is_some()))
    {
        let mut row = vec![others[0].0.rows[index].metric.to_owned()];
        for (against, _) in &others {
            let Contrast { metric, difference, outcomes } = &against.rows[index];
            row.extend([interval(metric, *difference, true), outcomes.map(tally).unwrap_or_default()]);
        }
        rows.push(row);
    }
    rows
}

fn costs(compared: &Compared, part: &SliceComparison) -> Vec<Vec<String>> {
    let head = ["record", "role", "calls", "malformed", "prompt", "reused", "computed", "generated", "seconds"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for (side, record) in part.sides.iter().zip(&compared.records) {
        for cost in &side.costs {
            let u = &cost.usage;
            let numbers = [cost.calls, cost.malformed, u.prompt, u.reused, u.computed, u.generated];
            let mut row = vec![escape::line(&record.name), escape::line(&cost.role)];
            row.extend(numbers.iter().map(ToString::to_string));
            row.push(format!("{:.1}", cost.seconds));
            rows.push(row);
        }
    }
    rows
}

fn tally(o: Outcomes) -> String {
    format!("{}-{}-{}", o.wins, o.losses, o.ties)
}

/// A value with its interval; a difference has its sign, and a star where its interval leaves out 0.
fn interval(metric: &str, estimate: Option<Estimate>, signed: bool) -> String {
    let Some(e) = estimate else { return "-".into() };
    let unit = Metric::named(metric).map_or(Unit::Count, |row| row.unit);
    let number = |x: f64| figure(unit, x, signed);
    // A blank where other values of the column have a star keeps the column aligned.
    let star = if !signed {
        ""
    } else if e.low > 0.0 || e.high < 0.0 {
        "*"
    } else {
        " "
    };
    format!("{} [{}, {}]{star}", number(e.mean), number(e.low), number(e.high))
}

/// The questions that changed, a row each.
#[must_use]
pub fn changes(names: (&str, &str), metric: &str, changes: &[Change<'_>]) -> Vec<Vec<String>> {
    let (first, other) = (escape::line(names.0), escape::line(names.1));
    let mut rows = vec![vec!["question".to_owned(), metric.to_owned(), first, other]];
    for change in changes {
        let values = change.values.map_or_else(|| "-".to_owned(), |(a, b)| format!("{a} -> {b}"));
        let said = |record| escape::line(&outcome(record));
        rows.push(vec![escape::line(&change.first.question.id), values, said(change.first), said(change.other)]);
    }
    rows
}

/// Rows as a Markdown table; the first is the head.
#[must_use]
pub(crate) fn markdown_table(rows: &[Vec<String>]) -> String {
    let line =
        |row: &Vec<String>| format!("| {} |\n", row.iter().map(|text| cell(text)).collect::<Vec<_>>().join(" | "));
    let Some((head, body)) = rows.split_first() else { return String::new() };
    let rule = format!("|{}\n", "---|".repeat(head.len()));
    line(head) + &rule + &body.iter().map(line).collect::<String>()
}

/// Text that stays text within a line of Markdown.
fn cell(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in escape::line(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '!' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}

/// One row a record, part and metric.
///
/// # Errors
/// [`MootError::Io`] where the rows cannot be written (a bug).
pub fn csv(compared: &Compared) -> Result<String> {
    let head = [
        "record",
        "file",
        "method",
        "model",
        "slice",
        "metric",
        "value",
        "low",
        "high",
        "n",
        "first",
        "difference",
        "difference_low",
        "difference_high",
        "pairs",
        "wins",
        "losses",
        "ties",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for part in &compared.parts {
        for (side, record) in part.sides.iter().zip(&compared.records) {
            for (index, (metric, value)) in side.values.iter().enumerate() {
                let slice = part.slice.clone().unwrap_or_default();
                let described = [&record.name, &record.record, &record.method, &record.model, &slice];
                let mut row: Vec<String> = described.into_iter().map(|text| escape::cell(text)).collect();
                row.push((*metric).to_owned());
                row.extend(numbers(*value));
                row.push(value.map(|value| value.n.to_string()).unwrap_or_default());
                let contrast = side.against.as_ref().map(|against| &against.rows[index]);
                let difference = contrast.and_then(|contrast| contrast.difference);
                row.push(contrast.map(|_| escape::cell(&compared.records[0].name)).unwrap_or_default());
                row.extend(numbers(difference));
                row.push(difference.map(|difference| difference.n.to_string()).unwrap_or_default());
                let counts = contrast.and_then(|contrast| contrast.outcomes).map(|o| [o.wins, o.losses, o.ties]);
                row.extend(
                    counts.map_or_else(|| vec![String::new(); 3], |c| c.iter().map(ToString::to_string).collect()),
                );
                rows.push(row);
            }
            rows.extend(cost_rows(record, part, side));
        }
    }
    csv_rows(&rows)
}

/// Rows of costs: a role's calls, tokens and seconds as metrics, "agent: reused-tokens", with the number of calls as n.
fn cost_rows(record: &Described, part: &SliceComparison, side: &Side) -> Vec<Vec<String>> {
    const REST: usize = 8;
    let mut rows = Vec::new();
    for cost in &side.costs {
        let u = &cost.usage;
        let numbers = [
            ("calls", cost.calls.to_string()),
            ("malformed", cost.malformed.to_string()),
            ("prompt-tokens", u.prompt.to_string()),
            ("reused-tokens", u.reused.to_string()),
            ("computed-tokens", u.computed.to_string()),
            ("generated-tokens", u.generated.to_string()),
            ("seconds", format!("{:.3}", cost.seconds)),
        ];
        for (name, number) in numbers {
            let slice = part.slice.clone().unwrap_or_default();
            let described = [&record.name, &record.record, &record.method, &record.model, &slice];
            let mut row: Vec<String> = described.into_iter().map(|text| escape::cell(text)).collect();
            row.push(escape::cell(&format!("{}: {name}", cost.role)));
            row.extend([number, String::new(), String::new(), cost.calls.to_string()]);
            row.extend(vec![String::new(); REST]);
            rows.push(row);
        }
    }
    rows
}

fn numbers(estimate: Option<Estimate>) -> [String; 3] {
    estimate.map_or_else(Default::default, |e| [e.mean, e.low, e.high].map(|number| number.to_string()))
}

/// Rows as CSV (RFC 4180).
///
/// # Errors
/// [`MootError::Io`] where they cannot be written (a bug).
pub(crate) fn csv_rows(rows: &[Vec<String>]) -> Result<String> {
    let wrong = |e: csv::Error| MootError::io(Path::new("standard output"), "write", std::io::Error::other(e));
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer.write_record(row).map_err(wrong)?;
    }
    let bytes = writer.into_inner().map_err(|e| wrong(e.into_error().into()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
