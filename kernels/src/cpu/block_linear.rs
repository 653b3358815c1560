//! `out = x · wᵀ` over quantised weights and activations in bytes.
//!
//! The recipe, for every number of rows and every table: within a step (16 or 32 inputs) products are summed exactly, as
//! integers; then, over the steps in ascending order, `sum = fma(float(dot) * scale, x scale, sum)` and, where the type has
//! mins, `sum = fma(min, x scale * Σ x bytes, sum)`.

use super::blocks::{Format, LANES, Width};
use super::lanes::{Bytes, Ints, Lanes};
use super::linear::PANEL;
use super::quantise::{BLOCK, Quantised};
use super::unpack::{self, CHUNK, Half, Scratch};
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
    let format = call.format;
    let (inputs, bytes) = (call.x.inputs, format.panel_bytes(call.x.inputs));
    let mut scratch = unpack::scratch();
    for panel in panels {
        let stored = &call.packed[panel * bytes..][..bytes];
        for from in (0..inputs).step_by(CHUNK) {
            let chunk = from..inputs.min(from + CHUNK);
            let units = chunk.len() / format.unit();
            // SAFETY: the caller's.
            unsafe {
                let at = &stored[2 * from / format.unit() * format.unit_bytes()..];
                unpack::unpack::<L>(format, at, units, scratch.as_mut_ptr());
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
                tiles::<L, ROWS, HALVES>(&place, rows.len(), columns);
            }
        }
    }
}

/// All rows in tiles as even as can be: eight rows are twice four, not six and two.
#[inline(always)]
unsafe fn tiles<L: Lanes, const ROWS: usize, const HALVES: usize>(place: &Place<'_>, rows: usize, columns: usize) {
    let count = rows.div_ceil(ROWS);
    let mut done = 0;
    for tile in 0..count {
        let many = (rows - done).div_ceil(count - tile);
        // SAFETY: the caller's; rows from `done` on are within `rows`.
        unsafe {
            let at = Place { out: place.out.add(done * place.stride), row: place.row + done, ..*place };
            match many {
                6 if ROWS >= 6 => edge::<L, 6, HALVES>(&at, columns),
                5 if ROWS >= 5 => edge::<L, 5, HALVES>(&at, columns),
                4 if ROWS >= 4 => edge::<L, 4, HALVES>(&at, columns),
                3 if ROWS >= 3 => edge::<L, 3, HALVES>(&at, columns),
                2 => edge::<L, 2, HALVES>(&at, columns),
                _ => edge::<L, 1, HALVES>(&at, columns),
            }
        }
        done += many;
    }
}

/// A tile whose panel may be narrower than its registers.
#[inline(always)]
unsafe fn edge<L: Lanes, const ROWS: usize, const HALVES: usize>(place: &Place<'_>, columns: usize) {
    // SAFETY: the caller's; a narrow last panel goes through a buffer of full width.
    unsafe {
        if columns == PANEL {
            return formats::<L, ROWS, HALVES>(place);
        }
        let mut buffer = [[0.0_f32; PANEL]; ROWS];
        for (r, line) in buffer.iter_mut().enumerate() {
            std::ptr::copy_nonoverlapping(place.out.add(r * place.stride), line.as_mut_ptr(), columns);
        }
        let out = buffer.as_mut_ptr().cast();
        formats::<L, ROWS, HALVES>(&Place { out, stride: PANEL, ..*place });
        for (r, line) in buffer.iter().enumerate() {
            std::ptr::copy_nonoverlapping(line.as_ptr(), place.out.add(r * place.stride), columns);
        }
    }
}

#[inline(always)]
unsafe fn formats<L: Lanes, const ROWS: usize, const HALVES: usize>(place: &Place<'_>) {
    let format = place.call.format;
    for half in (0..2).step_by(HALVES) {
        // SAFETY: the caller's.
        unsafe {
            match (format.step, format.has_min, format.width) {
                (16, true, _) => multiply::<L, ROWS, HALVES, 16, true, false>(place, half),
                (16, false, _) => multiply::<L, ROWS, HALVES, 16, false, false>(place, half),
                (_, true, _) => multiply::<L, ROWS, HALVES, 32, true, false>(place, half),
                (_, _, Width::Eight) => multiply::<L, ROWS, HALVES, 32, false, true>(place, half),
                _ => multiply::<L, ROWS, HALVES, 32, false, false>(place, half),
            }
        }
    }
}

/// `ROWS x (16 HALVES)` results of a chunk, added to what earlier chunks left in `out`.
#[inline(always)]
unsafe fn multiply<
    L: Lanes,
    const ROWS: usize,
    const HALVES: usize,
    const STEP: usize,
    const MIN: bool,
    const EIGHT: bool,
>(
    place: &Place<'_>,
    half: usize,
) {
    let (call, x) = (place.call, place.call.x);
    let zero = if EIGHT && L::Ints::EIGHT_IS_SIGNED { 0 } else { -call.format.zero };
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
        let bytes = x.bytes.as_ptr().add(place.row * x.inputs + place.from);
        let scales = x.scales.as_ptr().add((place.row * x.inputs + place.from) / BLOCK);
        let byte_sums = x.sums.as_ptr().add((place.row * x.inputs + place.from) / 16);
        for step in 0..place.len / STEP {
            let mut sums_of_bytes = [0; ROWS];
            if MIN || zero != 0 {
                for (r, sum) in sums_of_bytes.iter_mut().enumerate() {
                    let at = byte_sums.add(r * x.inputs / 16 + step * STEP / 16);
                    *sum = if STEP == 32 { *at + *at.add(1) } else { *at };
                }
            }
            let mut dots = [[L::Ints::splat(0); HALVES]; ROWS];
            if zero != 0 {
                for (r, dots) in dots.iter_mut().enumerate() {
                    *dots = [L::Ints::splat(zero * sums_of_bytes[r]); HALVES];
                }
            }
            for group in 0..STEP / 4 {
                let input = step * STEP + 4 * group;
                let mut codes = [L::Bytes::load((*halves).codes.as_ptr().cast::<u8>().add(input * LANES)); HALVES];
                for (h, codes) in codes.iter_mut().enumerate().skip(1) {
                    *codes = L::Bytes::load((*halves.add(h)).codes.as_ptr().cast::<u8>().add(input * LANES));
                }
                for (r, dots) in dots.iter_mut().enumerate() {
                    let four = bytes.add(r * x.inputs + input).cast::<i32>().read_unaligned();
                    for (dot, codes) in dots.iter_mut().zip(codes) {
                        *dot = dot.dot::<EIGHT>(codes, four);
                    }
                }
            }
            for h in 0..HALVES {
                let scale = L::load((*halves.add(h)).scales.as_ptr().cast::<f32>().add(step * LANES));
                for r in 0..ROWS {
                    let x_scale = L::splat(*scales.add(r * x.inputs / BLOCK + step * STEP / BLOCK));
                    sums[r][h] = dots[r][h].to_floats().mul(scale).fma(x_scale, sums[r][h]);
                }
                if MIN {
                    let min = L::load((*halves.add(h)).mins.as_ptr().cast::<f32>().add(step * LANES));
                    for r in 0..ROWS {
                        let x_scale = *scales.add(r * x.inputs / BLOCK + step * STEP / BLOCK);
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
