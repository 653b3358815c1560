//! The part of the output that a segment completes.

use super::task::{ChunkTask, ROWS, Segment};
use crate::cpu::blocks::LANES;
use crate::cpu::lanes::Lanes;
use crate::cpu::linear::PANEL;

/// The destination of results: fewer rows at the end, fewer columns in a narrow last panel.
#[derive(Clone, Copy)]
pub(super) struct Window {
    out: *mut f32,
    stride: usize,
    rows: usize,
    columns: usize,
}

impl Window {
    #[inline(always)]
    pub(super) fn of(task: &ChunkTask<'_>, segment: Segment) -> Self {
        let (stride, column) = (task.call.outputs, task.panel * PANEL + segment.half * LANES);
        Self {
            // Past the end where there are no columns.
            out: task.call.out.wrapping_add((task.rows.start + segment.row - task.call.first_row) * stride + column),
            stride,
            rows: ROWS.min(task.rows.len() - segment.row),
            columns: LANES.min(stride.saturating_sub(column)),
        }
    }

    fn is_whole(self) -> bool {
        self.rows == ROWS && self.columns == LANES
    }

    /// Prefetches some of the rows, so that they need not be waited for when they are written.
    ///
    /// # Safety
    /// The instructions of `L` exist.
    #[inline(always)]
    pub(super) unsafe fn prefetch<L: Lanes>(self, rows: std::ops::Range<usize>) {
        for row in rows {
            // SAFETY: the caller's; the address need not exist.
            unsafe { L::prefetch(self.out.wrapping_add(row * self.stride).cast()) };
        }
    }

    /// Writes the results inside the window.
    ///
    /// # Safety
    /// The instructions of `L` exist, and no other task writes here.
    #[inline(always)]
    pub(super) unsafe fn store<L: Lanes>(self, sums: [L; ROWS]) {
        // SAFETY: the caller's; a narrow panel goes through a buffer as wide as a vector.
        unsafe {
            if self.is_whole() {
                for (row, sum) in sums.into_iter().enumerate() {
                    sum.store(self.out.add(row * self.stride));
                }
            } else if self.columns == LANES {
                for (row, sum) in sums.into_iter().enumerate() {
                    if row < self.rows {
                        sum.store(self.out.add(row * self.stride));
                    }
                }
            } else {
                let mut buffer = [[0.0_f32; LANES]; ROWS];
                for (line, sum) in buffer.iter_mut().zip(sums) {
                    sum.store(line.as_mut_ptr());
                }
                for (row, line) in buffer.iter().enumerate().take(self.rows) {
                    let to = self.out.wrapping_add(row * self.stride);
                    std::ptr::copy_nonoverlapping(line.as_ptr(), to, self.columns);
                }
            }
        }
    }
}
