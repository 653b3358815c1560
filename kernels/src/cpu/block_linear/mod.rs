//! `out = x · wᵀ` over quantised weights and int8 activations.
//!
//! The recipe (`recipe`), for every number of rows and every table, over blocks of 32 inputs in ascending order: within a step (16
//! or 32 inputs that share a scale) products are summed exactly, as integers, to `dot`. A block's sum is `part =
//! float(dot) * scale`, and of its second step, where it has two, `part = fma(float(dot), scale, part)`. Then `sum =
//! fma(part, x scale, sum)` and, for each step where the type has mins, `sum = fma(min, x scale * Σ x values, sum)`.

mod call;
mod few;
pub(super) mod recipe;
mod step;
mod tiles;

pub(crate) use call::BlockCall;

use super::blocks::{Format, Width, by_format, by_products};
use super::lanes::{Ints, Lanes};
use super::linear::PANEL;
use super::quantise::CHUNK;
use super::unpack::{SMALL_CHUNK, scratch, unpack_format};
use call::ChunkTask;
use few::{Few, few};
use std::ops::Range;
use tiles::tiles;

/// Rows up to which AMX's table multiplies in registers too.
#[allow(dead_code, reason = "only used with AMX, which is compiled for x86-64")]
pub(super) const FEW: usize = 8;

/// Rows up to which codes are unpacked in registers: a pass of `AT_ONCE` or two.
fn few_rows<L: Lanes, const AT_ONCE: usize>(format: Format) -> usize {
    // Codes of eight bits need no unpacking.
    let one_pass = L::Ints::NARROW && format.width != Width::Eight;
    AT_ONCE * if one_pass { 1 } else { 2 }
}

/// Computes the columns of `panels` for `rows`: register tiles of up to `ROWS` rows by `HALVES` vectors, or, of few rows,
/// passes of up to `AT_ONCE`.
///
/// # Safety
/// The instructions of `L` exist; slices have the lengths stated; no other task writes these columns of these rows.
#[inline(always)]
pub(super) unsafe fn run<L: Lanes, const ROWS: usize, const HALVES: usize, const AT_ONCE: usize>(
    call: &BlockCall<'_>,
    panels: Range<usize>,
    rows: Range<usize>,
) {
    let BlockCall { format, x, .. } = *call;
    let (bytes, index, multiplied_as) = (format.panel_bytes(x.inputs), format.index(), format.multiplied_as());
    let in_registers = rows.len() <= few_rows::<L, AT_ONCE>(format);
    let chunk = if rows.len() <= ROWS { SMALL_CHUNK } else { CHUNK };
    let mut scratch = scratch();
    for panel in panels {
        let stored = &call.packed[panel * bytes..][..bytes];
        let columns = PANEL.min(call.outputs - panel * PANEL);
        // SAFETY: the caller's; a chunk is unpacked before it is multiplied.
        unsafe {
            if in_registers {
                let rows = rows.clone();
                by_format!(index, few::<L, AT_ONCE>(Few { call, panel: stored, number: panel, columns, rows }));
                continue;
            }
            for from in (0..x.inputs).step_by(chunk) {
                let chunk = from..x.inputs.min(from + chunk);
                by_format!(index, unpack_format::<L, false>(stored, chunk.clone(), scratch.as_mut_ptr()));
                let task = ChunkTask {
                    call,
                    columns,
                    rows: rows.len(),
                    scratch: scratch.as_ptr(),
                    from,
                    len: chunk.len(),
                    out: call.out(rows.start, panel),
                    stride: call.outputs,
                    row: rows.start,
                };
                by_products!(multiplied_as, tiles::<L, ROWS, HALVES>(task));
            }
        }
    }
}
