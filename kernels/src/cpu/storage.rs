//! Stored vectors: rows of numbers in one of three types, as an index file has them.

use half::f16;

/// How numbers are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Storage {
    /// 4 bytes a number.
    F32,
    /// 2 bytes a number; a dot product of unit vectors changes by less than 5e-4.
    F16,
    /// 1 byte a number and a scale in f32 a row: 127 is the row's largest magnitude.
    I8,
}

impl Storage {
    /// Bytes of an int8 row before its codes.
    pub(super) const SCALE: usize = 4;

    /// "f32", "f16" or "int8".
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::I8 => "int8",
        }
    }

    /// Bytes of a row of `dimension` numbers.
    #[must_use]
    pub fn stride(self, dimension: usize) -> usize {
        self.stride_of_padded(padded(dimension))
    }

    pub(crate) fn stride_of_padded(self, padded: usize) -> usize {
        match self {
            Self::F32 => 4 * padded,
            Self::F16 => 2 * padded,
            Self::I8 => Self::SCALE + padded,
        }
    }

    /// Appends `vector` as a row to `out`.
    pub fn encode(self, vector: &[f32], out: &mut Vec<u8>) {
        let end = out.len() + self.stride(vector.len());
        match self {
            Self::F32 => out.extend(vector.iter().flat_map(|x| x.to_le_bytes())),
            Self::F16 => out.extend(vector.iter().flat_map(|x| f16::from_f32(*x).to_le_bytes())),
            Self::I8 => {
                let largest = vector.iter().fold(0.0_f32, |largest, x| largest.max(x.abs()));
                out.extend((largest / 127.0).to_le_bytes());
                let inverse = if largest > 0.0 { 127.0 / largest } else { 0.0 };
                // Within [-127, 127] but for the last bit of a rounding, and the cast saturates.
                #[allow(clippy::cast_possible_truncation)]
                out.extend(vector.iter().map(|x| (x * inverse).round_ties_even().max(-127.0) as i8 as u8));
            }
        }
        out.resize(end, 0);
    }

    /// The numbers of a row, as they are compared.
    ///
    /// # Panics
    /// Where `row` is not a whole row of `dimension` numbers.
    #[must_use]
    pub fn decode(self, row: &[u8], dimension: usize) -> Vec<f32> {
        assert_eq!(row.len(), self.stride(dimension), "a whole row (bug)");
        match self {
            Self::F32 => row.as_chunks().0.iter().take(dimension).map(|bytes| f32::from_le_bytes(*bytes)).collect(),
            Self::F16 => {
                row.as_chunks().0.iter().take(dimension).map(|bytes| f16::from_le_bytes(*bytes).to_f32()).collect()
            }
            Self::I8 => {
                let (scale, codes) = row.split_at(Self::SCALE);
                let scale = f32::from_le_bytes([scale[0], scale[1], scale[2], scale[3]]);
                codes.iter().take(dimension).map(|code| f32::from(*code as i8) * scale).collect()
            }
        }
    }
}

/// The length of a row: the next multiple of 16.
pub(crate) fn padded(dimension: usize) -> usize {
    dimension.next_multiple_of(16)
}
