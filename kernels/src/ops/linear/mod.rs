//! `x · wᵀ`, and the rows of `w` by id: a linear layer and an embedding over one weight.

mod feed_forward;
mod multiply;
mod rows;

use super::exact_linear::exact_linear;
use crate::cpu::{Activation, Aligned, Elements, Format, PANEL, i16_panel_bytes, pack_half, pack_i16};
use candle_core::quantized::GgmlDType;
use candle_core::{CpuStorage, DType, Result, Storage, Tensor, bail};
use half::{bf16, f16};
pub use multiply::{Affine, affine_reference};
use multiply::{Layer, apply_layers};
use rayon::prelude::*;
use rows::Rows;
use std::sync::Arc;

/// A weight matrix `[outputs, inputs]`, laid out for the device it lives on.
///
/// On the CPU it keeps its stored type, packed in panels of 32 outputs (one copy serves the embedding and the tied
/// output layer); elsewhere it is a tensor.
#[derive(Debug, Clone)]
pub struct Weight {
    data: Data,
    outputs: usize,
    inputs: usize,
}

#[derive(Debug, Clone)]
enum Data {
    Packed(Arc<Packed>),
    Tensor(Tensor),
    /// On a CUDA device, multiplied by a kernel of ours whose sums do not depend on the number of rows.
    Exact(Tensor),
}

/// Panels of 32 outputs.
#[derive(Debug)]
enum Packed {
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
                    for (input, value) in chunk.chunks_exact_mut(PANEL * N).zip(&*row) {
                        input[column * N..][..N].copy_from_slice(&bytes(*value));
                    }
                }
            },
        );
        Self { data: Data::Packed(Arc::new(Packed::Floats(dtype, packed))), outputs, inputs }
    }

    /// A weight on the CPU of ggml's block types; `row(i)` is the stored bytes of row `i`. `None` where `dtype` is no
    /// block type, or a row is not a whole number of blocks.
    #[must_use]
    pub fn from_blocks<R: AsRef<[u8]>>(
        dtype: GgmlDType,
        outputs: usize,
        inputs: usize,
        row: impl Fn(usize) -> R + Sync,
    ) -> Option<Self> {
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

    /// `x · wᵀ`: `[rows, inputs]` to `[rows, outputs]`.
    ///
    /// # Errors
    /// Shapes or types that do not fit.
    pub fn apply(&self, x: &Tensor) -> Result<Tensor> {
        let mut outs = Self::apply_all(&[self.affine(None)], x)?;
        outs.pop().ok_or_else(|| candle_core::Error::Msg("one weight gave no result (bug)".into()))
    }

    /// A linear layer of this weight without an activation.
    #[must_use]
    pub fn affine<'a>(&'a self, bias: Option<&'a Tensor>) -> Affine<'a> {
        Affine { weight: self, bias, activation: Activation::None }
    }

    /// `activation(x · wᵀ + bias)` for several layers that take the same input: it is quantised once, threads
    /// synchronise once, and bias and activation are applied while the product is in the cache.
    ///
    /// # Errors
    /// Shapes or types that do not fit.
    pub fn apply_all(layers: &[Affine<'_>], x: &Tensor) -> Result<Vec<Tensor>> {
        if layers.iter().any(|layer| !matches!(layer.weight.data, Data::Packed(_))) {
            return layers.iter().map(|layer| affine_reference(layer, x)).collect();
        }
        let held: Vec<_> = layers.iter().map(|layer| Some(layer.bias?.storage_and_layout())).collect();
        let biases = layers.iter().zip(&held).map(|(layer, held)| layer.bias(held)).collect::<Result<Vec<_>>>()?;
        let mut calls = Vec::with_capacity(layers.len());
        for (layer, bias) in layers.iter().zip(&biases) {
            let Data::Packed(packed) = &layer.weight.data else { bail!("a weight has left the CPU (bug)") };
            let finish = bias.as_deref().map(|bias| (bias, layer.activation));
            calls.push(Layer { packed, outputs: layer.weight.outputs, inputs: layer.weight.inputs, finish });
        }
        apply_layers(&calls, x)
    }

    /// A decoder's feed-forward layers, `down(silu(gate(x)) * up(x))`, in one pass: inner activations are quantised
    /// while they are in the cache. The bits are those of the separate operations. `None` where weights are not
    /// quantised and on the CPU, or there is too little to do for all threads: the caller then applies them separately.
    ///
    /// # Errors
    /// Shapes that do not fit.
    pub fn feed_forward(gate: &Self, up: &Self, down: &Affine<'_>, x: &Tensor) -> Result<Option<Tensor>> {
        feed_forward::in_one_pass(gate, up, down, x)
    }

    fn matmul(&self, x: &Tensor) -> Result<Tensor> {
        match &self.data {
            Data::Tensor(tensor) => x.matmul(&tensor.t()?),
            Data::Exact(tensor) => exact_linear(x, tensor),
            Data::Packed(_) => self.apply(x),
        }
    }

    /// The rows that `ids` name: `[tokens]` (u32) to `[tokens, inputs]`.
    ///
    /// # Errors
    /// An id that is not below `outputs`.
    pub fn rows(&self, ids: &Tensor) -> Result<Tensor> {
        match &self.data {
            Data::Packed(packed) => ids.apply_op1_no_bwd(&Rows { packed, outputs: self.outputs, inputs: self.inputs }),
            Data::Tensor(tensor) | Data::Exact(tensor) => tensor.index_select(ids, 0),
        }
    }
}

/// The reference: Candle's matmul over the matrix as it was before packing.
///
/// # Errors
/// Shapes or types that do not fit.
pub fn reference(x: &Tensor, dense: &Tensor) -> Result<Tensor> {
    x.matmul(&dense.t()?)
}

fn copy<T: Copy>(from: &[T], to: &mut [u16], bits: fn(T) -> u16) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = bits(*from);
    }
}

/// The values of [`Packed::Floats`].
fn elements(dtype: DType, data: &Aligned) -> Elements<'_> {
    match dtype {
        DType::F16 => Elements::F16(data.values()),
        DType::BF16 => Elements::Bf16(data.values()),
        _ => Elements::F32(data.values()),
    }
}
