//! Products of bf16 against their definition, bit for bit, on every table.

use super::bf16::{Bf16, SumTile, Sums, TILE_ROWS, TileCall};
use super::blocks::{FORMATS, Format, LANES, Scales};
use super::lanes::{Portable, bias_of};
use super::linear::PANEL;
use super::memory::Aligned;
use super::quantise::CHUNK;
use super::tests::{blocks, numbers};
use super::unpack::{self, HalfPanel};
use super::{row_of_blocks, tables};
use std::mem::MaybeUninit;
use std::ops::Range;

type Kernel = unsafe fn(&TileCall<'_>, Range<usize>, Range<usize>, *mut SumTile);

fn rounded(x: f32) -> f32 {
    f32::from_bits(x.to_bits().wrapping_add(0x8000) & 0xffff_0000)
}

fn activation(x: f32) -> f32 {
    if x.abs() < 2_f32.powi(-60) { 0.0 } else { rounded(x) }
}

/// The weights of output `column` of a panel, by their definition.
fn weights(format: Format, panel: &[u8], column: usize, inputs: usize) -> Vec<f32> {
    let (half, lane, eight) = (column / LANES, column % LANES, format.largest_code().1);
    let mut out = Vec::new();
    for from in (0..inputs).step_by(32) {
        let mut scratch = unpack::scratch();
        // SAFETY: portable lanes need no instructions; 32 inputs fit a chunk, and what is read of them was written.
        unsafe {
            unpack::unpack::<Portable, false>(format, panel, from..from + 32, scratch.as_mut_ptr());
            let half = scratch.as_ptr().cast::<HalfPanel>().add(half);
            let read = |values: *const MaybeUninit<f32>, step: usize| *values.cast::<f32>().add(step * LANES + lane);
            for input in 0..32 {
                let code = *(*half).codes.as_ptr().cast::<u8>().add(input / 4 * 4 * LANES + 4 * lane + input % 4);
                let scale = read((*half).scales.as_ptr(), input / format.step);
                let least = if format.has_min { read((*half).mins.as_ptr(), input / format.step) } else { 0.0 };
                let offset = scale.mul_add(-(bias_of(eight) + format.zero as f32), least);
                out.push(rounded((bias_of(eight) + f32::from(code)).mul_add(scale, offset)));
            }
        }
    }
    out
}

/// `x · wᵀ` of one row and one output.
fn product(x: &[f32], weights: &[f32]) -> f32 {
    let blocks = x.as_chunks::<32>().0.iter().zip(weights.as_chunks::<32>().0);
    blocks.fold(0.0, |sum, (x, weights)| {
        let mut parts = [0.0_f32; 2];
        for (input, (x, weight)) in x.iter().zip(weights).enumerate() {
            parts[input % 2] = activation(*x).mul_add(*weight, parts[input % 2]);
        }
        sum + (parts[0] + parts[1])
    })
}

/// `[rows][outputs]` by a kernel, in tasks of three panels and this many rows.
fn by_kernel(
    kernel: Kernel,
    (format, packed): &(Format, Aligned),
    x: &[f32],
    [rows, inputs, outputs]: [usize; 3],
    rows_each: usize,
) -> Vec<u32> {
    let mut tiles = Bf16::new(rows, inputs);
    for (row, from, part) in tiles.parts(TILE_ROWS) {
        part.fill(CHUNK.min(inputs - from), |number, out| {
            let x = &x[(row + number) * inputs + from..][..out.len()];
            // SAFETY: plain Rust needs no instructions; as many values.
            unsafe { super::bf16::round::<Portable>(x, out.as_mut_ptr()) };
        });
    }
    let (call, panels) = (TileCall { x: &tiles, format: *format, packed }, outputs.div_ceil(PANEL));
    let (mut sums, mut out) = (Sums::default(), vec![0; rows * outputs]);
    for first in (0..rows).step_by(rows_each) {
        let rows = first..rows.min(first + rows_each);
        for panel in (0..panels).step_by(3) {
            let together = panel..panels.min(panel + 3);
            let (count, many) = (together.len(), rows.len());
            // SAFETY: the machine can run the kernel; there is room for the sums, and it writes all of them.
            let tiles = unsafe {
                kernel(&call, together.clone(), rows.clone(), sums.room(count, many));
                sums.tiles(count, many)
            };
            for (number, panel) in together.enumerate() {
                for (at, row) in rows.clone().enumerate() {
                    for column in 0..PANEL.min(outputs - panel * PANEL) {
                        let tile = &tiles[(number * many.div_ceil(TILE_ROWS) + at / TILE_ROWS) * 2 + column / LANES];
                        out[row * outputs + panel * PANEL + column] =
                            tile.rows()[at % TILE_ROWS][column % LANES].to_bits();
                    }
                }
            }
        }
    }
    out
}

fn widths(format: Format) -> [usize; 3] {
    match format.scales {
        Scales::Plain | Scales::Powers => [32, 576, 1536],
        Scales::Nested | Scales::NestedSigned => [256, 768, 1536],
    }
}

/// Asserts that `kernel` gives the bits of the definition for every type and shape.
pub(super) fn has_the_bits_of_the_definition(name: &str, kernel: Kernel) {
    for (dtype, format) in FORMATS {
        for inputs in widths(format) {
            let outputs = 70;
            let weight = blocks(dtype, outputs, inputs);
            let all: Vec<Vec<f32>> = (0..outputs)
                .map(|output| {
                    let bytes = format.panel_bytes(inputs);
                    weights(format, &weight.1[output / PANEL * bytes..][..bytes], output % PANEL, inputs)
                })
                .collect();
            for (rows, rows_each) in [(1, 16), (16, 16), (17, 32), (33, 64), (70, 32)] {
                let mut x = numbers(rows * inputs, 4);
                x[0] = 1e-30;
                x[1] = -3e-19;
                let got = by_kernel(kernel, &weight, &x, [rows, inputs, outputs], rows_each);
                let want = x.chunks(inputs).flat_map(|x| all.iter().map(|w| product(x, w).to_bits()));
                assert!(got.into_iter().eq(want), "{name}: {dtype:?}, {rows} x {inputs} in tasks of {rows_each}");
            }
        }
    }
}

#[test]
fn every_table_has_the_bits_of_the_definition() {
    for table in tables() {
        has_the_bits_of_the_definition(table.name, table.bf16_linear);
    }
}

#[test]
fn numbers_are_rounded_to_the_nearest() {
    #[allow(clippy::excessive_precision)]
    let x: [f32; 14] = [
        1.0,
        -1.0,
        1.003_906_25,
        1.003_906_1,
        1.003_906_4,
        -1.003_906_25,
        0.0,
        8.0e-19,
        -8.0e-19,
        9.0e-19,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        3.4e38,
    ];
    // 1 + 2^-8 is in the middle of two.
    let want = [
        1.0,
        -1.0,
        1.007_812_5,
        1.0,
        1.007_812_5,
        -1.007_812_5,
        0.0,
        0.0,
        0.0,
        9.012_431e-19,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        f32::INFINITY,
    ];
    for table in tables() {
        let many: Vec<f32> = x.iter().copied().cycle().take(45).collect();
        let mut out = vec![0_u16; 46];
        // SAFETY: the machine can run the table; there is room for as many values.
        unsafe { (table.round_bf16)(&many, out.as_mut_ptr()) };
        for (at, got) in out[..45].iter().enumerate() {
            let (got, want) = (f32::from_bits(u32::from(*got) << 16), want[at % x.len()]);
            assert!(got == want || got.is_nan() && want.is_nan(), "{table:?}: {} gives {got}, not {want}", many[at]);
        }
        assert_eq!(out[45], 0, "{table:?} writes beyond its values");
    }
}

#[test]
fn weights_are_those_of_their_type() {
    for (dtype, format) in FORMATS {
        let inputs = widths(format)[1];
        let (_, packed) = blocks(dtype, PANEL, inputs);
        for column in 0..PANEL {
            let mut exact = vec![0.0; inputs];
            row_of_blocks(format, &packed[..format.panel_bytes(inputs)], column, &mut exact);
            let largest = exact.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
            for (got, want) in weights(format, &packed, column, inputs).into_iter().zip(exact) {
                assert!((got - want).abs() <= want.abs() / 256.0 + largest / 16384.0, "{dtype:?}: {got} for {want}");
            }
        }
    }
}
