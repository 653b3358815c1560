//! The loop over tiles of plain Rust, and its instructions one by one, against the other tables, bit for bit.

use super::emulated::Emulated;
use super::*;
use crate::cpu::attention::rounded::run_by_lanes;
use crate::cpu::attention::tests::rounded_bits;
use crate::cpu::bf16::{SumTile, TileCall};
use crate::cpu::bf16_tests::has_the_bits_of_the_definition;
use crate::cpu::blocks::{Format, Scales};
use crate::cpu::linear::PANEL;
use crate::cpu::memory::Aligned;
use crate::cpu::quantise::Int8;
use crate::cpu::tests::{blocks, numbers};
use crate::cpu::{Table, lanes, tables};

type Kernel = unsafe fn(&BlockCall<'_>, Range<usize>, Range<usize>);

/// A weight and activations.
struct Case<'a> {
    format: Format,
    packed: &'a [u8],
    outputs: usize,
    x: Int8,
}

impl<'a> Case<'a> {
    fn new((format, packed): &'a (Format, Aligned), x: &[f32], (rows, inputs, outputs): (usize, usize, usize)) -> Self {
        let mut seen = Int8::new(rows, inputs);
        seen.fill(tables()[0], x);
        Self { format: *format, packed, outputs, x: seen }
    }

    /// In tasks of this many rows and three panels; the results begin as a number that no kernel gives.
    fn bits(&self, kernel: Kernel, rows_each: usize) -> Vec<u32> {
        const UNTOUCHED: f32 = -1e33;
        let (rows, outputs) = (self.x.rows, self.outputs);
        let mut out = vec![UNTOUCHED; rows * outputs + 16];
        let call = BlockCall {
            x: &self.x,
            format: self.format,
            packed: self.packed,
            out: out.as_mut_ptr(),
            first_row: 0,
            outputs,
        };
        for row in (0..rows).step_by(rows_each) {
            let panels = outputs.div_ceil(PANEL);
            for panel in (0..panels).step_by(3) {
                // SAFETY: the kernel is one that this machine can run; the tasks have all panels and rows between them.
                unsafe { kernel(&call, panel..panels.min(panel + 3), row..rows.min(row + rows_each)) };
            }
        }
        assert!(out[..rows * outputs].iter().all(|x| *x != UNTOUCHED) && out[rows * outputs..] == [UNTOUCHED; 16]);
        out.into_iter().map(f32::to_bits).collect()
    }
}

/// Numbers with a block of zeros, one whose int8 values are all 127 and one where they are all -127.
fn activations(rows: usize, inputs: usize) -> Vec<f32> {
    let mut x = numbers(rows * inputs, 4);
    x[..32].fill(0.0);
    x[inputs - 32..inputs].fill(1e20);
    if inputs > 96 {
        x[32..64].fill(-3.0);
    }
    x
}

/// Over tiles of plain Rust.
unsafe fn emulated(call: &BlockCall<'_>, panels: Range<usize>, rows: Range<usize>) {
    // SAFETY: portable lanes need no instructions; the rest is the caller's.
    unsafe { run::<lanes::Portable, _>(&mut Emulated::new(), call, panels, rows) }
}

fn best() -> &'static Table {
    tables().into_iter().find(|table| table.name != "amx").expect("there is always plain Rust")
}

/// Asserts that `kernel` gives the bits of another table at each of `[rows, outputs, rows of a task]`.
fn same(number: usize, inputs: usize, cases: impl IntoIterator<Item = (usize, usize, usize)>, kernel: Kernel) {
    let dtype = FORMATS[number].0;
    let mut weight = (0, blocks(dtype, 1, inputs));
    for (rows, outputs, rows_each) in cases {
        if weight.0 != outputs {
            weight = (outputs, blocks(dtype, outputs, inputs));
        }
        let case = Case::new(&weight.1, &activations(rows, inputs), (rows, inputs, outputs));
        let (got, want) = (case.bits(kernel, rows_each), case.bits(best().block_linear, rows));
        assert!(got == want, "{dtype:?}, {rows} x {inputs} x {outputs} in tasks of {rows_each} rows");
    }
}

/// Widths that a type can have: with nested scales, multiples of 256.
fn widths(number: usize) -> [usize; 4] {
    match FORMATS[number].1.scales {
        Scales::Plain | Scales::Powers => [32, 576, 896, 1536],
        Scales::Nested | Scales::NestedSigned => [256, 768, 1536, 2048],
    }
}

#[test]
fn every_number_of_rows_gives_the_bits_of_the_other_tables() {
    for number in 0..FORMATS.len() {
        let rows = (1..=70).chain([128, 129, 150]);
        same(number, widths(number)[1], rows.map(|rows| (rows, 41, rows)), emulated);
    }
}

#[test]
fn every_width_gives_the_bits_of_the_other_tables() {
    for number in 0..FORMATS.len() {
        for inputs in widths(number).into_iter().chain([4864]) {
            same(number, inputs, [(37, 33, 37), (48, 64, 16), (50, 16, 20), (17, 1, 17), (20, 140, 20)], emulated);
        }
    }
}

/// Asserts that an infinite or NaN value makes all of its row NaN, and nothing else.
fn spoilt_rows(kernel: Kernel) {
    for (number, (dtype, _)) in FORMATS.into_iter().enumerate() {
        let shape = (35, widths(number)[1], 40);
        let mut x = activations(shape.0, shape.1);
        x[3 * shape.1 + 5] = f32::NAN;
        x[17 * shape.1 + 40] = f32::INFINITY;
        x[35 * shape.1 - 1] = f32::NEG_INFINITY;
        let weight = blocks(dtype, shape.2, shape.1);
        let case = Case::new(&weight, &x, shape);
        let (got, want) = (case.bits(kernel, 35), case.bits(best().block_linear, 35));
        for (i, (got, want)) in got.iter().zip(&want).enumerate() {
            let (got, want) = (f32::from_bits(*got), f32::from_bits(*want));
            // The recipe does not fix the bits of a NaN.
            assert!(got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(), "{i}: {got}, {want}");
            let row = i / shape.2;
            assert_eq!(got.is_nan(), row == 3 || row == 17 || row == 34, "row {row}: {got}");
        }
    }
}

#[test]
fn a_number_that_is_not_finite_affects_its_row_only() {
    spoilt_rows(emulated);
}

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
#[test]
fn the_instructions_give_the_bits_of_the_other_tables() {
    use crate::cpu::table::AMX;
    if !tables().iter().any(|table| table.name == "avx512") {
        // The kernel around the tiles is AVX-512, so AMX must not be selectable here. The emulated tiles have tests of their own.
        assert!(tables().iter().all(|table| table.name != AMX.name), "AMX is offered without AVX-512");
        return;
    }
    if !offered() {
        trapped::catch();
    }
    for number in 0..FORMATS.len() {
        for inputs in widths(number) {
            let cases = [(1, 16, 1), (9, 33, 9), (16, 32, 16), (37, 70, 37), (70, 40, 32), (130, 70, 130)];
            same(number, inputs, cases, AMX.block_linear);
        }
    }
    spoilt_rows(AMX.block_linear);
    has_the_bits_of_the_definition("amx", AMX.bf16_linear);
    // SAFETY: AMX instructions that the machine lacks are emulated by the handler.
    assert_eq!(unsafe { (AMX.multiply_i8)(512) }, 384.0);
    assert!(offered() || trapped::count() > 1000, "{} instructions trapped", trapped::count());
}

#[test]
fn emulated_tiles_of_bf16_have_the_bits_of_the_definition() {
    unsafe fn emulated(call: &TileCall<'_>, panels: Range<usize>, rows: Range<usize>, sums: *mut SumTile) {
        // SAFETY: portable lanes need no instructions; the rest is the caller's.
        unsafe { run_bf16::<lanes::Portable, _>(&mut Emulated::new(), call, panels, rows, sums) }
    }
    has_the_bits_of_the_definition("emulated", emulated);
}

#[test]
fn tile_shapes_have_the_offsets_of_the_manual() {
    let mut wanted = [0_u8; 64];
    wanted[0] = 1;
    for tile in 0..8 {
        (wanted[16 + 2 * tile], wanted[48 + tile]) =
            [(32, 16), (32, 16), (32, 16), (32, 16), (64, 8), (64, 8), (64, 16), (64, 16)][tile];
    }
    assert_eq!(shapes(32).0, wanted);
    for tile in 0..6 {
        (wanted[16 + 2 * tile], wanted[48 + tile]) = if tile < 4 { (16, 16) } else { (64, 4) };
    }
    assert_eq!(shapes(16).0, wanted);
}

#[test]
fn tiles_of_plain_rust_multiply() {
    let mut tiles = Emulated::new();
    let (a, b): (Vec<u8>, Vec<u8>) =
        ((0..16 * 32).map(|i| (i * 7) as u8).collect(), (0..8 * 64).map(|i| (i * 5) as u8).collect());
    let mut sums = [0_i32; 256];
    // SAFETY: these are whole tiles of the shapes stated.
    unsafe {
        tiles.configure(&shapes(32));
        tiles.load::<1>(a.as_ptr(), 32);
        tiles.load::<5>(b.as_ptr(), 64);
        tiles.zero::<7>();
        tiles.dot::<7, 1, 5>();
        tiles.dot::<7, 1, 5>();
        tiles.store::<7>(sums.as_mut_ptr().cast(), 64);
        tiles.release();
    }
    // SAFETY: it configures its own tiles.
    let ones = unsafe { multiply_i8(&mut tiles, 512) };
    assert_eq!(ones, 512.0 * 768.0 / 32768.0 * 32.0, "32 ones a product, four tiles a round");
    for row in 0..16 {
        for column in 0..16 {
            let product =
                |k: usize| i32::from(a[row * 32 + k] as i8) * i32::from(b[k / 4 * 64 + 4 * column + k % 4] as i8);
            assert_eq!(sums[row * 16 + column], 2 * (0..32).map(product).sum::<i32>());
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn a_table_with_other_bits_is_not_relied_on() {
    use crate::cpu::table::{AMX, PORTABLE, choose};
    unsafe fn wrong(call: &BlockCall<'_>, panels: Range<usize>, rows: Range<usize>) {
        // SAFETY: the caller's, and plain Rust needs no instructions.
        unsafe {
            (PORTABLE.block_linear)(call, panels, rows);
            *call.out = f32::from_bits((*call.out).to_bits() ^ 1);
        }
    }
    unsafe fn right(call: &BlockCall<'_>, panels: Range<usize>, rows: Range<usize>) {
        // SAFETY: as above.
        unsafe { emulated(call, panels, rows) }
    }
    let named = |block_linear: Kernel| -> &'static Table {
        Box::leak(Box::new(Table { name: AMX.name, block_linear, ..PORTABLE }))
    };
    let (wrong, right) = (named(wrong), named(right));
    let choice = choose(None, &[wrong, &PORTABLE]).expect("nothing is forced");
    assert_eq!(choice.table.name, "portable");
    let remark = choice.remark.expect("it is said");
    assert!(remark.contains("amx") && remark.contains("portable"), "{remark}");
    let choice = choose(None, &[right, &PORTABLE]).expect("nothing is forced");
    assert!(choice.table.name == "amx" && choice.remark.is_none());
    // A table that is asked for is not checked.
    assert_eq!(choose(Some("amx"), &[wrong, &PORTABLE]).expect("it is there").table.name, "amx");
    let error = choose(Some("amx"), &[&PORTABLE]).expect_err("it is not there");
    assert!(error.contains("MOOT_CPU=amx") && error.ends_with("can run portable"), "{error}");
}

/// The bits of plain Rust's lanes, by tiles of plain Rust: on any processor.
#[test]
fn attention_by_tiles_has_the_bits_of_lanes() {
    let of = |emulated: bool| {
        rounded_bits(17, |call, tile, task, scratch| {
            // SAFETY: plain Rust needs no instructions; one task at a time.
            unsafe {
                match emulated {
                    true => run_attention::<lanes::Portable, _>(&mut Emulated::new(), call, tile, task, scratch),
                    false => run_by_lanes::<lanes::Portable, 2>(call, tile, task, scratch),
                }
            }
        })
    };
    assert!(of(true) == of(false));
}
