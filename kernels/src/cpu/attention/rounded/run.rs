//! A task: its queries over the blocks of pages that they read.

use super::operands::{prefetch, round_keys, round_queries, round_values};
use super::products::{Ahead, ByLanes, Products, ScoreTask, ValueTask};
use super::shape::{Floats, KEYS, PARTS, STEP, TILE};
use super::softmax::{LOWEST, divide, weigh};
use crate::cpu::attention::{AttentionCall, BLOCK_PAGES, BlockVisit, Task, Tile};
use crate::cpu::bf16::Line;
use crate::cpu::blocks::LANES;
use crate::cpu::lanes::Lanes;
use crate::pages::PAGE;
use std::ops::Range;

/// The memory of a task, kept for the next one.
#[derive(Default)]
pub(crate) struct Scratch {
    /// `[pages][head_dim / 32][2 parts]` tiles, a line for each key.
    keys: Vec<Line>,
    /// `[pages / 2][head_dim / 16]` tiles, a line for each number of a head, of 32 keys.
    values: Vec<Line>,
    /// `[queries / 16][head_dim / 32][2 parts]` tiles, a line for each pair of a head's numbers.
    queries: Vec<Line>,
    /// `[2][pages]` tiles, a line for each key: of some queries, and of the next ones.
    scores: Vec<Floats>,
    /// `[pages / 2]` tiles, a line for each pair of keys.
    weights: Vec<Line>,
    /// `[queries / 16][head_dim]` weighted values.
    sums: Vec<Floats>,
    /// `[queries / 16]` of each query the score that weights are relative to, and their sum.
    running: Vec<[Floats; 2]>,
    /// The positions that each query attends to.
    attended: Vec<Range<usize>>,
    /// `[queries / 16]` the positions that all of them attend to.
    by_all: Vec<Range<usize>>,
}

/// As [`run`], with the products of `L`.
///
/// # Safety
/// As [`run`].
#[inline(always)]
pub(in crate::cpu) unsafe fn run_by_lanes<L: Lanes, const ROWS: usize>(
    call: &AttentionCall<'_>,
    tile: &Tile<BlockVisit>,
    task: &Task,
    scratch: &mut Scratch,
) {
    // SAFETY: the caller's.
    unsafe { run::<L, _>(&mut ByLanes::<L, ROWS>::default(), call, tile, task, scratch) }
}

/// Attention of a task's queries, each over the positions up to its own.
///
/// # Safety
/// The instructions of `L` and `P` exist; slices have the shapes stated; `head_dim` is a multiple of 16; no other task has
/// these queries of this tile.
#[inline(always)]
pub(in crate::cpu) unsafe fn run<L: Lanes, P: Products>(
    products: &mut P,
    call: &AttentionCall<'_>,
    tile: &Tile<BlockVisit>,
    task: &Task,
    scratch: &mut Scratch,
) {
    let (group, dim) = (call.heads / call.kv_heads, call.head_dim);
    let (steps, tiles, count) = (dim.div_ceil(STEP), dim / TILE, task.queries.len());
    let row = |query: usize| tile.rows.start + (task.queries.start + query) / group;
    let offset = |query: usize| call.offset(row(query), task.kv_head, (task.queries.start + query) % group);
    scratch.attended.clear();
    scratch.attended.extend((0..count).map(|query| call.attended(row(query))));
    let blocks = count.div_ceil(LANES);
    scratch.make_room(dim, blocks);
    let of_block = |block: usize| block * LANES..count.min((block + 1) * LANES);
    for queries in scratch.attended.chunks(LANES) {
        let latest = queries.iter().map(|keys| keys.start).max().unwrap_or(0);
        scratch.by_all.push(latest..queries.iter().map(|keys| keys.end).min().unwrap_or(0));
    }
    // SAFETY: instructions by the caller; `make_room` made room for these tiles.
    unsafe {
        let query_lines = steps * PARTS * TILE;
        for block in 0..blocks {
            let to = scratch.queries.as_mut_ptr().add(block * query_lines);
            round_queries::<L>(call, of_block(block), offset, to);
        }
        for (number, visit) in tile.visits.iter().enumerate() {
            if let Some(next) = tile.visits.get(number + 1) {
                prefetch::<L>(call, next, task.kv_head);
            }
            // Of the task's queries.
            let first = ((visit.rows.start - tile.rows.start) * group).max(task.queries.start) - task.queries.start;
            let end = ((visit.rows.end - tile.rows.start) * group).saturating_sub(task.queries.start).min(count);
            let Some(stored) = scratch.attended.get(first..end).and_then(|keys| keys.iter().map(|keys| keys.end).max())
            else {
                continue;
            };
            let stored = stored.saturating_sub(visit.start).min(KEYS);
            round_keys::<L>(call, visit, task.kv_head, stored, steps, scratch.keys.as_mut_ptr());
            round_values::<L>(call, visit, task.kv_head, stored, scratch.values.as_mut_ptr());
            let keys = scratch.keys.as_ptr();
            let mut buffer = 0;
            let mut next_of = |from: usize| {
                (from..end.div_ceil(LANES)).find_map(|block| {
                    let queries = of_block(block);
                    let visiting = queries.start.max(first)..queries.end.min(end);
                    let span = Span::new(&scratch.attended, &scratch.by_all[block], queries, visiting, visit.start)?;
                    let queries = scratch.queries.as_ptr().add(block * query_lines);
                    buffer = KEYS - buffer;
                    let (pages, scores) = (span.end.div_ceil(PAGE), scratch.scores.as_mut_ptr().add(buffer));
                    Some((block, span, ScoreTask { keys, queries, steps, pages, scores }))
                })
            };
            let mut now = next_of(first / LANES);
            Ahead::new(products, now.as_ref().map(|(.., task)| *task)).go_on(1, 1);
            while let Some((block, span, of)) = now {
                now = next_of(block + 1);
                let (sums, weights) = (scratch.sums.as_mut_ptr().add(block * dim), scratch.weights.as_mut_ptr());
                let all_sums = std::slice::from_raw_parts_mut(sums, dim);
                let ahead = Ahead::new(products, now.as_ref().map(|(.., task)| *task));
                weigh::<L, P>(&of, span.partly.as_ref(), &mut scratch.running[block], all_sums, weights, ahead);
                let (values, pairs) = (scratch.values.as_ptr(), (of.pages * PAGE).div_ceil(STEP));
                products.add_values(&ValueTask { values, weights, tiles, pairs, sums });
            }
        }
        for block in 0..blocks {
            let queries = of_block(block);
            let mut sinks = [0.0; LANES];
            if let Some(of_heads) = call.sinks {
                for (sink, query) in sinks.iter_mut().zip(queries.clone()) {
                    *sink = of_heads[task.kv_head * group + (task.queries.start + query) % group];
                }
            }
            let sums = &scratch.sums[block * dim..(block + 1) * dim];
            let sinks = call.sinks.map(|_| &sinks);
            divide::<L>(&scratch.running[block], sinks, sums, |lane, d| {
                (lane < queries.len()).then(|| call.out.add(offset(queries.start + lane) + d))
            });
        }
    }
}

impl Scratch {
    /// Room for a block's keys and values and for `blocks` times sixteen queries, which have not begun.
    fn make_room(&mut self, dim: usize, blocks: usize) {
        let (steps, tiles) = (dim.div_ceil(STEP), dim / TILE);
        // Old contents may stay: a value is written before it is read, or multiplied by a weight of zero.
        let lines = |all: &mut Vec<Line>, count: usize| all.resize(count.max(all.len()), Line::ZERO);
        lines(&mut self.keys, BLOCK_PAGES * steps * PARTS * TILE);
        lines(&mut self.values, KEYS / STEP * tiles * TILE);
        lines(&mut self.queries, blocks * steps * PARTS * TILE);
        lines(&mut self.weights, KEYS / STEP * TILE);
        self.scores.resize(2 * KEYS, Floats([0.0; LANES]));
        self.by_all.clear();
        self.sums.clear();
        self.sums.resize(blocks * dim, Floats([0.0; LANES]));
        self.running.clear();
        self.running.resize(blocks, [Floats([LOWEST; LANES]), Floats([0.0; LANES])]);
    }
}

/// The keys of a block that sixteen queries attend to.
struct Span {
    /// The end of the last query's.
    end: usize,
    /// Of each query the first key and the end, unless all of them attend to the whole block.
    partly: Option<[[f32; LANES]; 2]>,
}

impl Span {
    /// Of `queries`, which all attend to `by_all`, and of which those of `visiting` read the block that begins at `start`; none
    /// where no query attends to any of it. Lanes without a query attend to all: their results are not used.
    fn new(
        attended: &[Range<usize>],
        by_all: &Range<usize>,
        queries: Range<usize>,
        visiting: Range<usize>,
        start: usize,
    ) -> Option<Self> {
        if visiting == queries && by_all.start <= start && by_all.end >= start + KEYS {
            return Some(Self { end: KEYS, partly: None });
        }
        let within = |position: usize| position.saturating_sub(start).min(KEYS);
        let mut partly = [[0.0; LANES], [KEYS as f32; LANES]];
        let mut last = 0;
        for (lane, query) in queries.enumerate() {
            let keys = if visiting.contains(&query) { attended[query].clone() } else { 0..0 };
            let (first, end) = (within(keys.start), within(keys.end));
            // None of the block's keys: a window begins behind it.
            let end = if first < end { end } else { 0 };
            last = last.max(end);
            (partly[0][lane], partly[1][lane]) = (first as f32, end as f32);
        }
        (last > 0).then_some(Self { end: last, partly: Some(partly) })
    }
}
