//! ggml's block types as far as this package looks inside a block: their names, and where their scales lie.
//!
//! Layouts: <https://github.com/ggml-org/ggml/blob/master/src/ggml-common.h>.

use candle_core::quantized::GgmlDType;

/// Element types that can be read, by ggml's number and name.
pub(super) const TYPES: [(u32, GgmlDType, &str); 13] = [
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

/// The names of [`TYPES`], for messages.
pub(super) const SUPPORTED_TYPES: &str = "F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K";

/// ggml's other types, so that a refusal can say which one it is.
const OTHERS: [(u32, &str); 32] = [
    (4, "Q4_2"),
    (5, "Q4_3"),
    (9, "Q8_1"),
    (15, "Q8_K"),
    (16, "IQ2_XXS"),
    (17, "IQ2_XS"),
    (18, "IQ3_XXS"),
    (19, "IQ1_S"),
    (20, "IQ4_NL"),
    (21, "IQ3_S"),
    (22, "IQ2_S"),
    (23, "IQ4_XS"),
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
    (39, "MXFP4"),
    (40, "NVFP4"),
    (41, "Q1_0"),
    // Not in ggml itself, but met in files of its forks.
    (133, "I2_S"),
    (134, "I8_S"),
    (135, "TL1"),
];

/// The type of ggml's number `number`; its name, or the number itself, where it cannot be read.
pub(super) fn of_number(number: u32) -> Result<GgmlDType, String> {
    if let Some((_, dtype, _)) = TYPES.iter().find(|row| row.0 == number) {
        return Ok(*dtype);
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

/// The type that is called `name`, in either case, among those that can be read.
#[must_use]
pub fn type_named(name: &str) -> Option<GgmlDType> {
    TYPES.iter().find(|row| row.2.eq_ignore_ascii_case(name)).map(|row| row.1)
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

/// Whether every number that `bytes` can stand for is finite: looks at the floats, or at the blocks' scales.
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
