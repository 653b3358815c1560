//! The operands of a matmul, and of one chunk of its inputs.

use crate::cpu::blocks::Format;
use crate::cpu::linear::PANEL;
use crate::cpu::quantise::Int8;
use crate::cpu::unpack::Scratch;

/// The operands of a matmul: activations as int8, or as [`Bf16`](crate::cpu::Bf16).
pub(crate) struct BlockCall<'a, X = Int8> {
    pub x: &'a X,
    pub format: Format,
    /// `[panels]` of [`Format::panel_bytes`]
    pub packed: &'a [u8],
    /// `[rows, outputs]`, from row `first_row` of `x` on; tasks write disjoint panels or rows
    pub out: *mut f32,
    pub first_row: usize,
    pub outputs: usize,
}

// SAFETY: `out` is only written through `run`, whose tasks own disjoint panels or rows.
unsafe impl<X: Sync> Sync for BlockCall<'_, X> {}

impl<X> BlockCall<'_, X> {
    /// Where the first result of a row and a panel goes.
    ///
    /// # Safety
    /// The output has them.
    #[inline(always)]
    pub(crate) unsafe fn out(&self, row: usize, panel: usize) -> *mut f32 {
        // SAFETY: the caller's.
        unsafe { self.out.add((row - self.first_row) * self.outputs + panel * PANEL) }
    }
}

/// The product of one chunk of inputs.
#[derive(Clone, Copy)]
pub(super) struct ChunkTask<'a> {
    pub(super) call: &'a BlockCall<'a>,
    pub(super) scratch: *const Scratch,
    /// First input of the chunk.
    pub(super) from: usize,
    /// Inputs of the chunk.
    pub(super) len: usize,
    pub(super) out: *mut f32,
    pub(super) stride: usize,
    /// First of the rows.
    pub(super) row: usize,
    /// Rows of the whole task.
    pub(super) rows: usize,
    /// Columns of the panel: fewer than its width in the last one.
    pub(super) columns: usize,
}
