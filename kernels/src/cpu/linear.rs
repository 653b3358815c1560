//! `out = x · wᵀ` over weights packed in panels of 32 outputs.
use super::lanes::Lanes;
use std::ops::Range;

/// Outputs of a panel: two vectors.
pub(crate) const PANEL: usize = 32;

/// Inputs between two stores of the accumulators: 1,024 x 32 weights are 128 KiB, which stay in L2 while all rows are
/// multiplied by them.
const INPUT_BLOCK: usize = 1024;

/// Weights in their stored type; they are widened to f32, exactly, when they are loaded.
#[derive(Clone, Copy)]
pub(crate) enum Elements<'a> {
    F32(&'a [f32]),
    F16(&'a [u16]),
    Bf16(&'a [u16]),
}

/// One type of [`Elements`].
trait Element: Copy {
    unsafe fn load<L: Lanes>(from: *const Self) -> L;
}

#[derive(Clone, Copy)]
#[repr(transparent)]
struct F16(u16);

#[derive(Clone, Copy)]
#[repr(transparent)]
struct Bf16(u16);

// SAFETY (of all three): as `Lanes`.
#[allow(clippy::undocumented_unsafe_blocks)]
impl Element for f32 {
    #[inline(always)]
    unsafe fn load<L: Lanes>(from: *const Self) -> L {
        unsafe { L::load(from) }
    }
}

#[allow(clippy::undocumented_unsafe_blocks)]
impl Element for F16 {
    #[inline(always)]
    unsafe fn load<L: Lanes>(from: *const Self) -> L {
        unsafe { L::load_f16(from.cast()) }
    }
}

#[allow(clippy::undocumented_unsafe_blocks)]
impl Element for Bf16 {
    #[inline(always)]
    unsafe fn load<L: Lanes>(from: *const Self) -> L {
        unsafe { L::load_bf16(from.cast()) }
    }
}

/// The operands of a matmul.
pub(crate) struct LinearCall<'a> {
    /// `[rows, inputs]`
    pub x: &'a [f32],
    /// `[panels, inputs, 32]`, outputs beyond the last padded with zeros
    pub packed: Elements<'a>,
    /// `[rows, outputs]`; tasks write disjoint columns
    pub out: *mut f32,
    pub inputs: usize,
    pub outputs: usize,
}

// SAFETY: `out` is only written through `run`, whose tasks own disjoint panels and so disjoint columns.
unsafe impl Sync for LinearCall<'_> {}

/// Computes the columns of `panels` for `rows`; register tiles of up to `ROWS` rows.
///
/// # Safety
/// The instructions of `L` exist; slices have the lengths stated; no other task writes these columns of these rows.
#[inline(always)]
pub(super) unsafe fn run<L: Lanes, const ROWS: usize>(call: &LinearCall<'_>, panels: Range<usize>, rows: Range<usize>) {
    // SAFETY: the caller's.
    unsafe {
        match call.packed {
            Elements::F32(packed) => blocks::<L, f32, ROWS>(call, packed.as_ptr(), panels, rows),
            Elements::F16(packed) => blocks::<L, F16, ROWS>(call, packed.as_ptr().cast(), panels, rows),
            Elements::Bf16(packed) => blocks::<L, Bf16, ROWS>(call, packed.as_ptr().cast(), panels, rows),
        }
    }
}

#[inline(always)]
unsafe fn blocks<L: Lanes, E: Element, const ROWS: usize>(
    call: &LinearCall<'_>,
    packed: *const E,
    panels: Range<usize>,
    rows: Range<usize>,
) {
    for panel in panels {
        for from in (0..call.inputs).step_by(INPUT_BLOCK) {
            let block = from..call.inputs.min(from + INPUT_BLOCK);
            let mut row = rows.start;
            // SAFETY: the caller's.
            unsafe {
                let packed = packed.add(panel * call.inputs * PANEL);
                while row + ROWS <= rows.end {
                    tile::<L, E, ROWS>(call, packed, panel, block.clone(), row);
                    row += ROWS;
                }
                rest::<L, E, ROWS>(call, packed, panel, block, row..rows.end);
            }
        }
    }
}

/// The rows that do not fill a tile, in tiles of 8, 4, 2, 1.
#[inline(always)]
unsafe fn rest<L: Lanes, E: Element, const ROWS: usize>(
    call: &LinearCall<'_>,
    packed: *const E,
    panel: usize,
    block: Range<usize>,
    rows: Range<usize>,
) {
    let mut row = rows.start;
    // SAFETY: the caller's.
    unsafe {
        if ROWS > 8 && row + 8 <= rows.end {
            tile::<L, E, 8>(call, packed, panel, block.clone(), row);
            row += 8;
        }
        if ROWS > 4 && row + 4 <= rows.end {
            tile::<L, E, 4>(call, packed, panel, block.clone(), row);
            row += 4;
        }
        if ROWS > 2 && row + 2 <= rows.end {
            tile::<L, E, 2>(call, packed, panel, block.clone(), row);
            row += 2;
        }
        while row < rows.end {
            tile::<L, E, 1>(call, packed, panel, block.clone(), row);
            row += 1;
        }
    }
}

#[inline(always)]
unsafe fn tile<L: Lanes, E: Element, const ROWS: usize>(
    call: &LinearCall<'_>,
    packed: *const E,
    panel: usize,
    block: Range<usize>,
    row: usize,
) {
    let columns = PANEL.min(call.outputs - panel * PANEL);
    // SAFETY: the caller's; every index is within the stated shapes, and a narrow last panel goes through `edge`.
    unsafe {
        let out = call.out.add(row * call.outputs + panel * PANEL);
        let mut edge = [[0.0_f32; PANEL]; ROWS];
        let narrow = columns < PANEL;
        if narrow {
            for (r, line) in edge.iter_mut().enumerate() {
                std::ptr::copy_nonoverlapping(out.add(r * call.outputs), line.as_mut_ptr(), columns);
            }
        }
        let (to, stride) = if narrow { (edge.as_mut_ptr().cast(), PANEL) } else { (out, call.outputs) };
        multiply::<L, E, ROWS>(call, packed, block, row, to, stride);
        if narrow {
            for (r, line) in edge.iter().enumerate() {
                std::ptr::copy_nonoverlapping(line.as_ptr(), out.add(r * call.outputs), columns);
            }
        }
    }
}

/// Adds `block`'s products to `ROWS x 32` accumulators at `out`, whose rows are `stride` apart.
#[inline(always)]
unsafe fn multiply<L: Lanes, E: Element, const ROWS: usize>(
    call: &LinearCall<'_>,
    w: *const E,
    block: Range<usize>,
    row: usize,
    out: *mut f32,
    stride: usize,
) {
    // SAFETY: the caller's.
    unsafe {
        let x = call.x.as_ptr().add(row * call.inputs);
        let mut sums = [[L::splat(0.0); 2]; ROWS];
        if block.start > 0 {
            for (r, sum) in sums.iter_mut().enumerate() {
                *sum = [L::load(out.add(r * stride)), L::load(out.add(r * stride + 16))];
            }
        }
        for k in block {
            let column: [L; 2] = [E::load(w.add(k * PANEL)), E::load(w.add(k * PANEL + 16))];
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
