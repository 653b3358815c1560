//! Matrices and activations quantised to int16: twice the speed of f32 at a hundredth of int8's error.
//!
//! # The recipe
//! Numbers of a span of 128 inputs share a scale, largest magnitude / 4,095: then 128 products of two such integers fit
//! 32 bits whatever they are, and their sum is exact. Over the spans, in ascending order, `sum = fma(float(dot) *
//! weight's scale, x's scale, sum)`. The same on every table, for every number of rows.
//!
//! # Layout of a panel of 32 outputs
//! `[inputs / 2][32 outputs][2 inputs]` of i16, then `[spans][32 outputs]` of f32 scales.

use super::lanes::{Bytes, Ints, Lanes, scaled_within};
use super::linear::PANEL;
use super::memory::Aligned;
use std::ops::Range;

/// Inputs that share a scale.
pub(super) const SPAN: usize = 128;

/// Largest integer: `128 * 4095²` is just below `2^31`.
const LARGEST: f32 = 4095.0;

const LANES: usize = 16;

/// Activations, `[rows, inputs]`.
#[derive(Debug)]
pub(crate) struct Int16 {
    pub inputs: usize,
    pub values: Vec<i16>,
    /// `[rows, spans]`
    pub scales: Vec<f32>,
}

/// Bytes of a panel.
pub(crate) fn panel_bytes(inputs: usize) -> usize {
    PANEL * (2 * inputs + 4 * inputs.div_ceil(SPAN))
}

/// Quantises `row` into `panel` as its output `column`; `row` is as long as the panel's inputs.
pub(crate) fn pack(row: &[f32], column: usize, panel: &mut [u8]) {
    let (codes, scales) = panel.split_at_mut(PANEL * 2 * row.len());
    for (span, values) in row.chunks(SPAN).enumerate() {
        let largest = values.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
        let (scale, reciprocal) = scale(largest);
        scales[(span * PANEL + column) * 4..][..4].copy_from_slice(&scale.to_le_bytes());
        for (i, value) in values.iter().enumerate() {
            let input = span * SPAN + i;
            #[allow(clippy::cast_possible_truncation)]
            let code = (value * reciprocal).clamp(-LARGEST, LARGEST).round_ties_even() as i16;
            codes[((input / 2 * PANEL + column) * 2 + input % 2) * 2..][..2].copy_from_slice(&code.to_le_bytes());
        }
    }
}

/// A span's scale and its reciprocal. Below 1e-30 the reciprocal overflows; such a span is taken as zeros.
fn scale(largest: f32) -> (f32, f32) {
    if largest > 1e-30 { (largest / LARGEST, LARGEST / largest) } else { (0.0, 0.0) }
}

/// Quantises one row. An infinite or NaN number makes its span's scale NaN, and so every output of the row.
///
/// # Safety
/// The instructions of `L` exist; `x` is a multiple of 32 long, and there is room for as many values and a scale a
/// span.
#[inline(always)]
pub(super) unsafe fn quantise<L: Lanes>(x: &[f32], values: *mut i16, scales: *mut f32) {
    for (span, x) in x.chunks(SPAN).enumerate() {
        // SAFETY: instructions and room by the caller; whole vectors lie within the slice.
        unsafe {
            let zero = L::splat(0.0);
            let (mut largest, mut zeros) = (zero, zero);
            for x in x.as_chunks::<LANES>().0 {
                let x = L::load(x.as_ptr());
                // The second operand is taken where the first is NaN, so no lane of the result is NaN.
                largest = x.max(zero.sub(x)).max(largest);
                zeros = x.fma(zero, zeros);
            }
            let (scale, reciprocal) = scale(largest.largest());
            *scales.add(span) = scale + zeros.sum_of_zeros();
            for (vector, x) in x.as_chunks::<LANES>().0.iter().enumerate() {
                scaled_within(L::load(x.as_ptr()), reciprocal, LARGEST)
                    .store_rounded_i16(values.add(span * SPAN + vector * LANES));
            }
        }
    }
}

/// The operands of a matmul.
pub(crate) struct Int16Call<'a> {
    pub x: &'a Int16,
    /// `[panels]` of [`panel_bytes`]
    pub packed: &'a Aligned,
    /// `[rows, outputs]`; tasks write disjoint panels or rows
    pub out: *mut f32,
    pub outputs: usize,
}

// SAFETY: `out` is only written through `run`, whose tasks own disjoint panels or rows.
unsafe impl Sync for Int16Call<'_> {}

/// Computes the columns of `panels` for `rows`; register tiles of up to `ROWS` rows by a panel.
///
/// # Safety
/// The instructions of `L` exist; slices have the lengths stated; no other task writes these columns of these rows.
#[inline(always)]
pub(super) unsafe fn run<L: Lanes, const ROWS: usize>(call: &Int16Call<'_>, panels: Range<usize>, rows: Range<usize>) {
    let bytes = panel_bytes(call.x.inputs);
    for panel in panels {
        let stored = &call.packed[panel * bytes..][..bytes];
        let mut row = rows.start;
        // SAFETY: the caller's.
        unsafe {
            while row + ROWS <= rows.end {
                tile::<L, ROWS>(call, stored, panel, row);
                row += ROWS;
            }
            while ROWS > 4 && row + 4 <= rows.end {
                tile::<L, 4>(call, stored, panel, row);
                row += 4;
            }
            while row < rows.end {
                tile::<L, 1>(call, stored, panel, row);
                row += 1;
            }
        }
    }
}

#[inline(always)]
unsafe fn tile<L: Lanes, const ROWS: usize>(call: &Int16Call<'_>, stored: &[u8], panel: usize, row: usize) {
    let columns = PANEL.min(call.outputs - panel * PANEL);
    // SAFETY: the caller's; a narrow last panel goes through a buffer of full width.
    unsafe {
        let out = call.out.add(row * call.outputs + panel * PANEL);
        let mut buffer = [[0.0_f32; PANEL]; ROWS];
        let narrow = columns < PANEL;
        let (to, stride) = if narrow { (buffer.as_mut_ptr().cast(), PANEL) } else { (out, call.outputs) };
        multiply::<L, ROWS>(call.x, stored, row, to, stride);
        if narrow {
            for (r, line) in buffer.iter().enumerate() {
                std::ptr::copy_nonoverlapping(line.as_ptr(), out.add(r * call.outputs), columns);
            }
        }
    }
}

/// `ROWS x 32` results, stored at `out`, whose rows are `stride` apart.
#[inline(always)]
unsafe fn multiply<L: Lanes, const ROWS: usize>(x: &Int16, stored: &[u8], row: usize, out: *mut f32, stride: usize) {
    let (inputs, spans) = (x.inputs, x.inputs.div_ceil(SPAN));
    // SAFETY: the caller's; every offset follows from the layouts of `Int16` and of a panel.
    unsafe {
        let values = x.values.as_ptr().add(row * inputs);
        let scales = x.scales.as_ptr().add(row * spans);
        let weight_scales = stored.as_ptr().add(PANEL * 2 * inputs).cast::<f32>();
        for span in 0..spans {
            let mut dots = [[L::Ints::splat(0); 2]; ROWS];
            for pair in span * SPAN / 2..inputs.min((span + 1) * SPAN) / 2 {
                let codes = stored.as_ptr().add(pair * PANEL * 4);
                let codes = [L::Bytes::load(codes), L::Bytes::load(codes.add(64))];
                for (r, dots) in dots.iter_mut().enumerate() {
                    let two = values.add(r * inputs + 2 * pair).cast::<i32>().read_unaligned();
                    dots[0] = dots[0].dot_i16(codes[0], two);
                    dots[1] = dots[1].dot_i16(codes[1], two);
                }
            }
            for h in 0..2 {
                let scale = L::load(weight_scales.add(span * PANEL + h * LANES));
                for (r, dots) in dots.iter().enumerate() {
                    let out = out.add(r * stride + h * LANES);
                    let before = if span == 0 { L::splat(0.0) } else { L::load(out) };
                    dots[h].to_floats().mul(scale).fma(L::splat(*scales.add(r * spans + span)), before).store(out);
                }
            }
        }
    }
}

/// Output `column` of a panel, dequantised.
pub(crate) fn row_of_i16(panel: &[u8], column: usize, out: &mut [f32]) {
    let (codes, scales) = panel.split_at(PANEL * 2 * out.len());
    for (input, out) in out.iter_mut().enumerate() {
        let at = ((input / 2 * PANEL + column) * 2 + input % 2) * 2;
        let scale_at = (input / SPAN * PANEL + column) * 4;
        let scale =
            f32::from_le_bytes([scales[scale_at], scales[scale_at + 1], scales[scale_at + 2], scales[scale_at + 3]]);
        *out = f32::from(i16::from_le_bytes([codes[at], codes[at + 1]])) * scale;
    }
}
