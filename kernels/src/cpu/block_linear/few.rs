//! Few rows: codes are unpacked in registers and multiplied at once.

use super::call::BlockCall;
use super::recipe::{self, BlockInputs};
use super::step::{begins_with_zero, groups_of, multiply_codes, products, sum_of_step};
use crate::cpu::blocks::{FORMATS, Format, LANES};
use crate::cpu::lanes::{Ints, Lanes, Outlined};
use crate::cpu::linear::PANEL;
use crate::cpu::quantise::{BLOCK, CHUNK, Int8};
use crate::cpu::unpack::Stored;
use std::hint::black_box;
use std::ops::Range;

/// Rows of a panel that are one or two passes of [`multiply_in_registers`] or [`multiply_by_groups`]: codes are unpacked
/// once a pass, and stay in L1.
#[inline(always)]
pub(super) unsafe fn few<L: Lanes, const AT_ONCE: usize, const FORMAT: usize>(few: Few<'_>) {
    // SAFETY: the caller's.
    unsafe { L::Ints::outlined(FewOf::<AT_ONCE, FORMAT>(few)) }
}

/// The operands of [`few`].
pub(super) struct Few<'a> {
    pub(super) call: &'a BlockCall<'a>,
    pub(super) panel: &'a [u8],
    /// The panel's index.
    pub(super) number: usize,
    pub(super) columns: usize,
    pub(super) rows: Range<usize>,
}

/// As [`few`], whose conditions hold.
struct FewOf<'a, const AT_ONCE: usize, const FORMAT: usize>(Few<'a>);

impl<const AT_ONCE: usize, const FORMAT: usize> Outlined for FewOf<'_, AT_ONCE, FORMAT> {
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let Few { call, panel, number, columns, rows } = self.0;
        let most = rows.len().div_ceil(rows.len().div_ceil(AT_ONCE));
        for row in rows.clone().step_by(most) {
            let many = most.min(rows.end - row);
            // SAFETY: the caller's; a narrow last panel goes through a buffer of full width.
            unsafe {
                let out = call.out(row, number);
                let mut buffer = [[0.0_f32; PANEL]; AT_ONCE];
                let narrow = columns < PANEL;
                let (to, stride) = if narrow { (buffer.as_mut_ptr().cast(), PANEL) } else { (out, call.outputs) };
                match many {
                    8 if const { AT_ONCE >= 8 } => multiply_by_groups::<L, 8, FORMAT>(call, panel, row, to, stride),
                    7 if const { AT_ONCE >= 7 } => multiply_by_groups::<L, 7, FORMAT>(call, panel, row, to, stride),
                    6 if const { AT_ONCE >= 6 } => multiply_by_groups::<L, 6, FORMAT>(call, panel, row, to, stride),
                    5 if const { AT_ONCE >= 5 } => multiply_by_groups::<L, 5, FORMAT>(call, panel, row, to, stride),
                    4 if const { AT_ONCE >= 4 } => multiply_in_registers::<L, 4, FORMAT>(call, panel, row, to, stride),
                    3 if const { AT_ONCE >= 3 } => multiply_in_registers::<L, 3, FORMAT>(call, panel, row, to, stride),
                    2 => multiply_in_registers::<L, 2, FORMAT>(call, panel, row, to, stride),
                    _ => multiply_in_registers::<L, 1, FORMAT>(call, panel, row, to, stride),
                }
                if narrow {
                    for (r, line) in buffer[..many].iter().enumerate() {
                        std::ptr::copy_nonoverlapping(line.as_ptr(), out.add(r * call.outputs), columns);
                    }
                }
            }
        }
    }
}

/// `ROWS x 32` results over all inputs, each step unpacked in registers.
#[inline(always)]
unsafe fn multiply_in_registers<L: Lanes, const ROWS: usize, const FORMAT: usize>(
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
            let x = Activations::at(x, row, input);
            for half in 0..2 {
                let stored = Stored::<L>::at(format, panel, input, half);
                let codes = stored.codes();
                let mut parts = [L::splat(0.0); ROWS];
                for step in 0..steps {
                    let scale = stored.scale(step);
                    let codes = &codes[step * 8 / steps..(step + 1) * 8 / steps];
                    for (r, part) in parts.iter_mut().enumerate() {
                        let dot = dot_of::<L, FORMAT>(codes, x, r, step).to_floats();
                        *part = recipe::part(dot, scale, if step == 0 { None } else { Some(*part) });
                    }
                }
                add_block::<L, ROWS, FORMAT>(&mut sums, half, parts, stored, x);
            }
        }
        for (r, sums) in sums.iter().enumerate() {
            sums[0].store(out.add(r * stride));
            sums[1].store(out.add(r * stride + LANES));
        }
    }
}

/// As [`multiply_in_registers`], for more rows: the codes of eight groups would take the registers of their sums, so two
/// groups are unpacked, multiplied by all rows, and forgotten.
#[inline(always)]
unsafe fn multiply_by_groups<L: Lanes, const ROWS: usize, const FORMAT: usize>(
    call: &BlockCall<'_>,
    panel: &[u8],
    row: usize,
    out: *mut f32,
    stride: usize,
) {
    debug_assert!(!L::Ints::NARROW, "narrow products begin with their zero");
    let format = const { FORMATS[FORMAT].1 };
    let (x, steps) = (call.x, BLOCK / format.step);
    // SAFETY: the caller's.
    unsafe {
        let mut sums = [[L::splat(0.0); 2]; ROWS];
        for input in (0..x.inputs).step_by(BLOCK) {
            let x = Activations::at(x, row, input);
            let halves = [Stored::<L>::at(format, panel, input, 0), Stored::<L>::at(format, panel, input, 1)];
            let mut parts = [[L::splat(0.0); ROWS]; 2];
            add_step::<L, ROWS, FORMAT, 0>(&mut parts, halves, x);
            if steps == 2 {
                add_step::<L, ROWS, FORMAT, 1>(&mut parts, halves, x);
            }
            for half in 0..2 {
                add_block::<L, ROWS, FORMAT>(&mut sums, half, parts[half], halves[half], x);
            }
        }
        for (r, sums) in sums.iter().enumerate() {
            sums[0].store(out.add(r * stride));
            sums[1].store(out.add(r * stride + LANES));
        }
    }
}

/// Adds a step of a panel to the parts of its block, of both halves of the panel.
#[inline(always)]
unsafe fn add_step<L: Lanes, const ROWS: usize, const FORMAT: usize, const STEP: usize>(
    parts: &mut [[L; ROWS]; 2],
    halves: [Stored<L>; 2],
    x: Activations,
) {
    let Format { zero, step: per_step, .. } = const { FORMATS[FORMAT].1 };
    // SAFETY: the caller's.
    unsafe {
        let mut dots = [[L::Ints::splat(0); ROWS]; 2];
        if const { begins_with_zero::<L, FORMAT>() } {
            let [first, second] = &mut dots;
            for (r, (first, second)) in first.iter_mut().zip(second).enumerate() {
                let zero = L::Ints::splat(-zero * sum_of_step(x.block.sums, r, STEP, per_step));
                (*first, *second) = (zero, zero);
            }
        }
        // Unrolled, the compiler would unpack all groups first, and multiply row by row.
        for group in 0..black_box(4) {
            if STEP == 0 {
                halves[0].prefetch_ahead(group);
                halves[1].prefetch_ahead(group);
            }
            let codes = [halves[0].two_groups(group), halves[1].two_groups(group)];
            // The first of two groups is the first step's where steps are of 16 inputs, the second the second's.
            for step in if per_step == BLOCK { 0..2 } else { STEP..STEP + 1 } {
                for r in 0..ROWS {
                    let four = x.values.add(r * CHUNK + 16 * step + 4 * group).cast::<i32>().read_unaligned();
                    for (dots, codes) in dots.iter_mut().zip(codes) {
                        dots[r] = product::<L, FORMAT>(dots[r], codes[step], four);
                    }
                }
            }
        }
        for ((parts, dots), stored) in parts.iter_mut().zip(dots).zip(halves) {
            let scale = stored.scale(STEP);
            for (part, dot) in parts.iter_mut().zip(dots) {
                let dot = dot.to_floats();
                *part = recipe::part(dot, scale, if STEP == 0 { None } else { Some(*part) });
            }
        }
    }
}

/// Adds a block's parts to the sums of half a panel, and its mins.
#[inline(always)]
unsafe fn add_block<L: Lanes, const ROWS: usize, const FORMAT: usize>(
    sums: &mut [[L; 2]; ROWS],
    half: usize,
    parts: [L; ROWS],
    stored: Stored<L>,
    x: Activations,
) {
    let Format { step: per_step, has_min, .. } = const { FORMATS[FORMAT].1 };
    let steps = BLOCK / per_step;
    // SAFETY: the caller's.
    unsafe {
        for (r, part) in parts.into_iter().enumerate() {
            sums[r][half] = recipe::add_part(sums[r][half], part, x.block.scale(r));
        }
        for step in 0..if has_min { steps } else { 0 } {
            let min = stored.min(step);
            for (r, sums) in sums.iter_mut().enumerate() {
                sums[half] = recipe::add_min(sums[half], min, x.block.min_factor(r, step, steps));
            }
        }
    }
}

/// 32 inputs of the rows of a pass; values of the next row lie [`CHUNK`] further on.
#[derive(Clone, Copy)]
struct Activations {
    values: *const i8,
    block: BlockInputs,
}

impl Activations {
    /// # Safety
    /// `x` has this row, and 32 inputs from `input` on.
    #[inline(always)]
    unsafe fn at(x: &Int8, row: usize, input: usize) -> Self {
        let at = x.offset(row, input);
        // SAFETY: the caller's.
        unsafe { Self { values: x.values.as_ptr().add(at), block: BlockInputs::new(x, at) } }
    }
}

/// Adds a group's products to the sum of its step.
#[inline(always)]
unsafe fn product<L: Lanes, const FORMAT: usize>(dot: L::Ints, codes: L::Bytes, x: i32) -> L::Ints {
    // SAFETY: the caller's.
    unsafe { dot.add(multiply_codes::<L, FORMAT>(dot.products(0, []), codes, x)) }
}

/// `Σ (code - zero) * x` over a step's inputs, of one row and half a panel.
#[inline(always)]
unsafe fn dot_of<L: Lanes, const FORMAT: usize>(codes: &[L::Bytes], x: Activations, r: usize, step: usize) -> L::Ints {
    let Format { zero, step: per_step, .. } = const { FORMATS[FORMAT].1 };
    // SAFETY: the caller's.
    unsafe {
        let mut dot = L::Ints::splat(0);
        if const { begins_with_zero::<L, FORMAT>() } {
            dot = L::Ints::splat(-zero * sum_of_step(x.block.sums, r, step, per_step));
        }
        let groups = const { groups_of(FORMATS[FORMAT].1, L::Ints::NARROW) };
        for (run, codes) in codes.chunks_exact(groups).enumerate() {
            let mut sums = products::<L, FORMAT>(dot, zero, x.block.sums, r, step);
            for (group, codes) in (run * groups..).zip(codes) {
                let four = x.values.add(r * CHUNK + step * per_step + 4 * group).cast::<i32>().read_unaligned();
                sums = multiply_codes::<L, FORMAT>(sums, *codes, four);
            }
            dot = dot.add(sums);
        }
        dot
    }
}
