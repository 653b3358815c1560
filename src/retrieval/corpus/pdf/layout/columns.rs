//! Columns of a page: a recursive cut of its rows at gutters.
//!
//! A gutter is an empty strip between two columns that runs through several rows. Rows that cross it, headings and
//! footers, end it. The page is cut at its best gutter into the rows above, the left column, the right column and the
//! rows below, and each of these is cut again (a recursive XY cut that prefers columns). A gutter within a table is not
//! a cut (`judge`).

use super::glyph::Glyph;
use super::gutter::best;
use super::judge::{Order, Reading, judge};
use super::ragged::ragged;
use super::rows::Row;

/// Maximum rows of a page that is cut; a poster has some hundred.
const MAX_ROWS: usize = 2000;
/// Maximum cuts of a page.
const MAX_CUTS: usize = 200;

/// Parts of a page in reading order, each of rows from top to bottom.
pub(super) struct Parts {
    pub(super) parts: Vec<Vec<Row>>,
    /// Whether columns may be rows of a table, or the reverse.
    pub(super) is_uncertain: bool,
}

/// Rows that are a part, or may have to be cut.
enum Area {
    Part(Vec<Row>),
    Uncut(Vec<Row>),
}

/// Cuts a page's rows into parts.
pub(super) fn cut(rows: Vec<Row>, glyphs: &[Glyph]) -> Parts {
    if rows.len() > MAX_ROWS {
        return Parts { parts: vec![rows], is_uncertain: true };
    }
    let mut parts = Parts { parts: Vec::new(), is_uncertain: false };
    let mut cuts = 0;
    // The next area is the last.
    let mut areas = vec![Area::Uncut(rows)];
    while let Some(area) = areas.pop() {
        let rows = match area {
            Area::Part(rows) => {
                parts.parts.push(rows);
                continue;
            }
            Area::Uncut(rows) => rows,
        };
        let gutter = if cuts < MAX_CUTS { ragged(&rows).or_else(|| best(&rows)) } else { None };
        let Some(gutter) = gutter else {
            parts.parts.extend((!rows.is_empty()).then_some(rows));
            continue;
        };
        cuts += 1;
        let mut above = rows;
        let below = above.split_off(gutter.rows.end);
        let band = above.split_off(gutter.rows.start);
        areas.push(Area::Uncut(below));
        let pairs: Vec<_> = band.iter().zip(&gutter.middles).map(|(row, middle)| row.parted(*middle)).collect();
        let Reading { order, is_certain } = judge(&pairs, glyphs);
        parts.is_uncertain |= !is_certain || gutter.is_ragged;
        match order {
            Order::Rows => areas.push(Area::Part(band)),
            Order::Columns { groups, from_right } => areas.extend(columns(pairs, &groups, from_right)),
        }
        areas.push(Area::Uncut(above));
    }
    parts
}

/// The columns of each group of rows, the last one first. Groups are given by the numbers of their last rows, plus one.
fn columns(pairs: Vec<(Option<Row>, Option<Row>)>, groups: &[usize], from_right: bool) -> Vec<Area> {
    let mut areas = Vec::new();
    let mut pairs = pairs.into_iter();
    let mut start = 0;
    for &end in groups {
        let (left, right): (Vec<_>, Vec<_>) = pairs.by_ref().take(end - start).unzip();
        start = end;
        let columns = if from_right { [right, left] } else { [left, right] };
        areas.extend(columns.map(|rows| Area::Uncut(rows.into_iter().flatten().collect())));
    }
    areas.reverse();
    areas
}
