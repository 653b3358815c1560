//! Changes to bytes, blind ones and those that know where a GGUF header keeps its numbers.

use super::random::Random;
use std::ops::Range;

/// Numbers at which counts, lengths and offsets go wrong.
pub(crate) const EDGES: [u64; 20] = [
    0,
    1,
    2,
    3,
    7,
    8,
    15,
    31,
    32,
    255,
    256,
    65535,
    65536,
    (1 << 31) - 1,
    1 << 31,
    u32::MAX as u64,
    1 << 40,
    i64::MAX as u64,
    u64::MAX - 7,
    u64::MAX,
];

/// One change without knowledge of the format.
pub(crate) fn blind(bytes: &mut Vec<u8>, random: &mut Random) {
    if bytes.is_empty() {
        bytes.push(random.next() as u8);
        return;
    }
    let at = random.below(bytes.len());
    let run = at..(at + 1 + random.below(32)).min(bytes.len());
    match random.below(8) {
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes[at] = random.next() as u8,
        2 => bytes[at] = *random.pick(&[0, 1, 0x7f, 0x80, 0xff]),
        3 => bytes.truncate(at),
        4 => drop(bytes.drain(run)),
        5 => {
            let copy = bytes[run].to_vec();
            let to = random.below(bytes.len());
            bytes.splice(to..to, copy);
        }
        6 => {
            let width = *random.pick(&[1, 2, 4, 8]);
            let number = random.pick(&EDGES).to_le_bytes();
            let end = (at + width).min(bytes.len());
            bytes[at..end].copy_from_slice(&number[..end - at]);
        }
        _ => {
            let noise: Vec<u8> = (0..=random.below(16)).map(|_| random.next() as u8).collect();
            bytes.splice(at..at, noise);
        }
    }
}

/// The kind of a number in a GGUF header.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// A type, a count, a dimension, an offset.
    Number,
    /// The length of the bytes that follow it.
    Length,
    /// A value.
    Value,
}

/// Reads a header as far as it is one, noting where its numbers lie.
struct Walk<'a> {
    bytes: &'a [u8],
    at: usize,
    fields: Vec<(Range<usize>, Kind)>,
}

impl Walk<'_> {
    fn number(&mut self, width: usize, kind: Kind) -> Option<u64> {
        let range = self.at..self.at + width;
        let mut number = [0; 8];
        number[..width].copy_from_slice(self.bytes.get(range.clone())?);
        self.at += width;
        self.fields.push((range, kind));
        Some(u64::from_le_bytes(number))
    }

    fn text(&mut self) -> Option<()> {
        let length = self.number(8, Kind::Length)?;
        self.at = self.at.checked_add(usize::try_from(length).ok()?).filter(|&at| at <= self.bytes.len())?;
        Some(())
    }

    fn value(&mut self, kind: u64) -> Option<()> {
        match kind {
            0 | 1 | 7 => self.number(1, Kind::Value).map(|_| ()),
            2 | 3 => self.number(2, Kind::Value).map(|_| ()),
            4..=6 => self.number(4, Kind::Value).map(|_| ()),
            10..=12 => self.number(8, Kind::Value).map(|_| ()),
            8 => self.text(),
            9 => {
                let element = self.number(4, Kind::Number)?;
                let count = self.number(8, Kind::Number)?;
                (0..count).try_for_each(|_| self.value(element).filter(|()| element != 9))
            }
            _ => None,
        }
    }

    fn header(&mut self) -> Option<()> {
        self.at = 4;
        self.number(4, Kind::Number)?;
        let tensors = self.number(8, Kind::Number)?;
        let values = self.number(8, Kind::Number)?;
        for _ in 0..values {
            self.text()?;
            let kind = self.number(4, Kind::Number)?;
            self.value(kind)?;
        }
        for _ in 0..tensors {
            self.text()?;
            let dims = self.number(4, Kind::Number)?;
            (0..dims).try_for_each(|_| self.number(8, Kind::Number).map(|_| ()))?;
            self.number(4, Kind::Number)?;
            self.number(8, Kind::Number)?;
        }
        Some(())
    }
}

/// One change to a GGUF file: mostly to a number of its header, sometimes blind.
pub(crate) fn gguf(bytes: &mut Vec<u8>, random: &mut Random) {
    let mut walk = Walk { bytes, at: 0, fields: vec![] };
    let _ = walk.header();
    let (fields, end) = (walk.fields, walk.at.min(bytes.len()));
    if fields.is_empty() || random.below(5) == 0 {
        blind(bytes, random);
        return;
    }
    let (range, kind) = random.pick(&fields).clone();
    let mut number = [0; 8];
    number[..range.len()].copy_from_slice(&bytes[range.clone()]);
    let old = u64::from_le_bytes(number);
    let new = match random.below(5) {
        0 => *random.pick(&EDGES),
        1 => old.wrapping_add(1),
        2 => old.wrapping_sub(1),
        3 => old.wrapping_mul(2),
        // Another field's number: a type for a type, an offset for an offset.
        _ => {
            let other = random.pick(&fields).0.clone();
            let mut number = [0; 8];
            number[..other.len()].copy_from_slice(&bytes[other]);
            u64::from_le_bytes(number)
        }
    };
    bytes[range.clone()].copy_from_slice(&new.to_le_bytes()[..range.len()]);
    // Half of the lengths bring their bytes along, so that what follows is still read.
    if kind == Kind::Length && new < 4096 && random.below(2) == 0 {
        let text = range.end..range.end.saturating_add(old as usize).min(end).max(range.end);
        let letters = (0..new).map(|_| b"ab.\0\xff"[random.below(5)]).collect::<Vec<u8>>();
        bytes.splice(text, letters);
    }
}
