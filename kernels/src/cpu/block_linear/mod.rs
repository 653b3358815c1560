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

use super::blocks::{FORMATS, Width, by_format};
use super::lanes::{Ints, Lanes};
use super::linear::PANEL;
use super::quantise::CHUNK;
use super::unpack::{self, SMALL_CHUNK};
use call::ChunkTask;
use few::few;
use std::ops::Range;
use tiles::tiles;

/// Rows up to which AMX's table multiplies in registers too.
#[allow(dead_code, reason = "only used with AMX, which is compiled for x86-64")]
pub(super) const FEW: usize = 8;

/// Rows up to which codes are unpacked in registers: a pass of `AT_ONCE` or two.
const fn few_rows<L: Lanes, const AT_ONCE: usize, const FORMAT: usize>() -> usize {
    // Codes of eight bits need no unpacking.
    let one_pass = L::Ints::NARROW && !matches!(FORMATS[FORMAT].1.width, Width::Eight);
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
    // SAFETY: the caller's.
    unsafe { by_format!(call.format, run_format::<L, ROWS, HALVES, AT_ONCE>(call, panels, rows)) }
}

/// As [`run`], for `FORMATS[FORMAT]`: all that depends on the format is constant.
#[inline(always)]
unsafe fn run_format<L: Lanes, const ROWS: usize, const HALVES: usize, const AT_ONCE: usize, const FORMAT: usize>(
    call: &BlockCall<'_>,
    panels: Range<usize>,
    rows: Range<usize>,
) {
    let format = const { FORMATS[FORMAT].1 };
    let (inputs, bytes) = (call.x.inputs, format.panel_bytes(call.x.inputs));
    let chunk = if rows.len() <= ROWS { SMALL_CHUNK } else { CHUNK };
    let mut scratch = unpack::scratch();
    for panel in panels {
        let stored = &call.packed[panel * bytes..][..bytes];
        let columns = PANEL.min(call.outputs - panel * PANEL);
        if rows.len() <= const { few_rows::<L, AT_ONCE, FORMAT>() } {
            // SAFETY: the caller's.
            unsafe { few::<L, AT_ONCE, FORMAT>(call, stored, panel, columns, rows.clone()) };
            continue;
        }
        for from in (0..inputs).step_by(chunk) {
            let chunk = from..inputs.min(from + chunk);
            // SAFETY: the caller's.
            unsafe {
                unpack::unpack::<L, false>(format, stored, chunk.clone(), scratch.as_mut_ptr());
                let task = ChunkTask {
                    call,
                    scratch: scratch.as_ptr(),
                    from,
                    len: chunk.len(),
                    out: call.out(rows.start, panel),
                    stride: call.outputs,
                    row: rows.start,
                };
                tiles::<L, ROWS, HALVES, FORMAT>(&task, rows.len(), columns);
            }
        }
    }
}
