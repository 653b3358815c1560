//! Quantised weights: ggml's block types, and their layout here.
//!
//! Every type is converted to one form: an element is `scale * (code - zero) + min`, with unsigned codes and one scale
//! (and min) for every `step` inputs. Codes are packed in 4, 5, 6 or 8 bits; scales stay as stored. Of types whose codes
//! select from a table of sixteen values, what is packed are the four bits that select, and a code is the table's value.
//!
//! # Layout
//! `[panels][units][2 halves]` of: per half the unit's 16 `d` (f16, or powers of two as bytes) and, with mins, 16 `m`
//! (f16); then for each 32
//! inputs of the unit the codes of 16 outputs (see [`super::pack`]) and, for nested scales, 16 bytes a step of scales
//! and as many of mins. A unit is the inputs that share a `d`: 32, or 256 with nested scales. A panel is contiguous.

use candle_core::quantized::GgmlDType;

/// A type of blocks that has panels here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockType {
    /// One that Candle has.
    Ggml(GgmlDType),
    /// 32 elements: an f16 scale, then 16 bytes of two codes, of elements `i` and `i + 16`. A code selects from
    /// `IQ4_VALUES`.
    Iq4Nl,
    /// 32 elements: a power of two, 2 to the byte less 127, from 1 to 254; then codes as in [`Self::Iq4Nl`], which select
    /// from E2M1's values.
    Mxfp4,
}

impl From<GgmlDType> for BlockType {
    fn from(dtype: GgmlDType) -> Self {
        Self::Ggml(dtype)
    }
}

impl BlockType {
    /// Elements of a block.
    #[must_use]
    pub fn block_size(self) -> usize {
        match self {
            Self::Ggml(dtype) => dtype.block_size(),
            Self::Iq4Nl | Self::Mxfp4 => 32,
        }
    }

    /// Bytes of a block.
    #[must_use]
    pub fn type_size(self) -> usize {
        match self {
            Self::Ggml(dtype) => dtype.type_size(),
            Self::Iq4Nl => 2 + 16,
            Self::Mxfp4 => 1 + 16,
        }
    }
}

/// The values of IQ4's codes, in scales.
pub const IQ4_VALUES: [i8; 16] = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];
/// The values of MXFP4's codes (E2M1), doubled, so that 0.5 and 1.5 are integers too.
pub const E2M1_VALUES_DOUBLED: [i8; 16] = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12];

/// Outputs of half a panel: the lanes of one vector.
pub(super) const LANES: usize = 16;

/// Bits of a packed code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Width {
    Four,
    Five,
    Six,
    Eight,
}

impl Width {
    /// Bytes of 32 inputs of 16 outputs.
    pub(super) const fn bytes(self) -> usize {
        LANES
            * 4
            * match self {
                Self::Four => 4,
                Self::Five => 5,
                Self::Six => 6,
                Self::Eight => 8,
            }
    }
}

/// How scales (and mins) are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scales {
    /// `d`, one for 32 inputs.
    Plain,
    /// `d` of 256 inputs times an unsigned byte a step.
    Nested,
    /// `d` of 256 inputs times a signed byte a step.
    NestedSigned,
    /// 2 to the power of a byte less 127, one for 32 inputs.
    Powers,
}

/// The values that packed codes stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Values {
    /// Themselves.
    Codes,
    /// [`IQ4_VALUES`] and the zero.
    Iq4,
    /// [`E2M1_VALUES_DOUBLED`] and the zero.
    E2m1,
}

/// The zeros of both, under which their values are unsigned.
const IQ4_ZERO: i32 = 128;
const E2M1_ZERO: i32 = 12;

static IQ4_CODES: [u8; 16] = unsigned(IQ4_VALUES, IQ4_ZERO);
static E2M1_CODES: [u8; 16] = unsigned(E2M1_VALUES_DOUBLED, E2M1_ZERO);

/// `zero` and each of the values.
const fn unsigned(values: [i8; 16], zero: i32) -> [u8; 16] {
    let (mut codes, mut at) = ([0; 16], 0);
    while at < 16 {
        codes[at] = (values[at] as i32 + zero) as u8;
        at += 1;
    }
    codes
}

/// One block type in the common form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Format {
    pub width: Width,
    pub zero: i32,
    /// Inputs that share a scale: 16 or 32.
    pub step: usize,
    pub has_min: bool,
    pub scales: Scales,
    pub values: Values,
}

/// The block types; what reads packed codes is compiled for each, by its index here.
pub(super) const FORMATS: [(BlockType, Format); 12] = [
    (BlockType::Ggml(GgmlDType::Q4_0), Format::plain(Width::Four, 8, false)),
    (BlockType::Ggml(GgmlDType::Q4_1), Format::plain(Width::Four, 0, true)),
    (BlockType::Ggml(GgmlDType::Q5_0), Format::plain(Width::Five, 16, false)),
    (BlockType::Ggml(GgmlDType::Q5_1), Format::plain(Width::Five, 0, true)),
    (BlockType::Ggml(GgmlDType::Q8_0), Format::plain(Width::Eight, 128, false)),
    // Two and three bits are packed in four: the types are rare.
    (BlockType::Ggml(GgmlDType::Q2K), Format::nested(Width::Four, 0, 16, true)),
    (BlockType::Ggml(GgmlDType::Q3K), Format::nested(Width::Four, 4, 16, false)),
    (BlockType::Ggml(GgmlDType::Q4K), Format::nested(Width::Four, 0, 32, true)),
    (BlockType::Ggml(GgmlDType::Q5K), Format::nested(Width::Five, 0, 32, true)),
    (BlockType::Ggml(GgmlDType::Q6K), Format::nested(Width::Six, 32, 16, false)),
    (BlockType::Iq4Nl, Format { values: Values::Iq4, ..Format::plain(Width::Four, IQ4_ZERO, false) }),
    (
        BlockType::Mxfp4,
        Format { values: Values::E2m1, scales: Scales::Powers, ..Format::plain(Width::Four, E2M1_ZERO, false) },
    ),
];

/// Calls `$run` with `$index`, that of a format in [`FORMATS`], as its last constant.
macro_rules! by_format {
    ($index:expr, $run:ident::<$($given:tt),*>($($argument:expr),*)) => {
        match $index {
            0 => $run::<$($given,)* 0>($($argument),*),
            1 => $run::<$($given,)* 1>($($argument),*),
            2 => $run::<$($given,)* 2>($($argument),*),
            3 => $run::<$($given,)* 3>($($argument),*),
            4 => $run::<$($given,)* 4>($($argument),*),
            5 => $run::<$($given,)* 5>($($argument),*),
            6 => $run::<$($given,)* 6>($($argument),*),
            7 => $run::<$($given,)* 7>($($argument),*),
            8 => $run::<$($given,)* 8>($($argument),*),
            9 => $run::<$($given,)* 9>($($argument),*),
            10 => $run::<$($given,)* 10>($($argument),*),
            _ => $run::<$($given,)* 11>($($argument),*),
        }
    };
}
pub(super) use by_format;

/// As `by_format`, for the six indices that [`Format::multiplied_as`] returns. Compile time grows with the number of arms.
macro_rules! by_products {
    ($index:expr, $run:ident::<$($given:tt),*>($($argument:expr),*)) => {
        match $index {
            2 => $run::<$($given,)* 2>($($argument),*),
            4 => $run::<$($given,)* 4>($($argument),*),
            5 => $run::<$($given,)* 5>($($argument),*),
            7 => $run::<$($given,)* 7>($($argument),*),
            8 => $run::<$($given,)* 8>($($argument),*),
            9 => $run::<$($given,)* 9>($($argument),*),
            other => unreachable!("{other} is none of the six (bug)"),
        }
    };
}
pub(super) use by_products;

const _: () = {
    assert!(FORMATS.len() == 12, "by_format has an arm for each");
    let mut at = 0;
    while at < FORMATS.len() {
        let index = FORMATS[at].1.multiplied_as();
        let (own, other) = (FORMATS[at].1, FORMATS[index].1);
        assert!(
            matches!(index, 2 | 4 | 5 | 7 | 8 | 9) && other.multiplied_as() == index,
            "by_products has an arm for it"
        );
        let ((code, eight), (other_code, other_eight)) = (own.largest_code(), other.largest_code());
        assert!(own.step == other.step && own.has_min == other.has_min && eight == other_eight);
        assert!((own.zero == 0) == (other.zero == 0), "both subtract a zero, or neither does");
        let largest = if code - own.zero > own.zero { code - own.zero } else { own.zero };
        let bound = if other_code - other.zero > other.zero { other_code - other.zero } else { other.zero };
        assert!(code <= other_code && largest <= bound, "sums that hold the other's products hold these");
        assert!(!eight || own.zero == 128, "signed products subtract this zero");
        at += 1;
    }
};

impl Format {
    const fn plain(width: Width, zero: i32, has_min: bool) -> Self {
        Self { width, zero, step: 32, has_min, scales: Scales::Plain, values: Values::Codes }
    }

    /// Scales are signed in the types without mins.
    const fn nested(width: Width, zero: i32, step: usize, has_min: bool) -> Self {
        let scales = if has_min { Scales::Nested } else { Scales::NestedSigned };
        Self { width, zero, step, has_min, scales, values: Values::Codes }
    }

    /// The largest unsigned code, and whether codes are of eight bits, which need not fit products of unsigned bytes.
    pub(super) const fn largest_code(self) -> (i32, bool) {
        match (self.values, self.width) {
            (Values::Iq4, _) | (_, Width::Eight) => (255, true),
            (Values::E2m1, _) => (24, false),
            (Values::Codes, Width::Four) => (15, false),
            (Values::Codes, Width::Five) => (31, false),
            (Values::Codes, Width::Six) => (63, false),
        }
    }

    /// The values of the sixteen packed codes; `None` if they are the codes themselves.
    pub(super) fn table(self) -> Option<&'static [u8; 16]> {
        match self.values {
            Values::Codes => None,
            Values::Iq4 => Some(&IQ4_CODES),
            Values::E2m1 => Some(&E2M1_CODES),
        }
    }

    /// The format of `of`; `None` for types that are not blocks of codes.
    pub(crate) fn of(of: impl Into<BlockType>) -> Option<Self> {
        let dtype = of.into();
        FORMATS.iter().find(|(named, _)| *named == dtype).map(|(_, format)| *format)
    }

    /// The index in [`FORMATS`].
    pub(super) fn index(self) -> usize {
        FORMATS.iter().position(|(_, format)| *format == self).expect("every format is in the table (bug)")
    }

    /// The index in [`FORMATS`] of the type whose code multiplies unpacked codes of this one too. The two differ in how codes
    /// and scales are stored, in the largest code and in the zero.
    pub(super) const fn multiplied_as(self) -> usize {
        match (self.step, self.has_min, self.width) {
            // Q2_K, Q6_K, Q4_K, Q5_K, Q8_0, Q5_0.
            (16, true, _) => 5,
            (16, false, _) => 9,
            (_, true, Width::Four) => 7,
            (_, true, _) => 8,
            (_, false, _) if self.largest_code().1 => 4,
            (_, false, _) => 2,
        }
    }

    /// Inputs that share a `d`.
    pub(super) const fn unit(self) -> usize {
        match self.scales {
            Scales::Plain | Scales::Powers => 32,
            Scales::Nested | Scales::NestedSigned => 256,
        }
    }

    /// Bytes of a unit's `d` (and `m`) of half a panel.
    pub(super) const fn head_bytes(self) -> usize {
        match self.scales {
            Scales::Powers => LANES,
            _ => LANES * 2 * if self.has_min { 2 } else { 1 },
        }
    }

    /// Bytes of one kind of nested scale for 32 inputs of half a panel.
    pub(super) const fn nested_bytes(self) -> usize {
        match self.scales {
            Scales::Plain | Scales::Powers => 0,
            Scales::Nested | Scales::NestedSigned => LANES * 32 / self.step,
        }
    }

    /// Bytes of 32 inputs of half a panel, after the head.
    pub(super) const fn block_bytes(self) -> usize {
        self.width.bytes() + self.nested_bytes() * if self.has_min { 2 } else { 1 }
    }

    /// Bytes of a unit of half a panel.
    pub(super) const fn unit_bytes(self) -> usize {
        self.head_bytes() + self.unit() / 32 * self.block_bytes()
    }

    /// Bytes of a panel.
    pub(crate) fn panel_bytes(self, inputs: usize) -> usize {
        2 * inputs / self.unit() * self.unit_bytes()
    }
}
