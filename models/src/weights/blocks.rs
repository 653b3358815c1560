//! ggml's block types as far as this package looks inside a block: their names, and where their scales lie.
//!
//! Layouts: <https://github.com/ggml-org/ggml/blob/master/src/ggml-common.h>.

use super::codebook::Codebook;
use candle_core::quantized::GgmlDType;

/// How the elements of a GGUF tensor are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElementType {
    /// A type of Candle's, used as it is stored.
    Native(GgmlDType),
    /// A type that is read as `Q8_0`.
    Codebook(Codebook),
}

impl ElementType {
    /// The type that everything after the reader sees.
    #[must_use]
    pub fn held_as(self) -> GgmlDType {
        match self {
            Self::Native(dtype) => dtype,
            Self::Codebook(_) => GgmlDType::Q8_0,
        }
    }

    /// The type's name as the field writes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Native(dtype) => type_name(dtype),
            Self::Codebook(_) => CODEBOOKS.iter().find(|row| Self::Codebook(row.1) == self).map_or("?", |row| row.2),
        }
    }

    /// Elements of a block.
    pub(super) fn block_size(self) -> usize {
        match self {
            Self::Native(dtype) => dtype.block_size(),
            Self::Codebook(codebook) => codebook.block_size(),
        }
    }

    /// Bytes of a block in the file.
    pub(super) fn type_size(self) -> usize {
        match self {
            Self::Native(dtype) => dtype.type_size(),
            Self::Codebook(codebook) => codebook.type_size(),
        }
    }
}

/// Element types that Candle has, by ggml's number and name.
const TYPES: [(u32, GgmlDType, &str); 13] = [
    (0, GgmlDType::F32, "F32"),
    (1, GgmlDType::F16, "F16"),
    (30, GgmlDType::BF16, "BF16"),
    (2, GgmlDType::Q4_0, "Q4_0"),
    (3, GgmlDType::Q4_1, "Q4_1"),
    (6, GgmlDType::Q5_0, "Q5_0"),
    (7, GgmlDType::Q5_1, "Q5_1"),
    (8, GgmlDType::Q8_0, "Q8_0"),
    (10, GgmlDType::Q2K, "Q2_K"),
    (11, GgmlDType::Q3K, "Q3_K"),
    (12, GgmlDType::Q4K, "Q4_K"),
    (13, GgmlDType::Q5K, "Q5_K"),
    (14, GgmlDType::Q6K, "Q6_K"),
];

/// Element types that are read as `Q8_0`, by ggml's number and name.
const CODEBOOKS: [(u32, Codebook, &str); 3] =
    [(20, Codebook::Iq4Nl, "IQ4_NL"), (23, Codebook::Iq4Xs, "IQ4_XS"), (39, Codebook::Mxfp4, "MXFP4")];

/// The names of [`TYPES`] and [`CODEBOOKS`], for messages.
pub(super) const SUPPORTED_TYPES: &str =
    "F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_NL, IQ4_XS, MXFP4";

/// ggml's other types, so that a refusal can say which one it is.
const OTHERS: [(u32, &str); 29] = [
    (4, "Q4_2"),
    (5, "Q4_3"),
    (9, "Q8_1"),
    (15, "Q8_K"),
    (16, "IQ2_XXS"),
    (17, "IQ2_XS"),
    (18, "IQ3_XXS"),
    (19, "IQ1_S"),
    (21, "IQ3_S"),
    (22, "IQ2_S"),
    (24, "I8"),
    (25, "I16"),
    (26, "I32"),
    (27, "I64"),
    (28, "F64"),
    (29, "IQ1_M"),
    (31, "Q4_0_4_4"),
    (32, "Q4_0_4_8"),
    (33, "Q4_0_8_8"),
    (34, "TQ1_0"),
    (35, "TQ2_0"),
    (36, "IQ4_NL_4_4"),
    (37, "IQ4_NL_4_8"),
    (38, "IQ4_NL_8_8"),
    (40, "NVFP4"),
    (41, "Q1_0"),
    // Not in ggml itself, but met in files of its forks.
    (133, "I2_S"),
    (134, "I8_S"),
    (135, "TL1"),
];

/// The type of ggml's number `number`; its name, or the number itself, where it cannot be read.
pub(super) fn of_number(number: u32) -> Result<ElementType, String> {
    if let Some((_, dtype, _)) = TYPES.iter().find(|row| row.0 == number) {
        return Ok(ElementType::Native(*dtype));
    }
    if let Some((_, codebook, _)) = CODEBOOKS.iter().find(|row| row.0 == number) {
        return Ok(ElementType::Codebook(*codebook));
    }
    let name = OTHERS.iter().find(|row| row.0 == number).map(|row| row.1.to_owned());
    Err(name.unwrap_or_else(|| format!("number {number} of ggml's types")))
}

/// The type's name as the field writes it.
#[must_use]
pub fn type_name(dtype: GgmlDType) -> &'static str {
    match dtype {
        GgmlDType::Q8_1 => "Q8_1",
        GgmlDType::Q8K => "Q8_K",
        _ => TYPES.iter().find(|row| row.1 == dtype).map_or("?", |row| row.2),
    }
}

/// The type that is called `name`, in either case, among those that Candle has.
#[must_use]
pub fn type_named(name: &str) -> Option<GgmlDType> {
    TYPES.iter().find(|row| row.2.eq_ignore_ascii_case(name)).map(|row| row.1)
}

/// The type in which a tensor of the type called `name` is held: `Q8_0` for `IQ4_NL`. `None` for an unknown name.
#[must_use]
pub fn held_type(name: &str) -> Option<GgmlDType> {
    let codebook = CODEBOOKS.iter().find(|row| row.2.eq_ignore_ascii_case(name));
    type_named(name).or_else(|| codebook.map(|row| ElementType::Codebook(row.1).held_as()))
}

/// Bytes of `elements` that are a whole number of blocks.
pub(super) fn bytes_of(elements: usize, dtype: GgmlDType) -> usize {
    elements / dtype.block_size() * dtype.type_size()
}

/// Where a block's f16 numbers lie, in bytes from its start: the scale, then the minimum where there is one.
pub(super) fn scales(dtype: GgmlDType) -> &'static [usize] {
    match dtype {
        GgmlDType::Q4_0 | GgmlDType::Q5_0 | GgmlDType::Q8_0 => &[0],
        GgmlDType::Q4_1 | GgmlDType::Q5_1 | GgmlDType::Q8_1 | GgmlDType::Q4K | GgmlDType::Q5K => &[0, 2],
        GgmlDType::Q2K => &[80, 82],
        GgmlDType::Q3K => &[108],
        GgmlDType::Q6K => &[208],
        GgmlDType::F32 | GgmlDType::F16 | GgmlDType::BF16 | GgmlDType::Q8K => &[],
    }
}

/// Whether every number that `bytes` can encode is finite: checks the floats, or the blocks' scales.
pub(super) fn finite(bytes: &[u8], dtype: GgmlDType) -> bool {
    // No early end: without one the compiler makes vector code of the two loops over floats.
    let halves = |exponent: u16| {
        let full = |bad, half: &[u8; 2]| bad | (u16::from_le_bytes(*half) & exponent == exponent);
        !bytes.as_chunks::<2>().0.iter().fold(false, full)
    };
    match dtype {
        GgmlDType::F32 => {
            let full = |bad, word: &[u8; 4]| bad | !f32::from_le_bytes(*word).is_finite();
            !bytes.as_chunks::<4>().0.iter().fold(false, full)
        }
        GgmlDType::F16 => halves(0x7c00),
        GgmlDType::BF16 => halves(0x7f80),
        _ => bytes.chunks_exact(dtype.type_size()).all(|block| {
            // The high byte alone has all of the exponent.
            scales(dtype).iter().all(|at| block[at + 1] & 0x7c != 0x7c)
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::{CODEBOOKS, ElementType, OTHERS, SUPPORTED_TYPES, TYPES, held_type, of_number};
    use candle_core::quantized::GgmlDType;

    #[test]
    fn messages_list_every_type_of_the_tables() {
        let native = TYPES.iter().map(|row| row.2);
        let names: Vec<&str> = native.chain(CODEBOOKS.iter().map(|row| row.2)).collect();
        assert_eq!(names.join(", "), SUPPORTED_TYPES);
        for (number, name) in OTHERS {
            assert_eq!(of_number(number), Err(name.to_owned()), "{name} is in two tables");
        }
        for (number, codebook, name) in CODEBOOKS {
            let element = ElementType::Codebook(codebook);
            assert_eq!((of_number(number), element.name()), (Ok(element), name));
            assert_eq!((element.held_as(), held_type(&name.to_lowercase())), (GgmlDType::Q8_0, Some(GgmlDType::Q8_0)));
        }
        assert_eq!((held_type("Q4_K"), held_type("IQ2_XXS")), (Some(GgmlDType::Q4K), None));
    }
}
