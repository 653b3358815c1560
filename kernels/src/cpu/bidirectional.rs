//! Attention without a mask between all tokens of a text, one head of one text at a time.
//!
//! The recipe: a score is the fused multiply-adds over the head's dimensions in ascending order; sums over keys run
//! lane by lane (key `j` in lane `j % 16`), then over the lanes as [`sum`] does; values are added in the order of keys.
//! So a text's bits depend on the text alone. With a window, queries of a tile skip the blocks of keys that none of them
//! sees.

use super::lanes::{Lanes, exp, sum};
use std::ops::Range;

/// Keys of a block: the lanes of one vector.
const LANES: usize = 16;

/// The operands of attention.
pub(crate) struct BidirectionalCall<'a> {
    /// Each `[tokens, heads * head_dim]`
    pub q: &'a [f32],
    pub k: &'a [f32],
    pub v: &'a [f32],
    /// Like `q`; tasks write disjoint rows and heads
    pub out: *mut f32,
    pub heads: usize,
    pub head_dim: usize,
    pub scale: f32,
    pub relative: Option<RelativeCall<'a>>,
    pub bias: Option<BiasCall<'a>>,
    /// The largest distance of a key that a query sees
    pub window: Option<usize>,
}

/// Vectors of relative positions, for `score(i, j) = q_i · (k_j + key[r]) + k_j · query[r]` with `r = row(i - j)`.
#[derive(Clone, Copy)]
pub(crate) struct RelativeCall<'a> {
    /// Each `[rows, heads * head_dim]`
    pub key: &'a [f32],
    pub query: &'a [f32],
    pub rows: usize,
    /// Row of distance `d` at `d + middle`.
    pub of_distance: &'a [u32],
    pub middle: usize,
}

/// Numbers that are added to scaled scores.
#[derive(Clone, Copy)]
pub(crate) struct BiasCall<'a> {
    /// `[heads, 2 * middle + 1]`; of query `i` and key `j` at `j - i + middle`
    pub values: &'a [f32],
    pub middle: usize,
}

// SAFETY: `out` is only written through `run`, whose tasks own disjoint rows and heads.
unsafe impl Sync for BidirectionalCall<'_> {}

/// Buffers of a task, reused by the next.
#[derive(Default)]
pub(crate) struct Scratch {
    keys: Vec<f32>,
    values: Vec<f32>,
    queries: Vec<f32>,
    scores: Vec<f32>,
    positions: Vec<f32>,
    by_query: Vec<f32>,
    by_key: Vec<f32>,
}

/// Head `head` of the text whose tokens are `text`; register tiles of up to `ROWS` queries.
///
/// # Safety
/// The instructions of `L` exist; slices have the lengths stated, `head_dim` is a multiple of 16; no other task writes
/// this head of these rows.
#[inline(always)]
pub(super) unsafe fn run<L: Lanes, const ROWS: usize>(
    call: &BidirectionalCall<'_>,
    text: Range<usize>,
    head: usize,
    scratch: &mut Scratch,
) {
    let (dim, width, len) = (call.head_dim, call.heads * call.head_dim, text.len());
    let padded = len.next_multiple_of(2 * LANES);
    let at = |row: usize| (text.start + row) * width + head * dim;
    transpose(&mut scratch.keys, len, padded, dim, |row| &call.k[at(row)..][..dim]);
    gather(&mut scratch.values, len, |row| &call.v[at(row)..][..dim]);
    gather(&mut scratch.queries, len, |row| &call.q[at(row)..][..dim]);
    scratch.scores.resize(ROWS * padded, 0.0);
    // SAFETY: the caller's; the buffers have just been given their sizes.
    unsafe {
        if let Some(relative) = &call.relative {
            score_positions::<L, ROWS>(call, relative, &text, head, scratch);
        }
        let mut first = 0;
        while first < len {
            let rows = ROWS.min(len - first);
            let queries = scratch.queries.as_ptr().add(first * dim);
            let scores = scratch.scores.as_mut_ptr();
            let keys = seen(call.window, first, rows, (len, padded));
            let scored = Keys { of: scratch.keys.as_ptr(), range: keys.clone(), padded };
            score_rows::<L, ROWS>(queries, rows, &scored, dim, call.scale, scores);
            if let Some(relative) = &call.relative {
                add_positions(call, relative, scratch, first, rows, (len, padded));
            }
            if let Some(bias) = &call.bias {
                add_bias(bias, &mut scratch.scores, head, first..first + rows, (len, padded));
            }
            let mut sums = [0.0; ROWS];
            for (row, sum) in sums.iter_mut().enumerate().take(rows) {
                let scores = &mut scratch.scores[row * padded..][keys.clone()];
                let own = call
                    .window
                    .map_or(0..len, |window| (first + row).saturating_sub(window)..(first + row + window + 1).min(len));
                *sum = exponentials::<L>(scores, own.start - keys.start..own.end - keys.start);
            }
            let out = call.out.add(at(first));
            let scores = scratch.scores.as_ptr();
            let values = &scratch.values;
            let keys = keys.start..keys.end.min(len);
            weighted_sums::<L, ROWS>(scores, padded, rows, &sums, values, (keys, dim), out, width);
            first += rows;
        }
    }
}

/// The keys that some of `rows` queries from `first` on see, in whole blocks of two vectors.
fn seen(window: Option<usize>, first: usize, rows: usize, (len, padded): (usize, usize)) -> Range<usize> {
    const BLOCK: usize = 2 * LANES;
    let Some(window) = window else { return 0..padded };
    let (from, to) = (first.saturating_sub(window), (first + rows + window).min(len));
    from / BLOCK * BLOCK..to.next_multiple_of(BLOCK)
}

/// Transposed keys, and which of them are scored.
struct Keys {
    of: *const f32,
    /// Whole blocks of two vectors.
    range: Range<usize>,
    /// Scores of a query lie this far apart.
    padded: usize,
}

/// Copies rows behind each other.
fn gather<'a>(to: &mut Vec<f32>, rows: usize, row: impl Fn(usize) -> &'a [f32]) {
    to.clear();
    (0..rows).for_each(|i| to.extend_from_slice(row(i)));
}

/// `[padded / 16][dim][16]`, rows beyond the last as zeros.
fn transpose<'a>(to: &mut Vec<f32>, rows: usize, padded: usize, dim: usize, row: impl Fn(usize) -> &'a [f32]) {
    to.clear();
    to.resize(padded * dim, 0.0);
    for i in 0..rows {
        let block = &mut to[i / LANES * LANES * dim..][..LANES * dim];
        for (lanes, &value) in block.as_chunks_mut::<LANES>().0.iter_mut().zip(row(i)) {
            lanes[i % LANES] = value;
        }
    }
}

/// `out[r, j] = scale * q_r · k_j` for `rows` queries `[rows, dim]` and the keys of a range.
#[inline(always)]
unsafe fn score_rows<L: Lanes, const ROWS: usize>(
    queries: *const f32,
    rows: usize,
    keys: &Keys,
    dim: usize,
    scale: f32,
    out: *mut f32,
) {
    // SAFETY: the caller's.
    unsafe {
        if rows == ROWS {
            return score_tile::<L, ROWS>(queries, keys, dim, scale, out);
        }
        for row in 0..rows {
            score_tile::<L, 1>(queries.add(row * dim), keys, dim, scale, out.add(row * keys.padded));
        }
    }
}

#[inline(always)]
unsafe fn score_tile<L: Lanes, const ROWS: usize>(
    queries: *const f32,
    keys: &Keys,
    dim: usize,
    scale: f32,
    out: *mut f32,
) {
    for block in keys.range.clone().step_by(2 * LANES) {
        // SAFETY: the caller's; the range begins and ends at multiples of 32.
        unsafe {
            let (left, right) = (keys.of.add(block * dim), keys.of.add((block + LANES) * dim));
            let mut sums = [[L::splat(0.0); 2]; ROWS];
            for d in 0..dim {
                let keys = [L::load(left.add(d * LANES)), L::load(right.add(d * LANES))];
                for (r, sums) in sums.iter_mut().enumerate() {
                    let q = L::splat(*queries.add(r * dim + d));
                    sums[0] = q.fma(keys[0], sums[0]);
                    sums[1] = q.fma(keys[1], sums[1]);
                }
            }
            for (r, sums) in sums.iter().enumerate() {
                let out = out.add(r * keys.padded + block);
                sums[0].mul(L::splat(scale)).store(out);
                sums[1].mul(L::splat(scale)).store(out.add(LANES));
            }
        }
    }
}

/// Scores of every query and every key with every relative position: `[len, rows]` each.
#[inline(always)]
unsafe fn score_positions<L: Lanes, const ROWS: usize>(
    call: &BidirectionalCall<'_>,
    relative: &RelativeCall<'_>,
    text: &Range<usize>,
    head: usize,
    scratch: &mut Scratch,
) {
    let (dim, width, len) = (call.head_dim, call.heads * call.head_dim, text.len());
    let padded = relative.rows.next_multiple_of(2 * LANES);
    for (positions, rows_of, out) in
        [(relative.key, call.q, &mut scratch.by_query), (relative.query, call.k, &mut scratch.by_key)]
    {
        let at = |row: usize| row * width + head * dim;
        transpose(&mut scratch.positions, relative.rows, padded, dim, |row| &positions[at(row)..][..dim]);
        // Not `scratch.queries`, which holds the head's queries.
        let mut own = Vec::new();
        gather(&mut own, len, |row| &rows_of[at(text.start + row)..][..dim]);
        out.resize(len * padded, 0.0);
        for first in (0..len).step_by(ROWS) {
            // SAFETY: the caller's; `out` has `padded` elements for each of `len` rows.
            unsafe {
                let (queries, out) = (own.as_ptr().add(first * dim), out.as_mut_ptr().add(first * padded));
                let rows = ROWS.min(len - first);
                let positions = Keys { of: scratch.positions.as_ptr(), range: 0..padded, padded };
                score_rows::<L, ROWS>(queries, rows, &positions, dim, call.scale, out);
            }
        }
    }
}

/// Adds the relative-position terms to the scores of `rows` queries from `first` on.
fn add_positions(
    call: &BidirectionalCall<'_>,
    relative: &RelativeCall<'_>,
    scratch: &mut Scratch,
    first: usize,
    rows: usize,
    (len, padded): (usize, usize),
) {
    debug_assert!(len <= relative.middle + 1 && call.heads > 0);
    let width = relative.rows.next_multiple_of(2 * LANES);
    for row in 0..rows {
        let query = first + row;
        let scores = &mut scratch.scores[row * padded..][..len];
        // Distances fall from `query` to `query - len + 1`.
        let distances = &relative.of_distance[relative.middle + query + 1 - len..][..len];
        for (key, (score, &relative_row)) in scores.iter_mut().zip(distances.iter().rev()).enumerate() {
            let relative_row = relative_row as usize;
            *score += scratch.by_query[query * width + relative_row] + scratch.by_key[key * width + relative_row];
        }
    }
}

/// Adds the head's numbers for the distances to all keys to the scores of `queries`.
fn add_bias(
    bias: &BiasCall<'_>,
    scores: &mut [f32],
    head: usize,
    queries: Range<usize>,
    (len, padded): (usize, usize),
) {
    let of_head = &bias.values[head * (2 * bias.middle + 1)..][..2 * bias.middle + 1];
    for (row, query) in queries.enumerate() {
        let of_query = &of_head[bias.middle - query..][..len];
        for (score, number) in scores[row * padded..][..len].iter_mut().zip(of_query) {
            *score += number;
        }
    }
}

/// Replaces the scores of `own` by `exp(score - maximum)` and the others by zeros; returns their sum.
#[inline(always)]
unsafe fn exponentials<L: Lanes>(scores: &mut [f32], own: Range<usize>) -> f32 {
    scores[..own.start].fill(f32::NEG_INFINITY);
    scores[own.end..].fill(f32::NEG_INFINITY);
    // SAFETY: instructions by the caller; `scores` is a whole number of vectors.
    unsafe {
        let mut highest = L::splat(f32::NEG_INFINITY);
        for block in scores.as_chunks::<LANES>().0 {
            // The second operand is taken where either is NaN, so no lane of the result is NaN.
            highest = L::load(block.as_ptr()).max(highest);
        }
        let highest = L::splat(highest.largest());
        for block in scores.as_chunks_mut::<LANES>().0 {
            exp(L::load(block.as_ptr()).sub(highest)).store(block.as_mut_ptr());
        }
        scores[..own.start].fill(0.0);
        scores[own.end..].fill(0.0);
        let (one, mut sums) = (L::splat(1.0), L::splat(0.0));
        for block in scores.as_chunks::<LANES>().0 {
            sums = one.fma(L::load(block.as_ptr()), sums);
        }
        sum(sums)
    }
}

/// `out[r] = Σ_j weights[r, j] · v_j / sums[r]` over the `keys` of the pair.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
unsafe fn weighted_sums<L: Lanes, const ROWS: usize>(
    weights: *const f32,
    padded: usize,
    rows: usize,
    sums: &[f32; ROWS],
    values: &[f32],
    (keys, dim): (Range<usize>, usize),
    out: *mut f32,
    stride: usize,
) {
    // SAFETY: the caller's: `values` is `[len, dim]` with all of `keys`, `out` has `dim` elements every `stride`.
    unsafe {
        for d in (0..dim).step_by(2 * LANES) {
            let values = values.as_ptr().add(d);
            let wide = d + 2 * LANES <= dim;
            if rows == ROWS && wide {
                weighted_sum_tile::<L, ROWS, 2>(weights, padded, sums, values, (&keys, dim), out.add(d), stride);
                continue;
            }
            for (row, &sum) in sums.iter().enumerate().take(rows) {
                let (weights, out) = (weights.add(row * padded), out.add(row * stride + d));
                let sum = &[sum];
                if wide {
                    weighted_sum_tile::<L, 1, 2>(weights, padded, sum, values, (&keys, dim), out, stride);
                } else {
                    weighted_sum_tile::<L, 1, 1>(weights, padded, sum, values, (&keys, dim), out, stride);
                }
            }
        }
    }
}

#[inline(always)]
unsafe fn weighted_sum_tile<L: Lanes, const ROWS: usize, const N: usize>(
    weights: *const f32,
    padded: usize,
    sums: &[f32; ROWS],
    values: *const f32,
    (keys, dim): (&Range<usize>, usize),
    out: *mut f32,
    stride: usize,
) {
    // SAFETY: the caller's.
    unsafe {
        let mut totals = [[L::splat(0.0); N]; ROWS];
        for j in keys.clone() {
            let mut lanes = [L::load(values.add(j * dim)); N];
            for (n, lanes) in lanes.iter_mut().enumerate().skip(1) {
                *lanes = L::load(values.add(j * dim + n * LANES));
            }
            for (r, totals) in totals.iter_mut().enumerate() {
                let weight = L::splat(*weights.add(r * padded + j));
                for (total, lanes) in totals.iter_mut().zip(lanes) {
                    *total = weight.fma(lanes, *total);
                }
            }
        }
        for (r, totals) in totals.iter().enumerate() {
            for (n, total) in totals.iter().enumerate() {
                total.div(L::splat(sums[r])).store(out.add(r * stride + n * LANES));
            }
        }
    }
}
