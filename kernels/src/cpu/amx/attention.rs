//! The products of attention by AMX, in the order of [`crate::cpu::attention::rounded`].
//!
//! A product takes as long as two loads, and its result comes three products later: the products of four pages, or of four tiles
//! of a head's numbers, do not wait for each other, and what is needed twice is loaded twice.

use super::tiles::{Shapes, Tiles};
use crate::cpu::attention::rounded::{self, Floats, Products, ScoreTask, ValueTask};
use crate::cpu::attention::{AttentionCall, BlockScratch, BlockVisit, Task, Tile};
use crate::cpu::bf16::Line;
use crate::cpu::lanes::Lanes;

/// Whole tiles.
const SHAPES: Shapes = Shapes::new([(16, 64); 8]);

/// Lines of a tile.
const TILE: usize = 16;

/// As [`rounded::run`], by tiles.
///
/// # Safety
/// As there; the instructions of `T` exist.
#[inline(always)]
pub(in crate::cpu) unsafe fn run<L: Lanes, T: Tiles>(
    tiles: &mut T,
    call: &AttentionCall<'_>,
    tile: &Tile<BlockVisit>,
    task: &Task,
    scratch: &mut BlockScratch,
) {
    // SAFETY: the caller's; between `configure` and `release` only the products use tiles.
    unsafe {
        tiles.configure(&SHAPES);
        rounded::run::<L, _>(&mut ByTiles(tiles), call, tile, task, scratch);
        ByTiles(tiles).0.release();
    }
}

struct ByTiles<'a, T>(&'a mut T);

impl<T: Tiles> ByTiles<'_, T> {
    /// Adds the product of a tile of rows in memory with the tile `COLUMNS` to the tile `SUMS`.
    #[inline(always)]
    unsafe fn add<const SUMS: usize, const COLUMNS: usize>(&mut self, rows: *const Line) {
        // SAFETY: the caller's.
        unsafe {
            if SUMS.is_multiple_of(2) {
                self.0.load::<4>(rows.cast(), 64);
                self.0.dot_bf16::<SUMS, 4, COLUMNS>();
            } else {
                self.0.load::<5>(rows.cast(), 64);
                self.0.dot_bf16::<SUMS, 5, COLUMNS>();
            }
        }
    }

    /// As [`Self::add`] for the tiles 0 to 3, or the first `count` of them, whose rows are `apart` tiles from each other.
    #[inline(always)]
    unsafe fn add_all<const COLUMNS: usize>(&mut self, rows: *const Line, apart: usize, count: usize) {
        // SAFETY: the caller's.
        unsafe {
            self.add::<0, COLUMNS>(rows);
            if count > 1 {
                self.add::<1, COLUMNS>(rows.add(apart * TILE));
            }
            if count > 2 {
                self.add::<2, COLUMNS>(rows.add(2 * apart * TILE));
            }
            if count > 3 {
                self.add::<3, COLUMNS>(rows.add(3 * apart * TILE));
            }
        }
    }

    #[inline(always)]
    unsafe fn load_sums(&mut self, from: *const Floats, count: usize) {
        // SAFETY: the caller's.
        unsafe {
            self.0.load::<0>(from.cast(), 64);
            if count > 1 {
                self.0.load::<1>(from.add(TILE).cast(), 64);
            }
            if count > 2 {
                self.0.load::<2>(from.add(2 * TILE).cast(), 64);
            }
            if count > 3 {
                self.0.load::<3>(from.add(3 * TILE).cast(), 64);
            }
        }
    }

    #[inline(always)]
    unsafe fn store_sums(&mut self, to: *mut Floats, count: usize) {
        // SAFETY: the caller's.
        unsafe {
            self.0.store::<0>(to.cast(), 64);
            if count > 1 {
                self.0.store::<1>(to.add(TILE).cast(), 64);
            }
            if count > 2 {
                self.0.store::<2>(to.add(2 * TILE).cast(), 64);
            }
            if count > 3 {
                self.0.store::<3>(to.add(3 * TILE).cast(), 64);
            }
        }
    }
}

impl<T: Tiles> Products for ByTiles<'_, T> {
    #[inline(always)]
    unsafe fn score(&mut self, task: &ScoreTask, number: usize) {
        let ScoreTask { keys, queries, steps, pages, scores } = *task;
        let step = number / 3;
        // SAFETY: the caller's.
        unsafe {
            let (first, second) = (keys.add(step * 2 * TILE), keys.add((step * 2 + 1) * TILE));
            match number % 3 {
                0 => {
                    if number == 0 {
                        self.0.zero::<0>();
                        self.0.zero::<1>();
                        self.0.zero::<2>();
                        self.0.zero::<3>();
                    }
                    self.0.load::<6>(queries.add(step * 2 * TILE).cast(), 64);
                    self.add_all::<6>(first, 2 * steps, pages);
                }
                1 => {
                    self.0.load::<7>(queries.add((step * 2 + 1) * TILE).cast(), 64);
                    self.add_all::<7>(first, 2 * steps, pages);
                }
                _ => {
                    self.add_all::<6>(second, 2 * steps, pages);
                    if step + 1 == steps {
                        self.store_sums(scores, pages);
                    }
                }
            }
        }
    }

    #[inline(always)]
    unsafe fn add_values(&mut self, task: &ValueTask) {
        let ValueTask { values, weights, tiles, pairs, sums } = *task;
        // SAFETY: the caller's.
        unsafe {
            for first in (0..tiles).step_by(4) {
                let (count, sums) = (tiles - first, sums.add(first * TILE));
                self.load_sums(sums, count);
                for pair in 0..pairs {
                    self.0.load::<6>(weights.add(pair * TILE).cast(), 64);
                    self.add_all::<6>(values.add((pair * tiles + first) * TILE), 1, count);
                }
                self.store_sums(sums, count);
            }
        }
    }
}
