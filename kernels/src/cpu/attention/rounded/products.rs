//! Products of a block's tiles, and those by the lanes of a table.

use super::shape::{Floats, PARTS, TILE};
use crate::cpu::bf16::Line;
use crate::cpu::blocks::LANES;
use crate::cpu::lanes::Lanes;
use std::marker::PhantomData;

/// The scores of sixteen queries against the keys of `pages` pages, of heads of `steps` times 32 numbers.
#[derive(Clone, Copy)]
pub(in crate::cpu) struct ScoreTask {
    pub keys: *const Line,
    pub queries: *const Line,
    pub steps: usize,
    pub pages: usize,
    pub scores: *mut Floats,
}

impl ScoreTask {
    /// The parts of both that are multiplied, in this order.
    pub(in crate::cpu) const PRODUCTS: [(usize, usize); 3] = [(0, 0), (0, 1), (1, 0)];

    /// Pieces of the work: a product for each page.
    pub(super) fn pieces(&self) -> usize {
        self.steps * Self::PRODUCTS.len()
    }
}

/// Weighted values of `pairs` times 32 keys, added to `tiles` times sixteen sums of sixteen queries.
#[derive(Clone, Copy)]
pub(in crate::cpu) struct ValueTask {
    pub values: *const Line,
    pub weights: *const Line,
    pub tiles: usize,
    pub pairs: usize,
    pub sums: *mut Floats,
}

/// The products of a block's tiles.
///
/// # Safety
/// The instructions of the implementation exist, and the operands have the tiles that are named.
pub(in crate::cpu) trait Products {
    /// Piece `number` of some scores; the pieces of one task in order, with no other product between them.
    unsafe fn score(&mut self, task: &ScoreTask, number: usize);
    /// Adds weighted values.
    unsafe fn add_values(&mut self, task: &ValueTask);
}

/// Scores of the next queries, computed while those of others become weights.
pub(super) struct Ahead<'a, P> {
    products: &'a mut P,
    task: Option<ScoreTask>,
    /// Pieces.
    done: usize,
}

impl<'a, P: Products> Ahead<'a, P> {
    pub(super) fn new(products: &'a mut P, task: Option<ScoreTask>) -> Self {
        Self { products, task, done: 0 }
    }

    /// Goes on until `part` of `of` equal parts of the pieces are done.
    #[inline(always)]
    pub(super) unsafe fn go_on(&mut self, part: usize, of: usize) {
        if let Some(task) = &self.task {
            while self.done * of < task.pieces() * part {
                // SAFETY: the caller's.
                unsafe { self.products.score(task, self.done) };
                self.done += 1;
            }
        }
    }
}

/// By the lanes of a table, `ROWS` rows of a tile at a time.
pub(super) struct ByLanes<L, const ROWS: usize>(PhantomData<L>);

impl<L, const ROWS: usize> Default for ByLanes<L, ROWS> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<L: Lanes, const ROWS: usize> ByLanes<L, ROWS> {
    /// Adds the product of a tile of sixteen rows with one of sixteen columns to a tile of sums.
    #[inline(always)]
    unsafe fn add(rows: *const Line, columns: *const Line, sums: *mut Floats) {
        const { assert!(TILE.is_multiple_of(ROWS)) };
        // SAFETY: the caller's.
        unsafe {
            let (zero, one) = (L::splat(0.0), L::splat(1.0));
            for first in (0..TILE).step_by(ROWS) {
                let mut parts = [[zero; 2]; ROWS];
                for pair in 0..TILE {
                    let columns = L::load_bf16_pairs((*columns.add(pair)).as_ptr());
                    for (row, parts) in parts.iter_mut().enumerate() {
                        let row = (*rows.add(first + row)).as_ptr();
                        for (number, part) in parts.iter_mut().enumerate() {
                            let value = u32::from(*row.add(2 * pair + number)) << 16;
                            *part = L::splat(f32::from_bits(value)).fma(columns[number], *part);
                        }
                    }
                }
                for (row, [even, odd]) in parts.into_iter().enumerate() {
                    let sum = sums.add(first + row).cast::<f32>();
                    one.fma(one.fma(even, odd), L::load(sum)).store(sum);
                }
            }
        }
    }
}

impl<L: Lanes, const ROWS: usize> Products for ByLanes<L, ROWS> {
    #[inline(always)]
    unsafe fn score(&mut self, task: &ScoreTask, number: usize) {
        let (step, (of_key, of_query)) = (number / 3, ScoreTask::PRODUCTS[number % 3]);
        // SAFETY: the caller's.
        unsafe {
            for page in 0..task.pages {
                let scores = task.scores.add(page * TILE);
                if number == 0 {
                    for line in 0..TILE {
                        scores.add(line).write(Floats([0.0; LANES]));
                    }
                }
                let keys = task.keys.add(((page * task.steps + step) * PARTS + of_key) * TILE);
                Self::add(keys, task.queries.add((step * PARTS + of_query) * TILE), scores);
            }
        }
    }

    #[inline(always)]
    unsafe fn add_values(&mut self, task: &ValueTask) {
        // SAFETY: the caller's.
        unsafe {
            for pair in 0..task.pairs {
                for tile in 0..task.tiles {
                    let values = task.values.add((pair * task.tiles + tile) * TILE);
                    Self::add(values, task.weights.add(pair * TILE), task.sums.add(tile * TILE));
                }
            }
        }
    }
}
