//! `out = x · wᵀ` over quantised weights and activations in bytes.
//!
//! The recipe, for every number of rows and every table, over blocks of 32 inputs in ascending order: within a step (16 or
//! 32 inputs that share a scale) products are summed exactly, as integers, to `dot`. A block's sum is `part = float(dot) *
//! scale`, and of its second step, where it has two, `part = fma(float(dot), scale, part)`. Then `sum = fma(part, x scale,
//! sum)` and, for each step where the type has mins, `sum = fma(min, x scale * Σ x bytes, sum)`.

use super::blocks::{FORMATS, Format, LANES, Width};
use super::lanes::{Bytes, Ints, Lanes};
use super::linear::PANEL;
use super::quantise::{BLOCK, CHUNK, Quantised};
use super::unpack::{self, Half, SMALL_CHUNK, Scratch, Stored};
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

/// Rows whose codes go from memory to the multiplier in registers, with no stop in between.
const AT_ONCE: usize = 4;

/// Rows up to which a table with wide enough tiles takes that way.
pub(super) const FEW: usize = 2 * AT_ONCE;

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
        let columns = PANEL.min(call.outputs - panel * PANEL);
        if rows.len() <= FEW.min(2 * ROWS) {
            // SAFETY: the caller's.
            unsafe { few::<L, ROWS, FORMAT>(call, stored, panel, columns, rows.clone()) };
            continue;
        }
        for from in (0..inputs).step_by(chunk) {
            let chunk = from..inputs.min(from + chunk);
            // SAFETY: the caller's.
            unsafe {
                unpack::unpack::<L, false>(format, stored, chunk.clone(), scratch.as_mut_ptr());
                let place = Place {
                    call,
                    scratch: scratch.as_ptr(),
                    from,
                    len: chunk.len(),
                    out: call.out.add(rows.start * call.outputs + panel * PANEL),
                    stride: call.outputs,
                    row: rows.start,
                };
                tiles::<L, ROWS, HALVES, FORMAT>(&place, rows.len(), columns);
            }
        }
    }
}

/// Rows of a panel that are one or two passes of [`straight`]: its codes are taken apart once a pass, and stay in L1.
#[inline(always)]
unsafe fn few<L: Lanes, const ROWS: usize, const FORMAT: usize>(
    call: &BlockCall<'_>,
    panel: &[u8],
    number: usize,
    columns: usize,
    rows: Range<usize>,
) {
    let most = rows.len().div_ceil(rows.len().div_ceil(ROWS.min(AT_ONCE)));
    for row in rows.clone().step_by(most) {
        let many = most.min(rows.end - row);
        // SAFETY: the caller's; a narrow last panel goes through a buffer of full width.
        unsafe {
            let out = call.out.add(row * call.outputs + number * PANEL);
            let mut buffer = [[0.0_f32; PANEL]; AT_ONCE];
            let narrow = columns < PANEL;
            let (to, stride) = if narrow { (buffer.as_mut_ptr().cast(), PANEL) } else { (out, call.outputs) };
            match many {
                4 if ROWS >= 4 => straight::<L, 4, FORMAT>(call, panel, row, to, stride),
                3 if ROWS >= 3 => straight::<L, 3, FORMAT>(call, panel, row, to, stride),
                2 => straight::<L, 2, FORMAT>(call, panel, row, to, stride),
                _ => straight::<L, 1, FORMAT>(call, panel, row, to, stride),
            }
            for (r, line) in buffer[..many].iter().enumerate().filter(|_| narrow) {
                std::ptr::copy_nonoverlapping(line.as_ptr(), out.add(r * call.outputs), columns);
            }
        }
    }
}

/// `ROWS x 32` results over all inputs, each step taken apart in registers.
#[inline(always)]
unsafe fn straight<L: Lanes, const ROWS: usize, const FORMAT: usize>(
    call: &BlockCall<'_>,
    panel: &[u8],
    row: usize,
    out: *mut f32,
    stride: usize,
) {
    let format = const { FORMATS[FORMAT].1 };
    let (x, steps) = (call.x, BLOCK / format.step);
    // SAFETY: the caller's.
    unsafe {
        let mut sums = [[L::splat(0.0); 2]; ROWS];
        for input in (0..x.inputs).step_by(BLOCK) {
            let at = x.place(row, input);
            let x = Activations { bytes: x.bytes.as_ptr().add(at), sums: x.sums.as_ptr().add(at / 16) };
            let (scales, weights) = (call.x.scales.as_ptr().add(at / BLOCK), call.x.weights.as_ptr().add(at / BLOCK));
            for half in 0..2 {
                let stored = Stored::<L>::at(format, panel, input, half);
                stored.ask_ahead();
                let codes = stored.codes();
                let mut parts = [L::splat(0.0); ROWS];
                for step in 0..steps {
                    let scale = stored.scale(step);
                    let codes = &codes[step * 8 / steps..(step + 1) * 8 / steps];
                    for (r, part) in parts.iter_mut().enumerate() {
                        let dot = dot_of::<L, FORMAT>(codes, x, r, step).to_floats();
                        *part = if step == 0 { dot.mul(scale) } else { dot.fma(scale, *part) };
                    }
                }
                for (r, part) in parts.into_iter().enumerate() {
                    let x_scale = *scales.add(r * (CHUNK / BLOCK));
                    sums[r][half] = part.fma(L::splat(x_scale), sums[r][half]);
                }
                if format.has_min {
                    for step in 0..steps {
                        let min = stored.min(step);
                        for (r, sums) in sums.iter_mut().enumerate() {
                            let weight = if steps == 1 {
                                *weights.add(r * (CHUNK / BLOCK))
                            } else {
                                *scales.add(r * (CHUNK / BLOCK)) * bytes_of(x.sums, r, step, format.step) as f32
                            };
                            sums[half] = min.fma(L::splat(weight), sums[half]);
                        }
                    }
                }
            }
        }
        for (r, sums) in sums.iter().enumerate() {
            sums[0].store(out.add(r * stride));
            sums[1].store(out.add(r * stride + LANES));
        }
    }
}

/// 32 inputs of the rows from some row on.
#[derive(Clone, Copy)]
struct Activations {
    bytes: *const i8,
    sums: *const i32,
}

/// `Σ (code - zero) * x` over a step's inputs, of one row and half a panel.
#[inline(always)]
unsafe fn dot_of<L: Lanes, const FORMAT: usize>(codes: &[L::Bytes], x: Activations, r: usize, step: usize) -> L::Ints {
    let per_step = const { FORMATS[FORMAT].1.step };
    // SAFETY: the caller's.
    unsafe {
        let mut dot = match zero_of::<L, FORMAT>() {
            0 => L::Ints::splat(0),
            zero => L::Ints::splat(zero * bytes_of(x.sums, r, step, per_step)),
        };
        for (group, codes) in codes.iter().enumerate() {
            let four = x.bytes.add(r * CHUNK + step * per_step + 4 * group).cast::<i32>().read_unaligned();
            dot = if const { matches!(FORMATS[FORMAT].1.width, Width::Eight) } {
                dot.dot::<true>(*codes, four)
            } else {
                dot.dot::<false>(*codes, four)
            };
        }
        dot
    }
}

/// What the sum of a step's bytes is multiplied by to begin its dot product: minus the zero, where the codes have it in.
#[inline(always)]
fn zero_of<L: Lanes, const FORMAT: usize>() -> i32 {
    let Format { width, zero, .. } = const { FORMATS[FORMAT].1 };
    if width == Width::Eight && L::Ints::EIGHT_IS_SIGNED { 0 } else { -zero }
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
    let Format { step: per_step, has_min, .. } = const { FORMATS[FORMAT].1 };
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
        let x = place.call.x;
        let at = x.place(place.row, place.from);
        let (bytes, scales) = (x.bytes.as_ptr().add(at), x.scales.as_ptr().add(at / BLOCK));
        let (byte_sums, weights) = (x.sums.as_ptr().add(at / 16), x.weights.as_ptr().add(at / BLOCK));
        for block in 0..place.len / BLOCK {
            let mut parts = [[L::splat(0.0); HALVES]; ROWS];
            for step in block * BLOCK / per_step..(block + 1) * BLOCK / per_step {
                let dots = dots::<L, ROWS, HALVES, FORMAT>(halves, bytes, byte_sums, step);
                for h in 0..HALVES {
                    let scale = L::load((*halves.add(h)).scales.as_ptr().cast::<f32>().add(step * LANES));
                    for r in 0..ROWS {
                        let dot = dots[r][h].to_floats();
                        let first = step * per_step == block * BLOCK;
                        parts[r][h] = if first { dot.mul(scale) } else { dot.fma(scale, parts[r][h]) };
                    }
                }
            }
            for (r, (sums, parts)) in sums.iter_mut().zip(parts).enumerate() {
                let x_scale = L::splat(*scales.add(r * (CHUNK / BLOCK) + block));
                for (sum, part) in sums.iter_mut().zip(parts) {
                    *sum = part.fma(x_scale, *sum);
                }
            }
            if has_min {
                for step in block * BLOCK / per_step..(block + 1) * BLOCK / per_step {
                    for h in 0..HALVES {
                        let min = L::load((*halves.add(h)).mins.as_ptr().cast::<f32>().add(step * LANES));
                        for (r, sums) in sums.iter_mut().enumerate() {
                            let weight = if per_step == BLOCK {
                                *weights.add(r * (CHUNK / BLOCK) + block)
                            } else {
                                *scales.add(r * (CHUNK / BLOCK) + block) * bytes_of(byte_sums, r, step, per_step) as f32
                            };
                            sums[h] = min.fma(L::splat(weight), sums[h]);
                        }
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

/// `Σ (code - zero) * x` over a step's inputs.
#[inline(always)]
unsafe fn dots<L: Lanes, const ROWS: usize, const HALVES: usize, const FORMAT: usize>(
    halves: *const Half,
    bytes: *const i8,
    byte_sums: *const i32,
    step: usize,
) -> [[L::Ints; HALVES]; ROWS] {
    let Format { step: per_step, .. } = const { FORMATS[FORMAT].1 };
    let zero = zero_of::<L, FORMAT>();
    // SAFETY: the caller's.
    unsafe {
        let mut dots = [[L::Ints::splat(0); HALVES]; ROWS];
        if zero != 0 {
            for (r, dots) in dots.iter_mut().enumerate() {
                *dots = [L::Ints::splat(zero * bytes_of(byte_sums, r, step, per_step)); HALVES];
            }
        }
        for group in 0..per_step / 4 {
            let input = step * per_step + 4 * group;
            let mut codes = [L::Bytes::load((*halves).codes.as_ptr().cast::<u8>().add(input * LANES)); HALVES];
            for (h, codes) in codes.iter_mut().enumerate().skip(1) {
                *codes = L::Bytes::load((*halves.add(h)).codes.as_ptr().cast::<u8>().add(input * LANES));
            }
            for (r, dots) in dots.iter_mut().enumerate() {
                let four = bytes.add(r * CHUNK + input).cast::<i32>().read_unaligned();
                for (dot, codes) in dots.iter_mut().zip(codes) {
                    *dot = if const { matches!(FORMATS[FORMAT].1.width, Width::Eight) } {
                        dot.dot::<true>(codes, four)
                    } else {
                        dot.dot::<false>(codes, four)
                    };
                }
            }
        }
        dots
    }
}

/// `Σ x` over a step's bytes of row `r`.
#[inline(always)]
unsafe fn bytes_of(byte_sums: *const i32, r: usize, step: usize, per_step: usize) -> i32 {
    // SAFETY: the caller's.
    unsafe {
        let at = byte_sums.add(r * (CHUNK / 16) + step * per_step / 16);
        if per_step == 32 { *at + *at.add(1) } else { *at }
    }
}
