//! `x · wᵀ`, and the rows of `w` by number: a linear layer and an embedding over one weight.

use super::exact_linear::exact_linear;
use super::{cpu_table, f32_slice};
use crate::cpu::{Activation, Aligned, BlockCall, Elements, Format, LinearCall, PANEL, Quantised, WordCall, Words};
use crate::cpu::{pack_half, pack_words, row_of_blocks, row_of_words, word_panel_bytes};
use candle_core::quantized::GgmlDType;
use candle_core::{CpuStorage, CustomOp1, DType, Device, Layout, Result, Shape, Storage, Tensor, bail};
use half::{bf16, f16};
use rayon::prelude::*;
use std::borrow::Cow;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// Rows of a task at least, where panels alone do not make enough tasks: every task takes its panels apart anew.
const TASK_ROWS: usize = 64;

/// What the widest table's register tiles are made of: 12 rows of floats or words, 6 of bytes.
const TILE_ROWS: usize = 12;

/// Rows of a task at most where weights are words, which are taken as they lie, so that a task costs nothing to begin.
const WORD_ROWS: usize = 192;

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
    /// On a CUDA device, multiplied by a kernel of ours whose sums do not depend on the number of rows.
    Exact(Tensor),
}

/// Panels of 32 outputs.
#[derive(Debug)]
enum Packed {
    /// `[panels, inputs, 32]` of 2 or 4 bytes
    Floats(DType, Aligned),
    /// As the format says
    Blocks(Format, Aligned),
    /// As [`crate::cpu::words`] says
    Words(Aligned),
}

/// A linear layer's part of [`Weight::apply_all`].
#[derive(Debug, Clone, Copy)]
pub struct Affine<'a> {
    /// `[outputs, inputs]`
    pub weight: &'a Weight,
    /// `[outputs]`
    pub bias: Option<&'a Tensor>,
    /// What is done to the sum.
    pub activation: Activation,
}

impl Affine<'_> {
    /// The bias of a weight on the CPU, out of its tensor's `held` storage; zeros where there is none and an activation
    /// follows.
    fn bias<'a, S>(&self, held: &'a Option<(S, &Layout)>) -> Result<Option<Cow<'a, [f32]>>>
    where
        S: Deref<Target = Storage>,
    {
        let outputs = self.weight.outputs;
        let values = match held {
            Some((storage, layout)) => {
                let Storage::Cpu(storage) = &**storage else { bail!("linear: a CPU weight, and a bias elsewhere") };
                Cow::Borrowed(f32_slice("linear", storage, layout)?)
            }
            None if self.activation == Activation::None => return Ok(None),
            None => Cow::Owned(vec![0.0; outputs]),
        };
        if values.len() != outputs {
            bail!("linear: {} biases for {outputs} outputs", values.len());
        }
        Ok(Some(values))
    }
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

    /// A weight on the CPU of sixteen-bit integers with one scale for 128 inputs of a row, whose row `i` is what
    /// `read(i, row)` writes: 12 bits and a sign, exact sums, twice as fast as f32 where the processor has the
    /// instruction. `None` where a row is no multiple of 32.
    #[must_use]
    pub fn from_rows_in_words(outputs: usize, inputs: usize, read: impl Fn(usize, &mut [f32]) + Sync) -> Option<Self> {
        if inputs == 0 || !inputs.is_multiple_of(32) {
            return None;
        }
        let mut packed = Aligned::zeroed(outputs.div_ceil(PANEL) * word_panel_bytes(inputs));
        packed.par_chunks_mut(word_panel_bytes(inputs)).enumerate().for_each_init(
            || vec![0.0; inputs],
            |row, (panel, bytes)| {
                for column in 0..PANEL.min(outputs - panel * PANEL) {
                    read(panel * PANEL + column, row);
                    pack_words(row, column, bytes);
                }
            },
        );
        Some(Self { data: Data::Packed(Arc::new(Packed::Words(packed))), outputs, inputs })
    }

    /// The same weight, multiplied so that a row's bits do not depend on the other rows. On the CPU it always is; on a
    /// CUDA device it takes a kernel of ours, slower than cuBLAS, for f16 and bf16 with inputs in multiples of 8.
    #[must_use]
    pub fn exact(self) -> Self {
        match self.data {
            Data::Tensor(tensor) if tensor.device().is_cuda() => Self { data: Data::Exact(tensor), ..self },
            data => Self { data, ..self },
        }
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
                Packed::Floats(_, bytes) | Packed::Blocks(_, bytes) | Packed::Words(bytes) => bytes.len(),
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

    /// A linear layer of this weight, with nothing after its sum.
    #[must_use]
    pub fn affine<'a>(&'a self, bias: Option<&'a Tensor>) -> Affine<'a> {
        Affine { weight: self, bias, activation: Activation::None }
    }

    /// `activation(x · wᵀ + bias)` for several layers that take the same input: it is brought to bytes once, the threads
    /// meet once, and what follows the product is done while it is still in the cache.
    ///
    /// # Errors
    /// Shapes or types that do not fit.
    pub fn apply_all(layers: &[Affine<'_>], x: &Tensor) -> Result<Vec<Tensor>> {
        if layers.iter().any(|layer| !matches!(layer.weight.data, Data::Packed(_))) {
            return layers.iter().map(|layer| affine_reference(layer, x)).collect();
        }
        let held: Vec<_> = layers.iter().map(|layer| Some(layer.bias?.storage_and_layout())).collect();
        let biases = layers.iter().zip(&held).map(|(layer, held)| layer.bias(held)).collect::<Result<Vec<_>>>()?;
        let mut parts = Vec::with_capacity(layers.len());
        for (layer, bias) in layers.iter().zip(&biases) {
            let Data::Packed(packed) = &layer.weight.data else { bail!("a weight has left the CPU (bug)") };
            let finish = bias.as_deref().map(|bias| (bias, layer.activation));
            parts.push(Part { packed, outputs: layer.weight.outputs, inputs: layer.weight.inputs, finish });
        }
        apply_parts(&parts, x)
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

/// [`Weight::apply_all`] of one layer by Candle's own operations; what devices without a kernel of ours use.
///
/// # Errors
/// Shapes or types that do not fit.
pub fn affine_reference(layer: &Affine<'_>, x: &Tensor) -> Result<Tensor> {
    let mut y = layer.weight.matmul(x)?;
    if let Some(bias) = layer.bias {
        y = y.broadcast_add(bias)?;
    }
    match layer.activation {
        Activation::None => Ok(y),
        Activation::Gelu => y.gelu_erf(),
        Activation::GeluTanh => y.gelu(),
        Activation::Relu => y.relu(),
    }
}

/// One weight and what follows it.
#[derive(Clone, Copy)]
struct Part<'a> {
    packed: &'a Packed,
    outputs: usize,
    inputs: usize,
    finish: Option<(&'a [f32], Activation)>,
}

fn apply_parts(parts: &[Part<'_>], x: &Tensor) -> Result<Vec<Tensor>> {
    let x = x.contiguous()?;
    let (rows, inputs) = x.dims2()?;
    if let Some(part) = parts.iter().find(|part| part.inputs != inputs) {
        bail!("linear: x is [{rows}, {inputs}], the weight takes {} inputs", part.inputs);
    }
    let (storage, layout) = x.storage_and_layout();
    let Storage::Cpu(storage) = &*storage else { bail!("linear: a CPU weight, and x is on another device") };
    let outs = multiply(parts, f32_slice("linear", storage, layout)?, rows, inputs)?;
    let shaped = |(out, part): (Vec<f32>, &Part<'_>)| Tensor::from_vec(out, (rows, part.outputs), &Device::Cpu);
    outs.into_iter().zip(parts).map(shaped).collect()
}

/// One weight's part of a [`multiply`].
enum Call<'a> {
    Floats(LinearCall<'a>),
    Blocks(BlockCall<'a>),
    Words(WordCall<'a>),
}

/// What follows a [`Call`].
struct Finish<'a> {
    /// `[rows, outputs]`
    out: *mut f32,
    outputs: usize,
    bias: &'a [f32],
    activation: Activation,
}

// SAFETY: `out` is only touched where the same task has written.
#[allow(unsafe_code)]
unsafe impl Sync for Finish<'_> {}

/// `activation(x · wᵀ + bias)` for every weight, as tasks of some panels and some rows.
fn multiply(parts: &[Part<'_>], x: &[f32], rows: usize, inputs: usize) -> Result<Vec<Vec<f32>>> {
    let table = cpu_table()?;
    let mut bytes = Quantised::default();
    if parts.iter().any(|part| matches!(part.packed, Packed::Blocks(..))) {
        bytes = Quantised::new(rows, inputs);
        bytes.fill(table, x);
    }
    let words = parts.iter().any(|part| matches!(part.packed, Packed::Words(_)));
    let words = words.then(|| Words::new(table, x, rows, inputs));
    let mut outs: Vec<Vec<f32>> = parts.iter().map(|part| Vec::with_capacity(rows * part.outputs)).collect();
    let calls: Vec<((Call<'_>, Option<Finish<'_>>), usize)> = parts
        .iter()
        .zip(&mut outs)
        .map(|(&Part { packed, outputs, finish, .. }, out)| {
            let out = out.as_mut_ptr();
            let call = match (packed, &words) {
                (Packed::Floats(dtype, data), _) => {
                    let packed = elements(*dtype, data);
                    Call::Floats(LinearCall { x, packed, out, inputs, outputs })
                }
                (Packed::Words(packed), Some(words)) => Call::Words(WordCall { x: words, packed, out, outputs }),
                (Packed::Words(_), None) => bail!("no words for a weight of words (bug)"),
                (Packed::Blocks(format, packed), _) => {
                    Call::Blocks(BlockCall { x: &bytes, format: *format, packed, out, outputs })
                }
            };
            let finish = finish.map(|(bias, activation)| Finish { out, outputs, bias, activation });
            Ok(((call, finish), outputs.div_ceil(PANEL)))
        })
        .collect::<Result<_>>()?;
    // With rows that stay in L2 while all panels pass over them, and what follows finds its numbers there too.
    let most_rows = if words.is_some() { WORD_ROWS } else { usize::MAX };
    tasks(&calls, rows, most_rows).into_par_iter().for_each(|((call, finish), panels, rows)| {
        // SAFETY: the table was chosen by what this machine can run; tasks own disjoint panels and rows.
        #[allow(unsafe_code)]
        unsafe {
            match call {
                Call::Floats(call) => (table.linear)(call, panels.clone(), rows.clone()),
                Call::Blocks(call) => (table.block_linear)(call, panels.clone(), rows.clone()),
                Call::Words(call) => (table.word_linear)(call, panels.clone(), rows.clone()),
            }
            if let Some(Finish { out, outputs, bias, activation }) = finish {
                let columns = panels.start * PANEL..(panels.end * PANEL).min(*outputs);
                for row in rows {
                    let out = std::slice::from_raw_parts_mut(out.add(row * outputs + columns.start), columns.len());
                    (table.finish)(out, &bias[columns.clone()], *activation);
                }
            }
        }
    });
    drop(calls);
    for (out, part) in outs.iter_mut().zip(parts) {
        // SAFETY: it has this capacity, and the tasks have written every row's every output.
        #[allow(unsafe_code)]
        unsafe {
            out.set_len(rows * part.outputs);
        }
    }
    Ok(outs)
}

/// Cuts calls into tasks of some panels and some rows: a few a thread, so that an uneven end costs little.
fn tasks<T>(calls: &[(T, usize)], rows: usize, most_rows: usize) -> Vec<(&T, Range<usize>, Range<usize>)> {
    let wanted = rayon::current_num_threads() * 4;
    let panels: usize = calls.iter().map(|(_, panels)| panels).sum();
    let row_parts = wanted.div_ceil(panels.max(1)).min(rows / TASK_ROWS).max(rows.div_ceil(most_rows)).max(1);
    // Whole register tiles: what is left over is slower, and is left once.
    let rows_each = rows.div_ceil(row_parts).next_multiple_of(TILE_ROWS).max(TILE_ROWS);
    let panels_each = (panels * row_parts).div_ceil(wanted).max(1);
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
            Packed::Words(data) => {
                let bytes = word_panel_bytes(self.inputs);
                row_of_words(&data[panel * bytes..][..bytes], column, out);
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
