//! Causal attention over pages, several rows at a time, with an online softmax.

use super::lanes::{self, Lanes, exp};
use crate::ops::attention::PAGE;
use std::ops::Range;

/// Most queries that share a page's loaded keys.
const BLOCK: usize = 8;

/// Rows of one task, and the pages they read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tile {
    /// Rows of the batch.
    pub rows: Range<usize>,
    /// In the order of positions, for every row.
    pub visits: Vec<Visit>,
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

/// The operands of attention.
pub(crate) struct AttentionCall<'a> {
    /// `[tokens, heads, head_dim]`
    pub q: &'a [f32],
    /// `[pages, kv_heads, head_dim, PAGE]`
    pub k: &'a [f32],
    /// `[pages, kv_heads, PAGE, head_dim]`
    pub v: &'a [f32],
    /// `[tokens, heads, head_dim]`; tasks write disjoint queries
    pub out: *mut f32,
    /// Position of each row; it attends to positions up to its own.
    pub positions: &'a [u32],
    pub heads: usize,
    pub kv_heads: usize,
    pub head_dim: usize,
    pub scale: f32,
}

// SAFETY: `out` is only written through `run`, whose tasks own disjoint queries.
unsafe impl Sync for AttentionCall<'_> {}

/// The online softmax of one query: its maximum, sixteen sums (key `j` of a page adds to sum `j`), and `head_dim`
/// weighted values.
struct Running<'a> {
    max: &'a mut f32,
    sums: &'a mut [f32; PAGE],
    values: &'a mut [f32],
}

/// A tile's queries: its rows, each with the query heads of one KV head. A task has some of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Task {
    pub kv_head: usize,
    /// Of `rows * heads / kv_heads`; the heads of a row are neighbours.
    pub queries: Range<usize>,
}

/// Attention of a task's queries. A key is loaded once for up to `KEYS` queries (at most [`BLOCK`]), a value for up to
/// `VALUES` (1, 2 or 4): as many as fit the registers. A query's result does not depend on the others of its task.
///
/// # Safety
/// The instructions of `L` exist; slices have the shapes stated; `head_dim` is a multiple of 16; no other task has
/// these queries of this tile.
#[inline(always)]
pub(super) unsafe fn run<L: Lanes, const KEYS: usize, const VALUES: usize>(
    call: &AttentionCall<'_>,
    tile: &Tile,
    Task { kv_head, queries }: &Task,
) {
    let (group, dim) = (call.heads / call.kv_heads, call.head_dim);
    let row = |query: usize| tile.rows.start + query / group;
    let place = |query: usize| (row(query) * call.heads + kv_head * group + query % group) * dim;
    let mut q = Vec::with_capacity(queries.len() * dim);
    for query in queries.clone() {
        q.extend(call.q[place(query)..place(query) + dim].iter().map(|x| x * call.scale));
    }
    let mut max = vec![f32::NEG_INFINITY; queries.len()];
    let mut sums = vec![[0.0_f32; PAGE]; queries.len()];
    let mut values = vec![0.0_f32; queries.len() * dim];
    for (number, visit) in tile.visits.iter().enumerate() {
        let plane = (visit.page * call.kv_heads + kv_head) * PAGE * dim;
        if let Some(next) = tile.visits.get(number + 1) {
            let plane = (next.page * call.kv_heads + kv_head) * PAGE * dim;
            // SAFETY: the caller's instructions; planes lie within both caches.
            unsafe { prefetch_page::<L>(&call.k[plane..plane + PAGE * dim], &call.v[plane..plane + PAGE * dim]) };
        }
        let keys = &call.k[plane..plane + PAGE * dim];
        let page_values = &call.v[plane..plane + PAGE * dim];
        let visitors = (visit.rows.start - tile.rows.start) * group..(visit.rows.end - tile.rows.start) * group;
        // From the task's first query on.
        let from = visitors.start.max(queries.start) - queries.start;
        let to = visitors.end.min(queries.end).saturating_sub(queries.start);
        for at in (from..to).step_by(KEYS) {
            let many = (to - at).min(KEYS);
            let attended = |query: usize| {
                let position = call.positions[row(queries.start + query)] as usize;
                (position + 1).saturating_sub(visit.start).min(PAGE)
            };
            let mut scores = [[0.0_f32; PAGE]; BLOCK];
            let mut least = PAGE;
            // SAFETY: instructions by the caller; `many` queries of `dim` values lie at `at`; keys are `dim` x 16,
            // values 16 x `dim`.
            unsafe {
                scores_of::<L>(&q[at * dim..], many, keys, dim, &mut scores);
                for (query, scores) in (at..).zip(&mut scores[..many]) {
                    let attended = attended(query);
                    least = least.min(attended);
                    let running = Running {
                        max: &mut max[query],
                        sums: &mut sums[query],
                        values: &mut values[query * dim..(query + 1) * dim],
                    };
                    update_softmax::<L>(running, scores, attended);
                }
                let values = &mut values[at * dim..(at + many) * dim];
                if least == PAGE {
                    add_page::<L, VALUES>(values, &scores[..many], page_values, dim);
                } else {
                    for (query, (values, scores)) in (at..).zip(values.chunks_exact_mut(dim).zip(&scores)) {
                        add_values::<L, 1>(values.as_mut_ptr(), &[*scores], attended(query), page_values, dim);
                    }
                }
            }
        }
    }
    for (i, values) in values.chunks_exact(dim).enumerate() {
        // SAFETY: the caller's instructions; sixteen values.
        let one = 1.0 / unsafe { lanes::sum(L::load(sums[i].as_ptr())) };
        let to = place(queries.start + i);
        for (d, value) in values.iter().enumerate() {
            // SAFETY: within `[tokens, heads, head_dim]`; this task alone has these queries.
            unsafe { *call.out.add(to + d) = value * one };
        }
    }
}

/// Prefetches a page: pages are scattered, so the processor's own prefetcher does not find the next one.
#[inline(always)]
unsafe fn prefetch_page<L: Lanes>(keys: &[f32], values: &[f32]) {
    for plane in [keys, values] {
        for line in plane.chunks(16) {
            // SAFETY: the caller's.
            unsafe { L::prefetch(line.as_ptr().cast()) };
        }
    }
}

/// Scores of `many` queries, at most [`BLOCK`], against a page's keys `[dim, 16]`.
#[inline(always)]
unsafe fn scores_of<L: Lanes>(q: &[f32], many: usize, keys: &[f32], dim: usize, scores: &mut [[f32; PAGE]; BLOCK]) {
    // SAFETY: the caller's.
    unsafe {
        match many {
            8 => dot::<L, 8>(q, keys, dim, scores),
            7 => dot::<L, 7>(q, keys, dim, scores),
            6 => dot::<L, 6>(q, keys, dim, scores),
            5 => dot::<L, 5>(q, keys, dim, scores),
            4 => dot::<L, 4>(q, keys, dim, scores),
            3 => dot::<L, 3>(q, keys, dim, scores),
            2 => dot::<L, 2>(q, keys, dim, scores),
            _ => dot::<L, 1>(q, keys, dim, scores),
        }
    }
}

/// Scores of `N` queries `[N, dim]` against a page's keys `[dim, 16]`.
#[inline(always)]
unsafe fn dot<L: Lanes, const N: usize>(q: &[f32], keys: &[f32], dim: usize, scores: &mut [[f32; PAGE]; BLOCK]) {
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

/// Updates one query's softmax with the first `attended` scores of a page, and replaces the scores by their
/// exponentials.
#[inline(always)]
unsafe fn update_softmax<L: Lanes>(
    Running { max, sums, values }: Running<'_>,
    scores: &mut [f32; PAGE],
    attended: usize,
) {
    if attended == 0 {
        return;
    }
    scores[attended..].fill(f32::NEG_INFINITY);
    // SAFETY: instructions by the caller; `scores` and `sums` hold sixteen values, `values` a multiple of sixteen.
    unsafe {
        let all = L::load(scores.as_ptr());
        // The second operand is taken where the first is NaN.
        let highest = all.max(L::splat(*max)).largest();
        let mut sum = L::load(sums.as_ptr());
        if highest > *max {
            // On the first page the maximum is -inf and the sums are 0: exp gives 1.6e-38, and 0 stays 0.
            let shrink = exp(L::splat(*max - highest));
            sum = sum.mul(shrink);
            for d in (0..values.len()).step_by(16) {
                let at = values.as_mut_ptr().add(d);
                L::load(at).mul(shrink).store(at);
            }
            *max = highest;
        }
        exp(all.sub(L::splat(highest))).store(scores.as_mut_ptr());
        scores[attended..].fill(0.0);
        L::splat(1.0).fma(L::load(scores.as_ptr()), sum).store(sums.as_mut_ptr());
    }
}

/// Adds the weighted values of a whole page for several queries, up to `VALUES` queries at a time.
#[inline(always)]
unsafe fn add_page<L: Lanes, const VALUES: usize>(
    values: &mut [f32],
    weights: &[[f32; PAGE]],
    page_values: &[f32],
    dim: usize,
) {
    for (values, weights) in values.chunks_mut(VALUES * dim).zip(weights.chunks(VALUES)) {
        // SAFETY: the caller's: as many queries in `values` as in `weights`.
        unsafe {
            match weights {
                [a, b, c, d] => add_values::<L, 4>(values.as_mut_ptr(), &[*a, *b, *c, *d], PAGE, page_values, dim),
                [a, b, c] => add_values::<L, 3>(values.as_mut_ptr(), &[*a, *b, *c], PAGE, page_values, dim),
                [a, b] => add_values::<L, 2>(values.as_mut_ptr(), &[*a, *b], PAGE, page_values, dim),
                [a] => add_values::<L, 1>(values.as_mut_ptr(), &[*a], PAGE, page_values, dim),
                _ => {}
            }
        }
    }
}

/// Adds `Σ_j weight_j · v_j` over the first `attended` keys to the values `[Q, dim]` of `Q` queries.
#[inline(always)]
unsafe fn add_values<L: Lanes, const Q: usize>(
    values: *mut f32,
    weights: &[[f32; PAGE]; Q],
    attended: usize,
    page_values: &[f32],
    dim: usize,
) {
    // SAFETY: the caller's.
    unsafe {
        let mut d = 0;
        while d + 64 <= dim {
            add_values_block::<L, Q, 4>(values.add(d), weights, attended, page_values.as_ptr().add(d), dim);
            d += 64;
        }
        while d < dim {
            add_values_block::<L, Q, 1>(values.add(d), weights, attended, page_values.as_ptr().add(d), dim);
            d += 16;
        }
    }
}

/// `N x 16` dimensions of [`add_values`].
#[inline(always)]
unsafe fn add_values_block<L: Lanes, const Q: usize, const N: usize>(
    values: *mut f32,
    weights: &[[f32; PAGE]; Q],
    attended: usize,
    v: *const f32,
    dim: usize,
) {
    // SAFETY: the caller's: `N x 16` values at `values + q * dim` for every query, and at `v + j * dim` for every key.
    unsafe {
        let mut sums = [[L::splat(0.0); N]; Q];
        for (q, sums) in sums.iter_mut().enumerate() {
            for (n, sum) in sums.iter_mut().enumerate() {
                *sum = L::load(values.add(q * dim + n * 16));
            }
        }
        for j in 0..attended {
            let mut lanes = [L::load(v.add(j * dim)); N];
            for (n, lanes) in lanes.iter_mut().enumerate().skip(1) {
                *lanes = L::load(v.add(j * dim + n * 16));
            }
            for (weights, sums) in weights.iter().zip(&mut sums) {
                for (sum, lanes) in sums.iter_mut().zip(lanes) {
                    *sum = L::splat(weights[j]).fma(lanes, *sum);
                }
            }
        }
        for (q, sums) in sums.iter().enumerate() {
            for (n, sum) in sums.iter().enumerate() {
                sum.store(values.add(q * dim + n * 16));
            }
        }
    }
}
