//! [`super::block_linear`] by AMX: the same recipe, and so the same bits, sixteen rows by sixteen outputs at a time.
//!
//! # The budget
//! A product is 16 rows x 16 outputs x one step of inputs (32 or 16 that share a scale): a tile of activations as
//! `Int8` holds them, times a tile of codes as `unpack` writes them, is a tile of exact sums. It goes to L1 and comes
//! back as sixteen vectors, to be scaled and added up in the recipe's order. In cycles, measured on an Intel Xeon
//! (`benches/results/cpu.md`):
//!
//! | | alone | while tiles are in use |
//! |---|---|---|
//! | `tdpbssd` of 16 rows, whatever the inputs | 16 | |
//! | `tileloadd` of 16 rows, of 8 | 8, 4 | |
//! | `tilestored` of 16 rows | 16 | |
//! | `tdpbssd` and the store of its sums; the store of earlier sums | 29; 18 to 23 | |
//! | multiplication of 512 bits (floats, int8), conversion to floats | 1/2 | 1 |
//! | addition of 512 bits, floats or integers | 1/2 | 1/2 |
//!
//! For some 300 cycles after any tile instruction one vector unit alone multiplies and converts, so multiplications are
//! what a product waits for: two of floats for each of sixteen rows, and a third with mins. That is 32 or 48 cycles
//! where `vpdpbusd` takes 88 or 96; the loop over data in L1 takes 45 without mins.
//!
//! - The sums of a product are stored when the next but one begins, in the same tile: the store does not wait for them.
//! - Sums become floats by an addition: `OFFSET + sum` has the bits of `OFFSET` plus the sum, and
//!   `fma(OFFSET + sum, scale, -OFFSET * scale)` is `sum * scale`, rounded once, since `OFFSET * scale` is exact.
//! - Four products are a *segment*. While one segment's sums are scaled, in program order product by product, the next
//!   one's are multiplied into the same slots.
//! - Results of a segment stay in sixteen registers; four products are as many as there are tiles for activations, which
//!   serve all halves of two panels. Between chunks of inputs results wait close together (`partial`), and rows of the
//!   output are fetched into the cache long before they are written (`window`).
//! - The zero is subtracted from codes when they are unpacked, so no sum needs a correction.
//! - From `FEW` rows on a tile costs less than its rows by VNNI, even where only half of it is wanted. Missing rows are
//!   computed from what lies behind the last (see `Int8`), and not stored.

mod attention;
mod bf16;
#[cfg(test)]
mod emulated;
#[cfg(target_arch = "x86_64")]
mod offer;
mod partial;
mod task;
#[cfg(test)]
mod tests;
mod tiles;
#[cfg(all(test, target_arch = "x86_64", target_os = "linux"))]
mod trapped;
mod window;

use super::block_linear::BlockCall;
use super::block_linear::recipe;
use super::blocks::{FORMATS, LANES, by_format, by_products};
use super::lanes::{Ints, Lanes, OFFSET, Outlined};
use super::quantise::{BLOCK, CHUNK};
use super::unpack::{scratch, unpack_format};
use partial::Partial;
use std::mem::MaybeUninit;
use std::ops::Range;
use task::{ChunkTask, PRODUCTS, Segment};
use tiles::{Shapes, Tiles};
use window::Window;

pub(super) use attention::run as run_attention;
pub(super) use bf16::run as run_bf16;
#[cfg(target_arch = "x86_64")]
pub(super) use offer::{agree, offered};
pub(super) use task::{PANELS, ROWS};
#[cfg(target_arch = "x86_64")]
pub(super) use tiles::Hardware;

/// Inputs unpacked at once: those of a segment of most types.
const INPUTS: usize = 128;

/// Exact sums of a segment, in the order of its products: `[rows][16 outputs]` each.
#[repr(C, align(64))]
struct Slots([MaybeUninit<[[i32; LANES]; ROWS]>; PRODUCTS]);

/// Four tiles of activations, two of codes, two of sums, for a step of `step` inputs.
const fn shapes(step: usize) -> Shapes {
    let (rows, codes, sums) = ((ROWS as u8, step as u8), (step as u8 / 4, 64), (ROWS as u8, 64));
    Shapes::new([rows, rows, rows, rows, codes, codes, sums, sums])
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
    let (format, inputs) = (call.format, call.x.inputs);
    let (bytes, index, multiplied_as) = (format.panel_bytes(inputs), format.index(), format.multiplied_as());
    let mut scratch = [const { scratch() }; PANELS];
    let mut slots = Slots([const { MaybeUninit::uninit() }; PRODUCTS]);
    let mut partial = Partial::new();
    // SAFETY: the caller's; between `configure` and `release` only the products use tiles.
    unsafe {
        tiles.configure(if format.step == BLOCK { const { &shapes(BLOCK) } } else { const { &shapes(BLOCK / 2) } });
        for first in rows.clone().step_by(partial::ROWS) {
            let rows = first..rows.end.min(first + partial::ROWS);
            for panel in panels.clone().step_by(PANELS) {
                let together = panel..panels.end.min(panel + PANELS);
                for from in (0..inputs).step_by(INPUTS) {
                    let chunk = from..inputs.min(from + INPUTS);
                    for (panel, scratch) in together.clone().zip(&mut scratch) {
                        let stored = &call.packed[panel * bytes..][..bytes];
                        by_format!(index, unpack_format::<L, true>(stored, chunk.clone(), scratch.as_mut_ptr()));
                    }
                    let task = ChunkTask::new(call, scratch.as_ptr().cast(), together.clone(), chunk, &rows);
                    by_products!(
                        multiplied_as,
                        multiply::<L, T>(Operands { tiles, task: &task, slots: &mut slots, partial: &mut partial })
                    );
                }
            }
        }
        tiles.release();
    }
}

/// A chunk of some panels for all rows of the task; `FORMAT` is that of `multiplied_as`.
#[inline(always)]
unsafe fn multiply<L: Lanes, T: Tiles, const FORMAT: usize>(operands: Operands<'_, T>) {
    // SAFETY: the caller's.
    unsafe { L::Ints::outlined(ProductsOf::<T, FORMAT>(operands)) }
}

/// The operands of [`multiply`].
struct Operands<'a, T> {
    tiles: &'a mut T,
    task: &'a ChunkTask<'a>,
    slots: &'a mut Slots,
    partial: &'a mut Partial,
}

/// As [`multiply`], whose conditions hold.
struct ProductsOf<'a, T, const FORMAT: usize>(Operands<'a, T>);

impl<T: Tiles, const FORMAT: usize> Outlined for ProductsOf<'_, T, FORMAT> {
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let Operands { tiles, task, slots, partial } = self.0;
        // A copy, whose fields stay in registers: an instruction on tiles may write any memory.
        let task = &{ *task };
        let step = const { FORMATS[FORMAT].1.step };
        let mut now = Segment { row: 0, input: 0, half: 0 };
        // SAFETY: the caller's; `scale_sums` reads the slots of this segment before the next one's products are stored there.
        unsafe {
            for product in 0..PRODUCTS {
                issue::<T, FORMAT>(tiles, task, now, product, slots);
            }
            while now.row < task.rows.len() {
                let next = now.next(PRODUCTS * step, task);
                let mut sums = if task.from + now.input == 0 { [L::splat(0.0); ROWS] } else { partial.load(now) };
                if task.from == 0 {
                    // Each segment of the first chunk prefetches its share of the rows; the last chunk writes them.
                    let first = now.input * ROWS / INPUTS;
                    Window::of(task, now).prefetch::<L>(first..first + PRODUCTS * step * ROWS / INPUTS);
                }
                // Unrolled by hand, so that tile numbers are constants.
                stage::<L, T, FORMAT, 0>(tiles, task, (now, next), slots, &mut sums);
                stage::<L, T, FORMAT, 1>(tiles, task, (now, next), slots, &mut sums);
                if PRODUCTS * step / BLOCK == 4 {
                    stage::<L, T, FORMAT, 2>(tiles, task, (now, next), slots, &mut sums);
                    stage::<L, T, FORMAT, 3>(tiles, task, (now, next), slots, &mut sums);
                }
                if task.from + now.input + PRODUCTS * step < task.call.x.inputs {
                    partial.store(now, sums);
                } else {
                    Window::of(task, now).store(sums);
                }
                now = next;
            }
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

/// Begins product `number` of a segment, unless it is beyond the rows or the chunk, and stores the sums of the product
/// before last, which were made in the same tile.
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
    // SAFETY: the caller's; these inputs of the chunk were unpacked, and `Int8` has sixteen rows from any row on.
    unsafe {
        let operands = (segment.row < task.rows.len() && input < task.len).then(|| {
            // The first half loads the tiles of rows; the others reuse them.
            let rows = (segment.half == 0).then(|| task.values.add(segment.row * CHUNK + input));
            let codes = (*task.halves.add(segment.half)).codes.as_ptr().cast::<u8>().add(input * LANES);
            (rows, codes)
        });
        let done = slots.0[(number + 2) % PRODUCTS].as_mut_ptr().cast();
        match number {
            0 => product::<T, 0, 4, 6>(tiles, operands, done),
            1 => product::<T, 1, 5, 7>(tiles, operands, done),
            2 => product::<T, 2, 4, 6>(tiles, operands, done),
            _ => product::<T, 3, 5, 7>(tiles, operands, done),
        }
    }
}

/// Stores what a tile of sums holds, and makes the next product in it.
#[inline(always)]
unsafe fn product<T: Tiles, const X: usize, const CODES: usize, const SUMS: usize>(
    tiles: &mut T,
    operands: Option<(Option<*const u8>, *const u8)>,
    done: *mut u8,
) {
    // SAFETY: the caller's.
    unsafe {
        tiles.store::<SUMS>(done, 4 * LANES);
        let Some((rows, codes)) = operands else { return };
        if let Some(rows) = rows {
            tiles.load::<X>(rows, CHUNK);
        }
        tiles.load::<CODES>(codes, 4 * LANES);
        tiles.zero::<SUMS>();
        tiles.dot::<SUMS, X, CODES>();
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
        let half = task.halves.add(segment.half);
        let inputs = task.inputs.block((segment.row * CHUNK + segment.input) / BLOCK + block);
        let first = segment.input / format.step + block * steps;
        let scales = (*half).scales.as_ptr().cast::<f32>().add(first * LANES);
        let mins = (*half).mins.as_ptr().cast::<f32>().add(first * LANES);
        let dots = slots.0.as_ptr().cast::<i32>().add(block * steps * ROWS * LANES);
        let scales = [L::load(scales), L::load(scales.add((steps - 1) * LANES))];
        let offset = recipe::offset_of(scales[0]);
        for (row, sum) in sums.iter_mut().enumerate() {
            let mut part = recipe::part_by_offset(L::Ints::load(dots.add(row * LANES)), scales[0], offset);
            if steps == 2 {
                let dot = L::Ints::load(dots.add((ROWS + row) * LANES)).to_offset_floats().sub(L::splat(OFFSET));
                part = recipe::part(dot, scales[1], Some(part));
            }
            *sum = recipe::add_part(*sum, part, inputs.scale(row));
        }
        for step in 0..if format.has_min { steps } else { 0 } {
            let min = L::load(mins.add(step * LANES));
            for (row, sum) in sums.iter_mut().enumerate() {
                *sum = recipe::add_min(*sum, min, inputs.min_factor(row, step, steps));
            }
        }
    }
}

/// As [`super::limits::multiply_i8`], by tiles of the 32 inputs that share a scale: as many operations, in four
/// independent sums. Tiles of 64 inputs would take as long, and be twice as many.
///
/// # Safety
/// The instructions of `T` exist.
#[inline(always)]
pub(super) unsafe fn multiply_i8<T: Tiles>(tiles: &mut T, rounds: usize) -> f32 {
    /// int8 products of a round there.
    const THERE: usize = 12 * 16 * 4;
    /// And of a round here.
    const HERE: usize = 4 * 16 * 16 * BLOCK;
    const SUM: (u8, u8) = (16, 64);
    const LIMIT: [(u8, u8); 8] = [(16, BLOCK as u8), (BLOCK as u8 / 4, 64), SUM, SUM, SUM, SUM, SUM, SUM];
    let ones = [[1_u8; 64]; ROWS];
    let mut sums = [0_i32; ROWS * LANES];
    // SAFETY: the caller's; shapes fit, and both arrays hold a whole tile.
    unsafe {
        tiles.configure(const { &Shapes::new(LIMIT) });
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
