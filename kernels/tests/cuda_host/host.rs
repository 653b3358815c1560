//! Buffers with guards around them, random numbers, and comparisons.

use half::{bf16, f16};
use moot_kernels::launch::Element;

/// Memory of a kernel, with guard bytes before and after that must not change.
pub(crate) struct Buffer {
    bytes: Vec<u128>,
    len: usize,
    element: Element,
}

const GUARD: usize = 8;

impl Buffer {
    fn of_bytes(element: Element, bytes: &[u8]) -> Self {
        let mut held = vec![u128::MAX; bytes.len().div_ceil(16) + 2 * GUARD];
        // SAFETY: that many bytes lie behind the guard.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), held.as_mut_ptr().add(GUARD).cast(), bytes.len());
        }
        Self { bytes: held, len: bytes.len(), element }
    }

    pub(crate) fn of(element: Element, values: &[f32]) -> Self {
        let bytes: Vec<u8> = match element {
            Element::F32 => values.iter().flat_map(|x| x.to_le_bytes()).collect(),
            Element::F16 => values.iter().flat_map(|x| f16::from_f32(*x).to_le_bytes()).collect(),
            Element::Bf16 => values.iter().flat_map(|x| bf16::from_f32(*x).to_le_bytes()).collect(),
        };
        Self::of_bytes(element, &bytes)
    }

    /// NaN, until a kernel has written numbers.
    pub(crate) fn unwritten(element: Element, count: usize) -> Self {
        Self::of(element, &vec![f32::NAN; count])
    }

    pub(crate) fn words(words: &[u32]) -> Self {
        Self::of_bytes(Element::F32, &words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>())
    }

    pub(crate) fn pointer(&self) -> u64 {
        self.bytes[GUARD..].as_ptr() as u64
    }

    fn content(&self) -> Vec<u8> {
        let all: Vec<u8> = self.bytes.iter().flat_map(|part| part.to_le_bytes()).collect();
        let (before, rest) = all.split_at(GUARD * 16);
        let (content, after) = rest.split_at(self.len);
        assert!(before.iter().chain(after).all(|&byte| byte == 0xff), "a kernel has written beside its buffer");
        content.to_vec()
    }

    pub(crate) fn values(&self) -> Vec<f32> {
        let content = self.content();
        match self.element {
            Element::F32 => content.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect(),
            Element::F16 => content.chunks_exact(2).map(|b| f16::from_le_bytes([b[0], b[1]]).to_f32()).collect(),
            Element::Bf16 => content.chunks_exact(2).map(|b| bf16::from_le_bytes([b[0], b[1]]).to_f32()).collect(),
        }
    }

    pub(crate) fn to_words(&self) -> Vec<u32> {
        self.content().chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
    }
}

pub(crate) const ELEMENTS: [Element; 3] = [Element::F32, Element::F16, Element::Bf16];
pub(crate) const HALVES: [Element; 2] = [Element::F16, Element::Bf16];

/// Bytes of a number.
pub(crate) fn size(element: Element) -> usize {
    if element == Element::F32 { 4 } else { 2 }
}

/// The step between neighbouring numbers around 1.
pub(crate) fn step(element: Element) -> f32 {
    match element {
        Element::F32 => f32::EPSILON,
        Element::F16 => 1.0 / 1024.0,
        Element::Bf16 => 1.0 / 128.0,
    }
}

/// Numbers around 0, exact in `element`, the same for the same seed.
pub(crate) fn random(element: Element, seed: u64, count: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1 << 24) as f32 - 0.5
    };
    let values: Vec<f32> = (0..count).map(|_| 2.0 * (next() + next() + next())).collect();
    Buffer::of(element, &values).values()
}

/// Whether two lists of numbers are within `most` of each other, relative to 1 or the expected number's size.
pub(crate) fn close(what: &str, got: &[f32], expected: &[f32], most: f32) {
    assert_eq!(got.len(), expected.len(), "{what}");
    for (i, (got, expected)) in got.iter().zip(expected).enumerate() {
        let off = (got - expected).abs() / expected.abs().max(1.0);
        assert!(off <= most, "{what}: number {i} is {got}, expected {expected}");
    }
}

pub(crate) fn same_bits(what: &str, got: &[f32], expected: &[f32]) {
    assert_eq!(got.len(), expected.len(), "{what}");
    for (i, (got, expected)) in got.iter().zip(expected).enumerate() {
        assert!(got.to_bits() == expected.to_bits(), "{what}: number {i} is {got}, expected {expected} to the bit");
    }
}
