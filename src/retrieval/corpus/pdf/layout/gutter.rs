//! The best gutter among rows.

use super::rows::Row;
use std::ops::Range;

/// Minimum width of a gutter, and of the gap between two cells, in letter heights.
pub(super) const GUTTER: f64 = 0.7;
/// Minimum width of a gutter, by the least number of rows on its two sides.
const WIDTHS: [(usize, f64); 4] = [(6, GUTTER), (4, 1.0), (3, 1.3), (2, 1.5)];
/// Strips that are followed from row to row.
const MAX_STRIPS: usize = 64;
/// Minimum distance of a heading or footer from the columns that it does not belong to, in distances of lines.
pub(super) const APART: f64 = 1.8;
/// Maximum words of such a heading or footer.
const APART_WORDS: usize = 8;

/// The space between two columns.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Gutter {
    pub(super) rows: Range<usize>,
    /// Where each of the rows is parted.
    pub(super) middles: Vec<f64>,
    /// Whether it is at another position in each row, so that no empty strip runs through the rows.
    pub(super) is_ragged: bool,
}

/// An empty strip from row `start` to the row that was read last.
#[derive(Debug, Clone, Copy)]
struct Strip {
    x0: f64,
    x1: f64,
    start: usize,
    /// Rows with text at its left, and at its right.
    left: usize,
    right: usize,
}

/// A strip that a row ended.
struct Candidate {
    strip: Strip,
    end: usize,
    score: f64,
}

/// The gutter beside which most rows are, if there is any.
pub(super) fn best(rows: &[Row]) -> Option<Gutter> {
    let mut candidates: Vec<Candidate> = Vec::new();
    let mut strips: Vec<Strip> = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        let gaps = gaps(row);
        let mut next: Vec<Strip> = Vec::new();
        for strip in &strips {
            let first = gaps.partition_point(|gap| gap.1 <= strip.x0);
            let within = gaps[first..].iter().take_while(|gap| gap.0 < strip.x1);
            let mut is_whole = false;
            for gap in within {
                is_whole |= gap.0 <= strip.x0 && gap.1 >= strip.x1;
                follow(&mut next, Strip { x0: gap.0.max(strip.x0), x1: gap.1.min(strip.x1), ..*strip }, row);
            }
            if !is_whole {
                candidates.extend(candidate(*strip, at, rows));
            }
        }
        for gap in gaps {
            follow(&mut next, Strip { x0: gap.0, x1: gap.1, start: at, left: 0, right: 0 }, row);
        }
        strips = next;
    }
    candidates.extend(strips.into_iter().filter_map(|strip| candidate(strip, rows.len(), rows)));
    let best = candidates.iter().max_by(|a, b| a.score.total_cmp(&b.score))?;
    let longest = candidates.iter().filter(|other| other.continues(best, rows)).max_by_key(|other| other.end);
    let (start, end) = (best.strip.start, longest.unwrap_or(best).end);
    let middle = longest.map_or(best.strip, |longest| longest.strip);
    let middle = f64::midpoint(middle.x0, middle.x1);
    let rows = without_apart(start..end, rows);
    Some(Gutter { middles: vec![middle; rows.len()], rows, is_ragged: false })
}

impl Candidate {
    /// Whether this strip is a narrower one within `other` that goes on, line by line: one column is longer than the other
    /// and has a wider line there.
    fn continues(&self, other: &Self, rows: &[Row]) -> bool {
        let is_within = self.strip.x0 >= other.strip.x0 && self.strip.x1 <= other.strip.x1;
        let Some(usual) = usual_distance(other.strip.start..other.end, rows) else { return false };
        self.strip.start == other.strip.start
            && self.end > other.end
            && is_within
            && (other.end - 1..self.end - 1).all(|at| distance(at, rows) <= APART * usual)
    }
}

/// The empty intervals of a row, from left to right; the outer ones have no end.
fn gaps(row: &Row) -> Vec<(f64, f64)> {
    let mut gaps = Vec::new();
    let mut end = f64::NEG_INFINITY;
    for word in row.solid() {
        if word.x0 - end >= GUTTER * row.size {
            gaps.push((end, word.x0));
        }
        end = end.max(word.x1);
    }
    gaps.push((end, f64::INFINITY));
    gaps
}

/// Follows `strip` through `row`, unless it is too narrow or within one that is as long.
fn follow(strips: &mut Vec<Strip>, strip: Strip, row: &Row) {
    let within = |other: &Strip| other.start <= strip.start && other.x0 <= strip.x0 && other.x1 >= strip.x1;
    if strip.x1 - strip.x0 < GUTTER * row.size || strips.len() >= MAX_STRIPS || strips.iter().any(within) {
        return;
    }
    let first = row.solid().next().is_some_and(|word| word.x0 < strip.x0);
    let last = row.solid().next_back().is_some_and(|word| word.x1 > strip.x1);
    strips.push(Strip { left: strip.left + usize::from(first), right: strip.right + usize::from(last), ..strip });
}

/// The strip as a candidate, if it is wide and long enough to be a gutter.
fn candidate(strip: Strip, end: usize, rows: &[Row]) -> Option<Candidate> {
    let beside = strip.left.min(strip.right);
    let width = (strip.x1 - strip.x0) / rows[strip.start].size;
    let is_gutter = width.is_finite() && WIDTHS.iter().any(|&(rows, least)| beside >= rows && width >= least);
    is_gutter.then(|| Candidate { strip, end, score: beside as f64 * (1.0 + width.min(4.0) / 4.0) })
}

/// The rows without a heading above or a footer below that is far from them.
fn without_apart(mut range: Range<usize>, rows: &[Row]) -> Range<usize> {
    let Some(usual) = usual_distance(range.clone(), rows) else { return range };
    let distance = |at| distance(at, rows);
    let short = |at: usize| rows[at].solid().take(APART_WORDS + 1).count() <= APART_WORDS;
    if range.len() > 3 && short(range.start) && distance(range.start) > APART * usual {
        range.start += 1;
    }
    if range.len() > 3 && short(range.end - 1) && distance(range.end - 2) > APART * usual {
        range.end -= 1;
    }
    range
}

/// The distance of row `at` from the next one.
pub(super) fn distance(at: usize, rows: &[Row]) -> f64 {
    rows[at].y - rows[at + 1].y
}

/// The median distance of lines.
pub(super) fn usual_distance(range: Range<usize>, rows: &[Row]) -> Option<f64> {
    let mut distances: Vec<f64> = (range.start..range.end - 1).map(|at| distance(at, rows)).collect();
    distances.sort_by(f64::total_cmp);
    distances.get(distances.len() / 2).copied()
}
