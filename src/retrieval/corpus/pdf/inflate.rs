//! DEFLATE (RFC 1951) with bounded output.
//!
//! hayro-syntax has no bound. This decoder is exactly as lenient as hayro's (a port of pdf.js's): both stop at the same bit
//! of broken data, so that the length measured here is the length that hayro decodes.

use super::output::{Output, TooLarge};

/// Order in which the lengths of the code length code are stored.
const ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/// Base and extra bits of the length codes from 257 on.
const LENGTHS: [(usize, u32); 29] = [
    (3, 0),
    (4, 0),
    (5, 0),
    (6, 0),
    (7, 0),
    (8, 0),
    (9, 0),
    (10, 0),
    (11, 1),
    (13, 1),
    (15, 1),
    (17, 1),
    (19, 2),
    (23, 2),
    (27, 2),
    (31, 2),
    (35, 3),
    (43, 3),
    (51, 3),
    (59, 3),
    (67, 4),
    (83, 4),
    (99, 4),
    (115, 4),
    (131, 5),
    (163, 5),
    (195, 5),
    (227, 5),
    (258, 0),
];

/// Base and extra bits of the distance codes.
const DISTANCES: [(usize, u32); 30] = [
    (1, 0),
    (2, 0),
    (3, 0),
    (4, 0),
    (5, 1),
    (7, 1),
    (9, 2),
    (13, 2),
    (17, 3),
    (25, 3),
    (33, 4),
    (49, 4),
    (65, 5),
    (97, 5),
    (129, 6),
    (193, 6),
    (257, 7),
    (385, 7),
    (513, 8),
    (769, 8),
    (1025, 9),
    (1537, 9),
    (2049, 10),
    (3073, 10),
    (4097, 11),
    (6145, 11),
    (8193, 12),
    (12289, 12),
    (16385, 13),
    (24577, 13),
];

/// Decodes `data`, with or without a zlib header, up to the first fault.
///
/// # Errors
/// [`TooLarge`] once `output` is full.
pub(super) fn inflate(data: &[u8], output: &mut Output) -> Result<(), TooLarge> {
    let headed = data.len() >= 2
        && data[0] & 0x0f == 8
        && (u16::from(data[0]) << 8 | u16::from(data[1])).is_multiple_of(31)
        && data[1] & 0x20 == 0;
    let mut bits = Bits { data: if headed { &data[2..] } else { data }, at: 0, held: 0, count: 0 };
    while bits.at < bits.data.len() {
        if !block(&mut bits, output)? {
            break;
        }
    }
    Ok(())
}

/// Decodes one block; returns whether another one may follow.
fn block(bits: &mut Bits<'_>, output: &mut Output) -> Result<bool, TooLarge> {
    let Some(header) = bits.take(3) else { return Ok(false) };
    let last = header & 1 != 0;
    let sound = match header >> 1 {
        0 => stored(bits, output)?,
        1 => {
            let literal: Vec<u8> = (0..288)
                .map(|code| [8, 9, 7, 8][[144, 256, 280].iter().filter(|&&from| code >= from).count()])
                .collect();
            compressed(bits, &Codes::new(&literal), &Codes::new(&[5; 32]), output)?
        }
        2 => match tables(bits) {
            Some((literal, distance)) => compressed(bits, &literal, &distance, output)?,
            None => false,
        },
        _ => false,
    };
    Ok(sound && !last)
}

fn stored(bits: &mut Bits<'_>, output: &mut Output) -> Result<bool, TooLarge> {
    // As hayro does: whole bytes that were read ahead are dropped too.
    (bits.held, bits.count) = (0, 0);
    let Some(header) = bits.data.get(bits.at..bits.at + 4) else {
        bits.at = bits.data.len();
        return Ok(false);
    };
    let length = usize::from(u16::from_le_bytes([header[0], header[1]]));
    let from = bits.at + 4;
    let to = (from + length).min(bits.data.len());
    output.extend(&bits.data[from..to])?;
    bits.at = to;
    Ok(to - from == length)
}

fn compressed(bits: &mut Bits<'_>, literal: &Codes, distance: &Codes, output: &mut Output) -> Result<bool, TooLarge> {
    loop {
        let Some(code) = bits.code(literal) else { return Ok(false) };
        match code {
            0..256 => output.push(code as u8)?,
            256 => return Ok(true),
            _ => {
                let (base, extra) = LENGTHS.get(code - 257).copied().unwrap_or((0, 0));
                let Some(more) = bits.take(extra) else { return Ok(false) };
                let length = base + more;
                let Some(&(base, extra)) = bits.code(distance).and_then(|code| DISTANCES.get(code)) else {
                    return Ok(false);
                };
                let Some(more) = bits.take(extra) else { return Ok(false) };
                output.repeat(base + more, length)?;
            }
        }
    }
}

/// Reads the two prefix codes of a dynamic block.
fn tables(bits: &mut Bits<'_>) -> Option<(Codes, Codes)> {
    let literals = bits.take(5)? + 257;
    let all = literals + bits.take(5)? + 1;
    let given = bits.take(4)? + 4;
    let mut lengths = [0; 19];
    // At most 15 + 4, which is all of them.
    for &index in &ORDER[..given] {
        lengths[index] = bits.take(3)? as u8;
    }
    let code = Codes::new(&lengths);
    let mut lengths: Vec<u8> = Vec::with_capacity(all + 138);
    while lengths.len() < all {
        let (length, times) = match bits.code(&code)? {
            length @ 0..16 => (length as u8, 1),
            16 => (lengths.last().copied().unwrap_or(0), bits.take(2)? + 3),
            17 => (0, bits.take(3)? + 3),
            18 => (0, bits.take(7)? + 11),
            _ => return None,
        };
        lengths.extend(std::iter::repeat_n(length, times));
    }
    Some((Codes::new(&lengths[..literals]), Codes::new(&lengths[literals..all])))
}

/// A prefix code: for each value of the next bits the symbol and its code length, 0 for none.
struct Codes {
    table: Vec<(u16, u8)>,
    longest: u32,
}

impl Codes {
    fn new(lengths: &[u8]) -> Self {
        let longest = lengths.iter().copied().max().unwrap_or(0);
        if longest == 0 {
            return Self { table: vec![(0, 0)], longest: 1 };
        }
        let mut table = vec![(0, 0); 1 << longest];
        let mut code = 0_u32;
        for length in 1..=longest {
            for (symbol, _) in lengths.iter().enumerate().filter(|(_, given)| **given == length) {
                let first = (code.reverse_bits() >> (32 - u32::from(length))) as usize;
                for index in (first..table.len()).step_by(1 << length) {
                    table[index] = (symbol as u16, length);
                }
                code += 1;
            }
            code <<= 1;
        }
        Self { table, longest: longest.into() }
    }
}

/// Bits of `data`, least significant first.
struct Bits<'a> {
    data: &'a [u8],
    at: usize,
    held: u32,
    count: u32,
}

impl Bits<'_> {
    fn fill(&mut self, wanted: u32) {
        while self.count < wanted && self.at < self.data.len() {
            self.held |= u32::from(self.data[self.at]) << self.count;
            self.count += 8;
            self.at += 1;
        }
    }

    fn take(&mut self, wanted: u32) -> Option<usize> {
        self.fill(wanted);
        if self.count < wanted {
            return None;
        }
        let taken = self.held & ((1 << wanted) - 1);
        self.held >>= wanted;
        self.count -= wanted;
        Some(taken as usize)
    }

    fn code(&mut self, codes: &Codes) -> Option<usize> {
        self.fill(codes.longest);
        let &(symbol, length) = codes.table.get((self.held & ((1 << codes.longest) - 1)) as usize)?;
        if length == 0 || self.count < length.into() {
            return None;
        }
        self.held >>= length;
        self.count -= u32::from(length);
        Some(symbol.into())
    }
}
