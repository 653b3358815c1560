//! From stored blocks to panels, whose layout [`super::blocks`] describes.
//!
//! 512 codes, of 32 inputs of 16 outputs, are 8 groups of 64 bytes, `[16 outputs][4 inputs]`. Four bits: group `g` in the
//! low half of bytes `64 g ..` and group `g + 4` in the high half. Above them lie the fifth bits of group `g` as bit `g`
//! of 64 bytes, or the fifth and sixth bits of groups `g` and `g + 4` as bits `2 g` of 64 bytes each.
//!
//! Packing is most of the work of opening a model, so codes are handled eight at a time, as the bytes of a word.

use super::blocks::{BlockType, Format, LANES, Scales, Width};
use candle_core::quantized::GgmlDType;
use half::f16;

/// 32 codes, eight a word, the first of them lowest.
type Codes = [u64; 4];

/// One unit of one output, unpacked.
#[derive(Debug, Clone)]
struct Unit {
    /// Of each 32 inputs.
    codes: [Codes; 8],
    /// f16 bits, or a power of two as a byte.
    d: u16,
    /// f16 bits of the min, which is added here: nested mins, which are subtracted in the file, are negated.
    m: u16,
    scales: [u8; 16],
    mins: [u8; 16],
}

impl Unit {
    const EMPTY: Self = Self { codes: [[0; 4]; 8], d: 0, m: 0, scales: [0; 16], mins: [0; 16] };
}

/// Packs half a panel: `rows` are the stored bytes of up to 16 outputs; missing ones are zero. `panel` is zeroed.
pub(crate) fn pack_half(
    dtype: BlockType,
    format: Format,
    inputs: usize,
    rows: &[&[u8]],
    panel: &mut [u8],
    half: usize,
) {
    let unit_bytes = format.unit_bytes();
    let stored = dtype.type_size() * format.unit() / dtype.block_size();
    let mut units = [Unit::EMPTY; LANES];
    for number in 0..inputs / format.unit() {
        for (unit, row) in units.iter_mut().zip(rows) {
            parse_unit(dtype, &row[number * stored..][..stored], unit);
        }
        pack_unit(format, &units, &mut panel[(2 * number + half) * unit_bytes..][..unit_bytes]);
    }
}

fn pack_unit(format: Format, units: &[Unit; LANES], out: &mut [u8]) {
    let (head, blocks) = out.split_at_mut(format.head_bytes());
    for (lane, unit) in units.iter().enumerate() {
        match format.scales {
            Scales::Powers => head[lane] = unit.d.to_le_bytes()[0],
            _ => head[2 * lane..][..2].copy_from_slice(&unit.d.to_le_bytes()),
        }
        if format.has_min {
            head[2 * (LANES + lane)..][..2].copy_from_slice(&unit.m.to_le_bytes());
        }
    }
    let steps = 32 / format.step;
    for (block, out) in blocks.chunks_exact_mut(format.block_bytes()).enumerate() {
        let (packed, nested) = out.split_at_mut(format.width.bytes());
        let packed = packed.as_chunks_mut().0.as_chunks_mut().0;
        for (lane, unit) in units.iter().enumerate() {
            pack_codes(format.width, &unit.codes[block], packed, lane);
        }
        // Scales of each step, then mins of each.
        for (row, out) in nested.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
            let at = block * steps + row % steps;
            for (out, unit) in out.iter_mut().zip(units) {
                *out = if row < steps { unit.scales[at] } else { unit.mins[at] };
            }
        }
    }
}

/// Packs the codes of output `lane` into `out`, `[groups of codes, then planes of bits][16 outputs][4 bytes]`.
fn pack_codes(width: Width, codes: &Codes, out: &mut [[[u8; 4]; LANES]], lane: usize) {
    // Groups `first` and `first + 1`.
    let mut put = |first: usize, codes: u64| {
        let [a, b, c, d, e, f, g, h] = codes.to_le_bytes();
        (out[first][lane], out[first + 1][lane]) = ([a, b, c, d], [e, f, g, h]);
    };
    if width == Width::Eight {
        codes.iter().enumerate().for_each(|(pair, codes)| put(2 * pair, *codes));
        return;
    }
    put(0, codes[0] & each(15) | (codes[2] & each(15)) << 4);
    put(2, codes[1] & each(15) | (codes[3] & each(15)) << 4);
    match width {
        Width::Five => out[4][lane] = plane(codes, 1),
        Width::Six => (out[4][lane], out[5][lane]) = (plane(&codes[..2], 2), plane(&codes[2..], 2)),
        Width::Four | Width::Eight => {}
    }
}

/// The `bits` bits above the fourth of groups of four codes: those of group `g` from bit `bits * g` of each byte on.
fn plane(codes: &[u64], bits: usize) -> [u8; 4] {
    let mask = each((1 << bits) - 1);
    let pairs = codes.iter().enumerate();
    let pairs = pairs.fold(0, |plane, (pair, codes)| plane | (codes >> 4 & mask) << (2 * bits * pair));
    // The second group of each pair lies in the upper half.
    let [a, b, c, d, ..] = (pairs | pairs >> (32 - bits)).to_le_bytes();
    [a, b, c, d]
}

/// `byte` in each byte of a word.
const fn each(byte: u8) -> u64 {
    0x0101_0101_0101_0101 * byte as u64
}

/// Words of stored bytes; what is not a whole word is left out.
fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word))
}

/// Reads the stored bytes of one unit.
fn parse_unit(of: BlockType, bytes: &[u8], unit: &mut Unit) {
    use GgmlDType as Type;
    let dtype = match of {
        BlockType::Ggml(dtype) => dtype,
        BlockType::Iq4Nl => return simple(bytes, &[], &bytes[2..], unit),
        BlockType::Mxfp4 => {
            simple(bytes, &[], &bytes[1..], unit);
            unit.d = u16::from(bytes[0]);
            return;
        }
    };
    match dtype {
        Type::Q4_0 => simple(bytes, &[], &bytes[2..], unit),
        Type::Q4_1 => simple(bytes, &[], &bytes[4..], unit),
        Type::Q5_0 => simple(bytes, &bytes[2..6], &bytes[6..], unit),
        Type::Q5_1 => simple(bytes, &bytes[4..8], &bytes[8..], unit),
        Type::Q8_0 => {
            unit.d = half_at(bytes, 0);
            unit.codes[0].iter_mut().zip(words(&bytes[2..34])).for_each(|(codes, word)| *codes = word ^ each(0x80));
        }
        Type::Q2K => two(bytes, unit),
        Type::Q3K => three(bytes, unit),
        Type::Q4K => four_or_five(&bytes[4..16], &[], &bytes[16..144], bytes, unit),
        Type::Q5K => four_or_five(&bytes[4..16], &bytes[16..48], &bytes[48..176], bytes, unit),
        Type::Q6K => six(bytes, unit),
        // `Format::of` refuses these.
        Type::F32 | Type::F16 | Type::BF16 | Type::Q8_1 | Type::Q8K => {}
    }
}

fn half_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

/// The f16 with its sign changed.
fn negated(bits: u16) -> u16 {
    (-f16::from_bits(bits)).to_bits()
}

/// Q4_0, Q4_1, Q5_0, Q5_1: `d`, perhaps `m`, perhaps 32 fifth bits, then 16 bytes of two codes, `i` and `i + 16`.
fn simple(bytes: &[u8], fifth: &[u8], fours: &[u8], unit: &mut Unit) {
    (unit.d, unit.m) = (half_at(bytes, 0), half_at(bytes, 2));
    let codes = &mut unit.codes[0];
    for (at, word) in words(fours).enumerate() {
        (codes[at], codes[at + 2]) = (word & each(15), word >> 4 & each(15));
    }
    codes.iter_mut().zip(fifth).for_each(|(codes, fifth)| *codes |= fifths_of(*fifth));
}

/// Each bit of `byte` as the fifth bit of a code.
fn fifths_of(byte: u8) -> u64 {
    // Byte `i` has bit `i` alone; adding 127 to each byte sets its highest bit where it is not zero.
    let apart = each(byte) & 0x8040_2010_0804_0201;
    (apart + each(127)) >> 3 & each(16)
}

/// Q2_K: 16 bytes of scale and min, four bits each; 64 of four codes; `d`; `dmin`.
fn two(bytes: &[u8], unit: &mut Unit) {
    for (i, byte) in bytes[..16].iter().enumerate() {
        (unit.scales[i], unit.mins[i]) = (byte & 15, byte >> 4);
    }
    for (block, codes) in unit.codes.iter_mut().enumerate() {
        let stored = words(&bytes[16 + block / 4 * 32..]);
        codes.iter_mut().zip(stored).for_each(|(codes, word)| *codes = word >> (block % 4 * 2) & each(3));
    }
    (unit.d, unit.m) = (half_at(bytes, 80), negated(half_at(bytes, 82)));
}

/// Q3_K: 32 bytes of third bits, 64 of four codes, 12 of sixteen scales of six bits (less 32), `d`.
fn three(bytes: &[u8], unit: &mut Unit) {
    let (third, stored, scales) = (&bytes[..32], &bytes[32..96], &bytes[96..108]);
    for (block, codes) in unit.codes.iter_mut().enumerate() {
        for ((codes, low), third) in codes.iter_mut().zip(words(&stored[block / 4 * 32..])).zip(words(third)) {
            *codes = low >> (block % 4 * 2) & each(3) | (third >> block & each(1)) << 2;
        }
    }
    for (i, scale) in unit.scales.iter_mut().enumerate() {
        let low = scales[i % 8] >> (i / 8 * 4) & 15;
        let high = scales[8 + i % 4] >> (i / 4 * 2) & 3;
        *scale = (low | high << 4).wrapping_sub(32);
    }
    unit.d = half_at(bytes, 108);
}

/// Q4_K and Q5_K: `d`, `dmin`, eight scales and mins of six bits, for Q5_K 32 bytes of fifth bits, 128 bytes of two
/// codes, 32 inputs apart.
fn four_or_five(scales: &[u8], fifth: &[u8], fours: &[u8], bytes: &[u8], unit: &mut Unit) {
    (unit.d, unit.m) = (half_at(bytes, 0), negated(half_at(bytes, 2)));
    for i in 0..4 {
        (unit.scales[i], unit.mins[i]) = (scales[i] & 63, scales[i + 4] & 63);
        unit.scales[i + 4] = scales[i + 8] & 15 | scales[i] >> 6 << 4;
        unit.mins[i + 4] = scales[i + 8] >> 4 | scales[i + 4] >> 6 << 4;
    }
    for (codes, fours) in unit.codes.as_chunks_mut::<2>().0.iter_mut().zip(fours.as_chunks::<32>().0) {
        for (at, word) in words(fours).enumerate() {
            (codes[0][at], codes[1][at]) = (word & each(15), word >> 4 & each(15));
        }
    }
    if !fifth.is_empty() {
        for (block, codes) in unit.codes.iter_mut().enumerate() {
            let fifths = words(fifth).map(|word| (word >> block & each(1)) << 4);
            codes.iter_mut().zip(fifths).for_each(|(codes, fifths)| *codes |= fifths);
        }
    }
}

/// Q6_K: 128 bytes of two low nibbles, 64 of four high pairs of bits, 16 signed scales, `d`.
fn six(bytes: &[u8], unit: &mut Unit) {
    let (low, high) = (&bytes[..128], &bytes[128..192]);
    for (block, codes) in unit.codes.iter_mut().enumerate() {
        // Four blocks of 32 share 64 bytes of low bits and 32 of high ones.
        let (part, quarter) = (block / 4, block % 4);
        let low = words(&low[64 * part + quarter % 2 * 32..]).map(|word| word >> (quarter / 2 * 4) & each(15));
        let high = words(&high[32 * part..]).map(|word| (word >> (2 * quarter) & each(3)) << 4);
        codes.iter_mut().zip(low.zip(high)).for_each(|(codes, (low, high))| *codes = low | high);
    }
    unit.scales.copy_from_slice(&bytes[192..208]);
    unit.d = half_at(bytes, 208);
}

#[cfg(test)]
mod tests {
    use super::{LANES, Width, fifths_of, pack_codes};

    /// The code of `input` and output `lane`, read as the layout says, bit by bit.
    fn code(width: Width, packed: &[[[u8; 4]; LANES]], input: usize, lane: usize) -> u8 {
        let (group, byte) = (input / 4, input % 4);
        let bits = |plane: usize, shift: usize, count: usize| packed[plane][lane][byte] >> shift & ((1 << count) - 1);
        let four = || bits(group % 4, group / 4 * 4, 4);
        match width {
            Width::Eight => packed[group][lane][byte],
            Width::Four => four(),
            Width::Five => four() | bits(4, group, 1) << 4,
            Width::Six => four() | bits(4 + group / 4, group % 4 * 2, 2) << 4,
        }
    }

    #[test]
    fn codes_lie_where_the_layout_says() {
        for (width, bits) in [(Width::Four, 4), (Width::Five, 5), (Width::Six, 6), (Width::Eight, 8)] {
            let number = |lane: usize, input: usize| (input * 37 + lane * 101 + input * lane) as u64 % (1 << bits);
            let codes =
                |lane: usize| std::array::from_fn(|word| (0..8).map(|i| number(lane, 8 * word + i) << (8 * i)).sum());
            let mut packed = vec![[[0; 4]; LANES]; width.bytes() / (4 * LANES)];
            (0..LANES).for_each(|lane| pack_codes(width, &codes(lane), &mut packed, lane));
            for (lane, input) in (0..LANES).flat_map(|lane| (0..32).map(move |input| (lane, input))) {
                let code = u64::from(code(width, &packed, input, lane));
                assert_eq!(code, number(lane, input), "{width:?}, input {input} of {lane}");
            }
        }
    }

    #[test]
    fn bits_of_a_byte_become_fifth_bits() {
        for byte in 0..=u8::MAX {
            assert_eq!(
                fifths_of(byte).to_le_bytes(),
                std::array::from_fn(|bit| (byte >> bit & 1) << 4),
                "{byte:#010b}"
            );
        }
    }
}
