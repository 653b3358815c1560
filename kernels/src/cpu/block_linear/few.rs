//! Few rows: codes are unpacked in registers and multiplied at once.

use super::{AT_ONCE, BlockCall, groups_of, multiply_codes, products, rows_at_once, sum_of_step, zero_of};
use crate::cpu::blocks::{FORMATS, LANES};
use crate::cpu::lanes::{Ints, Lanes};
use crate::cpu::linear::PANEL;
use crate::cpu::quantise::{BLOCK, CHUNK, Sums};
use crate::cpu::unpack::Stored;
use std::ops::Range;

/// Rows of a panel that are one or two passes of [`multiply_in_registers`]: its codes are unpacked once a pass, and
/// stay in L1.
#[inline(always)]
pub(super) unsafe fn few<L: Lanes, const ROWS: usize, const FORMAT: usize>(
    call: &BlockCall<'_>,
    panel: &[u8],
    number: usize,
    columns: usize,
    rows: Range<usize>,
) {
    let at_once = const { rows_at_once::<L, ROWS>() };
    let most = rows.len().div_ceil(rows.len().div_ceil(at_once));
    for row in rows.clone().step_by(most) {
        let many = most.min(rows.end - row);
        // SAFETY: the caller's; a narrow last panel goes through a buffer of full width.
        unsafe {
            let out = call.out.add(row * call.outputs + number * PANEL);
            let mut buffer = [[0.0_f32; PANEL]; AT_ONCE];
            let narrow = columns < PANEL;
            let (to, stride) = if narrow { (buffer.as_mut_ptr().cast(), PANEL) } else { (out, call.outputs) };
            match many {
                4 if at_once >= 4 => multiply_in_registers::<L, 4, FORMAT>(call, panel, row, to, stride),
                3 if at_once >= 3 => multiply_in_registers::<L, 3, FORMAT>(call, panel, row, to, stride),
                2 => multiply_in_registers::<L, 2, FORMAT>(call, panel, row, to, stride),
                _ => multiply_in_registers::<L, 1, FORMAT>(call, panel, row, to, stride),
            }
            for (r, line) in buffer[..many].iter().enumerate().filter(|_| narrow) {
                std::ptr::copy_nonoverlapping(line.as_ptr(), out.add(r * call.outputs), columns);
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
            let at = x.offset(row, input);
            let x = Activations { values: x.values.as_ptr().add(at), sums: x.sums.as_ptr().add(at / 16) };
            let (scales, min_factors) =
                (call.x.scales.as_ptr().add(at / BLOCK), call.x.min_factors.as_ptr().add(at / BLOCK));
            for half in 0..2 {
                let stored = Stored::<L>::at(format, panel, input, half);
                stored.prefetch_ahead();
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
                                *min_factors.add(r * (CHUNK / BLOCK))
                            } else {
                                *scales.add(r * (CHUNK / BLOCK)) * sum_of_step(x.sums, r, step, format.step) as f32
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

/// 32 inputs of the rows of a pass.
#[derive(Clone, Copy)]
struct Activations {
    values: *const i8,
    sums: *const Sums,
}

/// `Σ (code - zero) * x` over a step's inputs, of one row and half a panel.
#[inline(always)]
unsafe fn dot_of<L: Lanes, const FORMAT: usize>(codes: &[L::Bytes], x: Activations, r: usize, step: usize) -> L::Ints {
    let per_step = const { FORMATS[FORMAT].1.step };
    // SAFETY: the caller's.
    unsafe {
        let mut dot = match zero_of::<L, FORMAT>() {
            0 => L::Ints::splat(0),
            zero => L::Ints::splat(zero * sum_of_step(x.sums, r, step, per_step)),
        };
        let groups = const { groups_of(FORMATS[FORMAT].1, L::Ints::NARROW) };
        for (run, codes) in codes.chunks_exact(groups).enumerate() {
            let mut sums = products::<L, FORMAT>(dot, x.sums, r, step);
            for (group, codes) in (run * groups..).zip(codes) {
                let four = x.values.add(r * CHUNK + step * per_step + 4 * group).cast::<i32>().read_unaligned();
                sums = multiply_codes::<L, FORMAT>(sums, *codes, four);
            }
            dot = dot.add(sums);
        }
        dot
    }
}
