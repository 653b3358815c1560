//! A launch: its kernel, its blocks and its arguments.

use candle_core::DType;
use std::fmt;

/// A file of `kernels/cuda`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Module {
    /// `norm.cu`
    Norm,
    /// `rotary.cu`
    Rotary,
    /// `swiglu.cu`
    Swiglu,
    /// `attention.cu`
    Attention,
    /// `linear.cu`
    Linear,
    /// `sample.cu`
    Sample,
    /// `encoder.cu`
    Encoder,
    /// `blocks.cu`
    Blocks,
}

/// One argument of a kernel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Argument {
    /// An address in the device's memory.
    Pointer(u64),
    /// A count.
    U32(u32),
    /// A number.
    F32(f32),
}

/// A kernel of a module. Its name there is made when it is first looked up, not at every launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Kernel {
    /// Where it is.
    pub module: Module,
    /// The beginning of its name.
    pub name: &'static str,
    /// The size that it is compiled for, where there are several: of a head, or rows in eights.
    pub size: Option<usize>,
    /// The type that it is compiled for, where there are several.
    pub element: Option<Element>,
}

impl Kernel {
    /// The only kernel of that name.
    pub(super) fn new(module: Module, name: &'static str) -> Self {
        Self { module, name, size: None, element: None }
    }

    /// The one for numbers of type `element`.
    pub(super) fn of(self, element: Element) -> Self {
        Self { element: Some(element), ..self }
    }

    /// The one for `size`.
    pub(super) fn sized(self, size: usize) -> Self {
        Self { size: Some(size), ..self }
    }
}

impl fmt::Display for Kernel {
    /// The name in the module: `attend_span_128_bf16`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        if let Some(size) = self.size {
            write!(f, "_{size}")?;
        }
        self.element.map_or(Ok(()), |element| write!(f, "_{}", element.name()))
    }
}

/// One launch of one kernel.
#[derive(Debug, Clone, PartialEq)]
pub struct Launch {
    /// Which kernel.
    pub kernel: Kernel,
    /// Blocks in x, y and z; where one is 0 there is nothing to do.
    pub grid: [u32; 3],
    /// Threads of a block, a multiple of 32.
    pub threads: u32,
    /// In the kernel's order.
    pub arguments: Vec<Argument>,
}

/// A type of numbers that kernels are compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Element {
    /// 32 bits
    F32,
    /// 16 bits, IEEE
    F16,
    /// The upper 16 bits of 32
    Bf16,
}

impl Element {
    /// The element type of tensors of `dtype`, if kernels know it.
    #[must_use]
    pub fn of(dtype: DType) -> Option<Self> {
        match dtype {
            DType::F32 => Some(Self::F32),
            DType::F16 => Some(Self::F16),
            DType::BF16 => Some(Self::Bf16),
            _ => None,
        }
    }

    /// The suffix of kernels' names.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
        }
    }

    /// Whether tensor cores take it with all its bits.
    #[must_use]
    pub fn is_half(self) -> bool {
        self != Self::F32
    }
}
