//! [`super::block_linear`] by AMX: the same recipe, and so the same bits, sixteen rows by sixteen outputs at a time.
//!
//! # The budget
//! A product is 16 rows x 16 outputs x one step of inputs (32 or 16 that share a scale): a tile of activations as
//! `Int8` holds them, times a tile of codes as `unpack` writes them, is a tile of exact sums. It goes to L1 and comes
//! back as sixteen vectors, to be scaled and added up in the recipe's order. What that takes of a Sapphire Rapids core,
//! by Intel's optimisation manual (throughputs, in cycles; nothing here has been timed):
//!
//! | for a block of 32 inputs | step 32 | with mins | step 16 |
//! |---|---|---|---|
//! | `tdpbssd`: a cycle a row, whatever the inputs | 16 | 16 | 32 |
//! | stores, one a cycle: sums, and results once a segment | 16 + 4 | 16 + 4 | 32 + 8 |
//! | loads, two a cycle: codes, activations (every other time), sums, scales of rows, results | 26 | 34 | 40 |
//! | vector units, two: to float, times scale, added; mins | 24 | 32 | 40 |
//! | `vpdpbusd` in `block_linear`, sixteen rows | 88 | 96 | 104 |
//!
//! All units are near their limits and have to overlap, and the speed is at most about three times VNNI's. Unpacking
//! adds some 20 cycles a block and half a panel, once for all rows of a task.
//!
//! - Four products are a *segment*. While one segment's sums are scaled, in program order product by product, the next
//!   one's are multiplied into the same places: a store is read some 400 instructions later, so neither its latency nor
//!   that of the multiplier (52 cycles) stalls, and the processor's window holds both kinds of work.
//! - Results of a segment stay in sixteen registers; four products are as many as there are tiles for activations, which
//!   serve both halves of a panel.
//! - The zero is subtracted from codes when they are unpacked, so no sum needs a correction.
//! - From `FEW` rows on a tile costs less than its rows by VNNI, even where only half of it is wanted. Missing rows are
//!   computed from what lies behind the last (see `Int8`), and not stored.

#[cfg(test)]
mod emulated;
#[cfg(target_arch = "x86_64")]
mod offer;
#[cfg(test)]
mod tests;
mod tiles;
#[cfg(all(test, target_arch = "x86_64", target_os = "linux"))]
mod trapped;
mod window;

use super::block_linear::BlockCall;
use super::blocks::{FORMATS, LANES, by_format};
use super::lanes::{Ints, Lanes};
use super::quantise::{BLOCK, CHUNK};
use super::unpack::{self, HalfPanel};
use std::mem::MaybeUninit;
use std::ops::Range;
use tiles::{Shapes, Tiles};
use window::Window;

#[cfg(target_arch = "x86_64")]
pub(super) use offer::{agree, offered};
#[cfg(target_arch = "x86_64")]
pub(super) use tiles::Hardware;

/// Rows of a tile.
pub(super) const ROWS: usize = 16;

/// Products of a segment.
const PRODUCTS: usize = 4;

/// Exact sums of a segment, in the order of its products: `[rows][16 outputs]` each.
#[repr(C, align(64))]
struct Slots([MaybeUninit<[[i32; LANES]; ROWS]>; PRODUCTS]);

/// Four tiles of activations, two of codes, two of sums, for a step of `step` inputs.
const fn shapes(step: usize) -> Shapes {
    let (rows, codes, sums) = ((ROWS as u8, step as u8), (step as u8 / 4, 64), (ROWS as u8, 64));
    Shapes::new([rows, rows, rows, rows, codes, codes, sums, sums])
}

/// A chunk of a panel, and the rows it is for.
#[derive(Clone, Copy)]
struct ChunkTask<'a> {
    call: &'a BlockCall<'a>,
    halves: *const HalfPanel,
    panel: usize,
    /// First input of the chunk.
    from: usize,
    /// Inputs of the chunk.
    len: usize,
    /// After the last row.
    end: usize,
}

/// Up to [`PRODUCTS`] products of one step each: sixteen rows from `row` on by half a panel, from input `input` of the
/// chunk on.
#[derive(Clone, Copy)]
struct Segment {
    row: usize,
    input: usize,
    half: usize,
}

impl Segment {
    /// The segment behind this one: both halves of a panel, then the next inputs, then the next rows.
    #[inline(always)]
    fn next(self, inputs: usize, len: usize) -> Self {
        match self {
            Self { half: 0, .. } => Self { half: 1, ..self },
            Self { input, .. } if input + inputs < len => Self { half: 0, input: input + inputs, ..self },
            Self { row, .. } => Self { half: 0, input: 0, row: row + ROWS },
        }
    }
}

/// Computes the columns of `panels` for `rows`.
///
/// # Safety
/// The instructions of `L` and `T` exist; slices have the lengths stated; no other task writes these columns of these
/// rows.
#[inline(always)]
pub(super) unsafe fn run<L: Lanes, T: Tiles>(
    tiles: &mut T,
    call: &BlockCall<'_>,
    panels: Range<usize>,
    rows: Range<usize>,
) {
    // SAFETY: the caller's.
    unsafe { by_format!(call.format, run_format::<L, T>(tiles, call, panels, rows)) }
}

/// As [`run`], for `FORMATS[FORMAT]`.
#[inline(always)]
unsafe fn run_format<L: Lanes, T: Tiles, const FORMAT: usize>(
    tiles: &mut T,
    call: &BlockCall<'_>,
    panels: Range<usize>,
    rows: Range<usize>,
) {
    let format = const { FORMATS[FORMAT].1 };
    let (inputs, bytes) = (call.x.inputs, format.panel_bytes(call.x.inputs));
    let mut scratch = unpack::scratch();
    let mut slots = Slots([const { MaybeUninit::uninit() }; PRODUCTS]);
    // SAFETY: the caller's; between `configure` and `release` only the products use tiles.
    unsafe {
        tiles.configure(&const { shapes(FORMATS[FORMAT].1.step) });
        for panel in panels {
            let stored = &call.packed[panel * bytes..][..bytes];
            for from in (0..inputs).step_by(CHUNK) {
                let chunk = from..inputs.min(from + CHUNK);
                unpack::unpack::<L, true>(format, stored, chunk.clone(), scratch.as_mut_ptr());
                let halves = scratch.as_ptr().cast::<HalfPanel>();
                let task = ChunkTask { call, halves, panel, from, len: chunk.len(), end: rows.end };
                multiply::<L, T, FORMAT>(tiles, &task, rows.start, &mut slots);
            }
        }
        tiles.release();
    }
}

/// A chunk of a panel for the rows from `row` on.
#[inline(always)]
unsafe fn multiply<L: Lanes, T: Tiles, const FORMAT: usize>(
    tiles: &mut T,
    task: &ChunkTask<'_>,
    row: usize,
    slots: &mut Slots,
) {
    let step = const { FORMATS[FORMAT].1.step };
    let mut now = Segment { row, input: 0, half: 0 };
    // SAFETY: the caller's; `scale_sums` reads the slots of this segment before they are issued for the next.
    unsafe {
        for product in 0..PRODUCTS {
            issue::<T, FORMAT>(tiles, task, now, product, slots);
        }
        while now.row < task.end {
            let next = now.next(PRODUCTS * step, task.len);
            let window = Window::of(task, now);
            let mut sums = if task.from + now.input == 0 { [L::splat(0.0); ROWS] } else { window.load::<L>() };
            // Unrolled by hand, so that tile numbers are constants.
            stage::<L, T, FORMAT, 0>(tiles, task, (now, next), slots, &mut sums);
            stage::<L, T, FORMAT, 1>(tiles, task, (now, next), slots, &mut sums);
            if PRODUCTS * step / BLOCK == 4 {
                stage::<L, T, FORMAT, 2>(tiles, task, (now, next), slots, &mut sums);
                stage::<L, T, FORMAT, 3>(tiles, task, (now, next), slots, &mut sums);
            }
            window.store(sums);
            now = next;
        }
    }
}

/// Scales block `NUMBER` of a segment, and multiplies the same block of the next segment into its slots.
#[inline(always)]
unsafe fn stage<L: Lanes, T: Tiles, const FORMAT: usize, const NUMBER: usize>(
    tiles: &mut T,
    task: &ChunkTask<'_>,
    (now, next): (Segment, Segment),
    slots: &mut Slots,
    sums: &mut [L; ROWS],
) {
    let steps = BLOCK / const { FORMATS[FORMAT].1.step };
    // SAFETY: the caller's.
    unsafe {
        if now.input + NUMBER * BLOCK < task.len {
            scale_sums::<L, FORMAT>(task, now, NUMBER, slots, sums);
        }
        issue::<T, FORMAT>(tiles, task, next, NUMBER * steps, slots);
        if steps == 2 {
            issue::<T, FORMAT>(tiles, task, next, NUMBER * steps + 1, slots);
        }
    }
}

/// Multiplies product `number` of a segment into its slot, unless it is beyond the rows or the chunk.
#[inline(always)]
unsafe fn issue<T: Tiles, const FORMAT: usize>(
    tiles: &mut T,
    task: &ChunkTask<'_>,
    segment: Segment,
    number: usize,
    slots: &mut Slots,
) {
    let step = const { FORMATS[FORMAT].1.step };
    let input = segment.input + number * step;
    if segment.row >= task.end || input >= task.len {
        return;
    }
    // SAFETY: the caller's; these inputs of the chunk were unpacked, and `Int8` has sixteen rows from any row on.
    unsafe {
        let x = task.call.x;
        // The first half of a panel loads the tiles of rows; the second reuses them.
        let rows = (segment.half == 0).then(|| x.values.as_ptr().add(x.offset(segment.row, task.from + input)).cast());
        let codes = (*task.halves.add(segment.half)).codes.as_ptr().cast::<u8>().add(input * LANES);
        let slot = slots.0[number].as_mut_ptr().cast();
        match number {
            0 => product::<T, 0, 4, 6>(tiles, rows, codes, slot),
            1 => product::<T, 1, 5, 7>(tiles, rows, codes, slot),
            2 => product::<T, 2, 4, 6>(tiles, rows, codes, slot),
            _ => product::<T, 3, 5, 7>(tiles, rows, codes, slot),
        }
    }
}

/// One product in the given tiles.
#[inline(always)]
unsafe fn product<T: Tiles, const X: usize, const CODES: usize, const SUMS: usize>(
    tiles: &mut T,
    rows: Option<*const u8>,
    codes: *const u8,
    slot: *mut u8,
) {
    // SAFETY: the caller's.
    unsafe {
        if let Some(rows) = rows {
            tiles.load::<X>(rows, CHUNK);
        }
        tiles.load::<CODES>(codes, 4 * LANES);
        tiles.zero::<SUMS>();
        tiles.dot::<SUMS, X, CODES>();
        tiles.store::<SUMS>(slot, 4 * LANES);
    }
}

/// Scales the exact sums of a block of a segment and adds them to `sums`.
#[inline(always)]
unsafe fn scale_sums<L: Lanes, const FORMAT: usize>(
    task: &ChunkTask<'_>,
    segment: Segment,
    block: usize,
    slots: &Slots,
    sums: &mut [L; ROWS],
) {
    let format = const { FORMATS[FORMAT].1 };
    let steps = BLOCK / format.step;
    // SAFETY: the caller's; scales and mins of these inputs were unpacked, and `Int8` has sixteen rows from any row on.
    unsafe {
        let (x, half) = (task.call.x, task.halves.add(segment.half));
        let at = x.offset(segment.row, task.from + segment.input + block * BLOCK);
        let x_scales = x.scales.as_ptr().add(at / BLOCK);
        let (min_factors, value_sums) = (x.min_factors.as_ptr().add(at / BLOCK), x.sums.as_ptr().add(at / 16));
        let first = segment.input / format.step + block * steps;
        let scales = (*half).scales.as_ptr().cast::<f32>().add(first * LANES);
        let mins = (*half).mins.as_ptr().cast::<f32>().add(first * LANES);
        let dots = slots.0.as_ptr().cast::<i32>().add(block * steps * ROWS * LANES);
        let scales = [L::load(scales), L::load(scales.add((steps - 1) * LANES))];
        for (row, sum) in sums.iter_mut().enumerate() {
            let mut part = L::Ints::load(dots.add(row * LANES)).to_floats().mul(scales[0]);
            if steps == 2 {
                part = L::Ints::load(dots.add((ROWS + row) * LANES)).to_floats().fma(scales[1], part);
            }
            *sum = part.fma(L::splat(*x_scales.add(row * (CHUNK / BLOCK))), *sum);
        }
        for step in 0..if format.has_min { steps } else { 0 } {
            let min = L::load(mins.add(step * LANES));
            for (row, sum) in sums.iter_mut().enumerate() {
                let weight = if steps == 1 {
                    *min_factors.add(row * (CHUNK / BLOCK))
                } else {
                    *x_scales.add(row * (CHUNK / BLOCK)) * (*value_sums.add(row * (CHUNK / 16) + step)).all as f32
                };
                *sum = min.fma(L::splat(weight), *sum);
            }
        }
    }
}

/// As [`super::limits::multiply_i8`], by tiles of 64 inputs: as many operations, in four independent sums.
///
/// # Safety
/// The instructions of `T` exist.
#[inline(always)]
pub(super) unsafe fn multiply_i8<T: Tiles>(tiles: &mut T, rounds: usize) -> f32 {
    /// int8 products of a round there.
    const THERE: usize = 12 * 16 * 4;
    /// And of a round here.
    const HERE: usize = 4 * 16 * 16 * 64;
    let ones = [[1_u8; 64]; ROWS];
    let mut sums = [0_i32; ROWS * LANES];
    // SAFETY: the caller's; shapes fit, and both arrays hold a whole tile.
    unsafe {
        tiles.configure(&const { Shapes::new([(16, 64); 8]) });
        tiles.load::<0>(ones.as_ptr().cast(), 64);
        tiles.load::<1>(ones.as_ptr().cast(), 64);
        tiles.zero::<2>();
        tiles.zero::<3>();
        tiles.zero::<4>();
        tiles.zero::<5>();
        for _ in 0..rounds * THERE / HERE {
            tiles.dot::<2, 0, 1>();
            tiles.dot::<3, 0, 1>();
            tiles.dot::<4, 0, 1>();
            tiles.dot::<5, 0, 1>();
        }
        tiles.store::<2>(sums.as_mut_ptr().cast(), 64);
        tiles.release();
    }
    sums[0] as f32
}
