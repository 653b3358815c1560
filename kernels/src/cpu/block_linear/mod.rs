//! `out = x · wᵀ` over quantised weights and int8 activations.
//!
//! The recipe (`recipe`), for every number of rows and every table, over blocks of 32 inputs in ascending order: within a step (16
//! or 32 inputs that share a scale) products are summed exactly, as integers, to `dot`. A block's sum is `part =
//! float(dot) * scale`, and of its second step, where it has two, `part = fma(float(dot), scale, part)`. Then `sum =
//! fma(part, x scale, sum)` and, for each step where the type has mins, `sum = fma(min, x scale * Σ x values, sum)`.

mod few;
pub(super) mod recipe;
mod tiles;

use super::blocks::{FORMATS, Format, Width, by_format};
use super::lanes::{Ints, Lanes};
use super::linear::PANEL;
use super::quantise::{CHUNK, Int8, LARGEST, Sums};
use super::unpack::{self, SMALL_CHUNK, Scratch};
use few::few;
use std::ops::Range;
use tiles::tiles;

/// The operands of a matmul.
pub(crate) struct BlockCall<'a> {
    pub x: &'a Int8,
    pub format: Format,
    /// `[panels]` of [`Format::panel_bytes`]
    pub packed: &'a [u8],
    /// `[rows, outputs]`, from row `first_row` of `x` on; tasks write disjoint panels or rows
    pub out: *mut f32,
    pub first_row: usize,
    pub outputs: usize,
}

// SAFETY: `out` is only written through `run`, whose tasks own disjoint panels or rows.
unsafe impl Sync for BlockCall<'_> {}

impl BlockCall<'_> {
    /// The address of the first result of a row and a panel.
    ///
    /// # Safety
    /// The output has them.
    #[inline(always)]
    unsafe fn out(&self, row: usize, panel: usize) -> *mut f32 {
        // SAFETY: the caller's.
        unsafe { self.out.add((row - self.first_row) * self.outputs + panel * PANEL) }
    }
}

/// Rows up to which AMX's table multiplies in registers too.
#[allow(dead_code, reason = "only used with AMX, which is compiled for x86-64")]
pub(super) const FEW: usize = 8;

/// Rows up to which codes are unpacked in registers: a pass of `AT_ONCE` or two.
const fn few_rows<L: Lanes, const AT_ONCE: usize, const FORMAT: usize>() -> usize {
    // Codes of eight bits need no unpacking.
    let one_pass = L::Ints::NARROW && !matches!(FORMATS[FORMAT].1.width, Width::Eight);
    AT_ONCE * if one_pass { 1 } else { 2 }
}

/// The product of one chunk of inputs.
#[derive(Clone, Copy)]
struct ChunkTask<'a> {
    call: &'a BlockCall<'a>,
    scratch: *const Scratch,
    /// First input of the chunk.
    from: usize,
    /// Inputs of the chunk.
    len: usize,
    out: *mut f32,
    stride: usize,
    row: usize,
}

/// Computes the columns of `panels` for `rows`: register tiles of up to `ROWS` rows by `HALVES` vectors, or, of few rows,
/// passes of up to `AT_ONCE`.
///
/// # Safety
/// The instructions of `L` exist; slices have the lengths stated; no other task writes these columns of these rows.
#[inline(always)]
pub(super) unsafe fn run<L: Lanes, const ROWS: usize, const HALVES: usize, const AT_ONCE: usize>(
    call: &BlockCall<'_>,
    panels: Range<usize>,
    rows: Range<usize>,
) {
    // SAFETY: the caller's.
    unsafe { by_format!(call.format, run_format::<L, ROWS, HALVES, AT_ONCE>(call, panels, rows)) }
}

/// As [`run`], for `FORMATS[FORMAT]`: all that depends on the format is constant.
#[inline(always)]
unsafe fn run_format<L: Lanes, const ROWS: usize, const HALVES: usize, const AT_ONCE: usize, const FORMAT: usize>(
    call: &BlockCall<'_>,
    panels: Range<usize>,
    rows: Range<usize>,
) {
    let format = const { FORMATS[FORMAT].1 };
    let (inputs, bytes) = (call.x.inputs, format.panel_bytes(call.x.inputs));
    let chunk = if rows.len() <= ROWS { SMALL_CHUNK } else { CHUNK };
    let mut scratch = unpack::scratch();
    for panel in panels {
        let stored = &call.packed[panel * bytes..][..bytes];
        let columns = PANEL.min(call.outputs - panel * PANEL);
        if rows.len() <= const { few_rows::<L, AT_ONCE, FORMAT>() } {
            // SAFETY: the caller's.
            unsafe { few::<L, AT_ONCE, FORMAT>(call, stored, panel, columns, rows.clone()) };
            continue;
        }
        for from in (0..inputs).step_by(chunk) {
            let chunk = from..inputs.min(from + chunk);
            // SAFETY: the caller's.
            unsafe {
                unpack::unpack::<L, false>(format, stored, chunk.clone(), scratch.as_mut_ptr());
                let task = ChunkTask {
                    call,
                    scratch: scratch.as_ptr(),
                    from,
                    len: chunk.len(),
                    out: call.out(rows.start, panel),
                    stride: call.outputs,
                    row: rows.start,
                };
                tiles::<L, ROWS, HALVES, FORMAT>(&task, rows.len(), columns);
            }
        }
    }
}

/// The factor of a step's sum of `x` values that i32 sums begin with: minus the zero, where codes are multiplied with
/// their zero in, and narrow products do not begin with it.
#[inline(always)]
fn zero_of<L: Lanes, const FORMAT: usize>() -> i32 {
    let Format { width, zero, .. } = const { FORMATS[FORMAT].1 };
    if L::Ints::NARROW || width == Width::Eight && L::Ints::EIGHT_IS_SIGNED { 0 } else { -zero }
}

/// `Σ x` over a step's values of row `r`.
#[inline(always)]
unsafe fn sum_of_step(sums: *const Sums, r: usize, step: usize, per_step: usize) -> i32 {
    // SAFETY: the caller's.
    unsafe {
        let at = sums.add(r * (CHUNK / 16) + step * per_step / 16);
        if per_step == 32 { (*at).all + (*at.add(1)).all } else { (*at).all }
    }
}

/// Starts products of a step of row `r` that will be added to `dot`.
#[inline(always)]
unsafe fn products<L: Lanes, const FORMAT: usize>(
    dot: L::Ints,
    sums: *const Sums,
    r: usize,
    step: usize,
) -> <L::Ints as Ints>::Products {
    let Format { width, zero, step: per_step, .. } = const { FORMATS[FORMAT].1 };
    // SAFETY: the caller's.
    unsafe {
        if !L::Ints::NARROW || zero == 0 || width == Width::Eight {
            return dot.products(0, []);
        }
        let at = sums.add(r * (CHUNK / 16) + step * per_step / 16);
        if per_step == 32 {
            dot.products(zero as i16, [(*at).pairs, (*at.add(1)).pairs])
        } else {
            dot.products(zero as i16, [(*at).pairs])
        }
    }
}

/// Adds a group's products to those of at most [`groups_of`] groups.
#[inline(always)]
unsafe fn multiply_codes<L: Lanes, const FORMAT: usize>(
    products: <L::Ints as Ints>::Products,
    codes: L::Bytes,
    x: i32,
) -> <L::Ints as Ints>::Products {
    // SAFETY: the caller's.
    unsafe {
        if const { matches!(FORMATS[FORMAT].1.width, Width::Eight) } {
            L::Ints::multiply::<true>(products, codes, x)
        } else {
            L::Ints::multiply::<false>(products, codes, x)
        }
    }
}

/// Groups of four inputs whose products are summed before they are added to the i32 sums: a step's, or where products
/// are narrow as many as fit an int16 whatever the codes and the values.
const fn groups_of(format: Format, narrow: bool) -> usize {
    let groups = format.step / 4;
    if !narrow {
        return groups;
    }
    // Codes of eight bits are signed.
    let (code, zero) = match format.width {
        Width::Four => (15, format.zero),
        Width::Five => (31, format.zero),
        Width::Six => (63, format.zero),
        Width::Eight => (128, 0),
    };
    // Two products of a group come to each int16; with their zero they are of either sign.
    let largest = if code - zero > zero { code - zero } else { zero };
    let fitting = (i16::MAX as i32 / (2 * largest * LARGEST)) as usize;
    assert!(2 * code * LARGEST <= i16::MAX as i32 && fitting > 0, "a pair of products fits");
    assert!(zero == 0 || fitting >= groups, "products that begin with the zero are those of a whole step");
    if fitting < groups { fitting } else { groups }
}
