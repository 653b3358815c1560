//! Activations as bytes: blocks of 32 with one scale each, shared by every weight that a layer's input meets.

use super::Table;
use super::lanes::{Lanes, scaled_within};
use rayon::prelude::*;

/// Rows up to which the caller brings a layer's input to bytes by itself.
const ROWS_ALONE: usize = 4;

/// Inputs that share a scale.
pub(crate) const BLOCK: usize = 32;

/// Largest byte: symmetric, so that a product with 128 still fits sixteen bits twice.
const LARGEST: f32 = 127.0;

/// Inputs of all rows that lie together: what a matmul takes at a time, so that it reads them as one stream.
pub(crate) const CHUNK: usize = 256;

/// `[rows, inputs]` in bytes, chunk by chunk: `[inputs / CHUNK][rows][CHUNK]`. The last chunk may hold less but is as
/// long, so that a kernel finds every row at a distance known when it is compiled.
#[derive(Debug, Default)]
pub(crate) struct Quantised {
    pub rows: usize,
    pub inputs: usize,
    /// From -127 to 127.
    pub bytes: Vec<i8>,
    /// In the same order, one for [`BLOCK`] bytes.
    pub scales: Vec<f32>,
    /// In the same order, sums of sixteen bytes.
    pub sums: Vec<i32>,
    /// In the same order, one for [`BLOCK`] bytes: their scale times their sum, which is what a weight's min multiplies.
    pub weights: Vec<f32>,
}

impl Quantised {
    /// Room for `rows`; every piece is still to be filled by [`run`].
    pub(crate) fn new(rows: usize, inputs: usize) -> Self {
        let held = inputs.div_ceil(CHUNK) * rows * CHUNK;
        let blocks = vec![0.0; held / BLOCK];
        Self { rows, inputs, bytes: vec![0; held], scales: blocks.clone(), sums: vec![0; held / 16], weights: blocks }
    }

    /// Where the bytes of `row` from `input` on lie; the next row's are [`CHUNK`] further.
    pub(super) fn place(&self, row: usize, input: usize) -> usize {
        (input / CHUNK * self.rows + row) * CHUNK + input % CHUNK
    }

    /// Brings `x`, `[rows, inputs]`, to bytes by `table`'s kernel, on this thread where the rows are few.
    pub(crate) fn fill(&mut self, table: &'static Table, x: &[f32]) {
        let (rows, inputs) = (self.rows, self.inputs);
        let pieces = self.bytes.par_chunks_mut(CHUNK).zip(self.scales.par_chunks_mut(CHUNK / BLOCK));
        let pieces = pieces.zip(self.sums.par_chunks_mut(CHUNK / 16)).zip(self.weights.par_chunks_mut(CHUNK / BLOCK));
        let alone = if rows <= ROWS_ALONE { usize::MAX } else { 16 };
        pieces.enumerate().with_min_len(alone).for_each(|(piece, (((bytes, scales), sums), weights))| {
            let from = piece / rows * CHUNK;
            let x = &x[piece % rows * inputs..][from..inputs.min(from + CHUNK)];
            // SAFETY: the table was chosen by what this machine can run; the slices are those of one piece.
            unsafe { (table.quantise)(x, Piece { bytes, scales, sums, weights }) }
        });
    }
}

/// Where the results of some inputs of one row go.
pub(crate) struct Piece<'a> {
    bytes: &'a mut [i8],
    /// One for [`BLOCK`] bytes.
    scales: &'a mut [f32],
    /// One for sixteen bytes.
    sums: &'a mut [i32],
    /// One for [`BLOCK`] bytes.
    weights: &'a mut [f32],
}

/// One piece of a row: `bytes = round(x / scale)` with `scale = max |x| / 127` of a block. A value that is no finite number makes
/// its block's scale NaN, and so every output of the row.
///
/// # Safety
/// The instructions of `L` exist; the slices have the lengths that [`Quantised`] says for one piece, `x` at most as many.
#[inline(always)]
pub(super) unsafe fn run<L: Lanes>(x: &[f32], Piece { bytes, scales, sums, weights }: Piece<'_>) {
    // Below this the reciprocal overflows; such a block is all zeros for every purpose.
    const SMALLEST: f32 = 1e-30;
    for (block, x) in x.as_chunks::<BLOCK>().0.iter().enumerate() {
        let bytes = &mut bytes[block * BLOCK..][..BLOCK];
        // SAFETY: instructions by the caller; both halves of the block lie within the slices.
        unsafe {
            let (a, b) = (L::load(x.as_ptr()), L::load(x.as_ptr().add(16)));
            let zero = L::splat(0.0);
            // The second operand is taken where the first is NaN, so lanes of the result are numbers.
            let largest = a.max(zero.sub(a).max(b.max(zero.sub(b).max(zero)))).largest();
            // x * 0 is 0, or NaN for what is no finite number.
            let finite = a.fma(zero, b.mul(zero)).sum_of_zeros();
            let reciprocal = if largest > SMALLEST { LARGEST / largest } else { 0.0 };
            let scale = if largest > SMALLEST { largest / LARGEST } else { 0.0 };
            scales[block] = scale + finite;
            scaled_within(a, reciprocal, LARGEST).store_rounded(bytes.as_mut_ptr());
            scaled_within(b, reciprocal, LARGEST).store_rounded(bytes.as_mut_ptr().add(16));
        }
        for (sum, sixteen) in sums[2 * block..].iter_mut().zip(bytes.as_chunks::<16>().0) {
            *sum = sixteen.iter().map(|&byte| i32::from(byte)).sum();
        }
        weights[block] = scales[block] * (sums[2 * block] + sums[2 * block + 1]) as f32;
    }
}
