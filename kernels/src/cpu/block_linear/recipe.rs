//! The arithmetic of the recipe. Few rows, tiles of registers and AMX's tiles differ in their layouts, never in this.

use crate::cpu::lanes::{Ints, Lanes, OFFSET};
use crate::cpu::quantise::{BLOCK, CHUNK, Int8, Sums};

/// A block's part of a sum, of one step: `float(dot) * scale`, or with the part of the block's `earlier` step
/// `fma(float(dot), scale, earlier)`.
///
/// # Safety
/// As [`Lanes`].
#[inline(always)]
pub(in crate::cpu) unsafe fn part<L: Lanes>(dot: L, scale: L, earlier: Option<L>) -> L {
    // SAFETY: the caller's.
    unsafe {
        match earlier {
            None => dot.mul(scale),
            Some(earlier) => dot.fma(scale, earlier),
        }
    }
}

/// [`part`] of a first step, without a conversion. `OFFSET + dot` is exact, and `offset` too, which is `-OFFSET * scale`: a
/// scale has the eleven digits of an f16, or six to eight more. So the result is `dot * scale`, rounded once.
///
/// # Safety
/// As [`Lanes`].
#[allow(dead_code, reason = "only used with AMX, which is compiled for x86-64")]
#[inline(always)]
pub(in crate::cpu) unsafe fn part_by_offset<L: Lanes>(dot: L::Ints, scale: L, offset: L) -> L {
    // SAFETY: the caller's.
    unsafe { dot.to_offset_floats().fma(scale, offset) }
}

/// The `offset` of [`part_by_offset`].
///
/// # Safety
/// As [`Lanes`].
#[allow(dead_code, reason = "only used with AMX, which is compiled for x86-64")]
#[inline(always)]
pub(in crate::cpu) unsafe fn offset_of<L: Lanes>(scale: L) -> L {
    // SAFETY: the caller's.
    unsafe { scale.mul(L::splat(-OFFSET)) }
}

/// `sum`, and a block's part times the scale of its inputs.
///
/// # Safety
/// As [`Lanes`].
#[inline(always)]
pub(in crate::cpu) unsafe fn add_part<L: Lanes>(sum: L, part: L, x_scale: f32) -> L {
    // SAFETY: the caller's.
    unsafe { part.fma(L::splat(x_scale), sum) }
}

/// `sum`, and a step's mins times [`BlockInputs::min_factor`].
///
/// # Safety
/// As [`Lanes`].
#[inline(always)]
pub(in crate::cpu) unsafe fn add_min<L: Lanes>(sum: L, min: L, factor: f32) -> L {
    // SAFETY: the caller's.
    unsafe { min.fma(L::splat(factor), sum) }
}

/// The scales and sums of a block in [`Int8`], for some rows; the next row's lies as far
/// on as a chunk has of it.
#[derive(Clone, Copy)]
pub(in crate::cpu) struct BlockInputs {
    scales: *const f32,
    min_factors: *const f32,
    pub sums: *const Sums,
}

impl BlockInputs {
    /// Of the block whose first value is number `at` of `x`.
    #[inline(always)]
    pub(in crate::cpu) fn new(x: &Int8, at: usize) -> Self {
        Self {
            scales: x.scales.as_ptr().wrapping_add(at / BLOCK),
            min_factors: x.min_factors.as_ptr().wrapping_add(at / BLOCK),
            sums: x.sums.as_ptr().wrapping_add(at / 16),
        }
    }

    /// The block `number` blocks on, in the same chunk.
    #[inline(always)]
    pub(in crate::cpu) fn block(self, number: usize) -> Self {
        Self {
            scales: self.scales.wrapping_add(number),
            min_factors: self.min_factors.wrapping_add(number),
            sums: self.sums.wrapping_add(number * (BLOCK / 16)),
        }
    }

    /// The scale of row `row`.
    ///
    /// # Safety
    /// There is such a row.
    #[inline(always)]
    pub(in crate::cpu) unsafe fn scale(self, row: usize) -> f32 {
        // SAFETY: the caller's.
        unsafe { *self.scales.add(row * (CHUNK / BLOCK)) }
    }

    /// The scale of row `row` times its sum of values over step `step` of `steps`.
    ///
    /// # Safety
    /// There is such a row.
    #[inline(always)]
    pub(in crate::cpu) unsafe fn min_factor(self, row: usize, step: usize, steps: usize) -> f32 {
        // SAFETY: the caller's.
        unsafe {
            if steps == 1 {
                *self.min_factors.add(row * (CHUNK / BLOCK))
            } else {
                self.scale(row) * (*self.sums.add(row * (CHUNK / 16) + step)).all as f32
            }
        }
    }
}
