//! Block types whose 4-bit codes select from a table of 16 values. Candle has none of them. The CPU's kernels hold them in
//! four bits; everything else reads them as `Q8_0` blocks: the same values, or as near as an f16 scale comes.
//!
//! Layouts and tables: `block_iq4_nl`, `block_iq4_xs`, `block_mxfp4` of
//! <https://github.com/ggml-org/ggml/blob/master/src/ggml-common.h>; MXFP4 itself: OCP Microscaling Formats 1.0.

use half::f16;
use moot_kernels::BlockType;
use moot_kernels::cpu::{E2M1_VALUES_DOUBLED as E2M1_DOUBLED, IQ4_VALUES as IQ4};
use rayon::prelude::*;
use std::fmt;

/// Elements of a `Q8_0` block, and of the groups that share a scale here.
const GROUP: usize = 32;
/// Bytes of a `Q8_0` block: an f16 scale, then one int8 an element.
const Q8_0: usize = 2 + GROUP;
/// Bytes of a group's codes. The low halves are its first 16 elements.
const CODES: usize = GROUP / 2;

/// A scale of MXFP4 is 2 to its byte less this: E8M0's bias of 127, and one for the doubled values.
const E8M0_BIAS: i32 = 128;
/// The byte of E8M0 that is not a number.
const E8M0_NAN: u8 = 255;
/// Powers of two that f16 holds: from the smallest subnormal number to the largest power.
const F16_POWERS: std::ops::RangeInclusive<i32> = -24..=15;

/// A block type with a codebook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codebook {
    /// 32 elements: an f16 scale, codes.
    Iq4Nl,
    /// 256 elements: an f16 scale, eight factors of 6 bits, codes. The scale of 32 elements is scale times factor.
    Iq4Xs,
    /// 32 elements: a power of two as a byte (E8M0), codes (E2M1).
    Mxfp4,
}

/// Why a block cannot be `Q8_0`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Unfit {
    /// Its scale is infinite or not a number.
    NotFinite,
    /// Its scale, a number, is too large for f16.
    TooLarge(f32),
    /// 2 to this power, times the codes' values, is not a product of an f16 number and int8 numbers.
    Power(i32),
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFinite => f.write_str("a scale that is not finite"),
            Self::TooLarge(scale) => write!(f, "a scale of {scale}"),
            Self::Power(power) => write!(f, "a scale of 2^{power}, out of its range with these codes"),
        }
    }
}

impl Codebook {
    /// Elements of a block.
    pub(super) fn block_size(self) -> usize {
        match self {
            Self::Iq4Nl | Self::Mxfp4 => GROUP,
            Self::Iq4Xs => 8 * GROUP,
        }
    }

    /// Bytes of a block.
    pub(super) fn type_size(self) -> usize {
        match self {
            Self::Iq4Nl => 2 + CODES,
            Self::Iq4Xs => 2 + 2 + 4 + 8 * CODES,
            Self::Mxfp4 => 1 + CODES,
        }
    }

    /// The type of blocks that the CPU's kernels hold it as. `IQ4_XS` is `IQ4_NL` there, with the scale that `Q8_0` has.
    pub(super) fn on_cpu(self) -> BlockType {
        match self {
            Self::Iq4Nl | Self::Iq4Xs => BlockType::Iq4Nl,
            Self::Mxfp4 => BlockType::Mxfp4,
        }
    }

    /// A row of whole blocks as blocks of [`Self::on_cpu`]; `None` where one [cannot be `Q8_0`](Self::unfit) either, so that
    /// a file is refused on every device or on none.
    pub(super) fn to_cpu(self, row: &[u8]) -> Option<Vec<u8>> {
        let mut out = Vec::with_capacity(row.len() / 16 * 17);
        for block in row.chunks_exact(self.type_size()) {
            match self {
                Self::Iq4Nl => {
                    let scale = f16::from_le_bytes([block[0], block[1]]);
                    finite(scale, f32::from(scale)).ok()?;
                    out.extend_from_slice(block);
                }
                Self::Iq4Xs => {
                    for (scale, codes) in (0..8).map(|group| iq4_xs_scale(block, group)).zip(block[8..].chunks(CODES)) {
                        out.extend_from_slice(&scale.ok()?.to_le_bytes());
                        out.extend_from_slice(codes);
                    }
                }
                Self::Mxfp4 => {
                    let powers = F16_POWERS.start() + E8M0_BIAS..=F16_POWERS.end() + E8M0_BIAS;
                    if !powers.contains(&i32::from(block[0])) {
                        self.block(block, &mut [0; Q8_0]).ok()?;
                    }
                    // Where all codes are zeros, any power will do.
                    let zeros = block[1..].iter().all(|codes| codes & 0x77 == 0);
                    out.push(if zeros { 127 } else { block[0] - 1 });
                    out.extend_from_slice(&block[1..]);
                }
            }
        }
        Some(out)
    }

    /// `rows` rows of whole blocks as `Q8_0` blocks. A block that [cannot be one](Self::unfit) gets NaN as its scale.
    pub(super) fn to_q8_0(self, bytes: &[u8], rows: usize) -> Vec<u8> {
        let mut out = vec![0; bytes.len() / self.type_size() * self.block_size() / GROUP * Q8_0];
        if rows > 1 {
            let (to, from) = (out.len() / rows, bytes.len() / rows);
            out.par_chunks_exact_mut(to).zip(bytes.par_chunks_exact(from)).for_each(|(to, from)| self.row(from, to));
        } else {
            self.row(bytes, &mut out);
        }
        out
    }

    fn row(self, bytes: &[u8], out: &mut [u8]) {
        let blocks = bytes.chunks_exact(self.type_size());
        let converted = out.chunks_exact_mut(self.block_size() / GROUP * Q8_0);
        for (block, to) in blocks.zip(converted) {
            if self.block(block, to).is_err() {
                to.as_chunks_mut::<Q8_0>().0.iter_mut().for_each(|group| write_scale(group, f16::NAN));
            }
        }
    }

    /// The first block of `bytes` that cannot be `Q8_0`, and why.
    pub(super) fn unfit(self, bytes: &[u8]) -> Option<(usize, Unfit)> {
        let mut discarded = [0; 8 * Q8_0];
        let discarded = &mut discarded[..self.block_size() / GROUP * Q8_0];
        let mut blocks = bytes.chunks_exact(self.type_size()).enumerate();
        blocks.find_map(|(index, block)| Some((index, self.block(block, discarded).err()?)))
    }

    fn block(self, block: &[u8], to: &mut [u8]) -> Result<(), Unfit> {
        let groups = to.as_chunks_mut::<Q8_0>().0;
        match self {
            Self::Iq4Nl => {
                let scale = f16::from_le_bytes([block[0], block[1]]);
                write_values(&mut groups[0], &IQ4, &block[2..]);
                write_scale(&mut groups[0], finite(scale, f32::from(scale))?);
            }
            Self::Iq4Xs => {
                for (index, (group, codes)) in groups.iter_mut().zip(block[8..].chunks_exact(CODES)).enumerate() {
                    write_values(group, &IQ4, codes);
                    write_scale(group, iq4_xs_scale(block, index)?);
                }
            }
            Self::Mxfp4 => mxfp4(block[0], &block[1..], &mut groups[0])?,
        }
        Ok(())
    }
}

/// The scale of group `index` of a block of `IQ4_XS`.
fn iq4_xs_scale(block: &[u8], index: usize) -> Result<f16, Unfit> {
    let (high, low) = (u16::from_le_bytes([block[2], block[3]]), block[4 + index / 2]);
    let factor = (low >> (4 * (index % 2))) & 15 | (((high >> (2 * index)) & 3) as u8) << 4;
    product(f16::from_le_bytes([block[0], block[1]]), factor)
}

/// The scale of a group of `IQ4_XS`: `scale * (factor - 32)`, rounded to f16. `factor` has 6 bits.
///
/// The relative error is at most 2^-11. A subnormal product is exact: an integer times a number of at least 2^-14 is
/// not a subnormal number, and subnormal numbers are the multiples of 2^-24 below that.
fn product(scale: f16, factor: u8) -> Result<f16, Unfit> {
    // 11 bits times 6 bits: exact in f32, so rounded once.
    let product = f32::from(scale) * (f32::from(factor) - 32.0);
    finite(f16::from_f32(product), product)
}

/// `scale`, the rounded form of `exact`, where it is finite.
fn finite(scale: f16, exact: f32) -> Result<f16, Unfit> {
    match (scale.is_finite(), exact.is_finite()) {
        (true, _) => Ok(scale),
        (false, true) => Err(Unfit::TooLarge(exact)),
        (false, false) => Err(Unfit::NotFinite),
    }
}

/// A block of MXFP4, exactly. Where the power of two is outside f16, the codes' values take the rest as a shift, as long as
/// they stay integers of 8 bits.
fn mxfp4(exponent: u8, codes: &[u8], to: &mut [u8; Q8_0]) -> Result<(), Unfit> {
    if exponent == E8M0_NAN {
        return Err(Unfit::NotFinite);
    }
    write_values(to, &E2M1_DOUBLED, codes);
    // Has the highest bit of the largest value, and the lowest bit that any value has.
    let bits = to[2..].iter().fold(0, |bits, value| bits | i8::from_le_bytes([*value]).unsigned_abs());
    if bits == 0 {
        write_scale(to, f16::ZERO);
        return Ok(());
    }
    let wanted = i32::from(exponent) - E8M0_BIAS;
    let power = wanted.clamp(*F16_POWERS.start(), *F16_POWERS.end());
    let (up, down) = ((wanted - power).max(0) as u32, (power - wanted).max(0) as u32);
    if up >= bits.leading_zeros() || down > bits.trailing_zeros() {
        return Err(Unfit::Power(wanted));
    }
    for value in &mut to[2..] {
        *value = (i8::from_le_bytes([*value]) << up >> down).to_le_bytes()[0];
    }
    write_scale(to, f16::from_f32(2f32.powi(power)));
    Ok(())
}

/// MXFP4 as safetensors have it, codes and scales apart, in ggml's blocks. There the codes of a block's elements `2 i` and
/// `2 i + 1` are the halves of a byte, here those of `i` and `i + 16`.
pub(super) fn joined_mxfp4(codes: &[u8], scales: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(codes.len() + scales.len());
    for (codes, scale) in codes.as_chunks::<CODES>().0.iter().zip(scales) {
        let code = |element: usize| codes[element / 2] >> (element % 2 * 4) & 15;
        out.push(*scale);
        out.extend((0..CODES).map(|i| code(i) | code(i + CODES) << 4));
    }
    out
}

fn write_values(group: &mut [u8; Q8_0], table: &[i8; 16], codes: &[u8]) {
    let (first, second) = group[2..].split_at_mut(CODES);
    for ((first, second), code) in first.iter_mut().zip(second).zip(codes) {
        *first = table[usize::from(code & 15)].to_le_bytes()[0];
        *second = table[usize::from(code >> 4)].to_le_bytes()[0];
    }
}

fn write_scale(group: &mut [u8; Q8_0], scale: f16) {
    group[..2].copy_from_slice(&scale.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::{Unfit, product};
    use half::f16;

    /// Every scale that a file can have, with every factor.
    #[test]
    fn a_product_is_rounded_by_at_most_two_to_the_minus_11() {
        let (mut rounded, mut largest) = (0, 0f64);
        for bits in 0..=u16::MAX {
            for factor in 0..64u8 {
                let scale = f16::from_bits(bits);
                let exact = f64::from(scale) * (f64::from(factor) - 32.0);
                match product(scale, factor) {
                    Ok(found) if f64::from(found) == exact => {}
                    Ok(found) => {
                        assert!(exact.abs() >= 2f64.powi(-14), "a subnormal product is exact: {scale} * {factor}");
                        rounded += 1;
                        largest = largest.max((f64::from(found) / exact - 1.0).abs());
                    }
                    Err(Unfit::TooLarge(found)) => {
                        // Half a step above the largest number of f16 rounds to infinity.
                        assert!(f64::from(found) == exact && exact.abs() >= 65520.0 && scale.is_finite());
                    }
                    Err(unfit) => assert!(unfit == Unfit::NotFinite && !scale.is_finite(), "{scale} * {factor}"),
                }
            }
        }
        assert!(rounded > 1_000_000 && largest <= 2f64.powi(-11), "{rounded} products rounded, by up to {largest:e}");
    }
}
