//! Many rows: codes unpacked once into L1, multiplied in register tiles.
//!
//! `FORMAT` is that of [`Format::multiplied_as`] throughout, so the zero is the call's.

use super::call::ChunkTask;
use super::recipe::{self, BlockInputs};
use super::step::{begins_with_zero, groups_of, multiply_codes, products, sum_of_step};
use crate::cpu::blocks::{FORMATS, Format, LANES};
use crate::cpu::lanes::{Bytes, Ints, Lanes, Outlined};
use crate::cpu::linear::PANEL;
use crate::cpu::quantise::{BLOCK, CHUNK, Sums};
use crate::cpu::unpack::HalfPanel;
use std::hint::black_box;
use std::mem::MaybeUninit;

/// All rows, in tiles of about equal size: eight rows are four and four, not six and two.
#[inline(always)]
pub(super) unsafe fn tiles<L: Lanes, const ROWS: usize, const HALVES: usize, const FORMAT: usize>(task: ChunkTask<'_>) {
    // SAFETY: the caller's.
    unsafe { L::Ints::outlined(TilesOf::<ROWS, HALVES, FORMAT>(task)) }
}

/// As [`tiles`], whose conditions hold.
struct TilesOf<'a, const ROWS: usize, const HALVES: usize, const FORMAT: usize>(ChunkTask<'a>);

impl<const ROWS: usize, const HALVES: usize, const FORMAT: usize> Outlined for TilesOf<'_, ROWS, HALVES, FORMAT> {
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let task = self.0;
        // A product of signed codes needs more registers.
        let signed = const { L::Ints::NARROW && FORMATS[FORMAT].1.largest_code().1 };
        let most = if signed { ROWS.min(3) } else { ROWS };
        let count = task.rows.div_ceil(most);
        let mut done = 0;
        for tile in 0..count {
            let many = (task.rows - done).div_ceil(count - tile);
            // SAFETY: the caller's; rows from `done` on are within `task.rows`.
            unsafe {
                let at = ChunkTask { out: task.out.add(done * task.stride), row: task.row + done, ..task };
                match many {
                    6 if most >= 6 => edge::<L, 6, HALVES, FORMAT>(&at),
                    5 if most >= 5 => edge::<L, 5, HALVES, FORMAT>(&at),
                    4 if most >= 4 => edge::<L, 4, HALVES, FORMAT>(&at),
                    3 if most >= 3 => edge::<L, 3, HALVES, FORMAT>(&at),
                    2 => edge::<L, 2, HALVES, FORMAT>(&at),
                    _ => edge::<L, 1, HALVES, FORMAT>(&at),
                }
            }
            done += many;
        }
    }
}

/// A tile whose panel may be narrower than its registers.
#[inline(always)]
unsafe fn edge<L: Lanes, const ROWS: usize, const HALVES: usize, const FORMAT: usize>(task: &ChunkTask<'_>) {
    let columns = task.columns;
    let (mut out, mut stride) = (task.out, task.stride);
    // Zeroed only where it is used: with few rows this is the innermost call.
    let mut buffer = MaybeUninit::<[[f32; PANEL]; ROWS]>::uninit();
    // SAFETY: the caller's; a narrow last panel goes through a buffer of full width.
    unsafe {
        if columns < PANEL {
            (out, stride) = (buffer.write([[0.0; PANEL]; ROWS]).as_mut_ptr().cast(), PANEL);
            for r in 0..ROWS {
                std::ptr::copy_nonoverlapping(task.out.add(r * task.stride), out.add(r * PANEL), columns);
            }
        }
        for half in (0..2).step_by(HALVES) {
            multiply::<L, ROWS, HALVES, FORMAT>(&ChunkTask { out, stride, ..*task }, half);
        }
        if columns < PANEL {
            for r in 0..ROWS {
                std::ptr::copy_nonoverlapping(out.add(r * PANEL), task.out.add(r * task.stride), columns);
            }
        }
    }
}

/// `ROWS x (16 HALVES)` results of a chunk, added to what earlier chunks left in `out`.
#[inline(always)]
unsafe fn multiply<L: Lanes, const ROWS: usize, const HALVES: usize, const FORMAT: usize>(
    task: &ChunkTask<'_>,
    half: usize,
) {
    let Format { step: per_step, has_min, .. } = const { FORMATS[FORMAT].1 };
    // SAFETY: the caller's; all offsets are within the shapes that `Int8` and `HalfPanel` state.
    unsafe {
        let out = task.out.add(half * LANES);
        let mut sums = [[L::splat(0.0); HALVES]; ROWS];
        if task.from > 0 {
            for (r, sums) in sums.iter_mut().enumerate() {
                for (h, sum) in sums.iter_mut().enumerate() {
                    *sum = L::load(out.add(r * task.stride + h * LANES));
                }
            }
        }
        let halves = task.scratch.cast::<HalfPanel>().add(half);
        let (x, zero) = (task.call.x, task.call.format.zero);
        let at = x.offset(task.row, task.from);
        let (values, value_sums) = (x.values.as_ptr().add(at), x.sums.as_ptr().add(at / 16));
        let inputs = BlockInputs::new(x, at);
        for block in 0..task.len / BLOCK {
            let mut parts = [[L::splat(0.0); HALVES]; ROWS];
            for step in block * BLOCK / per_step..(block + 1) * BLOCK / per_step {
                let dots = dots::<L, ROWS, HALVES, FORMAT>(zero, halves, values, value_sums, step);
                for h in 0..HALVES {
                    let scale = L::load((*halves.add(h)).scales.as_ptr().cast::<f32>().add(step * LANES));
                    for r in 0..ROWS {
                        let dot = dots[r][h].to_floats();
                        let first = step * per_step == block * BLOCK;
                        parts[r][h] = recipe::part(dot, scale, if first { None } else { Some(parts[r][h]) });
                    }
                }
            }
            let inputs = inputs.block(block);
            for (r, (sums, parts)) in sums.iter_mut().zip(parts).enumerate() {
                for (sum, part) in sums.iter_mut().zip(parts) {
                    *sum = recipe::add_part(*sum, part, inputs.scale(r));
                }
            }
            // Mins after the parts: the order of the sums is the recipe's, for tiles of any size.
            if has_min {
                for step in 0..BLOCK / per_step {
                    for h in 0..HALVES {
                        let at = (block * BLOCK / per_step + step) * LANES;
                        let min = L::load((*halves.add(h)).mins.as_ptr().cast::<f32>().add(at));
                        for (r, sums) in sums.iter_mut().enumerate() {
                            sums[h] = recipe::add_min(sums[h], min, inputs.min_factor(r, step, BLOCK / per_step));
                        }
                    }
                }
            }
        }
        for (r, sums) in sums.iter().enumerate() {
            for (h, sum) in sums.iter().enumerate() {
                sum.store(out.add(r * task.stride + h * LANES));
            }
        }
    }
}

/// `Σ (code - zero) * x` over a step's inputs.
#[inline(always)]
unsafe fn dots<L: Lanes, const ROWS: usize, const HALVES: usize, const FORMAT: usize>(
    zero: i32,
    halves: *const HalfPanel,
    values: *const i8,
    value_sums: *const Sums,
    step: usize,
) -> [[L::Ints; HALVES]; ROWS] {
    let Format { step: per_step, .. } = const { FORMATS[FORMAT].1 };
    // SAFETY: the caller's.
    unsafe {
        let mut dots = [[L::Ints::splat(0); HALVES]; ROWS];
        // Codes are multiplied as stored: Σ (code - zero) x is Σ code x plus minus the zero times Σ x, which begins the sum.
        if const { begins_with_zero::<L, FORMAT>() } {
            for (r, dots) in dots.iter_mut().enumerate() {
                *dots = [L::Ints::splat(-zero * sum_of_step(value_sums, r, step, per_step)); HALVES];
            }
        }
        let groups = const { groups_of(FORMATS[FORMAT].1, L::Ints::NARROW) };
        // Unrolled, the compiler would load all codes first, which takes more registers than there are.
        let runs = per_step / 4 / groups;
        for run in 0..if groups == 1 { black_box(runs) } else { runs } {
            let mut sums = [[products::<L, FORMAT>(dots[0][0], zero, value_sums, 0, step); HALVES]; ROWS];
            for (r, (sums, dots)) in sums.iter_mut().zip(&dots).enumerate() {
                for (sums, dot) in sums.iter_mut().zip(dots) {
                    *sums = products::<L, FORMAT>(*dot, zero, value_sums, r, step);
                }
            }
            for group in 0..if runs == 1 { black_box(groups) } else { groups } {
                let input = step * per_step + 4 * (run * groups + group);
                let mut codes = [L::Bytes::load((*halves).codes.as_ptr().cast::<u8>().add(input * LANES)); HALVES];
                for (h, codes) in codes.iter_mut().enumerate().skip(1) {
                    *codes = L::Bytes::load((*halves.add(h)).codes.as_ptr().cast::<u8>().add(input * LANES));
                }
                for (r, sums) in sums.iter_mut().enumerate() {
                    let four = values.add(r * CHUNK + input).cast::<i32>().read_unaligned();
                    for (sums, codes) in sums.iter_mut().zip(codes) {
                        *sums = multiply_codes::<L, FORMAT>(*sums, codes, four);
                    }
                }
            }
            for (dots, sums) in dots.iter_mut().zip(sums) {
                for (dot, sums) in dots.iter_mut().zip(sums) {
                    *dot = dot.add(sums);
                }
            }
        }
        dots
    }
}
