//! The works of a plan: tiles of long chunks, and spans of pages that neighbouring sequences share.

use crate::pages::{PAGE, SequenceRows};

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

/// A sequence and its first row in the batch.
#[derive(Clone, Copy)]
pub(super) struct PlacedSequence<'a> {
    pub(super) sequence: &'a SequenceRows,
    pub(super) row: usize,
}

impl PlacedSequence<'_> {
    /// Keys of the sequence, the step's own included.
    fn keys(&self) -> usize {
        self.sequence.start + self.sequence.len
    }

    fn pages(&self) -> usize {
        self.keys().div_ceil(PAGE)
    }

    /// Partial results of all rows, if they are computed by spans: as many for each as for the last.
    pub(super) fn results(&self) -> usize {
        self.sequence.len * self.pages().div_ceil(SPAN)
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

    /// Tiles of one sequence, each through all its pages.
    pub(super) fn chunk(&mut self, part: &PlacedSequence<'_>) {
        let sequence = part.sequence;
        for first in (0..sequence.len).step_by(self.tile) {
            let rows = self.tile.min(sequence.len - first);
            let (row, keys, from) = (part.row + first, sequence.start + first + rows, self.visits.len());
            for (index, &page) in sequence.pages[..keys.div_ceil(PAGE)].iter().enumerate() {
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
        let most = parts.iter().map(PlacedSequence::pages).max().unwrap_or(0);
        for first in (0..most).step_by(SPAN) {
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

    /// How many of the first parts read the span from page `first` on together; 0 where the first of them has none
    /// there.
    fn sharers(&self, parts: &[PlacedSequence<'_>], first: usize) -> usize {
        let page = |part: &PlacedSequence<'_>| (first < part.pages()).then(|| part.sequence.pages[first]);
        let shared = page(&parts[0]);
        let mut rows = 0;
        let joins = |part: &&PlacedSequence<'_>| {
            rows += part.sequence.len;
            shared.is_some() && page(part) == shared && rows <= self.tile
        };
        parts.iter().take_while(joins).count()
    }

    /// One span of `parts`, which have its first page in common.
    fn span(&mut self, parts: &[PlacedSequence<'_>], first: usize) {
        let from = self.visits.len();
        let end = parts.iter().map(PlacedSequence::pages).max().unwrap_or(0).min(first + SPAN);
        for index in first..end {
            let level = self.visits.len();
            for part in parts.iter().filter(|part| index < part.pages()) {
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
