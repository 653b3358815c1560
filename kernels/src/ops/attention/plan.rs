//! The pages that each row of a batch reads, and how the work is divided.

use super::tiles::{ROUNDED_TILE_ROWS, TILE_ROWS, block_tiles, tiles};
use crate::cpu::{BlockVisit, Task, Tile, Visit};
use crate::launch::{self, AttentionShape, Element};
use crate::ops::cascade::{Cascade, PlanSize};
use crate::ops::{PerDevice, upload};
use crate::pages::{NO_PAGE, PAGE, SequenceRows};
use candle_core::{DType, Device, Result, Tensor, bail};
use std::sync::{Arc, OnceLock};

/// Tasks for each thread: enough that threads end together, few enough that a page is not read by too many tasks.
const TASKS_PER_THREAD: usize = 4;

/// The most queries that share a loaded key.
pub(super) const TASK_QUERIES: usize = 8;

/// Queries of a product of bf16.
pub(super) const ROUNDED_TASK_QUERIES: usize = 16;

/// The plan of a step on a GPU, shared by all layers with such heads and such a window.
#[derive(Debug)]
pub(super) struct OnGpu {
    /// Query heads, KV heads, and the numbers of each.
    heads: [usize; 3],
    /// The work of its thread blocks.
    pub cascade: Cascade,
    /// [`Cascade::words`] on the device.
    pub words: Tensor,
    /// Results of spans until they are folded, and behind them how many of each row are there, which is 0 between layers
    /// ([`launch::AttentionBuffers::partial`]).
    pub partial: Tensor,
}

impl OnGpu {
    fn new(cascade: Cascade, words: Tensor, shape: &AttentionShape) -> Result<Self> {
        let partial = launch::attention_partial_len(shape, &cascade).max(1);
        // The counts must begin at 0.
        let partial = Tensor::zeros(partial, DType::F32, words.device())?;
        Ok(Self { heads: heads_of(shape), cascade, words, partial })
    }
}

fn heads_of(shape: &AttentionShape) -> [usize; 3] {
    [shape.heads, shape.kv_heads, shape.head_dim]
}

/// Tiles without a window, and with one.
#[derive(Debug, Clone)]
struct Tiles<V> {
    whole: OnceLock<Vec<Tile<V>>>,
    windowed: OnceLock<(usize, Vec<Tile<V>>)>,
}

impl<V> Default for Tiles<V> {
    fn default() -> Self {
        Self { whole: OnceLock::new(), windowed: OnceLock::new() }
    }
}

impl<V> Tiles<V> {
    /// Those of `window`, or without one, which `make` makes. All layers with a window have the same.
    fn of(&self, window: Option<usize>, make: impl FnOnce(usize) -> Vec<Tile<V>>) -> Result<&[Tile<V>]> {
        let Some(window) = window else { return Ok(self.whole.get_or_init(|| make(usize::MAX))) };
        let (planned, tiles) = self.windowed.get_or_init(|| (window, make(window)));
        if *planned != window {
            bail!("attention: a window of {window}, in a plan for one of {planned}");
        }
        Ok(tiles)
    }
}

/// The pages that each row reads. Adjacent sequences of the batch that share pages read them together.
#[derive(Debug, Clone)]
pub struct AttentionPlan {
    positions: Vec<u32>,
    pub(super) sequences: Vec<SequenceRows>,
    /// Where rows attend to later positions too: the end of each row's sequence.
    ends: Option<Vec<u32>>,
    /// The work on the CPU, made when it is first needed.
    tiles: Tiles<Visit>,
    block_tiles: Tiles<BlockVisit>,
    on_gpu: PerDevice<OnGpu>,
}

impl AttentionPlan {
    /// Plans a batch whose rows are those of `sequences`, one after the other.
    #[must_use]
    pub fn new(sequences: Vec<SequenceRows>) -> Self {
        let positions = sequences.iter().flat_map(|s| s.start..s.start + s.len).map(|p| p as u32).collect();
        let (tiles, block_tiles) = (Tiles::default(), Tiles::default());
        Self { positions, sequences, ends: None, tiles, block_tiles, on_gpu: PerDevice::default() }
    }

    /// As [`Self::new`], but rows attend to all of their sequence, before and behind them: a window counts on both sides.
    /// Keys behind a row must be stored, so a sequence that is read so is one batch.
    #[must_use]
    pub fn in_both_directions(sequences: Vec<SequenceRows>) -> Self {
        let end = |s: &SequenceRows| std::iter::repeat_n((s.start + s.len) as u32, s.len);
        let ends = Some(sequences.iter().flat_map(end).collect());
        Self { ends, ..Self::new(sequences) }
    }

    /// `rows` alone, in this order, as sequences whose keys and values are stored: neighbours in a sequence stay together.
    #[must_use]
    pub fn sequences_of_rows(&self, rows: &[u32]) -> Vec<SequenceRows> {
        let mut found: Vec<SequenceRows> = Vec::new();
        // The sequence of the row before, and the row.
        let mut before: Option<(usize, usize)> = None;
        let ends: Vec<usize> = self
            .sequences
            .iter()
            .scan(0, |end, s| {
                *end += s.len;
                Some(*end)
            })
            .collect();
        for row in rows.iter().map(|&row| row as usize) {
            let of = ends.partition_point(|&end| end <= row);
            match found.last_mut() {
                Some(last) if before == row.checked_sub(1).map(|before| (of, before)) => last.len += 1,
                _ => {
                    let SequenceRows { start, len, pages } = &self.sequences[of];
                    let position = start + row - (ends[of] - len);
                    found.push(SequenceRows { start: position, len: 1, pages: pages.clone() });
                }
            }
            before = Some((of, row));
        }
        found
    }

    /// Whether rows attend to later positions too.
    #[must_use]
    pub fn is_in_both_directions(&self) -> bool {
        self.ends.is_some()
    }

    /// Where rows attend to later positions too: the end of each row's sequence.
    pub(super) fn ends(&self) -> Option<&[u32]> {
        self.ends.as_deref()
    }

    /// The work on the CPU of layers whose rows attend to `window` positions at most.
    pub(super) fn tiles(&self, window: usize) -> Result<&[Tile<Visit>]> {
        let later = self.ends.is_some();
        self.tiles.of(self.effective(window), |window| tiles(&self.sequences, window, later))
    }

    /// The same by blocks of pages; of rows that attend to no later position.
    pub(super) fn block_tiles(&self, window: usize) -> Result<&[Tile<BlockVisit>]> {
        self.block_tiles.of(self.effective(window), |window| block_tiles(&self.sequences, window))
    }

    /// `window`, where it keeps some row from a position.
    fn effective(&self, window: usize) -> Option<usize> {
        (!self.is_within_window(window)).then_some(window)
    }

    /// Whether no row is kept from a position by a window of `window` positions.
    #[must_use]
    pub fn is_within_window(&self, window: usize) -> bool {
        self.sequences.iter().all(|s| s.start + s.len <= window)
    }

    /// The plan of a GPU that may be captured, without a window, and its size; `None` where attention has no kernel of ours
    /// or a sequence is a chunk of a prompt.
    #[must_use]
    pub fn to_capture(&self, dtype: DType, [heads, kv_heads, head_dim]: [usize; 3]) -> Option<(Cascade, PlanSize)> {
        let kernel = launch::attention_fits(Element::of(dtype)?, heads, kv_heads, head_dim);
        let cascade = kernel.then(|| Cascade::new(&self.sequences, heads / kv_heads, usize::MAX))?;
        let size = cascade.size()?;
        Some((cascade.padded(size), size))
    }

    /// The same rows by `cascade`, whose words are, or will be, in `words` on a GPU.
    ///
    /// # Errors
    /// No memory on the device.
    pub fn captured(&self, cascade: Cascade, words: Tensor, [heads, kv_heads, head_dim]: [usize; 3]) -> Result<Self> {
        let shape = AttentionShape { heads, kv_heads, head_dim, scale: 1.0 };
        let device = words.device().clone();
        let on_gpu = PerDevice::of(&device, OnGpu::new(cascade, words, &shape)?);
        Ok(Self { on_gpu, ..self.clone() })
    }

    /// Whether all pages are among the first `pages`.
    #[must_use]
    pub fn is_within(&self, pages: usize) -> bool {
        self.sequences.iter().all(|s| {
            let needed = (s.start + s.len).div_ceil(PAGE);
            s.pages.len() >= needed && s.pages.iter().all(|&page| (page as usize) < pages)
        })
    }

    /// Position of each row: `[tokens]`.
    #[must_use]
    pub fn positions(&self) -> &[u32] {
        &self.positions
    }

    /// Rows in the batch.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.positions.len()
    }

    /// Pages read by the kernel, per KV head and layer without a window: a page that rows share counts once. Of a plan that
    /// was used on a GPU without a window, or by products of bf16, the pages read there.
    #[must_use]
    pub fn page_reads(&self) -> usize {
        let whole = Cascade::window_of(usize::MAX);
        if let Some(on_gpu) = self.on_gpu.all().iter().find(|on_gpu| on_gpu.cascade.window() == whole) {
            return on_gpu.cascade.page_reads();
        }
        if let Some(tiles) = self.block_tiles.whole.get() {
            let pages = tiles.iter().flat_map(|tile| &tile.visits).flat_map(|visit| visit.pages);
            return pages.filter(|&page| page != NO_PAGE).count();
        }
        let tiles = self.tiles(usize::MAX).unwrap_or_default();
        tiles.iter().flat_map(|tile| &tile.visits).filter(|visit| visit.page != NO_PAGE as usize).count()
    }

    /// Pages that the tiles of the CPU would read if sequences shared none.
    #[must_use]
    pub fn page_reads_unshared(&self) -> usize {
        let rows = if self.block_tiles.whole.get().is_some() { ROUNDED_TILE_ROWS } else { TILE_ROWS };
        let reads = |s: &SequenceRows| {
            let ends = (0..s.len).step_by(rows).map(|done| s.start + s.len.min(done + rows));
            ends.map(|end| end.div_ceil(PAGE)).sum::<usize>()
        };
        self.sequences.iter().map(reads).sum()
    }

    /// The plan on a GPU of layers whose rows attend to `window` positions at most.
    pub(super) fn on_gpu(&self, shape: &AttentionShape, window: usize, device: &Device) -> Result<Arc<OnGpu>> {
        let window = self.effective(window).unwrap_or(usize::MAX);
        let fits = |held: &OnGpu| held.heads == heads_of(shape) && held.cascade.window() == Cascade::window_of(window);
        self.on_gpu.get_where(device, fits, || {
            let cascade = Cascade::new(&self.sequences, shape.heads / shape.kv_heads, window);
            let words = upload(cascade.words(), device)?;
            OnGpu::new(cascade, words, shape)
        })
    }

    /// The tasks of a layer with `kv_heads` KV heads and `group` query heads of each. Where there are few tiles (decoding),
    /// the queries of a tile are divided: each part reads the tile's pages again, and no result changes.
    /// Parts are a multiple of `multiple` queries, unless threads would have no task.
    pub(super) fn tasks<V>(
        tiles: &[Tile<V>],
        [kv_heads, group]: [usize; 2],
        multiple: usize,
        threads: usize,
    ) -> Vec<(&Tile<V>, Task)> {
        let whole = (tiles.len() * kv_heads).max(1);
        let mut tasks = Vec::new();
        for tile in tiles {
            let all = tile.rows.len() * group;
            let even = all.div_ceil((TASKS_PER_THREAD * threads).div_ceil(whole)).next_multiple_of(multiple);
            let size = if whole < threads { even.min(all.div_ceil(threads.div_ceil(whole))) } else { even };
            for kv_head in 0..kv_heads {
                let part = |first: usize| Task { kv_head, queries: first..(first + size).min(all) };
                tasks.extend((0..all).step_by(size).map(|first| (tile, part(first))));
            }
        }
        tasks
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// The tasks of one layer: for each KV head, the queries of each tile once. Their sizes are returned.
    fn sizes(plan: &AttentionPlan, kv_heads: usize, group: usize, threads: usize) -> Vec<usize> {
        let tiles = plan.tiles(usize::MAX).unwrap();
        let tasks = AttentionPlan::tasks(tiles, [kv_heads, group], TASK_QUERIES, threads);
        for tile in tiles {
            for kv_head in 0..kv_heads {
                let of = |(other, task): &&(&Tile<Visit>, Task)| std::ptr::eq(*other, tile) && task.kv_head == kv_head;
                let covered: Vec<usize> = tasks.iter().filter(of).flat_map(|(_, task)| task.queries.clone()).collect();
                assert_eq!(covered, (0..tile.rows.len() * group).collect::<Vec<_>>());
            }
        }
        tasks.iter().map(|(_, task)| task.queries.len()).collect()
    }

    #[test]
    fn few_tiles_are_divided_so_that_every_thread_has_a_task() {
        let shared = |own: u32| SequenceRows { start: 520, len: 1, pages: (0..32).chain([100 + own]).collect() };
        let eight = AttentionPlan::new((0..8).map(shared).collect());
        assert_eq!(sizes(&eight, 3, 3, 1), [16, 8, 16, 8, 16, 8]);
        assert_eq!(sizes(&eight, 3, 3, 2), [8; 9]);
        assert_eq!(sizes(&eight, 2, 7, 2), [16, 16, 16, 8, 16, 16, 16, 8]);
        assert_eq!(sizes(&eight, 3, 3, 16).len(), 18);
        let one = AttentionPlan::new(vec![shared(0)]);
        assert_eq!(sizes(&one, 3, 3, 2), [3; 3]);
        assert_eq!(sizes(&one, 2, 7, 2), [7; 2]);
        assert_eq!(sizes(&one, 2, 7, 16), [1; 14]);
        let prompt = AttentionPlan::new(vec![SequenceRows { start: 0, len: 512, pages: (0..32).collect() }]);
        assert_eq!(sizes(&prompt, 3, 3, 2), [96; 48]);
        assert!(AttentionPlan::tasks::<Visit>(&[], [3, 3], TASK_QUERIES, 2).is_empty());
    }
}
