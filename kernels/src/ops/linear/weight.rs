//! A weight matrix, laid out for its device.

use crate::cpu::{Aligned, BlockType, Elements, Format, PANEL, i16_panel_bytes, pack_half, pack_i16};
use candle_core::{CpuStorage, DType, Result, Storage, Tensor, bail};
use half::{bf16, f16};
use rayon::prelude::*;
use std::sync::Arc;

/// A weight matrix `[outputs, inputs]`, laid out for the device it lives on.
///
/// On the CPU it keeps its stored type, packed in panels of 32 outputs (one copy serves the embedding and the tied
/// output layer); elsewhere it is a tensor.
#[derive(Debug, Clone)]
pub struct Weight {
    pub(super) data: Data,
    pub(super) outputs: usize,
    pub(super) inputs: usize,
}

#[derive(Debug, Clone)]
pub(super) enum Data {
    Packed(Arc<Packed>),
    Tensor(Tensor),
    /// On a CUDA device, multiplied by a kernel of ours whose sums do not depend on the number of rows.
    Exact(Tensor),
}

/// Panels of 32 outputs.
#[derive(Debug)]
pub(super) enum Packed {
    /// `[panels, inputs, 32]` of 2 or 4 bytes
    Floats(DType, Aligned),
    /// As `cpu/blocks.rs` says
    Blocks(Format, Aligned),
    /// As `cpu/int16.rs` says
    Int16(Aligned),
}

impl Weight {
    /// Lays out `dense`, `[outputs, inputs]`, of any float type.
    ///
    /// # Errors
    /// Not two dimensions, or on the CPU a type other than f32, f16 and bf16.
    pub fn new(dense: &Tensor) -> Result<Self> {
        let (outputs, inputs) = dense.dims2()?;
        if !dense.device().is_cpu() {
            return Ok(Self { data: Data::Tensor(dense.clone()), outputs, inputs });
        }
        let flat = dense.flatten_all()?;
        let (storage, layout) = flat.storage_and_layout();
        let Storage::Cpu(storage) = &*storage else { bail!("a CPU tensor lies elsewhere (bug)") };
        let Some((from, to)) = layout.contiguous_offsets() else { bail!("a flat tensor is not contiguous (bug)") };
        match storage {
            CpuStorage::F32(data) => Ok(Self::from_rows(outputs, inputs, |row, out| {
                out.copy_from_slice(&data[from..to][row * inputs..][..inputs]);
            })),
            CpuStorage::F16(data) => Ok(Self::from_halves(DType::F16, outputs, inputs, |row, out| {
                copy(&data[from..to][row * inputs..], out, f16::to_bits);
            })),
            CpuStorage::BF16(data) => Ok(Self::from_halves(DType::BF16, outputs, inputs, |row, out| {
                copy(&data[from..to][row * inputs..], out, bf16::to_bits);
            })),
            _ => bail!("a CPU weight must be f32, f16 or bf16, this one is {:?}", dense.dtype()),
        }
    }

    /// A weight on the CPU whose row `i` is what `read(i, row)` writes: no dense copy is made on the way.
    #[must_use]
    pub fn from_rows(outputs: usize, inputs: usize, read: impl Fn(usize, &mut [f32]) + Sync) -> Self {
        Self::floats(DType::F32, outputs, inputs, read, f32::to_le_bytes)
    }

    /// As [`Self::from_rows`], for f16 or bf16 as `dtype` says; `read` writes their bits.
    ///
    /// # Panics
    /// In debug builds, where `dtype` is another type.
    #[must_use]
    pub fn from_halves(dtype: DType, outputs: usize, inputs: usize, read: impl Fn(usize, &mut [u16]) + Sync) -> Self {
        debug_assert!(matches!(dtype, DType::F16 | DType::BF16));
        Self::floats(dtype, outputs, inputs, read, u16::to_le_bytes)
    }

    fn floats<T: Default + Copy, const N: usize>(
        dtype: DType,
        outputs: usize,
        inputs: usize,
        read: impl Fn(usize, &mut [T]) + Sync,
        bytes: fn(T) -> [u8; N],
    ) -> Self {
        let mut packed = Aligned::zeroed(outputs.div_ceil(PANEL) * inputs * PANEL * N);
        let panels = packed.par_chunks_mut((inputs * PANEL * N).max(1)).enumerate();
        panels.for_each_init(
            || vec![T::default(); inputs],
            |row, (panel, chunk)| {
                for column in 0..PANEL.min(outputs - panel * PANEL) {
                    read(panel * PANEL + column, row);
                    for (place, value) in chunk.chunks_exact_mut(PANEL * N).zip(&*row) {
                        place[column * N..][..N].copy_from_slice(&bytes(*value));
                    }
                }
            },
        );
        Self { data: Data::Packed(Arc::new(Packed::Floats(dtype, packed))), outputs, inputs }
    }

    /// A weight on the CPU of a block type; `row(i)` is the stored bytes of row `i`. `None` where `of` has no blocks, or a
    /// row is not a whole number of them.
    #[must_use]
    pub fn from_blocks<R: AsRef<[u8]>>(
        of: impl Into<BlockType>,
        outputs: usize,
        inputs: usize,
        row: impl Fn(usize) -> R + Sync,
    ) -> Option<Self> {
        let dtype = of.into();
        let format = Format::of(dtype).filter(|_| inputs > 0 && inputs.is_multiple_of(dtype.block_size()))?;
        let mut packed = Aligned::zeroed(outputs.div_ceil(PANEL) * format.panel_bytes(inputs));
        packed.par_chunks_mut(format.panel_bytes(inputs)).enumerate().for_each(|(panel, bytes)| {
            for half in 0..2 {
                let first = panel * PANEL + half * PANEL / 2;
                let rows: Vec<R> = (first..outputs.min(first + PANEL / 2)).map(&row).collect();
                let rows: Vec<&[u8]> = rows.iter().map(AsRef::as_ref).collect();
                pack_half(dtype, format, inputs, &rows, bytes, half);
            }
        });
        Some(Self { data: Data::Packed(Arc::new(Packed::Blocks(format, packed))), outputs, inputs })
    }

    /// A weight on the CPU quantised to int16, with one scale for 128 inputs of a row; row `i` is what `read(i, row)`
    /// writes. 12 bits and a sign, exact sums, twice as fast as f32 where the processor has the instruction. `None`
    /// where a row is not a multiple of 32.
    #[must_use]
    pub fn from_rows_as_i16(outputs: usize, inputs: usize, read: impl Fn(usize, &mut [f32]) + Sync) -> Option<Self> {
        if inputs == 0 || !inputs.is_multiple_of(32) {
            return None;
        }
        let mut packed = Aligned::zeroed(outputs.div_ceil(PANEL) * i16_panel_bytes(inputs));
        packed.par_chunks_mut(i16_panel_bytes(inputs)).enumerate().for_each_init(
            || vec![0.0; inputs],
            |row, (panel, bytes)| {
                for column in 0..PANEL.min(outputs - panel * PANEL) {
                    read(panel * PANEL + column, row);
                    pack_i16(row, column, bytes);
                }
            },
        );
        Some(Self { data: Data::Packed(Arc::new(Packed::Int16(packed))), outputs, inputs })
    }

    /// The same weight, multiplied so that a row's bits do not depend on the other rows. On the CPU that is always so;
    /// on a CUDA device it needs a kernel of ours, slower than cuBLAS, for f16 and bf16 with inputs in multiples of 8.
    #[must_use]
    pub fn exact(self) -> Self {
        match self.data {
            Data::Tensor(tensor) if tensor.device().is_cuda() => Self { data: Data::Exact(tensor), ..self },
            data => Self { data, ..self },
        }
    }

    /// Rows of the matrix: outputs of a linear layer, ids of an embedding.
    #[must_use]
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// Columns of the matrix: inputs of a linear layer, width of an embedding.
    #[must_use]
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Whether it is of a block type, which is multiplied by int8 activations.
    #[must_use]
    pub fn is_quantised(&self) -> bool {
        matches!(&self.data, Data::Packed(packed) if matches!(**packed, Packed::Blocks(..)))
    }

    /// Bytes of the packed matrix.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match &self.data {
            Data::Packed(packed) => match &**packed {
                Packed::Floats(_, bytes) | Packed::Blocks(_, bytes) | Packed::Int16(bytes) => bytes.len(),
            },
            Data::Tensor(tensor) | Data::Exact(tensor) => tensor.elem_count() * tensor.dtype().size_in_bytes(),
        }
    }
}

fn copy<T: Copy>(from: &[T], to: &mut [u16], bits: fn(T) -> u16) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = bits(*from);
    }
}

/// The values of [`Packed::Floats`].
pub(super) fn elements(dtype: DType, data: &Aligned) -> Elements<'_> {
    match dtype {
        DType::F16 => Elements::F16(data.values()),
        DType::BF16 => Elements::Bf16(data.values()),
        _ => Elements::F32(data.values()),
    }
}
