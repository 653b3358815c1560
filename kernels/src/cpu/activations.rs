//! Activations quantised by the kernels of a table.

use super::int16::{Int16, SPAN};
use super::quantise::{BLOCK, CHUNK, Int8, RowChunk};
use super::table::Table;
use rayon::prelude::*;

/// Rows up to which a layer's input is quantised on the calling thread.
const ROWS_ALONE: usize = 4;

impl Int8 {
    /// Quantises `x`, `[rows, inputs]`, by `table`'s kernel; on the calling thread where there are few rows.
    pub(crate) fn fill(&mut self, table: &'static Table, x: &[f32]) {
        let (rows, inputs) = (self.rows, self.inputs);
        let chunks = self.values.par_chunks_mut(CHUNK).zip(self.scales.par_chunks_mut(CHUNK / BLOCK));
        let chunks =
            chunks.zip(self.sums.par_chunks_mut(CHUNK / 16)).zip(self.min_factors.par_chunks_mut(CHUNK / BLOCK));
        let chunks = chunks.take(inputs.div_ceil(CHUNK) * rows);
        let alone = if rows <= ROWS_ALONE { usize::MAX } else { 16 };
        chunks.enumerate().with_min_len(alone).for_each(|(chunk, (((values, scales), sums), min_factors))| {
            fill_one(table, x, (rows, inputs), chunk, RowChunk { values, scales, sums, min_factors });
        });
    }

    /// As [`Self::fill`], without the thread pool, which may not exist yet.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn fill_here(&mut self, table: &'static Table, x: &[f32]) {
        let (rows, inputs) = (self.rows, self.inputs);
        let chunks = self.values.chunks_mut(CHUNK).zip(self.scales.chunks_mut(CHUNK / BLOCK));
        let chunks = chunks.zip(self.sums.chunks_mut(CHUNK / 16)).zip(self.min_factors.chunks_mut(CHUNK / BLOCK));
        let chunks = chunks.take(inputs.div_ceil(CHUNK) * rows);
        for (chunk, (((values, scales), sums), min_factors)) in chunks.enumerate() {
            fill_one(table, x, (rows, inputs), chunk, RowChunk { values, scales, sums, min_factors });
        }
    }
}

/// RowChunk `number` of `x`, `[rows, inputs]`.
fn fill_one(table: &'static Table, x: &[f32], (rows, inputs): (usize, usize), number: usize, chunk: RowChunk<'_>) {
    let from = number / rows * CHUNK;
    let x = &x[number % rows * inputs..][from..inputs.min(from + CHUNK)];
    // SAFETY: the table was chosen by what this machine can run; the slices are those of one chunk.
    unsafe { (table.quantise_i8)(x, chunk) }
}

impl Int16 {
    /// Quantises `x`, `[rows, inputs]`, by `table`'s kernel; `inputs` is a multiple of 32.
    pub(crate) fn new(table: &'static Table, x: &[f32], rows: usize, inputs: usize) -> Self {
        let spans = inputs.div_ceil(SPAN);
        let mut values: Vec<i16> = Vec::with_capacity(rows * inputs);
        let mut scales: Vec<f32> = Vec::with_capacity(rows * spans);
        let pieces = values.spare_capacity_mut()[..rows * inputs].par_chunks_mut(inputs);
        let pieces = pieces.zip(scales.spare_capacity_mut()[..rows * spans].par_chunks_mut(spans));
        pieces.zip(x.par_chunks(inputs)).with_min_len(16).for_each(|((values, scales), x)| {
            // SAFETY: the table was chosen by what this machine can run; the slices are those of one row.
            unsafe { (table.quantise_i16)(x, values.as_mut_ptr().cast(), scales.as_mut_ptr().cast()) }
        });
        // SAFETY: they have these capacities, and every row of both was written.
        unsafe {
            values.set_len(rows * inputs);
            scales.set_len(rows * spans);
        }
        Self { inputs, values, scales }
    }
}
