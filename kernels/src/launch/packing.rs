//! How a quantised matrix is packed for the kernels that multiply by it.
//!
//! Sixteen outputs and 64 inputs are a unit. A unit's bytes lie as a warp loads them: the lower four bits of all codes
//! (all eight of `Q8_0`), 16 bytes a lane; the fifth bits, or the fifth and sixth; the scales of outputs g and g + 8,
//! for g from 0 to 7. Four units of a type with blocks of 256 inputs are followed by the scales of their scales. Units
//! of sixteen outputs follow each other, then come the next sixteen; outputs that are missing are zero.
//! `cuda/blocks.cu` reads the same. A matrix may have parts of different types, one after the other. A gated unit has
//! eight gate outputs and the eight outputs they multiply, so that a lane has both ([`Packing::Gated`]).

use super::kernel::Element;
use candle_core::quantized::GgmlDType;
use rayon::prelude::*;
use std::borrow::Cow;

/// Outputs and inputs of a unit.
pub(super) const OUTPUTS: usize = 16;
pub(super) const INPUTS: usize = 64;
/// Inputs of a group.
const GROUP: usize = 32;

/// A type of blocks, and its kernels.
pub(super) struct Format {
    /// Names of kernels: of products, and of the matrix as numbers.
    pub(super) product: &'static str,
    pub(super) widen: &'static str,
    /// Bits of a code.
    pub(super) bits: usize,
    /// Whether weights have a least value.
    shifted: bool,
    /// Whether 256 inputs have a scale of their scales.
    superscaled: bool,
}

impl Format {
    fn of(blocks: GgmlDType) -> Option<Self> {
        let (product, widen, bits, shifted, superscaled) = match blocks {
            GgmlDType::Q4_0 => ("blocks_q4_0", "widen_q4_0", 4, false, false),
            GgmlDType::Q4_1 => ("blocks_q4_1", "widen_q4_1", 4, true, false),
            GgmlDType::Q5_0 => ("blocks_q5_0", "widen_q5_0", 5, false, false),
            GgmlDType::Q5_1 => ("blocks_q5_1", "widen_q5_1", 5, true, false),
            GgmlDType::Q8_0 => ("blocks_q8_0", "widen_q8_0", 8, false, false),
            GgmlDType::Q4K => ("blocks_q4_k", "widen_q4_k", 4, true, true),
            GgmlDType::Q5K => ("blocks_q5_k", "widen_q5_k", 5, true, true),
            GgmlDType::Q6K => ("blocks_q6_k", "widen_q6_k", 6, false, true),
            _ => return None,
        };
        Some(Self { product, widen, bits, shifted, superscaled })
    }

    /// Whether sixteen inputs have a scale, rather than 32.
    fn of_sixteens(&self) -> bool {
        self.superscaled && !self.shifted
    }

    /// Bytes of the first plane of codes.
    fn low(&self) -> usize {
        if self.bits == 8 { 1024 } else { 512 }
    }

    /// Bytes of the fifth bits, or of the fifth and sixth.
    fn high(&self) -> usize {
        match self.bits {
            5 => 128,
            6 => 256,
            _ => 0,
        }
    }

    /// Bytes of the scales of two outputs in a unit.
    fn scales(&self) -> usize {
        if self.shifted && !self.superscaled { 16 } else { 8 }
    }

    /// Bytes of two outputs' scales of scales.
    fn head(&self) -> usize {
        match (self.superscaled, self.shifted) {
            (false, _) => 0,
            (true, false) => 4,
            (true, true) => 8,
        }
    }

    fn unit(&self) -> usize {
        self.low() + self.high() + 8 * self.scales()
    }

    /// Units with one head.
    fn units(&self) -> usize {
        if self.superscaled { 4 } else { 1 }
    }

    fn chunk(&self) -> usize {
        self.units() * self.unit() + 8 * self.head()
    }
}

/// Whether there are kernels for rows of `inputs` numbers of type `element` and a matrix of such blocks: numbers of 16 bits,
/// and inputs in multiples of 64, which is two blocks of 32, or of a block of 256.
#[must_use]
pub fn fits(element: Element, blocks: GgmlDType, inputs: usize) -> bool {
    let whole = inputs > 0 && inputs.is_multiple_of(blocks.block_size().max(INPUTS));
    element.is_half() && whole && Format::of(blocks).is_some()
}

/// Outputs that follow each other in a matrix and have blocks of one type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// The type.
    pub blocks: GgmlDType,
    /// How many.
    pub outputs: usize,
}

impl Part {
    /// Bytes of the packed part. A multiple of 16.
    fn bytes(&self, format: &Format, inputs: usize) -> usize {
        self.outputs.div_ceil(OUTPUTS) * (inputs / INPUTS / format.units() * format.chunk())
    }
}

/// In which order outputs are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    /// As they are.
    InOrder,
    /// The first half are a gate's outputs, the second half what it is multiplied with. Products give `silu(gate) * up`, half
    /// as many outputs. One part, and outputs in multiples of sixteen.
    Gated,
}

impl Packing {
    /// Whether a matrix of `parts` can be packed so.
    #[must_use]
    pub fn fits(self, parts: &[Part]) -> bool {
        match self {
            Self::InOrder => outputs_of(parts) > 0,
            Self::Gated => matches!(parts, [part] if part.outputs > 0 && part.outputs.is_multiple_of(OUTPUTS)),
        }
    }

    /// The output, of `outputs`, that is packed in place `at`.
    fn output(self, at: usize, outputs: usize) -> usize {
        match self {
            Self::InOrder => at,
            Self::Gated => at % OUTPUTS / 8 * (outputs / 2) + at / OUTPUTS * 8 + at % 8,
        }
    }

    /// Outputs of a product with a matrix of `parts`.
    #[must_use]
    pub fn width(self, parts: &[Part]) -> usize {
        match self {
            Self::InOrder => outputs_of(parts),
            Self::Gated => outputs_of(parts) / 2,
        }
    }
}

/// Outputs of a matrix.
#[must_use]
pub fn outputs_of(parts: &[Part]) -> usize {
    parts.iter().map(|part| part.outputs).sum()
}

/// The words of a packed matrix of `inputs` inputs; `row` gives an output's blocks as a GGUF file has them. `None` where no
/// kernel [fits](fits) a part, or the packing does not.
pub fn pack<'a>(
    parts: &[Part],
    packing: Packing,
    inputs: usize,
    row: impl Fn(usize) -> Cow<'a, [u8]> + Sync,
) -> Option<Vec<u32>> {
    let placed = placed(Element::F16, (parts, packing), inputs, &[])?;
    let end = placed.last().map_or(0, |(part, format, [first, _])| first + part.bytes(format, inputs));
    let (mut words, outputs) = (vec![0_u32; end / 4], outputs_of(parts));
    for (part, format, [from, first]) in &placed {
        let words = &mut words[from / 4..][..part.bytes(format, inputs) / 4];
        pack_part(*part, format, inputs, words, |at| row(packing.output(first + at, outputs)));
    }
    Some(words)
}

fn pack_part<'a>(
    Part { blocks, outputs }: Part,
    format: &Format,
    inputs: usize,
    words: &mut [u32],
    row: impl Fn(usize) -> Cow<'a, [u8]> + Sync,
) {
    let of_tile = inputs / INPUTS / format.units() * format.chunk();
    words.par_chunks_exact_mut(of_tile / 4).enumerate().for_each(|(tile, words)| {
        let mut bytes = vec![0_u8; of_tile];
        for within in 0..OUTPUTS.min(outputs - tile * OUTPUTS) {
            let stored = row(tile * OUTPUTS + within);
            for (unit, chunk) in (0..inputs / INPUTS).map(|unit| (unit, unit / format.units() * format.chunk())) {
                let (from, at) = (read(blocks, &stored, unit), unit % format.units());
                place(format, &from, within, &mut bytes[chunk + at * format.unit()..][..format.unit()]);
                let head = chunk + format.units() * format.unit();
                place_head(format, from.head, within, &mut bytes[head..][..8 * format.head()]);
            }
        }
        words.iter_mut().zip(bytes.as_chunks().0).for_each(|(word, bytes)| *word = u32::from_le_bytes(*bytes));
    });
}

/// The part of a unit that belongs to one output.
struct Share {
    codes: [u8; INPUTS],
    /// As they are stored behind each other: eight bytes, or half of them.
    scales: [u8; 8],
    /// The scale of the scales, and of the least values.
    head: [u8; 4],
}

fn read(blocks: GgmlDType, row: &[u8], unit: usize) -> Share {
    let mut share = Share { codes: [0; INPUTS], scales: [0; 8], head: [0; 4] };
    let size = blocks.type_size();
    if blocks.block_size() == GROUP {
        let shifted = matches!(blocks, GgmlDType::Q4_1 | GgmlDType::Q5_1);
        let five = matches!(blocks, GgmlDType::Q5_0 | GgmlDType::Q5_1);
        for i in 0..2 {
            let block = &row[(2 * unit + i) * size..][..size];
            let numbers = if shifted { 4 } else { 2 };
            share.scales[i * numbers..][..numbers].copy_from_slice(&block[..numbers]);
            let codes = &mut share.codes[GROUP * i..][..GROUP];
            if blocks == GgmlDType::Q8_0 {
                // From signed numbers to numbers from 0 on.
                codes.iter_mut().zip(&block[2..]).for_each(|(code, stored)| *code = stored ^ 0x80);
                continue;
            }
            let high = if five { u32::from_le_bytes(block[numbers..][..4].try_into().unwrap_or_default()) } else { 0 };
            let stored = &block[numbers + if five { 4 } else { 0 }..];
            for k in 0..GROUP {
                let four = stored[k % 16] >> (k / 16 * 4) & 15;
                codes[k] = four | ((high >> k & 1) as u8) << 4;
            }
        }
        return share;
    }
    let (block, part) = (&row[unit / 4 * size..][..size], unit % 4);
    if blocks == GgmlDType::Q6K {
        let (half, low, high) = (part / 2, &block[part / 2 * 64..], &block[128 + part / 2 * 32..]);
        for i in 0..2 {
            let group = part % 2 * 2 + i;
            for l in 0..GROUP {
                let four = low[group % 2 * 32 + l] >> (group / 2 * 4) & 15;
                share.codes[GROUP * i + l] = four | (high[l] >> (2 * group) & 3) << 4;
            }
            let scales = &block[192 + half * 8 + group * 2..][..2];
            share.scales[2 * i..][..2].copy_from_slice(scales);
        }
        share.head[..2].copy_from_slice(&block[208..210]);
        return share;
    }
    let (scales, five) = (&block[4..16], blocks == GgmlDType::Q5K);
    let stored = &block[if five { 48 } else { 16 } + part * 32..];
    for i in 0..2 {
        let j = 2 * part + i;
        let (scale, least) = if j < 4 {
            (scales[j] & 63, scales[j + 4] & 63)
        } else {
            let upper = |at: usize| (scales[at] >> 6) << 4;
            (scales[j + 4] & 15 | upper(j - 4), scales[j + 4] >> 4 | upper(j))
        };
        share.scales[2 * i..][..2].copy_from_slice(&[scale, least]);
        for l in 0..GROUP {
            let high = if five { (block[16 + l] >> j & 1) << 4 } else { 0 };
            share.codes[GROUP * i + l] = stored[l] >> (4 * i) & 15 | high;
        }
    }
    share.head.copy_from_slice(&block[..4]);
    share
}

/// Writes the share of output `within` of a unit's sixteen.
fn place(format: &Format, share: &Share, within: usize, unit: &mut [u8]) {
    let (g, o) = (within % 8, within / 8);
    let (codes, scales) = unit.split_at_mut(format.low() + format.high());
    let (low, high) = codes.split_at_mut(format.low());
    for (i, s, t, j) in (0..INPUTS).map(|n| (n / 32, n / 16 % 2, n / 4 % 4, n % 4)) {
        let input = if format.of_sixteens() { 16 * s + 4 * t + j } else { 8 * t + 4 * s + j };
        let (code, lane) = (share.codes[GROUP * i + input], 4 * g + t);
        match format.bits {
            8 => low[512 * o + 16 * lane + 4 * (2 * i + s) + j] = code,
            _ => low[16 * lane + 4 * (2 * o + s) + j] |= (code & 15) << (4 * i),
        }
        match format.bits {
            5 => high[4 * lane + 2 * o + s] |= (code >> 4) << (4 * i + j),
            6 => high[8 * lane + 4 * o + j] |= (code >> 4) << (2 * (2 * s + i)),
            _ => {}
        }
    }
    let each = format.scales() / 2;
    scales[format.scales() * g + each * o..][..each].copy_from_slice(&share.scales[..each]);
}

fn place_head(format: &Format, head: [u8; 4], within: usize, heads: &mut [u8]) {
    let each = format.head() / 2;
    heads[format.head() * (within % 8) + each * (within / 8)..][..each].copy_from_slice(&head[..each]);
}

/// Parts with their formats and where each begins, in bytes of the packed matrix and in outputs. `None` where no kernel
/// [fits](fits), the packing does not, or an address is not a multiple of 16.
pub(super) fn placed(
    element: Element,
    (parts, packing): (&[Part], Packing),
    inputs: usize,
    addresses: &[u64],
) -> Option<Vec<(Part, Format, [usize; 2])>> {
    let aligned = addresses.iter().all(|at| at.is_multiple_of(16));
    let mut end = [0, 0];
    let placed = packing.fits(parts).then_some(parts)?.iter().map(|part| {
        let format = Format::of(part.blocks).filter(|_| aligned && fits(element, part.blocks, inputs))?;
        let first = end;
        end = [first[0] + part.bytes(&format, inputs), first[1] + part.outputs];
        Some((*part, format, first))
    });
    placed.collect()
}
