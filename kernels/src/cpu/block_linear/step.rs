//! The products of one step of inputs: exact sums of integers.

use crate::cpu::blocks::{FORMATS, Format};
use crate::cpu::lanes::{Ints, Lanes};
use crate::cpu::quantise::{CHUNK, LARGEST, Sums};

/// Whether i32 sums begin with minus the zero times a step's sum of `x` values. False where narrow products begin with it, and
/// where codes of eight bits are multiplied signed.
pub(super) const fn begins_with_zero<L: Lanes, const FORMAT: usize>() -> bool {
    let Format { zero, .. } = FORMATS[FORMAT].1;
    let (_, eight) = FORMATS[FORMAT].1.largest_code();
    zero != 0 && !L::Ints::NARROW && !(eight && L::Ints::EIGHT_IS_SIGNED)
}

/// `Σ x` over a step's values of row `r`.
#[inline(always)]
pub(super) unsafe fn sum_of_step(sums: *const Sums, r: usize, step: usize, per_step: usize) -> i32 {
    // SAFETY: the caller's.
    unsafe {
        let at = sums.add(r * (CHUNK / 16) + step * per_step / 16);
        if per_step == 32 { (*at).all + (*at.add(1)).all } else { (*at).all }
    }
}

/// Starts products of a step of row `r` that will be added to `dot`, of codes with this zero.
#[inline(always)]
pub(super) unsafe fn products<L: Lanes, const FORMAT: usize>(
    dot: L::Ints,
    zero: i32,
    sums: *const Sums,
    r: usize,
    step: usize,
) -> <L::Ints as Ints>::Products {
    let Format { zero: representative_zero, step: per_step, .. } = const { FORMATS[FORMAT].1 };
    // SAFETY: the caller's.
    unsafe {
        if !L::Ints::NARROW || representative_zero == 0 || const { FORMATS[FORMAT].1.largest_code().1 } {
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
pub(super) unsafe fn multiply_codes<L: Lanes, const FORMAT: usize>(
    products: <L::Ints as Ints>::Products,
    codes: L::Bytes,
    x: i32,
) -> <L::Ints as Ints>::Products {
    // SAFETY: the caller's.
    unsafe {
        if const { FORMATS[FORMAT].1.largest_code().1 } {
            L::Ints::multiply::<true>(products, codes, x)
        } else {
            L::Ints::multiply::<false>(products, codes, x)
        }
    }
}

/// Groups of four inputs whose products are summed before they are added to the i32 sums: a step's, or where products
/// are narrow as many as fit an int16 whatever the codes and the values.
pub(super) const fn groups_of(format: Format, narrow: bool) -> usize {
    let groups = format.step / 4;
    if !narrow {
        return groups;
    }
    // Codes of eight bits are signed.
    let (code, zero) = match format.largest_code() {
        (_, true) => (128, 0),
        (code, false) => (code, format.zero),
    };
    // Two products of a group come to each int16; with their zero they are of either sign.
    let largest = if code - zero > zero { code - zero } else { zero };
    let fitting = (i16::MAX as i32 / (2 * largest * LARGEST)) as usize;
    assert!(2 * code * LARGEST <= i16::MAX as i32 && fitting > 0, "a pair of products fits");
    assert!(zero == 0 || fitting >= groups, "products that begin with the zero are those of a whole step");
    if fitting < groups { fitting } else { groups }
}
