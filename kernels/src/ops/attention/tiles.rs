//! Tiles of the CPU: the rows that read a page together, and the pages they read.

use crate::cpu::{Tile, Visit};
use crate::pages::{PAGE, SequenceRows};
use std::ops::Range;

/// Rows of a tile: enough to read a page for many, few enough that their running sums stay in L2.
pub(super) const TILE_ROWS: usize = 32;

/// One sequence's rows of a tile.
struct RowRun<'a> {
    sequence: &'a SequenceRows,
    rows: Range<usize>,
    /// From the page where the first row's window begins up to and with the last position that a row attends to.
    pages: Range<usize>,
}

/// Tiles of the rows of `sequences`, one after the other, each row over the last `window` positions up to its own; with
/// `later`, also over as many from its own on.
pub(super) fn tiles(sequences: &[SequenceRows], window: usize, later: bool) -> Vec<Tile> {
    let mut tiles = Vec::new();
    let mut runs: Vec<RowRun<'_>> = Vec::new();
    let mut row = 0;
    for sequence in sequences {
        let mut done = 0;
        while done < sequence.len {
            let open = runs.last().map_or(0, |last| last.rows.end - runs[0].rows.start);
            let take = (sequence.len - done).min(TILE_ROWS);
            let first = sequence.start + done;
            let latest = match later {
                true => (first + take - 1).saturating_add(window).min(sequence.start + sequence.len),
                false => first + take,
            };
            let pages = (first + 1).saturating_sub(window) / PAGE..latest.div_ceil(PAGE);
            // A tile has rows of one sequence, or whole short sequences that share the first page that both read.
            let shares = |other: &RowRun<'_>| {
                let common = other.pages.start.max(pages.start);
                common < pages.end.min(other.pages.end) && other.sequence.pages[common] == sequence.pages[common]
            };
            let joins = open > 0 && open + sequence.len <= TILE_ROWS && shares(&runs[0]);
            if open > 0 && !joins {
                tiles.push(close(&mut runs));
            }
            runs.push(RowRun { sequence, rows: row..row + take, pages });
            row += take;
            done += take;
        }
    }
    if !runs.is_empty() {
        tiles.push(close(&mut runs));
    }
    tiles
}

fn close(runs: &mut Vec<RowRun<'_>>) -> Tile {
    let rows = runs[0].rows.start..runs[runs.len() - 1].rows.end;
    let mut visits: Vec<Visit> = Vec::new();
    let first = runs.iter().map(|run| run.pages.start).min().unwrap_or(0);
    for index in first..runs.iter().map(|run| run.pages.end).max().unwrap_or(0) {
        let level = visits.len();
        for run in runs.iter().filter(|run| run.pages.contains(&index)) {
            let page = run.sequence.pages[index] as usize;
            match visits[level..].last_mut() {
                Some(visit) if visit.page == page && visit.rows.end == run.rows.start => {
                    visit.rows.end = run.rows.end;
                }
                _ => visits.push(Visit { page, start: index * PAGE, rows: run.rows.clone() }),
            }
        }
    }
    runs.clear();
    Tile { rows, visits }
}
