//! Tiles of the CPU: the rows that read a page together, and the pages they read.

use crate::cpu::{BLOCK_PAGES, BlockVisit, Tile, Visit};
use crate::pages::{NO_PAGE, PAGE, SequenceRows};
use std::ops::Range;

/// Rows of a tile: enough to read a page for many, few enough that their running sums stay in L2.
pub(super) const TILE_ROWS: usize = 32;

/// The same where pages are rounded to bf16, which costs as much as the products of many queries.
pub(super) const ROUNDED_TILE_ROWS: usize = 64;

/// One sequence's rows of a tile.
struct RowRun<'a> {
    sequence: &'a SequenceRows,
    rows: Range<usize>,
    /// From the page where the first row's window begins up to and with the last position that a row attends to.
    pages: Range<usize>,
}

/// Tiles of the rows of `sequences`, one after the other, each row over the last `window` positions up to its own; with
/// `later`, also over as many from its own on.
pub(super) fn tiles(sequences: &[SequenceRows], window: usize, later: bool) -> Vec<Tile<Visit>> {
    let visits = |runs: &[RowRun<'_>]| {
        let visit = |(index, [page]): (usize, [u32; 1]), rows| Visit { page: page as usize, start: index * PAGE, rows };
        visits(runs, visit)
    };
    run_tiles(sequences, window, later, TILE_ROWS)
        .iter()
        .map(|runs| Tile { rows: rows(runs), visits: visits(runs) })
        .collect()
}

/// The same, each row over the last `window` positions up to its own, by blocks of pages.
pub(super) fn block_tiles(sequences: &[SequenceRows], window: usize) -> Vec<Tile<BlockVisit>> {
    let visits = |runs: &[RowRun<'_>]| {
        let visit = |(index, pages): (usize, [u32; BLOCK_PAGES]), rows| BlockVisit { pages, start: index * PAGE, rows };
        visits(runs, visit)
    };
    let tiles = run_tiles(sequences, window, false, ROUNDED_TILE_ROWS);
    tiles.iter().map(|runs| Tile { rows: rows(runs), visits: visits(runs) }).collect()
}

/// The rows of a tile.
fn rows(runs: &[RowRun<'_>]) -> Range<usize> {
    runs[0].rows.start..runs[runs.len() - 1].rows.end
}

/// The runs of each tile, of up to `most` rows.
fn run_tiles(sequences: &[SequenceRows], window: usize, later: bool, most: usize) -> Vec<Vec<RowRun<'_>>> {
    let mut tiles = Vec::new();
    let mut runs: Vec<RowRun<'_>> = Vec::new();
    let mut row = 0;
    for sequence in sequences {
        let mut done = 0;
        while done < sequence.len {
            let open = runs.last().map_or(0, |last| last.rows.end - runs[0].rows.start);
            let take = (sequence.len - done).min(most);
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
            let joins = open > 0 && open + sequence.len <= most && shares(&runs[0]);
            if open > 0 && !joins {
                tiles.push(std::mem::take(&mut runs));
            }
            runs.push(RowRun { sequence, rows: row..row + take, pages });
            row += take;
            done += take;
        }
    }
    tiles.extend((!runs.is_empty()).then_some(runs));
    tiles
}

/// The pages that the runs of a tile read, `N` at a time, in the order of positions: the first page's index and the
/// pages, [`NO_PAGE`] where a run reads none, once for neighbouring runs that read the same.
fn visits<V, const N: usize>(runs: &[RowRun<'_>], visit: impl Fn((usize, [u32; N]), Range<usize>) -> V) -> Vec<V> {
    let first = runs.iter().map(|run| run.pages.start).min().unwrap_or(0) / N * N;
    let end = runs.iter().map(|run| run.pages.end).max().unwrap_or(0);
    let mut all = Vec::new();
    for index in (first..end).step_by(N) {
        let mut open: Option<([u32; N], Range<usize>)> = None;
        for run in runs {
            let page = |at: usize| if run.pages.contains(&at) { run.sequence.pages[at] } else { NO_PAGE };
            let pages: [u32; N] = std::array::from_fn(|number| page(index + number));
            if pages == [NO_PAGE; N] {
                continue;
            }
            match &mut open {
                Some((same, rows)) if *same == pages && rows.end == run.rows.start => rows.end = run.rows.end,
                _ => {
                    let done = open.replace((pages, run.rows.clone()));
                    all.extend(done.map(|(pages, rows)| visit((index, pages), rows)));
                }
            }
        }
        all.extend(open.map(|(pages, rows)| visit((index, pages), rows)));
    }
    all
}
