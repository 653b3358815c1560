//! Attention over pages: the operands, and how its work is divided. [`floats`] computes it in f32, [`rounded`] by products
//! of bf16.

pub(super) mod floats;
pub(super) mod rounded;
#[cfg(test)]
pub(super) mod tests;

use super::cached::Cached;
use crate::pages::PAGE;
use std::ops::Range;

pub(crate) use rounded::Scratch as BlockScratch;

/// Rows of one task, and the pages they read: each [`Visit`] is one, each [`BlockVisit`] some of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tile<V> {
    /// Rows of the batch.
    pub rows: Range<usize>,
    /// In the order of positions, for every row.
    pub visits: Vec<V>,
}

/// One page, read once for the rows that share it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Visit {
    /// Number of the page in the cache.
    pub page: usize,
    /// Position of the page's first token.
    pub start: usize,
    /// Rows of the batch that attend to it, within the tile's.
    pub rows: Range<usize>,
}

/// Pages of a block.
pub(crate) const BLOCK_PAGES: usize = 4;

/// Neighbouring pages, read once for the rows that share all of them. The first page's number is a multiple of
/// [`BLOCK_PAGES`], so a block has the same keys in any batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BlockVisit {
    /// Numbers of the pages in the cache; [`NO_PAGE`] where no row reads one.
    pub pages: [u32; BLOCK_PAGES],
    /// Position of the first page's first token.
    pub start: usize,
    /// Rows of the batch that attend to it, within the tile's.
    pub rows: Range<usize>,
}

/// The operands of attention.
pub(crate) struct AttentionCall<'a> {
    /// `[tokens, heads, head_dim]`
    pub q: &'a [f32],
    /// `[pages, kv_heads, head_dim, PAGE]`
    pub k: Cached<'a>,
    /// `[pages, kv_heads, PAGE, head_dim]`
    pub v: Cached<'a>,
    /// `[tokens, heads, head_dim]`; tasks write disjoint queries
    pub out: *mut f32,
    /// Position of each row; it attends to positions up to its own, or also to later ones.
    pub positions: &'a [u32],
    /// Positions that a row attends to at most, the latest ones; on each side, its own counted in both, where it attends to
    /// later ones.
    pub window: usize,
    /// Where rows attend to later positions: the end of each row's sequence.
    pub ends: Option<&'a [u32]>,
    /// `[heads]`, a logit in each softmax's sum that has no value.
    pub sinks: Option<&'a [f32]>,
    pub heads: usize,
    pub kv_heads: usize,
    pub head_dim: usize,
    pub scale: f32,
}

// SAFETY: `out` is only written through `run`, whose tasks own disjoint queries.
unsafe impl Sync for AttentionCall<'_> {}

impl AttentionCall<'_> {
    /// The positions that row `row` of the batch attends to.
    fn attended(&self, row: usize) -> Range<usize> {
        let at = self.positions[row] as usize;
        let end = self.ends.map_or(at + 1, |ends| at.saturating_add(self.window).min(ends[row] as usize));
        (at + 1).saturating_sub(self.window)..end
    }

    /// Where a query's numbers begin, in `q` and in `out`: query head `head` of those that read `kv_head`.
    fn offset(&self, row: usize, kv_head: usize, head: usize) -> usize {
        (row * self.heads + kv_head * (self.heads / self.kv_heads) + head) * self.head_dim
    }

    /// The plane of `kv_head` in page `page`, of keys or of values.
    fn plane(&self, page: usize, kv_head: usize) -> Range<usize> {
        let first = (page * self.kv_heads + kv_head) * PAGE * self.head_dim;
        first..first + PAGE * self.head_dim
    }
}

/// A tile's queries: its rows, each with the query heads of one KV head. A task has some of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Task {
    pub kv_head: usize,
    /// Of `rows * heads / kv_heads`; the heads of a row are neighbours.
    pub queries: Range<usize>,
}
