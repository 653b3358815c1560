//! The positions of a sound GGUF file's fields and tensors, so that damage can aim at one of them.

use std::path::Path;

/// A sound file.
pub(super) struct Sound {
    pub(super) bytes: Vec<u8>,
    pub(super) numbers: Vec<Number>,
    pub(super) tensors: Vec<Entry>,
    /// Length of the header.
    pub(super) header: usize,
}

/// A number of the metadata: a field's value, or the first or last of its array.
pub(super) struct Number {
    pub(super) key: String,
    /// The format's number of its type.
    pub(super) kind: u32,
    pub(super) at: usize,
}

/// A tensor's entry in the header.
pub(super) struct Entry {
    pub(super) name: String,
    /// Innermost first, as the file has them.
    pub(super) dims: Vec<u64>,
    pub(super) dims_at: usize,
    pub(super) kind_at: usize,
}

impl Sound {
    pub(super) fn read(path: &Path) -> Self {
        let bytes = std::fs::read(path).unwrap();
        let mut cursor = Cursor { bytes: &bytes, at: 8 };
        let (tensor_count, value_count) = (cursor.u64(), cursor.u64());
        let mut numbers = Vec::new();
        for _ in 0..value_count {
            let (key, kind) = (cursor.text(), cursor.u32());
            numbers.extend(cursor.value(kind).into_iter().map(|(kind, at)| Number { key: key.clone(), kind, at }));
        }
        let tensors = (0..tensor_count).map(|_| cursor.entry()).collect();
        let header = cursor.at;
        Self { bytes, numbers, tensors, header }
    }

    /// The bytes with `new` at `at`.
    pub(super) fn with(&self, at: usize, new: &[u8]) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        bytes[at..at + new.len()].copy_from_slice(new);
        bytes
    }
}

impl Number {
    pub(super) fn bytes<'a>(&self, sound: &'a Sound) -> &'a [u8] {
        &sound.bytes[self.at..self.at + width(self.kind)]
    }
}

/// Bytes of a number of type `kind`.
fn width(kind: u32) -> usize {
    match kind {
        0 | 1 | 7 => 1,
        2 | 3 => 2,
        4..=6 => 4,
        10..=12 => 8,
        _ => panic!("type {kind} is no number"),
    }
}

struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    fn word<const N: usize>(&mut self) -> [u8; N] {
        self.at += N;
        self.bytes[self.at - N..self.at].try_into().unwrap()
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.word())
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.word())
    }

    fn text(&mut self) -> String {
        let len = self.u64() as usize;
        self.at += len;
        String::from_utf8(self.bytes[self.at - len..self.at].to_vec()).unwrap()
    }

    /// Passes a value of type `kind`; returns its numbers by type and position, of an array the first and the last.
    fn value(&mut self, kind: u32) -> Vec<(u32, usize)> {
        match kind {
            8 => {
                self.text();
                Vec::new()
            }
            9 => {
                let (kind, count) = (self.u32(), self.u64());
                let all: Vec<(u32, usize)> = (0..count).flat_map(|_| self.value(kind)).collect();
                let step = all.len().max(2) - 1;
                all.into_iter().step_by(step).collect()
            }
            _ => {
                self.at += width(kind);
                vec![(kind, self.at - width(kind))]
            }
        }
    }

    fn entry(&mut self) -> Entry {
        let (name, count) = (self.text(), self.u32());
        let dims_at = self.at;
        let dims = (0..count).map(|_| self.u64()).collect();
        let kind_at = self.at;
        self.at += 4 + 8;
        Entry { name, dims, dims_at, kind_at }
    }
}
