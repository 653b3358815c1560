//! Results that more inputs are to be added to.

use super::task::{PANELS, ROWS as TILE_ROWS, Segment};
use crate::cpu::blocks::LANES;
use crate::cpu::lanes::Lanes;
use std::mem::MaybeUninit;

/// Rows that are multiplied with an unpacked chunk.
pub(super) const ROWS: usize = 128;

/// `[rows / 16][halves of panels][16 rows][16 outputs]`, close together: rows of the output may be so far apart that they
/// share a few sets of the cache.
#[repr(C, align(64))]
pub(super) struct Partial([[MaybeUninit<[[f32; LANES]; TILE_ROWS]>; 2 * PANELS]; ROWS / TILE_ROWS]);

impl Partial {
    pub(super) fn new() -> Self {
        Self([const { [const { MaybeUninit::uninit() }; 2 * PANELS] }; ROWS / TILE_ROWS])
    }

    /// The results that [`Self::store`] stored for these rows and this half.
    ///
    /// # Safety
    /// The instructions of `L` exist, and it was given something.
    #[inline(always)]
    pub(super) unsafe fn load<L: Lanes>(&self, segment: Segment) -> [L; TILE_ROWS] {
        let from = self.0[segment.row / TILE_ROWS][segment.half].as_ptr().cast::<f32>();
        // SAFETY: the caller's.
        unsafe {
            let mut sums = [L::splat(0.0); TILE_ROWS];
            for (row, sum) in sums.iter_mut().enumerate() {
                *sum = L::load(from.add(row * LANES));
            }
            sums
        }
    }

    /// # Safety
    /// The instructions of `L` exist.
    #[inline(always)]
    pub(super) unsafe fn store<L: Lanes>(&mut self, segment: Segment, sums: [L; TILE_ROWS]) {
        let to = self.0[segment.row / TILE_ROWS][segment.half].as_mut_ptr().cast::<f32>();
        for (row, sum) in sums.into_iter().enumerate() {
            // SAFETY: the caller's.
            unsafe { sum.store(to.add(row * LANES)) };
        }
    }
}
