//! The works of a plan: tiles of long chunks, and spans of pages that neighbouring sequences share.

use crate::pages::{PAGE, SequenceRows};
use std::ops::Range;

/// Pages of a span.
pub const SPAN: usize = 8;

/// The kernel of a work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One span of the rows that share its pages, or some of them.
    Span,
    /// All spans of a tile of one sequence.
    Chunk,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Span, Self::Chunk];
}

/// Row, rows, first visit, visits.
pub(super) type Work = [u32; WORK];
pub(super) const WORK: usize = 4;
/// Page, its index in the sequence, row, rows, keys that are written.
pub(super) type Visit = [u32; VISIT];
pub(super) const VISIT: usize = 5;

/// The page with the first position that the row at `position` attends to: of the last `window` up to its own.
pub(super) fn first_page(position: usize, window: usize) -> usize {
    (position + 1).saturating_sub(window) / PAGE
}

/// A sequence, its first row in the batch, and the positions that its rows attend to at most.
#[derive(Clone, Copy)]
pub(super) struct PlacedSequence<'a> {
    pub(super) sequence: &'a SequenceRows,
    pub(super) row: usize,
    pub(super) window: usize,
}

impl PlacedSequence<'_> {
    /// Keys of the sequence, the step's own included.
    fn keys(&self) -> usize {
        self.sequence.start + self.sequence.len
    }

    /// The pages that its rows read.
    fn pages(&self) -> Range<usize> {
        first_page(self.sequence.start, self.window)..self.keys().div_ceil(PAGE)
    }

    /// Those of them that are in the span from page `first` on.
    fn pages_of_span(&self, first: usize) -> Range<usize> {
        let pages = self.pages();
        pages.start.max(first)..pages.end.min(first + SPAN)
    }

    /// Partial results of all rows, if they are computed by spans: for each as many as all of them have spans.
    pub(super) fn results(&self) -> usize {
        let pages = self.pages();
        self.sequence.len * (pages.end.div_ceil(SPAN) - pages.start / SPAN)
    }
}

/// Works in the order of the sequences, before they are written as words.
#[derive(Default)]
pub(super) struct Plan {
    /// Rows of a block.
    tile: usize,
    /// By [`Kind`].
    pub(super) works: [Vec<Work>; 2],
    pub(super) visits: Vec<Visit>,
    /// Rows whose spans are folded when all are there.
    pub(super) spanned: Vec<u32>,
}

impl Plan {
    /// With `tile` rows in a block.
    pub(super) fn with_tiles(tile: usize) -> Self {
        Self { tile, ..Self::default() }
    }

    /// Tiles of one sequence, each through all pages that its rows read.
    pub(super) fn chunk(&mut self, part: &PlacedSequence<'_>) {
        let sequence = part.sequence;
        for first in (0..sequence.len).step_by(self.tile) {
            let rows = self.tile.min(sequence.len - first);
            let (row, keys, from) = (part.row + first, sequence.start + first + rows, self.visits.len());
            for index in first_page(sequence.start + first, part.window)..keys.div_ceil(PAGE) {
                let page = sequence.pages[index];
                let written = (keys - index * PAGE).min(PAGE);
                self.visits.push([page, index as u32, row as u32, rows as u32, written as u32]);
            }
            self.push(Kind::Chunk, row, rows, from);
        }
    }

    /// Spans of neighbouring sequences of few rows, side by side.
    pub(super) fn spans(&mut self, parts: &[PlacedSequence<'_>]) {
        let rows = parts.iter().flat_map(|part| part.row..part.row + part.sequence.len);
        self.spanned.extend(rows.map(|row| row as u32));
        let all = parts.iter().map(PlacedSequence::pages);
        let least = all.clone().map(|pages| pages.start).min().unwrap_or(0);
        let most = all.map(|pages| pages.end).max().unwrap_or(0);
        for first in (least / SPAN * SPAN..most).step_by(SPAN) {
            let mut at = 0;
            while at < parts.len() {
                let end = at + self.sharers(&parts[at..], first);
                if end == at {
                    at += 1;
                    continue;
                }
                self.span(&parts[at..end], first);
                at = end;
            }
        }
    }

    /// How many of the first parts read the span from page `first` on together: each has there a page in common with
    /// the first of them, the first that both read. 0 where the first of them reads none there.
    fn sharers(&self, parts: &[PlacedSequence<'_>], first: usize) -> usize {
        let own = parts[0].pages_of_span(first);
        let mut rows = 0;
        let joins = |part: &&PlacedSequence<'_>| {
            rows += part.sequence.len;
            let other = part.pages_of_span(first);
            let index = own.start.max(other.start);
            let both = index < own.end.min(other.end);
            both && part.sequence.pages[index] == parts[0].sequence.pages[index] && rows <= self.tile
        };
        parts.iter().take_while(joins).count()
    }

    /// One span of `parts`, which have pages of it in common.
    fn span(&mut self, parts: &[PlacedSequence<'_>], first: usize) {
        let from = self.visits.len();
        for index in first..first + SPAN {
            let level = self.visits.len();
            for part in parts.iter().filter(|part| part.pages_of_span(first).contains(&index)) {
                let (page, row, rows) = (part.sequence.pages[index], part.row as u32, part.sequence.len as u32);
                let written = (part.keys() - index * PAGE).min(PAGE) as u32;
                match self.visits[level..].last_mut() {
                    Some(visit) if visit[0] == page && visit[2] + visit[3] == row => {
                        visit[3] += rows;
                        visit[4] = visit[4].max(written);
                    }
                    _ => self.visits.push([page, index as u32, row, rows, written]),
                }
            }
        }
        let last = parts[parts.len() - 1];
        let (row, rows) = (parts[0].row, last.row + last.sequence.len - parts[0].row);
        self.push(Kind::Span, row, rows, from);
    }

    fn push(&mut self, kind: Kind, row: usize, rows: usize, from: usize) {
        let visits = self.visits.len() - from;
        self.works[kind as usize].push([row as u32, rows as u32, from as u32, visits as u32]);
    }
}
