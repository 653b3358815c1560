//! Causal attention over pages, several rows at a time, with an online softmax.
use super::lanes::{Lanes, exp};
use crate::ops::attention::PAGE;
use std::ops::Range;

/// Rows that are worked on together, and the pages they read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tile {
    /// Rows of the batch.
    pub rows: Range<usize>,
    /// In the order of positions for every row.
    pub visits: Vec<Visit>,
}

/// One page, read once for the rows that share it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Visit {
    /// Which page of the cache.
    pub page: usize,
    /// Position of the page's first token.
    pub start: usize,
    /// Rows of the batch that attend to it, within the tile's.
    pub rows: Range<usize>,
}

/// What attention reads and writes.
pub(crate) struct AttentionCall<'a> {
    /// `[tokens, heads, head_dim]`
    pub q: &'a [f32],
    /// `[pages, kv_heads, head_dim, PAGE]`
    pub k: &'a [f32],
    /// `[pages, kv_heads, PAGE, head_dim]`
    pub v: &'a [f32],
    /// `[tokens, heads, head_dim]`; tasks write disjoint rows and heads
    pub out: *mut f32,
    /// Position of each row; it attends to positions up to its own.
    pub positions: &'a [u32],
    pub heads: usize,
    pub kv_heads: usize,
    pub head_dim: usize,
    pub scale: f32,
}

// SAFETY: `out` is only written through `run`, whose tasks own disjoint (rows, heads).
unsafe impl Sync for AttentionCall<'_> {}

/// The softmax so far of one query: its maximum, its sum, and `head_dim` weighted values.
struct Running<'a> {
    max: &'a mut f32,
    sum: &'a mut f32,
    values: &'a mut [f32],
}

/// Attention of a tile's rows for the query heads of one KV head.
///
/// # Safety
/// The instructions of `L` exist; slices have the shapes stated; `head_dim` is a multiple of 16; no other task has
/// this tile and KV head.
#[inline(always)]
pub(super) unsafe fn run<L: Lanes>(call: &AttentionCall<'_>, tile: &Tile, kv_head: usize) {
    let (group, dim) = (call.heads / call.kv_heads, call.head_dim);
    let queries = tile.rows.len() * group;
    let first = |row: usize| (row * call.heads + kv_head * group) * dim;
    let mut q = Vec::with_capacity(queries * dim);
    for row in tile.rows.clone() {
        q.extend(call.q[first(row)..first(row) + group * dim].iter().map(|x| x * call.scale));
    }
    let mut max = vec![f32::NEG_INFINITY; queries];
    let mut sum = vec![0.0_f32; queries];
    let mut values = vec![0.0_f32; queries * dim];
    for visit in &tile.visits {
        let plane = (visit.page * call.kv_heads + kv_head) * PAGE * dim;
        let keys = &call.k[plane..plane + PAGE * dim];
        let page_values = &call.v[plane..plane + PAGE * dim];
        let span = (visit.rows.start - tile.rows.start) * group..(visit.rows.end - tile.rows.start) * group;
        let mut at = span.start;
        while at < span.end {
            let many = (span.end - at).min(4);
            let mut scores = [[0.0_f32; PAGE]; 4];
            // SAFETY: instructions by the caller; `many` queries of `dim` values lie at `at`; keys are `dim` x 16.
            unsafe {
                match many {
                    4 => dot::<L, 4>(&q[at * dim..], keys, dim, &mut scores),
                    3 => dot::<L, 3>(&q[at * dim..], keys, dim, &mut scores),
                    2 => dot::<L, 2>(&q[at * dim..], keys, dim, &mut scores),
                    _ => dot::<L, 1>(&q[at * dim..], keys, dim, &mut scores),
                }
            }
            for (i, scores) in scores.iter_mut().enumerate().take(many) {
                let query = at + i;
                let position = call.positions[tile.rows.start + query / group] as usize;
                let attended = (position + 1).saturating_sub(visit.start).min(PAGE);
                let running = Running {
                    max: &mut max[query],
                    sum: &mut sum[query],
                    values: &mut values[query * dim..(query + 1) * dim],
                };
                // SAFETY: instructions by the caller; shapes by the slices above.
                unsafe { absorb::<L>(running, scores, attended, page_values) }
            }
            at += many;
        }
    }
    for (i, row) in tile.rows.clone().enumerate() {
        for head in 0..group {
            let query = i * group + head;
            let one = 1.0 / sum[query];
            for (d, value) in values[query * dim..(query + 1) * dim].iter().enumerate() {
                // SAFETY: within `[tokens, heads, head_dim]`; this task alone has these rows and heads.
                unsafe { *call.out.add(first(row) + head * dim + d) = value * one };
            }
        }
    }
}

/// Scores of `N` queries `[N, dim]` against a page's keys `[dim, 16]`.
#[inline(always)]
unsafe fn dot<L: Lanes, const N: usize>(q: &[f32], keys: &[f32], dim: usize, scores: &mut [[f32; PAGE]; 4]) {
    debug_assert!(q.len() >= N * dim && keys.len() == PAGE * dim);
    // SAFETY: lengths as asserted.
    unsafe {
        let mut sums = [L::splat(0.0); N];
        for d in 0..dim {
            let column = L::load(keys.as_ptr().add(d * PAGE));
            for (n, sum) in sums.iter_mut().enumerate() {
                *sum = L::splat(*q.get_unchecked(n * dim + d)).fma(column, *sum);
            }
        }
        for (n, sum) in sums.iter().enumerate() {
            sum.store(scores[n].as_mut_ptr());
        }
    }
}

/// Takes the first `attended` keys of a page into one query's softmax.
#[inline(always)]
unsafe fn absorb<L: Lanes>(
    Running { max, sum, values }: Running<'_>,
    scores: &mut [f32; PAGE],
    attended: usize,
    page_values: &[f32],
) {
    if attended == 0 {
        return;
    }
    let dim = values.len();
    let highest = scores[..attended].iter().fold(*max, |a, &b| if b > a { b } else { a });
    // SAFETY: instructions by the caller; `scores` holds sixteen values, `values` a multiple of sixteen.
    unsafe {
        if highest > *max {
            // The first page finds a maximum of -inf and sums of 0: exp gives 1.6e-38 there, and 0 stays 0.
            let mut shrink = [0.0_f32; PAGE];
            exp(L::splat(*max - highest)).store(shrink.as_mut_ptr());
            *sum *= shrink[0];
            for d in (0..dim).step_by(16) {
                let at = values.as_mut_ptr().add(d);
                L::load(at).mul(L::splat(shrink[0])).store(at);
            }
            *max = highest;
        }
        exp(L::load(scores.as_ptr()).sub(L::splat(highest))).store(scores.as_mut_ptr());
        for p in &scores[..attended] {
            *sum += p;
        }
        let mut d = 0;
        while d + 64 <= dim {
            weigh::<L, 4>(values.as_mut_ptr().add(d), &scores[..attended], page_values.as_ptr().add(d), dim);
            d += 64;
        }
        while d < dim {
            weigh::<L, 1>(values.as_mut_ptr().add(d), &scores[..attended], page_values.as_ptr().add(d), dim);
            d += 16;
        }
    }
}

/// Adds `Σ_j p_j · v_j` to `N x 16` values.
#[inline(always)]
unsafe fn weigh<L: Lanes, const N: usize>(values: *mut f32, weights: &[f32], v: *const f32, dim: usize) {
    // SAFETY: the caller's: `N x 16` values at `values`, and at `v + j * dim` for every weight `j`.
    unsafe {
        let mut sums = [L::splat(0.0); N];
        for (n, sum) in sums.iter_mut().enumerate() {
            *sum = L::load(values.add(n * 16));
        }
        for (j, &p) in weights.iter().enumerate() {
            for (n, sum) in sums.iter_mut().enumerate() {
                *sum = L::splat(p).fma(L::load(v.add(j * dim + n * 16)), *sum);
            }
        }
        for (n, sum) in sums.iter().enumerate() {
            sum.store(values.add(n * 16));
        }
    }
}
