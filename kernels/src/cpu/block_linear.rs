//! `out = x · wᵀ` over quantised weights and activations in bytes.
//!
//! The recipe, for every number of rows and every table: within a step (16 or 32 inputs) products are summed exactly, as
//! integers; then, over the steps in ascending order, `sum = fma(float(dot) * scale, x scale, sum)` and, where the type has
//! mins, `sum = fma(min, x scale * Σ x bytes, sum)`.

use super::blocks::{FORMATS, Format, LANES, Width};
use super::lanes::{Bytes, Ints, Lanes};
use super::linear::PANEL;
use super::quantise::{BLOCK, CHUNK, Quantised};
use super::unpack::{self, Half, SMALL_CHUNK, Scratch};
use std::ops::Range;

/// What a matmul reads and writes.
pub(crate) struct BlockCall<'a> {
    pub x: &'a Quantised,
    pub format: Format,
    /// `[panels]` of [`Format::panel_bytes`]
    pub packed: &'a [u8],
    /// `[rows, outputs]`; tasks write disjoint places
    pub out: *mut f32,
    pub outputs: usize,
}

// SAFETY: `out` is only written through `run`, whose tasks own disjoint panels or rows.
unsafe impl Sync for BlockCall<'_> {}

/// A chunk of inputs and where its results go.
#[derive(Clone, Copy)]
struct Place<'a> {
    call: &'a BlockCall<'a>,
    scratch: *const Scratch,
    /// First input of the chunk.
    from: usize,
    /// Inputs of the chunk.
    len: usize,
    out: *mut f32,
    stride: usize,
    row: usize,
}

/// Computes the columns of `panels` for `rows`; register tiles of up to `ROWS` rows by `HALVES` vectors.
///
/// # Safety
/// The instructions of `L` exist; slices have the lengths stated; no other task writes these columns of these rows.
#[inline(always)]
pub(super) unsafe fn run<L: Lanes, const ROWS: usize, const HALVES: usize>(
    call: &BlockCall<'_>,
    panels: Range<usize>,
    rows: Range<usize>,
) {
    let number = FORMATS.iter().position(|(_, format)| *format == call.format);
    // SAFETY: the caller's.
    unsafe {
        match number {
            Some(0) => run_format::<L, ROWS, HALVES, 0>(call, panels, rows),
            Some(1) => run_format::<L, ROWS, HALVES, 1>(call, panels, rows),
            Some(2) => run_format::<L, ROWS, HALVES, 2>(call, panels, rows),
            Some(3) => run_format::<L, ROWS, HALVES, 3>(call, panels, rows),
            Some(4) => run_format::<L, ROWS, HALVES, 4>(call, panels, rows),
            Some(5) => run_format::<L, ROWS, HALVES, 5>(call, panels, rows),
            Some(6) => run_format::<L, ROWS, HALVES, 6>(call, panels, rows),
            Some(7) => run_format::<L, ROWS, HALVES, 7>(call, panels, rows),
            Some(8) => run_format::<L, ROWS, HALVES, 8>(call, panels, rows),
            _ => run_format::<L, ROWS, HALVES, 9>(call, panels, rows),
        }
    }
}

/// As [`run`], for `FORMATS[FORMAT]`: what follows from the format is settled when this is compiled.
#[inline(always)]
unsafe fn run_format<L: Lanes, const ROWS: usize, const HALVES: usize, const FORMAT: usize>(
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
        for from in (0..inputs).step_by(chunk) {
            let chunk = from..inputs.min(from + chunk);
            // SAFETY: the caller's.
            unsafe {
                unpack::unpack::<L>(format, stored, chunk.clone(), scratch.as_mut_ptr());
                let place = Place {
                    call,
                    scratch: scratch.as_ptr(),
                    from,
                    len: chunk.len(),
                    out: call.out.add(rows.start * call.outputs + panel * PANEL),
                    stride: call.outputs,
                    row: rows.start,
                };
                let columns = PANEL.min(call.outputs - panel * PANEL);
                tiles::<L, ROWS, HALVES, FORMAT>(&place, rows.len(), columns);
            }
        }
    }
}

/// All rows in tiles as even as can be: eight rows are twice four, not six and two.
#[inline(always)]
unsafe fn tiles<L: Lanes, const ROWS: usize, const HALVES: usize, const FORMAT: usize>(
    place: &Place<'_>,
    rows: usize,
    columns: usize,
) {
    let count = rows.div_ceil(ROWS);
    let mut done = 0;
    for tile in 0..count {
        let many = (rows - done).div_ceil(count - tile);
        // SAFETY: the caller's; rows from `done` on are within `rows`.
        unsafe {
            let at = Place { out: place.out.add(done * place.stride), row: place.row + done, ..*place };
            match many {
                6 if ROWS >= 6 => edge::<L, 6, HALVES, FORMAT>(&at, columns),
                5 if ROWS >= 5 => edge::<L, 5, HALVES, FORMAT>(&at, columns),
                4 if ROWS >= 4 => edge::<L, 4, HALVES, FORMAT>(&at, columns),
                3 if ROWS >= 3 => edge::<L, 3, HALVES, FORMAT>(&at, columns),
                2 => edge::<L, 2, HALVES, FORMAT>(&at, columns),
                _ => edge::<L, 1, HALVES, FORMAT>(&at, columns),
            }
        }
        done += many;
    }
}

/// A tile whose panel may be narrower than its registers.
#[inline(always)]
unsafe fn edge<L: Lanes, const ROWS: usize, const HALVES: usize, const FORMAT: usize>(
    place: &Place<'_>,
    columns: usize,
) {
    // SAFETY: the caller's; a narrow last panel goes through a buffer of full width.
    unsafe {
        if columns == PANEL {
            return halves::<L, ROWS, HALVES, FORMAT>(place);
        }
        let mut buffer = [[0.0_f32; PANEL]; ROWS];
        for (r, line) in buffer.iter_mut().enumerate() {
            std::ptr::copy_nonoverlapping(place.out.add(r * place.stride), line.as_mut_ptr(), columns);
        }
        let out = buffer.as_mut_ptr().cast();
        halves::<L, ROWS, HALVES, FORMAT>(&Place { out, stride: PANEL, ..*place });
        for (r, line) in buffer.iter().enumerate() {
            std::ptr::copy_nonoverlapping(line.as_ptr(), place.out.add(r * place.stride), columns);
        }
    }
}

#[inline(always)]
unsafe fn halves<L: Lanes, const ROWS: usize, const HALVES: usize, const FORMAT: usize>(place: &Place<'_>) {
    for half in (0..2).step_by(HALVES) {
        // SAFETY: the caller's.
        unsafe { multiply::<L, ROWS, HALVES, FORMAT>(place, half) }
    }
}

/// `ROWS x (16 HALVES)` results of a chunk, added to what earlier chunks left in `out`.
#[inline(always)]
unsafe fn multiply<L: Lanes, const ROWS: usize, const HALVES: usize, const FORMAT: usize>(
    place: &Place<'_>,
    half: usize,
) {
    let Format { width, zero, step: per_step, has_min, .. } = const { FORMATS[FORMAT].1 };
    let x = place.call.x;
    let zero = if width == Width::Eight && L::Ints::EIGHT_IS_SIGNED { 0 } else { -zero };
    // SAFETY: the caller's; all places are within the shapes that `Quantised` and `Half` state.
    unsafe {
        let out = place.out.add(half * LANES);
        let mut sums = [[L::splat(0.0); HALVES]; ROWS];
        if place.from > 0 {
            for (r, sums) in sums.iter_mut().enumerate() {
                for (h, sum) in sums.iter_mut().enumerate() {
                    *sum = L::load(out.add(r * place.stride + h * LANES));
                }
            }
        }
        let halves = place.scratch.cast::<Half>().add(half);
        let (at, stride) = x.place(place.row, place.from);
        let (bytes, scales) = (x.bytes.as_ptr().add(at), x.scales.as_ptr().add(at / BLOCK));
        let byte_sums = x.sums.as_ptr().add(at / 16);
        for step in 0..place.len / per_step {
            let mut sums_of_bytes = [0; ROWS];
            if has_min || zero != 0 {
                for (r, sum) in sums_of_bytes.iter_mut().enumerate() {
                    let at = byte_sums.add(r * stride / 16 + step * per_step / 16);
                    *sum = if per_step == 32 { *at + *at.add(1) } else { *at };
                }
            }
            let mut dots = [[L::Ints::splat(0); HALVES]; ROWS];
            if zero != 0 {
                for (r, dots) in dots.iter_mut().enumerate() {
                    *dots = [L::Ints::splat(zero * sums_of_bytes[r]); HALVES];
                }
            }
            for group in 0..per_step / 4 {
                let input = step * per_step + 4 * group;
                let mut codes = [L::Bytes::load((*halves).codes.as_ptr().cast::<u8>().add(input * LANES)); HALVES];
                for (h, codes) in codes.iter_mut().enumerate().skip(1) {
                    *codes = L::Bytes::load((*halves.add(h)).codes.as_ptr().cast::<u8>().add(input * LANES));
                }
                for (r, dots) in dots.iter_mut().enumerate() {
                    let four = bytes.add(r * stride + input).cast::<i32>().read_unaligned();
                    for (dot, codes) in dots.iter_mut().zip(codes) {
                        *dot = if const { matches!(FORMATS[FORMAT].1.width, Width::Eight) } {
                            dot.dot::<true>(codes, four)
                        } else {
                            dot.dot::<false>(codes, four)
                        };
                    }
                }
            }
            for h in 0..HALVES {
                let scale = L::load((*halves.add(h)).scales.as_ptr().cast::<f32>().add(step * LANES));
                for r in 0..ROWS {
                    let x_scale = L::splat(*scales.add(r * stride / BLOCK + step * per_step / BLOCK));
                    sums[r][h] = dots[r][h].to_floats().mul(scale).fma(x_scale, sums[r][h]);
                }
                if has_min {
                    let min = L::load((*halves.add(h)).mins.as_ptr().cast::<f32>().add(step * LANES));
                    for r in 0..ROWS {
                        let x_scale = *scales.add(r * stride / BLOCK + step * per_step / BLOCK);
                        sums[r][h] = min.fma(L::splat(x_scale * sums_of_bytes[r] as f32), sums[r][h]);
                    }
                }
            }
        }
        for (r, sums) in sums.iter().enumerate() {
            for (h, sum) in sums.iter().enumerate() {
                sum.store(out.add(r * place.stride + h * LANES));
            }
        }
    }
}
