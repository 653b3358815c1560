//! Activations rounded to bf16, in tiles of sixteen rows by 32 inputs, and products of them with quantised weights.
//!
//! # The recipe
//! The same bits for every number of rows, and on every table. Activations become the nearest bf16, of two as near the one
//! away from zero; below [`LEAST`] they are zero. Weights become bf16 as [`Widening`] says. For each 32 inputs in ascending
//! order `sum += even + odd`, where `even` and `odd` are the fused multiply-adds, from zero, of the inputs of even and of odd
//! numbers in ascending order. A weight with a scale of f16 is 0 or at least 2^-40, so no product or sum is subnormal, which
//! AMX would take as zero.

use super::blocks::{Format, LANES, by_format};
use super::lanes::{Ints, Lanes, Outlined};
use super::linear::PANEL;
use super::quantise::CHUNK;
use super::unpack::{Widened, Widening};
use std::mem::MaybeUninit;
use std::ops::Range;

/// Activations of a smaller magnitude are taken as zero: 2^-60.
const LEAST: f32 = 8.673_617_4e-19;

/// Rows of a tile.
pub(crate) const TILE_ROWS: usize = 16;

/// Most panels of a task, and most rows: `16 x 512 x 32` sums stay in L2.
pub(crate) const TASK_PANELS: usize = 16;
/// See [`TASK_PANELS`].
pub(crate) const TASK_ROWS: usize = 512;

/// The operands of a product whose sums stay in tiles.
pub(crate) struct TileCall<'a> {
    pub x: &'a Bf16,
    pub format: Format,
    /// `[panels]` of [`Format::panel_bytes`]
    pub packed: &'a [u8],
}

/// Sums of sixteen rows and half a panel.
#[repr(C, align(64))]
pub(crate) struct SumTile([f32; TILE_ROWS * LANES]);

/// Sums of some panels and rows: `[panels][rows / 16][2 halves]`.
#[derive(Default)]
pub(crate) struct Sums(Vec<MaybeUninit<SumTile>>);

impl Sums {
    /// Uninitialised memory for the sums of so many panels and rows.
    pub(crate) fn room(&mut self, panels: usize, rows: usize) -> *mut SumTile {
        let count = panels * rows.div_ceil(TILE_ROWS) * 2;
        self.0.clear();
        self.0.reserve(count);
        self.0.as_mut_ptr().cast()
    }

    /// The tiles, once they are written.
    ///
    /// # Safety
    /// A kernel has written as many sums since there was [`Self::room`] for them.
    pub(crate) unsafe fn tiles(&self, panels: usize, rows: usize) -> &[SumTile] {
        // SAFETY: the caller's.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast(), panels * rows.div_ceil(TILE_ROWS) * 2) }
    }
}

impl SumTile {
    pub(crate) fn sums(&self) -> &[f32; TILE_ROWS * LANES] {
        &self.0
    }

    /// The sums of each row.
    pub(crate) fn rows(&self) -> &[[f32; LANES]] {
        self.0.as_chunks().0
    }
}

/// Inputs of a tile.
const TILE_INPUTS: usize = 32;

/// Values of a tile.
const TILE_VALUES: usize = TILE_ROWS * TILE_INPUTS;

/// A row of a tile.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Line([u16; TILE_INPUTS]);

impl Line {
    pub(super) const ZERO: Self = Self([0; TILE_INPUTS]);

    pub(super) fn as_ptr(&self) -> *const u16 {
        self.0.as_ptr()
    }

    pub(super) fn as_mut_ptr(&mut self) -> *mut u16 {
        self.0.as_mut_ptr()
    }
}

/// Lines of sixteen rows of a chunk.
const BLOCK_LINES: usize = CHUNK / TILE_INPUTS * TILE_ROWS;

/// `[rows, inputs]` as bf16: `[inputs / CHUNK][rows / 16][CHUNK / 32][16 rows][32 inputs]`. The last chunk takes as much
/// room as the others. Rows that fill up the last tile have no meaning.
pub(crate) struct Bf16 {
    pub rows: usize,
    pub inputs: usize,
    lines: Vec<MaybeUninit<Line>>,
}

impl Bf16 {
    /// Room for `rows`; [`Bf16Part::fill`] of all [`Self::parts`] fills it.
    pub(crate) fn new(rows: usize, inputs: usize) -> Self {
        let count = inputs.div_ceil(CHUNK) * rows.div_ceil(TILE_ROWS) * BLOCK_LINES;
        let mut lines = Vec::with_capacity(count);
        // SAFETY: there is room, and what may be uninitialised is a value.
        unsafe { lines.set_len(count) };
        Self { rows, inputs, lines }
    }

    /// The tile of `row` and `input`, which are multiples of sixteen and 32. Those of the next 32 inputs of a chunk follow, then
    /// those of the next rows.
    pub(super) fn tile(&self, row: usize, input: usize) -> *const u8 {
        let block = input / CHUNK * self.rows.div_ceil(TILE_ROWS) + row / TILE_ROWS;
        let line = block * BLOCK_LINES + input % CHUNK / TILE_INPUTS * TILE_ROWS;
        self.lines[line..].as_ptr().cast()
    }

    /// All values, as parts of one chunk and up to `rows_each` rows, a multiple of sixteen: the first row and the chunk's first
    /// input of each part, and the destination of its rows.
    pub(crate) fn parts(&mut self, rows_each: usize) -> Vec<(usize, usize, Bf16Part<'_>)> {
        let (rows, inputs) = (self.rows, self.inputs);
        let mut rest = &mut self.lines[..];
        let mut parts = Vec::new();
        for from in (0..inputs).step_by(CHUNK) {
            for row in (0..rows).step_by(rows_each) {
                let count = rows_each.min(rows - row);
                let (lines, others) = rest.split_at_mut(count.div_ceil(TILE_ROWS) * BLOCK_LINES);
                rest = others;
                parts.push((row, from, Bf16Part { lines, rows: count }));
            }
        }
        parts
    }
}

/// One chunk of some rows.
pub(crate) struct Bf16Part<'a> {
    lines: &'a mut [MaybeUninit<Line>],
    rows: usize,
}

impl Bf16Part<'_> {
    /// Writes `inputs` inputs of the chunk, a multiple of 32. `row` is given the index of a row, and its values to write.
    pub(crate) fn fill(self, inputs: usize, mut row: impl FnMut(usize, &mut [u16])) {
        let mut values = [0; CHUNK];
        for (number, block) in self.lines.chunks_exact_mut(BLOCK_LINES).enumerate() {
            for line in 0..TILE_ROWS {
                let at = number * TILE_ROWS + line;
                if at < self.rows {
                    row(at, &mut values[..inputs]);
                    for (tile, values) in values[..inputs].as_chunks::<TILE_INPUTS>().0.iter().enumerate() {
                        block[tile * TILE_ROWS + line].write(Line(*values));
                    }
                } else {
                    block.iter_mut().skip(line).step_by(TILE_ROWS).for_each(|line| {
                        line.write(Line([0; TILE_INPUTS]));
                    });
                }
            }
        }
    }

    /// Writes whole tiles, also of rows beyond the last, whose results are not used. `tile` is given the index of the tile
    /// among the rows, its index among the inputs, and the values to write.
    pub(crate) fn fill_tiles(
        self,
        inputs: usize,
        mut tile: impl FnMut(usize, usize, &mut [[u16; TILE_INPUTS]; TILE_ROWS]),
    ) {
        for (number, block) in self.lines.chunks_exact_mut(BLOCK_LINES).enumerate() {
            for (at, lines) in block.chunks_exact_mut(TILE_ROWS).take(inputs / TILE_INPUTS).enumerate() {
                let mut values = [[0; TILE_INPUTS]; TILE_ROWS];
                tile(number, at, &mut values);
                for (line, values) in lines.iter_mut().zip(values) {
                    line.write(Line(values));
                }
            }
        }
    }
}

/// Rounds `x`: as many values.
///
/// # Safety
/// The instructions of `L` exist, and there is room for as many values.
#[inline(always)]
pub(super) unsafe fn round<L: Lanes>(x: &[f32], out: *mut u16) {
    let (whole, rest) = x.as_chunks::<32>();
    // SAFETY: the caller's; the rest goes through buffers of 32.
    unsafe {
        for (number, x) in whole.iter().enumerate() {
            round_32::<L>(x, out.add(32 * number));
        }
        if !rest.is_empty() {
            let (mut x, mut rounded) = ([0.0; 32], [0_u16; 32]);
            x[..rest.len()].copy_from_slice(rest);
            round_32::<L>(&x, rounded.as_mut_ptr());
            std::ptr::copy_nonoverlapping(rounded.as_ptr(), out.add(32 * whole.len()), rest.len());
        }
    }
}

#[inline(always)]
unsafe fn round_32<L: Lanes>(x: &[f32; 32], out: *mut u16) {
    // SAFETY: the caller's.
    unsafe {
        let least = L::splat(LEAST);
        let (a, b) = (L::load(x.as_ptr()).at_least(least), L::load(x.as_ptr().add(16)).at_least(least));
        a.store_bf16::<false>(b, out);
    }
}

/// Computes the sums of `panels` for `rows`, which begin with a tile: `[panels][rows / 16][2 halves]`.
///
/// # Safety
/// The instructions of `L` exist; the operands have these panels and rows; there is room for the sums.
#[inline(always)]
pub(super) unsafe fn run<L: Lanes, const ROWS: usize>(
    call: &TileCall<'_>,
    panels: Range<usize>,
    rows: Range<usize>,
    sums: *mut SumTile,
) {
    let (inputs, index, bytes) = (call.x.inputs, call.format.index(), call.format.panel_bytes(call.x.inputs));
    let (count, mut widened) = (rows.len().div_ceil(TILE_ROWS), Widened::new());
    for (number, panel) in panels.enumerate() {
        let stored = &call.packed[panel * bytes..][..bytes];
        for from in (0..inputs).step_by(CHUNK) {
            let chunk = from..inputs.min(from + CHUNK);
            // SAFETY: the caller's.
            unsafe {
                by_format!(index, widen::<L>(stored, chunk.clone(), &mut widened));
                for tile in 0..count {
                    let x = call.x.tile(rows.start + tile * TILE_ROWS, from).cast::<u16>();
                    for half in 0..2 {
                        let weights = widened.as_mut_ptr().add(half * TILE_VALUES);
                        let sums = sums.add((number * count + tile) * 2 + half).cast::<f32>();
                        for row in (0..TILE_ROWS).step_by(ROWS) {
                            let sums = sums.add(row * LANES);
                            multiply::<L, ROWS>(x.add(row * TILE_INPUTS), weights, &chunk, sums);
                        }
                    }
                }
            }
        }
    }
}

/// Unpacks a chunk of a panel of `FORMATS[FORMAT]`.
///
/// # Safety
/// The instructions of `L` exist; the panel is whole and has these inputs, which fit a chunk.
#[inline(always)]
unsafe fn widen<L: Lanes, const FORMAT: usize>(panel: &[u8], chunk: Range<usize>, to: &mut Widened) {
    // SAFETY: the caller's.
    unsafe { L::Ints::outlined(WidenOf::<FORMAT> { panel, chunk, to }) }
}

/// As [`widen`], whose conditions hold.
struct WidenOf<'a, const FORMAT: usize> {
    panel: &'a [u8],
    chunk: Range<usize>,
    to: &'a mut Widened,
}

impl<const FORMAT: usize> Outlined for WidenOf<'_, FORMAT> {
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let Self { panel, chunk, to } = self;
        // SAFETY: the caller's.
        unsafe {
            let mut widening = Widening::<L, false, FORMAT>::new(panel, chunk, to.as_mut_ptr());
            for part in 0..widening.parts() {
                widening.part(part);
            }
        }
    }
}

/// Adds a chunk's products of some rows to their sums.
///
/// # Safety
/// The instructions of `L` exist; tiles of activations follow each other, those of weights with the other half between.
#[inline(always)]
unsafe fn multiply<L: Lanes, const ROWS: usize>(
    x: *const u16,
    weights: *const u16,
    chunk: &Range<usize>,
    sums: *mut f32,
) {
    const { assert!(TILE_ROWS.is_multiple_of(ROWS)) };
    // SAFETY: the caller's.
    unsafe {
        let (zero, one) = (L::splat(0.0), L::splat(1.0));
        let mut all = [zero; ROWS];
        if chunk.start > 0 {
            for (row, sum) in all.iter_mut().enumerate() {
                *sum = L::load(sums.add(row * LANES));
            }
        }
        for step in 0..chunk.len() / TILE_INPUTS {
            let (x, weights) = (x.add(step * TILE_VALUES), weights.add(2 * step * TILE_VALUES));
            let mut parts = [[zero; 2]; ROWS];
            for input in (0..TILE_INPUTS).step_by(2) {
                let weights = weights.add(input * LANES);
                let pair = [L::load_bf16(weights), L::load_bf16(weights.add(LANES))];
                for (row, parts) in parts.iter_mut().enumerate() {
                    for (number, part) in parts.iter_mut().enumerate() {
                        let value = u32::from(*x.add(row * TILE_INPUTS + input + number)) << 16;
                        *part = L::splat(f32::from_bits(value)).fma(pair[number], *part);
                    }
                }
            }
            for (sum, [even, odd]) in all.iter_mut().zip(parts) {
                *sum = one.fma(one.fma(even, odd), *sum);
            }
        }
        for (row, sum) in all.into_iter().enumerate() {
            sum.store(sums.add(row * LANES));
        }
    }
}

const _: () = assert!(2 * LANES == PANEL && PANEL == TILE_INPUTS, "a panel's outputs are a tile's inputs");
