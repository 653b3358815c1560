//! `x · wᵀ`, and the rows of `w` by number: a linear layer and an embedding over one weight.

use super::{cpu_table, f32_slice};
use crate::cpu::{Aligned, BlockCall, Elements, Format, LinearCall, PANEL, Quantised, pack_half, row_of_blocks};
use candle_core::quantized::GgmlDType;
use candle_core::{CpuStorage, CustomOp1, DType, Device, Layout, Result, Shape, Storage, Tensor, bail};
use half::{bf16, f16};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// Rows of a task at least, where panels alone do not make enough tasks: every task takes its panels apart anew.
const TASK_ROWS: usize = 64;

/// A weight matrix `[outputs, inputs]`, laid out for the device it lives on.
///
/// On the CPU it keeps the width it is stored in, in panels of 32 outputs (one copy serves the embedding and the tied
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
}

/// Panels of 32 outputs.
#[derive(Debug)]
enum Packed {
    /// `[panels, inputs, 32]` of 2 or 4 bytes
    Floats(DType, Aligned),
    /// As the format says
    Blocks(Format, Aligned),
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

    /// As [`Self::from_rows`], of f16 or bf16 as `dtype` says, whose bits `read` writes.
    ///
    /// # Panics
    /// Never but in debug builds, where `dtype` is another.
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

    /// A weight on the CPU of blocks as ggml stores them; `row(i)` is the stored bytes of row `i`. `None` where `dtype` is
    /// no type of blocks, or a row is no whole number of them.
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

    /// Rows of the matrix: what a linear layer gives, how many an embedding knows.
    #[must_use]
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// Columns of the matrix: what a linear layer takes, the width of an embedding.
    #[must_use]
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Whether it is multiplied as bytes are, not as floats.
    #[must_use]
    pub fn is_quantised(&self) -> bool {
        matches!(&self.data, Data::Packed(packed) if matches!(**packed, Packed::Blocks(..)))
    }

    /// Bytes held.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match &self.data {
            Data::Packed(packed) => match &**packed {
                Packed::Floats(_, bytes) | Packed::Blocks(_, bytes) => bytes.len(),
            },
            Data::Tensor(tensor) => tensor.elem_count() * tensor.dtype().size_in_bytes(),
        }
    }

    /// `x · wᵀ`: `[rows, inputs]` to `[rows, outputs]`.
    ///
    /// # Errors
    /// Shapes or types that do not fit.
    pub fn apply(&self, x: &Tensor) -> Result<Tensor> {
        let mut outs = Self::apply_all(&[(self, None)], x)?;
        outs.pop().ok_or_else(|| candle_core::Error::Msg("one weight gave no result (bug)".into()))
    }

    /// `x · wᵀ + bias` for several weights that take the same input, a bias `[outputs]` where there is one: the input is
    /// brought to bytes once, and the threads meet once.
    ///
    /// # Errors
    /// Shapes or types that do not fit.
    pub fn apply_all(weights: &[(&Self, Option<&Tensor>)], x: &Tensor) -> Result<Vec<Tensor>> {
        let mut packed = Vec::with_capacity(weights.len());
        for (weight, bias) in weights {
            match &weight.data {
                Data::Packed(data) => {
                    packed.push((&**data, weight.outputs, weight.inputs, start(*bias, weight.outputs)?))
                }
                Data::Tensor(_) => {
                    let biased = |(weight, bias): &(&Self, Option<&Tensor>)| match bias {
                        Some(bias) => weight.matmul(x)?.broadcast_add(bias),
                        None => weight.matmul(x),
                    };
                    return weights.iter().map(biased).collect();
                }
            }
        }
        let x = x.contiguous()?;
        let (rows, inputs) = x.dims2()?;
        if let Some((_, _, takes, _)) = packed.iter().find(|(_, _, takes, _)| *takes != inputs) {
            bail!("linear: x is [{rows}, {inputs}], the weight takes {takes} inputs");
        }
        let (storage, layout) = x.storage_and_layout();
        let Storage::Cpu(storage) = &*storage else { bail!("linear: a CPU weight, and x is on another device") };
        let outs = multiply(&packed, f32_slice("linear", storage, layout)?, rows, inputs)?;
        let shaped =
            |(out, (_, outputs, ..)): (Vec<f32>, &Term<'_>)| Tensor::from_vec(out, (rows, *outputs), &Device::Cpu);
        outs.into_iter().zip(&packed).map(shaped).collect()
    }

    fn matmul(&self, x: &Tensor) -> Result<Tensor> {
        match &self.data {
            Data::Tensor(tensor) => x.matmul(&tensor.t()?),
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
            Data::Tensor(tensor) => tensor.index_select(ids, 0),
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

/// A weight, its outputs, its inputs, and what its sums start from.
type Term<'a> = (&'a Packed, usize, usize, Option<Vec<f32>>);

/// The values of a bias.
fn start(bias: Option<&Tensor>, outputs: usize) -> Result<Option<Vec<f32>>> {
    let Some(bias) = bias else { return Ok(None) };
    let values = bias.to_vec1::<f32>()?;
    if values.len() != outputs {
        bail!("linear: a bias of {} values for {outputs} outputs", values.len());
    }
    Ok(Some(values))
}

/// One weight's part of a [`multiply`].
enum Call<'a> {
    Floats(LinearCall<'a>),
    Blocks(BlockCall<'a>),
}

/// `x · wᵀ + bias` for every weight, as tasks of some panels and some rows.
fn multiply(weights: &[Term<'_>], x: &[f32], rows: usize, inputs: usize) -> Result<Vec<Vec<f32>>> {
    let table = cpu_table()?;
    let any_blocks = weights.iter().any(|(packed, ..)| matches!(packed, Packed::Blocks(..)));
    let mut bytes = Quantised::default();
    if any_blocks {
        bytes = Quantised::new(rows, inputs);
        bytes.fill(table, x);
    }
    let mut outs: Vec<Vec<f32>> = weights.iter().map(|(_, outputs, ..)| Vec::with_capacity(rows * outputs)).collect();
    let calls: Vec<(Call<'_>, usize)> = weights
        .iter()
        .zip(&mut outs)
        .map(|((packed, outputs, _, bias), out)| {
            let (out, outputs, bias) = (out.as_mut_ptr(), *outputs, bias.as_deref());
            let call = match packed {
                Packed::Floats(dtype, data) => {
                    let packed = elements(*dtype, data);
                    Call::Floats(LinearCall { x, packed, bias, out, inputs, outputs })
                }
                Packed::Blocks(format, packed) => {
                    Call::Blocks(BlockCall { x: &bytes, format: *format, packed, bias, out, outputs })
                }
            };
            (call, outputs.div_ceil(PANEL))
        })
        .collect();
    let tasks = tasks(&calls, rows);
    tasks.into_par_iter().for_each(|(call, panels, rows)| {
        // SAFETY: the table was chosen by what this machine can run; tasks own disjoint panels and rows.
        #[allow(unsafe_code)]
        unsafe {
            match call {
                Call::Floats(call) => (table.linear)(call, panels, rows),
                Call::Blocks(call) => (table.block_linear)(call, panels, rows),
            }
        }
    });
    drop(calls);
    for (out, (_, outputs, ..)) in outs.iter_mut().zip(weights) {
        // SAFETY: it has this capacity, and the tasks have written every row's every output.
        #[allow(unsafe_code)]
        unsafe {
            out.set_len(rows * outputs);
        }
    }
    Ok(outs)
}

/// Cuts calls into tasks of some panels and some rows: a few a thread, so that an uneven end costs little.
fn tasks<'a, 'b>(calls: &'a [(Call<'b>, usize)], rows: usize) -> Vec<(&'a Call<'b>, Range<usize>, Range<usize>)> {
    let wanted = rayon::current_num_threads() * 4;
    let panels: usize = calls.iter().map(|(_, panels)| panels).sum();
    let row_parts = wanted.div_ceil(panels.max(1)).min(rows / TASK_ROWS).max(1);
    let (panels_each, rows_each) = ((panels * row_parts).div_ceil(wanted).max(1), rows.div_ceil(row_parts).max(1));
    let mut tasks = Vec::with_capacity(wanted + calls.len() * row_parts);
    for (call, panels) in calls {
        for row in (0..rows).step_by(rows_each) {
            for panel in (0..*panels).step_by(panels_each) {
                tasks.push((call, panel..(panel + panels_each).min(*panels), row..(row + rows_each).min(rows)));
            }
        }
    }
    tasks
}

/// The values of [`Packed::Floats`].
fn elements(dtype: DType, data: &Aligned) -> Elements<'_> {
    match dtype {
        DType::F16 => Elements::F16(data.values()),
        DType::BF16 => Elements::Bf16(data.values()),
        _ => Elements::F32(data.values()),
    }
}

struct Rows<'a> {
    packed: &'a Packed,
    outputs: usize,
    inputs: usize,
}

impl CustomOp1 for Rows<'_> {
    fn name(&self) -> &'static str {
        "rows"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let Some((from, to)) = layout.contiguous_offsets() else { bail!("rows: ids must be contiguous") };
        let ids = &storage.as_slice::<u32>()?[from..to];
        if let Some(id) = ids.iter().find(|&&id| id as usize >= self.outputs) {
            bail!("rows: id {id} is not below {}", self.outputs);
        }
        let mut out = vec![0.0; ids.len() * self.inputs];
        out.par_chunks_mut(self.inputs).zip(ids).for_each(|(out, &id)| self.read(id as usize, out));
        Ok((CpuStorage::F32(out), Shape::from((ids.len(), self.inputs))))
    }
}

impl Rows<'_> {
    fn read(&self, row: usize, out: &mut [f32]) {
        let (panel, column) = (row / PANEL, row % PANEL);
        match self.packed {
            Packed::Blocks(format, data) => {
                let bytes = format.panel_bytes(self.inputs);
                row_of_blocks(*format, &data[panel * bytes..][..bytes], column, out);
            }
            Packed::Floats(dtype, data) => {
                let at = |k: usize| (panel * self.inputs + k) * PANEL + column;
                match elements(*dtype, data) {
                    Elements::F32(data) => out.iter_mut().enumerate().for_each(|(k, x)| *x = data[at(k)]),
                    Elements::F16(data) => {
                        out.iter_mut().enumerate().for_each(|(k, x)| *x = f16::from_bits(data[at(k)]).to_f32());
                    }
                    Elements::Bf16(data) => {
                        out.iter_mut().enumerate().for_each(|(k, x)| *x = bf16::from_bits(data[at(k)]).to_f32());
                    }
                }
            }
        }
    }
}
