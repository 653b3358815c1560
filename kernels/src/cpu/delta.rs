//! The gated delta rule: a state that is read, corrected and decayed token by token.
//!
//! The state of a head is a matrix, `[rows, columns]`, rows for the numbers of a key and columns for those of a value.
//! It is stored in blocks of sixteen columns, `[columns / 16, rows, 16]`, because columns do not depend on each other:
//! a block stays in L1 while all tokens of a step pass over it, and vectors run across columns, never along a
//! reduction.
//!
//! The chunked form, which computes 64 tokens at once by matrix products, would save nothing here: with 128 rows and
//! columns it takes 4.25 multiply-adds for each number of the state and token, this form takes 4. Its order of
//! additions depends on where chunks begin, too.

use super::lanes::{Lanes, sum};

/// Columns of a block of the state.
const BLOCK: usize = 16;

/// Added to the sum of squares under the root of a query's or key's length.
const LENGTH_EPS: f32 = 1e-6;

/// The operands of one head, and where its results go.
pub(crate) struct DeltaCall<'a> {
    /// Queries, keys and values of all heads, `[tokens, width]`.
    pub x: &'a [f32],
    /// Numbers of a token in `x`.
    pub width: usize,
    /// Where the head's query, key and value begin within a token's numbers.
    pub query: usize,
    pub key: usize,
    pub value: usize,
    /// Numbers of a query or key.
    pub rows: usize,
    /// Decay and rate of each token, `[tokens, heads]`.
    pub gates: &'a [[f32; 2]],
    pub heads: usize,
    pub head: usize,
    /// `[tokens, out_width]`; the head's results begin at `out_at` within a token's.
    pub out: *mut f32,
    pub out_width: usize,
    pub out_at: usize,
}

// SAFETY: tasks write disjoint parts of `out`; see `run`.
unsafe impl Sync for DeltaCall<'_> {}

/// For each of `tokens`, with `S` the state, `k`, `v` and `q` the token's key, value and query:
/// `S *= decay; S += k (rate * (v - Sᵀk))ᵀ; out = Sᵀq`, for the columns of `blocks` alone.
///
/// The recipe: a sum over rows is two sums, over even and over odd rows in ascending order, which are then added. `Sᵀk`
/// is taken before the decay and multiplied by it.
///
/// # Safety
/// The instructions of `L` exist; `state` has `blocks.end` blocks of `rows * 16` numbers; all offsets lie within `x`,
/// `gates` and `out`; `rows` is even; no other task has the same columns of the same head.
#[inline(always)]
pub(super) unsafe fn run<L: Lanes, const BLOCKS: usize>(
    call: &DeltaCall<'_>,
    state: *mut f32,
    blocks: std::ops::Range<usize>,
    tokens: std::ops::Range<usize>,
) {
    let together = blocks.len() / BLOCKS * BLOCKS;
    // SAFETY: the caller's.
    unsafe {
        for block in (blocks.start..blocks.start + together).step_by(BLOCKS) {
            columns::<L, BLOCKS>(call, state.add(block * call.rows * BLOCK), block, tokens.clone());
        }
        for block in blocks.start + together..blocks.end {
            columns::<L, 1>(call, state.add(block * call.rows * BLOCK), block, tokens.clone());
        }
    }
}

/// `N` blocks from number `block` on, which begin at `state`.
#[inline(always)]
unsafe fn columns<L: Lanes, const N: usize>(
    call: &DeltaCall<'_>,
    state: *mut f32,
    block: usize,
    tokens: std::ops::Range<usize>,
) {
    if tokens.is_empty() {
        return;
    }
    let x = call.x.as_ptr();
    // SAFETY: the caller's.
    unsafe {
        let mut recalled = recall::<L, N>(state, x.add(tokens.start * call.width + call.key), call.rows);
        for token in tokens.clone() {
            let row = x.add(token * call.width);
            // The last token's sums for a next one are not used.
            let next = if token + 1 < tokens.end { row.add(call.width) } else { row };
            let [decay, rate] = call.gates[token * call.heads + call.head];
            let (decay, rate) = (L::splat(decay), L::splat(rate));
            let mut written = [L::splat(0.0); N];
            for (n, (written, recalled)) in written.iter_mut().zip(&recalled).enumerate() {
                let value = L::load(row.add(call.value + (block + n) * BLOCK));
                *written = value.sub(decay.mul(*recalled)).mul(rate);
            }
            let keys = [row.add(call.key), next.add(call.key)];
            let (out, after) = step::<L, N>(state, call.rows, row.add(call.query), keys, decay, &written);
            recalled = after;
            for (n, out) in out.into_iter().enumerate() {
                out.store(call.out.add(token * call.out_width + call.out_at + (block + n) * BLOCK));
            }
        }
    }
}

/// `Sᵀk` of `N` blocks.
#[inline(always)]
unsafe fn recall<L: Lanes, const N: usize>(state: *const f32, key: *const f32, rows: usize) -> [L; N] {
    // SAFETY: the caller's.
    unsafe {
        let mut sums = [[L::splat(0.0); 2]; N];
        for i in (0..rows).step_by(2) {
            for odd in 0..2 {
                let k = L::splat(*key.add(i + odd));
                for (n, sums) in sums.iter_mut().enumerate() {
                    sums[odd] = k.fma(L::load(state.add((n * rows + i + odd) * BLOCK)), sums[odd]);
                }
            }
        }
        totals(&sums)
    }
}

/// Decays `N` blocks of the state and adds `k writtenᵀ`; returns `Sᵀq`, and `Sᵀk` for the key of the next token.
#[inline(always)]
unsafe fn step<L: Lanes, const N: usize>(
    state: *mut f32,
    rows: usize,
    query: *const f32,
    [key, next_key]: [*const f32; 2],
    decay: L,
    written: &[L; N],
) -> ([L; N], [L; N]) {
    // SAFETY: the caller's.
    unsafe {
        let (mut out, mut next) = ([[L::splat(0.0); 2]; N], [[L::splat(0.0); 2]; N]);
        for i in (0..rows).step_by(2) {
            for odd in 0..2 {
                let row = i + odd;
                let (q, k, k_next) = (L::splat(*query.add(row)), L::splat(*key.add(row)), L::splat(*next_key.add(row)));
                for (n, ((out, next), written)) in out.iter_mut().zip(&mut next).zip(written).enumerate() {
                    let at = state.add((n * rows + row) * BLOCK);
                    let s = k.fma(*written, L::load(at).mul(decay));
                    s.store(at);
                    out[odd] = q.fma(s, out[odd]);
                    next[odd] = k_next.fma(s, next[odd]);
                }
            }
        }
        (totals(&out), totals(&next))
    }
}

#[inline(always)]
unsafe fn totals<L: Lanes, const N: usize>(sums: &[[L; 2]; N]) -> [L; N] {
    // SAFETY: lane-wise methods of the caller's own instruction set.
    unsafe {
        let mut totals = [L::splat(0.0); N];
        for (total, [even, odd]) in totals.iter_mut().zip(sums) {
            *total = L::splat(1.0).fma(*even, *odd);
        }
        totals
    }
}

/// `x *= scale / √(Σ x² + 1e-6)`, the sum as that of a norm.
///
/// # Safety
/// The instructions of `L` exist; `x` is a multiple of sixteen long.
#[inline(always)]
pub(super) unsafe fn unit_norm<L: Lanes>(x: &mut [f32], scale: f32) {
    // SAFETY: the caller's.
    unsafe {
        let mut squares = L::splat(0.0);
        for at in (0..x.len()).step_by(16) {
            let x = L::load(x.as_ptr().add(at));
            squares = x.fma(x, squares);
        }
        let factor = L::splat(scale / (sum(squares) + LENGTH_EPS).sqrt());
        for at in (0..x.len()).step_by(16) {
            let x = x.as_mut_ptr().add(at);
            L::load(x).mul(factor).store(x);
        }
    }
}
