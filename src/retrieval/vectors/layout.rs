//! Where the vectors of a file are, and what its header lacks.

use half::f16;

/// How a number is stored, little-endian.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Number {
    F16,
    F32,
    F64,
}

impl Number {
    pub(super) fn bytes(self) -> u64 {
        match self {
            Self::F16 => 2,
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    pub(super) fn read(self, bytes: &[u8]) -> Vec<f32> {
        match self {
            Self::F16 => bytes.chunks_exact(2).map(|b| f16::from_le_bytes([b[0], b[1]]).to_f32()).collect(),
            Self::F32 => bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect(),
            Self::F64 => {
                let double = |b: &[u8]| f64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]);
                bytes.chunks_exact(8).map(|b| double(b) as f32).collect()
            }
        }
    }
}

/// Where a file's vectors are: `[count, dimension]`, row-major.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) count: u64,
    pub(super) dimension: u64,
    pub(super) number: Number,
    /// Of the first number.
    pub(super) offset: u64,
}

/// An invalid header: the expected and the found value.
pub(super) struct Fault {
    pub(super) expected: &'static str,
    pub(super) found: String,
}

impl Fault {
    pub(super) fn new(expected: &'static str, found: impl Into<String>) -> Self {
        Self { expected, found: found.into() }
    }

    pub(super) fn ended(error: &std::io::Error) -> Self {
        Self::new("the whole header", error.to_string())
    }
}
