//! Tables as text: aligned columns, and tables that are divided to fit a width.

use std::ops::Range;

/// `count` things side by side in as many tables as the width of `columns` characters needs, each with as many as fit and
/// one at least; `made` makes the table of some of them.
#[must_use]
pub(crate) fn divided(count: usize, columns: usize, made: impl Fn(Range<usize>) -> String) -> Vec<String> {
    let (mut tables, mut from) = (Vec::new(), 0);
    while from < count {
        let fits = |to: &usize| made(from..*to).lines().all(|line| line.chars().count() <= columns);
        let to = (from + 1..=count).rev().find(fits).unwrap_or(from + 1);
        tables.push(made(from..to));
        from = to;
    }
    tables
}

/// Columns as wide as their widest cell, two spaces between; the first to the left, the others to the right.
#[must_use]
pub(crate) fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |i: usize| rows.iter().filter_map(|row| row.get(i)).map(|cell| cell.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().enumerate().map(|(i, cell)| {
            let width = widths[i];
            if i == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}
