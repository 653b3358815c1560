//! Products of bf16 by AMX, in the order of [`crate::cpu::bf16`]: what `tdpbf16ps` does with 32 inputs.
//!
//! Thirty-two rows by a panel of 32 outputs are four tiles of sums, so a tile that is loaded serves two products. A chunk
//! of a panel is unpacked while the one before is multiplied, and stays in L1; a chunk of activations, in the order in which
//! it lies, serves all panels from L2. Between chunks sums wait close together.
//!
//! In 1e9 multiply-adds a second of one core of an Intel Xeon: the products alone 1,550, with tiles loaded from L1 1,250,
//! and with sums that are loaded and stored every 256 inputs 780 (`benches/results/cpu.md`).

use super::tiles::{Shapes, Tiles};
use crate::cpu::bf16::{SumTile, TILE_ROWS, TileCall};
use crate::cpu::blocks::{FORMATS, by_format};
use crate::cpu::lanes::{Ints, Lanes, Outlined};
use crate::cpu::quantise::CHUNK;
use crate::cpu::unpack::{Widened, Widening};
use std::ops::Range;

/// Bytes of a tile.
const TILE: usize = 1024;

/// Sums of some rows, and two tiles each of activations and of weights.
const SHAPES: Shapes = Shapes::new([(TILE_ROWS as u8, 64); 8]);

/// Computes the sums of `panels` for `rows`, which begin with a tile: `[panels][rows / 16][2 halves]`.
///
/// # Safety
/// The instructions of `L` and `T` exist; the operands have these panels and rows; there is room for the sums.
#[inline(always)]
pub(in crate::cpu) unsafe fn run<L: Lanes, T: Tiles>(
    tiles: &mut T,
    call: &TileCall<'_>,
    panels: Range<usize>,
    rows: Range<usize>,
    sums: *mut SumTile,
) {
    // SAFETY: the caller's.
    unsafe { by_format!(call.format.index(), run_format::<L, T>(Run { tiles, call, panels, rows, sums })) }
}

/// As [`run`], for `FORMATS[FORMAT]`.
#[inline(always)]
unsafe fn run_format<L: Lanes, T: Tiles, const FORMAT: usize>(run: Run<'_, T>) {
    // SAFETY: the caller's.
    unsafe { L::Ints::outlined(RunOf::<T, FORMAT>(run)) }
}

/// The operands of [`run`].
struct Run<'a, T> {
    tiles: &'a mut T,
    call: &'a TileCall<'a>,
    panels: Range<usize>,
    rows: Range<usize>,
    sums: *mut SumTile,
}

/// As [`run`], whose conditions hold.
struct RunOf<'a, T, const FORMAT: usize>(Run<'a, T>);

impl<T: Tiles, const FORMAT: usize> Outlined for RunOf<'_, T, FORMAT> {
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let Run { tiles, call, panels, rows, sums } = self.0;
        let inputs = call.x.inputs;
        let mut widened = [Widened::new(), Widened::new()];
        let [now, next] = &mut widened;
        let (mut now, mut next) = (now, next);
        let tasks = panels.len() * inputs.div_ceil(CHUNK);
        // SAFETY: the caller's; between `configure` and `release` only the products use tiles.
        unsafe {
            tiles.configure(&SHAPES);
            let mut first = widening::<L, FORMAT>(call, &panels, 0, now);
            for part in 0..first.parts() {
                first.part(part);
            }
            for number in 0..tasks {
                let from = number / panels.len() * CHUNK;
                let task = Task {
                    x: call.x.tile(rows.start, from),
                    weights: now.as_ptr(),
                    sums: sums.add(number % panels.len() * rows.len().div_ceil(TILE_ROWS) * 2).cast(),
                    first: from == 0,
                    steps: CHUNK.min(inputs - from) / 32,
                    rows: rows.len(),
                };
                let mut ahead = if number + 1 < tasks { Some(widening(call, &panels, number + 1, next)) } else { None };
                multiply::<L, T, FORMAT>(tiles, &task, ahead.as_mut());
                std::mem::swap(&mut now, &mut next);
            }
            tiles.release();
        }
    }
}

/// Unpacks task `number` of some panels: chunk after chunk, and of each all panels.
#[inline(always)]
unsafe fn widening<'a, L: Lanes, const FORMAT: usize>(
    call: &TileCall<'a>,
    panels: &Range<usize>,
    number: usize,
    to: &mut Widened,
) -> Widening<'a, L, true, FORMAT> {
    let (inputs, bytes) = (call.x.inputs, const { FORMATS[FORMAT].1 }.panel_bytes(call.x.inputs));
    let (panel, from) = (panels.start + number % panels.len(), number / panels.len() * CHUNK);
    let stored = &call.packed[panel * bytes..][..bytes];
    // SAFETY: the caller's.
    unsafe { Widening::new(stored, from..inputs.min(from + CHUNK), to.as_mut_ptr()) }
}

/// A chunk of a panel, and the rows that it is multiplied with.
#[derive(Clone, Copy)]
struct Task {
    /// Tiles of the rows, [`CHUNK`] inputs of each sixteen.
    x: *const u8,
    /// [`Widened`]
    weights: *const u8,
    sums: *mut u8,
    /// Whether the sums begin here.
    first: bool,
    /// Tiles of the chunk.
    steps: usize,
    rows: usize,
}

/// Adds a chunk's products to the sums, and meanwhile unpacks the weights of the next one.
#[inline(always)]
unsafe fn multiply<L: Lanes, T: Tiles, const FORMAT: usize>(
    tiles: &mut T,
    task: &Task,
    mut ahead: Option<&mut Widening<'_, L, true, FORMAT>>,
) {
    let parts = ahead.as_ref().map_or(0, |ahead| ahead.parts());
    let all = task.rows.div_ceil(2 * TILE_ROWS) * task.steps;
    let (mut done, mut widened) = (0, 0);
    for row in (0..task.rows).step_by(2 * TILE_ROWS) {
        let two = row + TILE_ROWS < task.rows;
        // SAFETY: the caller's; `Bf16` and the sums have whole tiles.
        unsafe {
            let (x, sums) = (task.x.add(row * CHUNK * 2), task.sums.add(row / TILE_ROWS * 2 * TILE));
            if task.first {
                tiles.zero::<0>();
                tiles.zero::<1>();
                tiles.zero::<2>();
                tiles.zero::<3>();
            } else {
                tiles.load::<0>(sums, 64);
                tiles.load::<1>(sums.add(TILE), 64);
                if two {
                    tiles.load::<2>(sums.add(2 * TILE), 64);
                    tiles.load::<3>(sums.add(3 * TILE), 64);
                }
            }
            for step in 0..task.steps {
                tiles.load::<4>(x.add(step * TILE), 64);
                tiles.load::<6>(task.weights.add(2 * step * TILE), 64);
                tiles.dot_bf16::<0, 4, 6>();
                tiles.load::<7>(task.weights.add((2 * step + 1) * TILE), 64);
                tiles.dot_bf16::<1, 4, 7>();
                if two {
                    tiles.load::<5>(x.add((CHUNK / 32 + step) * TILE), 64);
                    tiles.dot_bf16::<2, 5, 6>();
                    tiles.dot_bf16::<3, 5, 7>();
                }
                done += 1;
                while widened * all < parts * done {
                    if let Some(ahead) = &mut ahead {
                        ahead.part(widened);
                    }
                    widened += 1;
                }
            }
            tiles.store::<0>(sums, 64);
            tiles.store::<1>(sums.add(TILE), 64);
            if two {
                tiles.store::<2>(sums.add(2 * TILE), 64);
                tiles.store::<3>(sums.add(3 * TILE), 64);
            }
        }
    }
}
