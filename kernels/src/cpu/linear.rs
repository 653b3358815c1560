//! `out = x · wᵀ` over weights packed in panels of 32 outputs.
use super::lanes::Lanes;
use std::ops::Range;

/// Outputs of a panel: two lanes' worth.
pub(crate) const PANEL: usize = 32;

/// Inputs worked on between two visits to the accumulators: 1,024 x 32 weights are 128 KiB, which stays in L2 while
/// all rows pass over them.
const INPUT_BLOCK: usize = 1024;

/// What a matmul reads and writes.
pub(crate) struct LinearCall<'a> {
    /// `[rows, inputs]`
    pub x: &'a [f32],
    /// `[panels, inputs, 32]`, outputs beyond the last padded with zeros
    pub packed: &'a [f32],
    /// `[rows, outputs]`; tasks write disjoint columns
    pub out: *mut f32,
    pub rows: usize,
    pub inputs: usize,
    pub outputs: usize,
}

// SAFETY: `out` is only written through `run`, whose tasks own disjoint panels and so disjoint columns.
unsafe impl Sync for LinearCall<'_> {}

/// Computes the columns of `panels` for all rows; register tiles of up to `ROWS` rows.
///
/// # Safety
/// The instructions of `L` exist; slices have the lengths stated; no other task writes these panels' columns.
#[inline(always)]
pub(super) unsafe fn run<L: Lanes, const ROWS: usize>(call: &LinearCall<'_>, panels: Range<usize>) {
    for panel in panels {
        for from in (0..call.inputs).step_by(INPUT_BLOCK) {
            let block = from..call.inputs.min(from + INPUT_BLOCK);
            let mut row = 0;
            // SAFETY: the caller's.
            unsafe {
                while row + ROWS <= call.rows {
                    tile::<L, ROWS>(call, panel, block.clone(), row);
                    row += ROWS;
                }
                rest::<L, ROWS>(call, panel, block, row);
            }
        }
    }
}

/// The rows that do not fill a tile, in tiles of 8, 4, 2, 1.
#[inline(always)]
unsafe fn rest<L: Lanes, const ROWS: usize>(call: &LinearCall<'_>, panel: usize, block: Range<usize>, mut row: usize) {
    // SAFETY: the caller's.
    unsafe {
        if ROWS > 8 && row + 8 <= call.rows {
            tile::<L, 8>(call, panel, block.clone(), row);
            row += 8;
        }
        if ROWS > 4 && row + 4 <= call.rows {
            tile::<L, 4>(call, panel, block.clone(), row);
            row += 4;
        }
        if ROWS > 2 && row + 2 <= call.rows {
            tile::<L, 2>(call, panel, block.clone(), row);
            row += 2;
        }
        while row < call.rows {
            tile::<L, 1>(call, panel, block.clone(), row);
            row += 1;
        }
    }
}

#[inline(always)]
unsafe fn tile<L: Lanes, const ROWS: usize>(call: &LinearCall<'_>, panel: usize, block: Range<usize>, row: usize) {
    let columns = PANEL.min(call.outputs - panel * PANEL);
    // SAFETY: the caller's; every index is within the stated shapes, and a narrow last panel goes through `edge`.
    unsafe {
        let out = call.out.add(row * call.outputs + panel * PANEL);
        if columns == PANEL {
            multiply::<L, ROWS>(call, panel, block, row, out, call.outputs);
        } else {
            let mut edge = [[0.0_f32; PANEL]; ROWS];
            for (r, line) in edge.iter_mut().enumerate() {
                std::ptr::copy_nonoverlapping(out.add(r * call.outputs), line.as_mut_ptr(), columns);
            }
            multiply::<L, ROWS>(call, panel, block, row, edge.as_mut_ptr().cast(), PANEL);
            for (r, line) in edge.iter().enumerate() {
                std::ptr::copy_nonoverlapping(line.as_ptr(), out.add(r * call.outputs), columns);
            }
        }
    }
}

/// Adds `block`'s products to `ROWS x 32` accumulators at `out`, whose rows are `stride` apart.
#[inline(always)]
unsafe fn multiply<L: Lanes, const ROWS: usize>(
    call: &LinearCall<'_>,
    panel: usize,
    block: Range<usize>,
    row: usize,
    out: *mut f32,
    stride: usize,
) {
    // SAFETY: the caller's.
    unsafe {
        let x = call.x.as_ptr().add(row * call.inputs);
        let w = call.packed.as_ptr().add(panel * call.inputs * PANEL);
        let mut sums = [[L::splat(0.0); 2]; ROWS];
        if block.start > 0 {
            for (r, sum) in sums.iter_mut().enumerate() {
                *sum = [L::load(out.add(r * stride)), L::load(out.add(r * stride + 16))];
            }
        }
        for k in block {
            let column = [L::load(w.add(k * PANEL)), L::load(w.add(k * PANEL + 16))];
            for (r, sum) in sums.iter_mut().enumerate() {
                let value = L::splat(*x.add(r * call.inputs + k));
                sum[0] = value.fma(column[0], sum[0]);
                sum[1] = value.fma(column[1], sum[1]);
            }
        }
        for (r, sum) in sums.iter().enumerate() {
            sum[0].store(out.add(r * stride));
            sum[1].store(out.add(r * stride + 16));
        }
    }
}
