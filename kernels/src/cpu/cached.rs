//! Keys or values as a cache holds them, f16 or f32, a page's plane at a time.

use super::lanes::Lanes;
use half::f16;
use std::ops::Range;

/// All pages of keys, or of values.
#[derive(Clone, Copy)]
pub(crate) enum Cached<'a> {
    F16(&'a [f16]),
    F32(&'a [f32]),
}

impl Cached<'_> {
    /// Prefetches a plane: pages are scattered, so the processor's own prefetcher does not find the next one.
    ///
    /// # Safety
    /// The instructions of `L` exist.
    #[inline(always)]
    pub(super) unsafe fn prefetch<L: Lanes>(self, plane: Range<usize>) {
        let (from, bytes) = match self {
            Self::F16(all) => (all[plane.clone()].as_ptr().cast::<u8>(), 2 * plane.len()),
            Self::F32(all) => (all[plane.clone()].as_ptr().cast::<u8>(), 4 * plane.len()),
        };
        for line in (0..bytes).step_by(64) {
            // SAFETY: the caller's.
            unsafe { L::prefetch(from.wrapping_add(line)) };
        }
    }

    /// Sixteen numbers from number `at` on.
    ///
    /// # Safety
    /// The instructions of `L` exist.
    #[inline(always)]
    pub(super) unsafe fn lanes<L: Lanes>(self, at: usize) -> L {
        // SAFETY: instructions by the caller; sixteen numbers.
        unsafe {
            match self {
                Self::F16(all) => L::load_f16(all[at..at + 16].as_ptr().cast()),
                Self::F32(all) => L::load(all[at..at + 16].as_ptr()),
            }
        }
    }

    /// Writes a plane, a multiple of sixteen numbers, to `wide` as f32.
    ///
    /// # Safety
    /// The instructions of `L` exist.
    #[inline(always)]
    pub(super) unsafe fn widen<L: Lanes>(self, plane: Range<usize>, wide: &mut [f32]) {
        match self {
            Self::F16(all) => {
                for (from, to) in all[plane].chunks_exact(16).zip(wide.chunks_exact_mut(16)) {
                    // SAFETY: instructions by the caller; sixteen numbers.
                    unsafe { L::load_f16(from.as_ptr().cast()).store(to.as_mut_ptr()) };
                }
            }
            Self::F32(all) => wide.copy_from_slice(&all[plane]),
        }
    }
}
