//! Queries, keys and values as bf16, in tiles.

use super::shape::{PARTS, STEP, TILE};
use crate::cpu::attention::{AttentionCall, BlockVisit};
use crate::cpu::bf16::Line;
use crate::cpu::blocks::LANES;
use crate::cpu::lanes::Lanes;
use crate::pages::{NO_PAGE, PAGE};
use std::ops::Range;

/// Parts of queries, keys and values of a smaller magnitude are taken as zero: 2^-55.
pub(super) const LEAST: f32 = 2.775_557_6e-17;

/// The nearest bf16 to `x`, and the rest.
#[inline(always)]
unsafe fn split<L: Lanes>(x: L) -> [L; PARTS] {
    // SAFETY: the caller's instructions.
    unsafe {
        let (first, least) = (x.rounded_bf16(), L::splat(LEAST));
        [first.at_least(least), x.sub(first).at_least(least)]
    }
}

/// Writes tiles of rounded queries, which begin at `offset` of `call.q`; lanes without one are zero.
#[inline(always)]
pub(super) unsafe fn round_queries<L: Lanes>(
    call: &AttentionCall<'_>,
    queries: Range<usize>,
    offset: impl Fn(usize) -> usize,
    to: *mut Line,
) {
    let scale = call.scale * std::f32::consts::LOG2_E;
    // SAFETY: the caller's instructions; `dim` numbers from each query's first on, and room for the tiles.
    unsafe {
        for step in 0..call.head_dim.div_ceil(STEP) {
            let mut tiles = [[Line::ZERO; TILE]; PARTS];
            for (lane, at) in queries.clone().map(&offset).enumerate() {
                let mut parts = [[L::splat(0.0); PARTS]; 2];
                for (half, parts) in parts.iter_mut().enumerate() {
                    let d = step * STEP + half * LANES;
                    if d < call.head_dim {
                        *parts = split(L::load(call.q[at + d..][..LANES].as_ptr()).mul(L::splat(scale)));
                    }
                }
                let [low, high] = parts;
                for (part, tile) in tiles.iter_mut().enumerate() {
                    low[part].store_bf16::<false>(high[part], tile[lane].as_mut_ptr());
                }
            }
            for (part, tile) in tiles.iter().enumerate() {
                transpose_to::<L>(tile, to.add((step * PARTS + part) * TILE));
            }
        }
    }
}

/// Writes tiles of a block's rounded keys, of the pages that have some of the first `stored` ones.
#[inline(always)]
pub(super) unsafe fn round_keys<L: Lanes>(
    call: &AttentionCall<'_>,
    visit: &BlockVisit,
    kv_head: usize,
    stored: usize,
    steps: usize,
    to: *mut Line,
) {
    for (number, &page) in visit.pages.iter().enumerate().take(stored.div_ceil(PAGE)) {
        if page == NO_PAGE {
            continue;
        }
        let plane = call.plane(page as usize, kv_head).start;
        for step in 0..steps {
            let mut tiles = [[Line::ZERO; TILE]; PARTS];
            for pair in 0..(call.head_dim - step * STEP).min(STEP) / 2 {
                let at = plane + (step * STEP + 2 * pair) * PAGE;
                // SAFETY: the caller's instructions; a plane has `head_dim` times sixteen keys.
                unsafe {
                    let (even, odd) = (split(call.k.lanes::<L>(at)), split(call.k.lanes::<L>(at + PAGE)));
                    for (part, tile) in tiles.iter_mut().enumerate() {
                        even[part].store_bf16::<true>(odd[part], tile[pair].as_mut_ptr());
                    }
                }
            }
            for (part, tile) in tiles.iter().enumerate() {
                // SAFETY: as above, and there is room for the tiles.
                unsafe { transpose_to::<L>(tile, to.add(((number * steps + step) * PARTS + part) * TILE)) };
            }
        }
    }
}

/// Writes tiles of a block's rounded values. Values of unattended keys are zeroed: that memory may hold NaN.
#[inline(always)]
pub(super) unsafe fn round_values<L: Lanes>(
    call: &AttentionCall<'_>,
    visit: &BlockVisit,
    kv_head: usize,
    stored: usize,
    to: *mut Line,
) {
    let dim = call.head_dim;
    for pair in 0..stored.div_ceil(STEP) {
        for d in (0..dim).step_by(TILE) {
            let mut tile = [Line::ZERO; TILE];
            for (line, to) in tile.iter_mut().enumerate() {
                let key = pair * STEP + 2 * line;
                let page = visit.pages[key / PAGE];
                if page == NO_PAGE || key >= stored {
                    continue;
                }
                let at = call.plane(page as usize, kv_head).start + key % PAGE * dim + d;
                // SAFETY: the caller's instructions; a plane has sixteen keys' values.
                unsafe {
                    let least = L::splat(LEAST);
                    let even = call.v.lanes::<L>(at).at_least(least);
                    let odd = if key + 1 < stored { call.v.lanes::<L>(at + dim) } else { L::splat(0.0) };
                    even.store_bf16::<true>(odd.at_least(least), to.as_mut_ptr());
                }
            }
            // SAFETY: as above, and there is room for the tiles.
            unsafe { transpose_to::<L>(&tile, to.add((pair * dim + d) / TILE * TILE)) };
        }
    }
}

/// Writes the tile whose columns, of two bf16, are the lines of `tile`.
#[inline(always)]
unsafe fn transpose_to<L: Lanes>(tile: &[Line; TILE], to: *mut Line) {
    // SAFETY: the caller's: instructions, and room for a tile. A line is sixteen lanes.
    unsafe {
        let mut columns = [L::splat(0.0); LANES];
        for (column, line) in columns.iter_mut().zip(tile) {
            *column = L::load(line.as_ptr().cast());
        }
        for (line, row) in L::transpose(columns).into_iter().enumerate() {
            row.store(to.add(line).cast());
        }
    }
}

/// Prefetches the pages of the next block.
#[inline(always)]
pub(super) unsafe fn prefetch<L: Lanes>(call: &AttentionCall<'_>, visit: &BlockVisit, kv_head: usize) {
    for &page in visit.pages.iter().filter(|&&page| page != NO_PAGE) {
        // SAFETY: the caller's instructions.
        unsafe {
            call.k.prefetch::<L>(call.plane(page as usize, kv_head));
            call.v.prefetch::<L>(call.plane(page as usize, kv_head));
        }
    }
}
