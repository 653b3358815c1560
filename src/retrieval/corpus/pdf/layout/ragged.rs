//! Columns that are parted by blanks alone: text that was padded to columns for letters of one width, and drawn with letters
//! of different widths. No empty strip runs through its rows.

use super::gutter::{APART, GUTTER, Gutter, distance, usual_distance};
use super::rows::Row;
use std::ops::Range;

/// Minimum number of blanks between two columns of a row; sentences are parted by one or two.
const BLANKS: usize = 3;
/// Minimum number of rows with such blanks, one below the other.
const ROWS: usize = 4;

/// Parts the longest run of rows that have blanks between words, unless an empty strip runs through it.
pub(super) fn ragged(rows: &[Row]) -> Option<Gutter> {
    let gaps: Vec<Option<(f64, f64)>> = rows.iter().map(padded).collect();
    let mut run = 0..0;
    let mut start = 0;
    for part in gaps.chunk_by(|a, b| a.is_some() == b.is_some()) {
        if part[0].is_some() && part.len() > run.len() {
            run = start..start + part.len();
        }
        start += part.len();
    }
    let within = || gaps[run.clone()].iter().flatten();
    let left = within().map(|gap| gap.0).fold(f64::NEG_INFINITY, f64::max);
    let right = within().map(|gap| gap.1).fold(f64::INFINITY, f64::min);
    if run.len() < ROWS || right - left >= GUTTER * rows[run.start].size {
        return None;
    }
    let run = with_rest(run, rows, left);
    // Rows of the rest have no gap: all of each is of the left column.
    let middle = |gap: &Option<(f64, f64)>| gap.map_or(f64::INFINITY, |gap| f64::midpoint(gap.0, gap.1));
    Some(Gutter { middles: gaps[run.clone()].iter().map(middle).collect(), rows: run, is_ragged: true })
}

/// The first gap between words of a row that has enough blanks, as its ends.
fn padded(row: &Row) -> Option<(f64, f64)> {
    let solid: Vec<_> = row.solid().collect();
    let blanks = |from: f64, to: f64| {
        let within = row.words.iter().filter(|word| word.is_blank && word.x1 > from && word.x0 < to);
        within.map(|word| word.glyphs.len()).sum::<usize>()
    };
    let gaps = solid.windows(2).map(|pair| (pair[0].x1, pair[1].x0));
    gaps.filter(|gap| gap.1 - gap.0 >= GUTTER * row.size).find(|gap| blanks(gap.0, gap.1) >= BLANKS)
}

/// The run with the rows below it that the left column alone has: the right one is shorter.
fn with_rest(mut run: Range<usize>, rows: &[Row], left: f64) -> Range<usize> {
    let Some(usual) = usual_distance(run.clone(), rows) else { return run };
    let ends = |row: &Row| row.solid().map(|word| word.x1).fold(f64::NEG_INFINITY, f64::max);
    while run.end < rows.len() && ends(&rows[run.end]) <= left && distance(run.end - 1, rows) <= APART * usual {
        run.end += 1;
    }
    run
}
