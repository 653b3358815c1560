//! The work of a task, and its order: chunks of panels, cut into segments.

use crate::cpu::block_linear::BlockCall;
use crate::cpu::block_linear::recipe::BlockInputs;
use crate::cpu::unpack::HalfPanel;
use std::ops::Range;

/// Rows of a tile.
pub(in crate::cpu) const ROWS: usize = 16;

/// Products of a segment.
pub(super) const PRODUCTS: usize = 4;

/// Panels that are multiplied together: a tile of activations is loaded once for all of them.
pub(in crate::cpu) const PANELS: usize = 2;

/// A chunk of up to [`PANELS`] panels, and rows that it is multiplied with.
#[derive(Clone, Copy)]
pub(super) struct ChunkTask<'a> {
    pub(super) call: &'a BlockCall<'a>,
    /// Of all panels, unpacked.
    pub(super) halves: *const HalfPanel,
    /// The first of the panels.
    pub(super) panel: usize,
    pub(super) panels: usize,
    /// First input of the chunk.
    pub(super) from: usize,
    /// Inputs of the chunk.
    pub(super) len: usize,
    pub(super) rows: &'a Range<usize>,
    /// Values of the first row's chunk; those of the next row follow.
    pub(super) values: *const u8,
    /// And what else there is of its first block.
    pub(super) inputs: BlockInputs,
}

impl<'a> ChunkTask<'a> {
    /// # Safety
    /// The rows and the inputs exist.
    #[inline(always)]
    pub(super) unsafe fn new(
        call: &'a BlockCall<'a>,
        halves: *const HalfPanel,
        panels: Range<usize>,
        inputs: Range<usize>,
        rows: &'a Range<usize>,
    ) -> Self {
        let (x, at) = (call.x, call.x.offset(rows.start, inputs.start));
        // SAFETY: the caller's.
        unsafe {
            Self {
                call,
                halves,
                panel: panels.start,
                panels: panels.len(),
                from: inputs.start,
                len: inputs.len(),
                rows,
                values: x.values.as_ptr().add(at).cast(),
                inputs: BlockInputs::new(x, at),
            }
        }
    }
}

/// Up to [`PRODUCTS`] products of one step each: sixteen rows by half a panel, from input `input` of the chunk on.
#[derive(Clone, Copy)]
pub(super) struct Segment {
    /// The first of the rows, counted from the first of the task.
    pub(super) row: usize,
    pub(super) input: usize,
    /// Counted from the first half of the task's first panel.
    pub(super) half: usize,
}

impl Segment {
    /// The segment of `inputs` behind this one: all halves, then the next inputs, then the next rows.
    #[inline(always)]
    pub(super) fn next(self, inputs: usize, task: &ChunkTask<'_>) -> Self {
        match self {
            Self { half, .. } if half + 1 < 2 * task.panels => Self { half: half + 1, ..self },
            Self { input, .. } if input + inputs < task.len => Self { half: 0, input: input + inputs, ..self },
            Self { row, .. } => Self { half: 0, input: 0, row: row + ROWS },
        }
    }
}
