//! Attention over pages, several rows at a time, with an online softmax in f32.

use super::{AttentionCall, Task, Tile, Visit};
use crate::cpu::lanes::{self, Lanes, exp};
use crate::pages::PAGE;
use std::ops::Range;

/// Most queries that share a page's loaded keys.
const BLOCK: usize = 8;

/// The online softmax of some queries; of each its maximum, sixteen sums (key `j` of a page adds to sum `j`), and
/// `head_dim` weighted values.
struct Running<'a> {
    max: &'a mut [f32],
    sums: &'a mut [[f32; PAGE]],
    values: &'a mut [f32],
}

/// Scores of a block's queries against the keys of a page, then their weights.
type Scores = [[f32; PAGE]; BLOCK];

/// Attention of a task's queries. A page is widened once for all of them. A key is loaded once
/// for up to `KEYS` queries (at most [`BLOCK`]), a query's number once for `PAGES` pages (1 or 2), a value for up to `VALUES`
/// queries (1, 2 or 4): as many as fit the registers. A query's result does not depend on the others of its task.
///
/// # Safety
/// The instructions of `L` exist; slices have the shapes stated; `head_dim` is a multiple of 16; no other task has
/// these queries of this tile.
#[inline(always)]
pub(in crate::cpu) unsafe fn run<L: Lanes, const KEYS: usize, const PAGES: usize, const VALUES: usize>(
    call: &AttentionCall<'_>,
    tile: &Tile<Visit>,
    Task { kv_head, queries }: &Task,
) {
    let (group, dim) = (call.heads / call.kv_heads, call.head_dim);
    let row = |query: usize| tile.rows.start + query / group;
    let offset = |query: usize| call.offset(row(query), *kv_head, query % group);
    let plane = |visit: &Visit| call.plane(visit.page, *kv_head);
    let attended: Vec<Range<usize>> = queries.clone().map(|query| call.attended(row(query))).collect();
    let mut q = Vec::with_capacity(queries.len() * dim);
    for query in queries.clone() {
        // Scaled once here, not at each key's score.
        q.extend(call.q[offset(query)..offset(query) + dim].iter().map(|x| x * call.scale));
    }
    let mut max = vec![f32::NEG_INFINITY; queries.len()];
    // Sixteen partial sums a query, added up at the end: no horizontal sum for each page.
    let mut sums = vec![[0.0_f32; PAGE]; queries.len()];
    let mut values = vec![0.0_f32; queries.len() * dim];
    let mut scores: [Scores; PAGES] = [[[0.0; PAGE]; BLOCK]; PAGES];
    // Of each page its keys, then its values.
    let mut wide = vec![0.0_f32; PAGES * 2 * PAGE * dim];
    let mut left = &tile.visits[..];
    while let Some(first) = left.first() {
        // Where few queries read a page, the memory is waited for, and pages one by one are prefetched more evenly.
        let most = if first.rows.len() * group >= BLOCK { PAGES } else { 1 };
        let alike = left.iter().take(most).take_while(|visit| visit.rows == first.rows).count();
        let (visits, next) = left.split_at(alike);
        left = next;
        for visit in next.iter().take(alike) {
            // SAFETY: the caller's instructions.
            unsafe {
                call.k.prefetch::<L>(plane(visit));
                call.v.prefetch::<L>(plane(visit));
            }
        }
        let visitors = (first.rows.start - tile.rows.start) * group..(first.rows.end - tile.rows.start) * group;
        // From the task's first query on.
        let from = visitors.start.max(queries.start) - queries.start;
        let to = visitors.end.min(queries.end).saturating_sub(queries.start);
        if from >= to {
            continue;
        }
        for (visit, wide) in visits.iter().zip(wide.chunks_exact_mut(2 * PAGE * dim)) {
            let (keys, values) = wide.split_at_mut(PAGE * dim);
            // SAFETY: the caller's instructions.
            unsafe {
                call.k.widen::<L>(plane(visit), keys);
                call.v.widen::<L>(plane(visit), values);
            }
        }
        let planes = |page: usize| wide[page * 2 * PAGE * dim..][..2 * PAGE * dim].split_at(PAGE * dim);
        for at in (from..to).step_by(KEYS) {
            let block = at..(at + KEYS).min(to);
            // SAFETY: instructions by the caller; the queries of the block have `dim` numbers each in `q` and `values`;
            // keys are `dim` x 16, values 16 x `dim`.
            unsafe {
                let q = &q[block.start * dim..block.end * dim];
                if PAGES > 1 && alike == PAGES {
                    scores_of::<L, PAGES>(q, std::array::from_fn(|page| planes(page).0), dim, &mut scores);
                } else {
                    scores_of::<L, 1>(q, [planes(0).0], dim, std::array::from_mut(&mut scores[0]));
                }
                for (page, (visit, scores)) in visits.iter().zip(&mut scores).enumerate() {
                    let attended = &attended[block.clone()];
                    let running = Running {
                        max: &mut max[block.clone()],
                        sums: &mut sums[block.clone()],
                        values: &mut values[block.start * dim..block.end * dim],
                    };
                    let page_values = planes(page).1;
                    // Only a query's own page, of a prompt the pages of its chunk, and the pages where windows begin are
                    // attended in part.
                    if attended.iter().all(|keys| keys.start <= visit.start && keys.end >= visit.start + PAGE) {
                        add_page::<L, VALUES>(running, scores, page_values, dim);
                    } else {
                        let within = |key: usize| key.saturating_sub(visit.start).min(PAGE);
                        let of_page = |n: usize| within(attended[n].start)..within(attended[n].end);
                        add_part::<L>(running, scores, page_values, dim, of_page);
                    }
                }
            }
        }
    }
    for (i, values) in values.chunks_exact(dim).enumerate() {
        // SAFETY: the caller's instructions; sixteen values.
        let mut sum = unsafe { lanes::sum(L::load(sums[i].as_ptr())) };
        if let Some(sinks) = call.sinks {
            let sink = sinks[kv_head * group + (queries.start + i) % group];
            // SAFETY: the caller's instructions. A logit far above the scores is clamped, and leaves nothing of them.
            sum += unsafe { exp(L::splat(sink - max[i])).largest() };
        }
        let one = 1.0 / sum;
        let to = offset(queries.start + i);
        for (d, value) in values.iter().enumerate() {
            // SAFETY: within `[tokens, heads, head_dim]`; this task alone has these queries.
            unsafe { *call.out.add(to + d) = value * one };
        }
    }
}

/// Scores of at most [`BLOCK`] queries `[N, dim]` against the keys `[dim, 16]` of `PAGES` pages.
#[inline(always)]
unsafe fn scores_of<L: Lanes, const PAGES: usize>(
    q: &[f32],
    keys: [&[f32]; PAGES],
    dim: usize,
    scores: &mut [Scores; PAGES],
) {
    // SAFETY: the caller's.
    unsafe {
        match q.len() / dim {
            8 => dot::<L, 8, PAGES>(q, keys, dim, scores),
            7 => dot::<L, 7, PAGES>(q, keys, dim, scores),
            6 => dot::<L, 6, PAGES>(q, keys, dim, scores),
            5 => dot::<L, 5, PAGES>(q, keys, dim, scores),
            4 => dot::<L, 4, PAGES>(q, keys, dim, scores),
            3 => dot::<L, 3, PAGES>(q, keys, dim, scores),
            2 => dot::<L, 2, PAGES>(q, keys, dim, scores),
            _ => dot::<L, 1, PAGES>(q, keys, dim, scores),
        }
    }
}

/// As [`scores_of`], of `N` queries.
#[inline(always)]
unsafe fn dot<L: Lanes, const N: usize, const PAGES: usize>(
    q: &[f32],
    keys: [&[f32]; PAGES],
    dim: usize,
    scores: &mut [Scores; PAGES],
) {
    debug_assert!(q.len() >= N * dim && keys.iter().all(|keys| keys.len() == PAGE * dim));
    // SAFETY: lengths as asserted.
    unsafe {
        let mut sums = [[L::splat(0.0); PAGES]; N];
        for d in 0..dim {
            // Indexed, so that the compiler unrolls it; iterators stayed loops and kept `columns` in memory.
            let mut columns = [L::load(keys[0].as_ptr().add(d * PAGE)); PAGES];
            if PAGES == 2 {
                columns[1] = L::load(keys[1].as_ptr().add(d * PAGE));
            }
            for (n, sums) in sums.iter_mut().enumerate() {
                let x = L::splat(*q.get_unchecked(n * dim + d));
                sums[0] = x.fma(columns[0], sums[0]);
                if PAGES == 2 {
                    sums[1] = x.fma(columns[1], sums[1]);
                }
            }
        }
        for (n, sums) in sums.iter().enumerate() {
            for (sum, scores) in sums.iter().zip(&mut *scores) {
                sum.store(scores[n].as_mut_ptr());
            }
        }
    }
}

/// Raises the maximum of one query to `highest`, if that is more: what was added before shrinks.
#[inline(always)]
unsafe fn raise<L: Lanes>(max: &mut f32, highest: f32, sums: &mut [f32; PAGE], values: &mut [f32]) {
    if highest > *max {
        // SAFETY: instructions by the caller; `values` holds a multiple of sixteen.
        unsafe {
            // On the first page the maximum is -inf and the sums are 0: exp gives 1.6e-38, and 0 stays 0.
            let shrink = exp(L::splat(*max - highest));
            L::load(sums.as_ptr()).mul(shrink).store(sums.as_mut_ptr());
            for d in (0..values.len()).step_by(16) {
                let at = values.as_mut_ptr().add(d);
                L::load(at).mul(shrink).store(at);
            }
        }
        *max = highest;
    }
}

/// Adds a page to the softmax of queries that attend to all of it. `scores` become weights.
#[inline(always)]
unsafe fn add_page<L: Lanes, const VALUES: usize>(
    Running { max, sums, values }: Running<'_>,
    scores: &mut Scores,
    page_values: &[f32],
    dim: usize,
) {
    let scores = &mut scores[..max.len()];
    // SAFETY: the caller's: as many queries in all parts of `Running`.
    unsafe {
        // Step by step for all queries, so that one query's does not wait for another's.
        let mut highest = [0.0_f32; BLOCK];
        for ((highest, scores), max) in highest.iter_mut().zip(&*scores).zip(&*max) {
            // The second operand is taken where the first is NaN.
            *highest = L::load(scores.as_ptr()).max(L::splat(*max)).largest();
        }
        for (n, (max, sums)) in max.iter_mut().zip(&mut *sums).enumerate() {
            raise::<L>(max, highest[n], sums, &mut values[n * dim..(n + 1) * dim]);
        }
        for ((max, scores), sums) in max.iter().zip(&mut *scores).zip(sums) {
            let weights = exp(L::load(scores.as_ptr()).sub(L::splat(*max)));
            weights.store(scores.as_mut_ptr());
            L::splat(1.0).fma(weights, L::load(sums.as_ptr())).store(sums.as_mut_ptr());
        }
        for (values, weights) in values.chunks_mut(VALUES * dim).zip(scores.chunks(VALUES)) {
            match weights {
                [a, b, c, d] => add_values::<L, 4>(values.as_mut_ptr(), [a, b, c, d], PAGE, page_values, dim),
                [a, b, c] => add_values::<L, 3>(values.as_mut_ptr(), [a, b, c], PAGE, page_values, dim),
                [a, b] => add_values::<L, 2>(values.as_mut_ptr(), [a, b], PAGE, page_values, dim),
                [a] => add_values::<L, 1>(values.as_mut_ptr(), [a], PAGE, page_values, dim),
                _ => {}
            }
        }
    }
}

/// Adds keys of a page to the softmax of each query: those that it attends to.
#[inline(always)]
unsafe fn add_part<L: Lanes>(
    Running { max, sums, values }: Running<'_>,
    scores: &mut Scores,
    page_values: &[f32],
    dim: usize,
    attended: impl Fn(usize) -> Range<usize>,
) {
    for (n, (max, sums)) in max.iter_mut().zip(sums).enumerate() {
        let (attended, scores, values) = (attended(n), &mut scores[n], &mut values[n * dim..(n + 1) * dim]);
        if attended.is_empty() {
            continue;
        }
        scores[..attended.start].fill(f32::NEG_INFINITY);
        scores[attended.end..].fill(f32::NEG_INFINITY);
        // SAFETY: instructions by the caller; sixteen scores and sums.
        unsafe {
            let all = L::load(scores.as_ptr());
            raise::<L>(max, all.max(L::splat(*max)).largest(), sums, values);
            exp(all.sub(L::splat(*max))).store(scores.as_mut_ptr());
            scores[..attended.start].fill(0.0);
            scores[attended.end..].fill(0.0);
            L::splat(1.0).fma(L::load(scores.as_ptr()), L::load(sums.as_ptr())).store(sums.as_mut_ptr());
            // Keys before the first have a weight of zero, and their values are numbers.
            add_values::<L, 1>(values.as_mut_ptr(), [scores], attended.end, page_values, dim);
        }
    }
}

/// Adds `Σ_j weight_j · v_j` over the first `attended` keys to the values `[Q, dim]` of `Q` queries.
#[inline(always)]
unsafe fn add_values<L: Lanes, const Q: usize>(
    values: *mut f32,
    weights: [&[f32; PAGE]; Q],
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
    weights: [&[f32; PAGE]; Q],
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
            for (weights, sums) in weights.into_iter().zip(&mut sums) {
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
