//! The product on the CPU: several weights that take one input, cut into tasks.

use super::form::{Cut, Form, Ready};
use super::weight::{Data, Packed, Weight, elements};
use crate::cpu::{Activation, Bf16, BlockCall, Int8, Int16, Int16Call, LinearCall, PANEL, Table};
use crate::ops::exact_linear::exact_linear;
use crate::ops::rounded::bf16_bits;
use crate::ops::{cpu_table, f32_slice};
use candle_core::{CpuStorage, Device, Layout, Result, Storage, Tensor, bail};
use rayon::prelude::*;
use std::borrow::Cow;
use std::ops::{Deref, Range};

/// Rows of a task at least, where panels alone do not make enough tasks: every task unpacks its panels again.
const TASK_ROWS: usize = 64;

/// Rows of a task at most where weights are int16, which need no unpacking, so that small tasks cost nothing.
const INT16_ROWS: usize = 192;

impl Weight {
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

    fn matmul(&self, x: &Tensor) -> Result<Tensor> {
        match &self.data {
            Data::Tensor(tensor) => x.matmul(&tensor.t()?),
            Data::Exact(tensor) => exact_linear(x, tensor),
            Data::Packed(_) => self.apply(x),
        }
    }
}

/// One linear layer of [`Weight::apply_all`].
#[derive(Debug, Clone, Copy)]
pub struct Affine<'a> {
    /// `[outputs, inputs]`
    pub weight: &'a Weight,
    /// `[outputs]`
    pub bias: Option<&'a Tensor>,
    /// The function applied to the sum.
    pub activation: Activation,
}

impl Affine<'_> {
    /// The bias of a weight on the CPU, from its tensor's borrowed storage; zeros where there is none and an activation
    /// follows.
    pub(super) fn bias<'a, S>(&self, held: &'a Option<(S, &Layout)>) -> Result<Option<Cow<'a, [f32]>>>
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

/// [`Weight::apply_all`] of one layer by Candle's own operations; devices without a kernel of ours use it.
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
        Activation::Tanh => y.tanh(),
    }
}

/// One packed weight, its bias and its activation.
#[derive(Clone, Copy)]
pub(super) struct Layer<'a> {
    pub packed: &'a Packed,
    pub outputs: usize,
    pub inputs: usize,
    pub finish: Option<(&'a [f32], Activation)>,
}

/// [`Weight::apply_all`] of weights that are all on the CPU.
fn apply_layers(layers: &[Layer<'_>], x: &Tensor) -> Result<Vec<Tensor>> {
    let x = x.contiguous()?;
    let (rows, inputs) = x.dims2()?;
    if let Some(layer) = layers.iter().find(|layer| layer.inputs != inputs) {
        bail!("linear: x is [{rows}, {inputs}], the weight takes {} inputs", layer.inputs);
    }
    let (storage, layout) = x.storage_and_layout();
    let Storage::Cpu(storage) = &*storage else { bail!("linear: a CPU weight, and x is on another device") };
    let x = Inputs::new(cpu_table()?, layers, (storage, layout), (rows, inputs))?;
    let outs = multiply(layers, &x)?;
    let shaped = |(out, layer): (Vec<f32>, &Layer<'_>)| Tensor::from_vec(out, (rows, layer.outputs), &Device::Cpu);
    outs.into_iter().zip(layers).map(shaped).collect()
}

/// `[rows, inputs]`, in each form that a weight takes.
#[derive(Default)]
pub(super) struct Inputs<'a> {
    /// Empty where no weight takes floats.
    pub floats: Cow<'a, [f32]>,
    pub int8: Option<Int8>,
    pub bf16: Option<Bf16>,
    pub int16: Option<Int16>,
    pub rows: usize,
    pub inputs: usize,
}

impl Inputs<'static> {
    /// Of quantised weights alone.
    pub(super) fn ready(x: Ready) -> Self {
        match x {
            Ready::Int8(x) => Self { rows: x.rows, inputs: x.inputs, int8: Some(x), ..Self::default() },
            Ready::Bf16(x) => Self { rows: x.rows, inputs: x.inputs, bf16: Some(x), ..Self::default() },
        }
    }
}

impl<'a> Inputs<'a> {
    /// Quantised weights take bf16 where `x` is bf16; the others widen it.
    fn new(
        table: &'static Table,
        layers: &[Layer<'_>],
        x: (&'a CpuStorage, &Layout),
        (rows, inputs): (usize, usize),
    ) -> Result<Self> {
        let blocks = layers.iter().any(|layer| matches!(layer.packed, Packed::Blocks(..)));
        let mut all = Self { rows, inputs, ..Self::default() };
        if let CpuStorage::BF16(_) = x.0 {
            all.bf16 = blocks.then(|| Bf16::of(table, x, (rows, inputs))).transpose()?;
            if layers.iter().any(|layer| !matches!(layer.packed, Packed::Blocks(..))) {
                let bits = bf16_bits("linear", x.0, x.1)?;
                all.floats = bits.iter().map(|&bits| f32::from_bits(u32::from(bits) << 16)).collect();
            }
        } else {
            all.int8 = blocks.then(|| Int8::of(table, x, (rows, inputs))).transpose()?;
            all.floats = Cow::Borrowed(f32_slice("linear", x.0, x.1)?);
        }
        let int16 = layers.iter().any(|layer| matches!(layer.packed, Packed::Int16(_)));
        all.int16 = int16.then(|| Int16::new(table, &all.floats, rows, inputs));
        Ok(all)
    }
}

/// The operands of one weight.
enum Call<'a> {
    Floats(LinearCall<'a>),
    Blocks(BlockCall<'a>),
    Bf16(BlockCall<'a, Bf16>),
    Int16(Int16Call<'a>),
}

/// The steps after a [`Call`]: bias and activation of the output.
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
pub(super) fn multiply(layers: &[Layer<'_>], x: &Inputs<'_>) -> Result<Vec<Vec<f32>>> {
    let (table, rows, inputs) = (cpu_table()?, x.rows, x.inputs);
    let mut outs: Vec<Vec<f32>> = layers.iter().map(|layer| Vec::with_capacity(rows * layer.outputs)).collect();
    let calls: Vec<((Call<'_>, Option<Finish<'_>>), usize)> = layers
        .iter()
        .zip(&mut outs)
        .map(|(&Layer { packed, outputs, finish, .. }, out)| {
            let out = out.as_mut_ptr();
            let call = match (packed, &x.int8, &x.bf16, &x.int16) {
                (Packed::Floats(dtype, data), ..) => {
                    let packed = elements(*dtype, data);
                    Call::Floats(LinearCall { x: &x.floats, packed, out, inputs, outputs })
                }
                (Packed::Blocks(format, packed), Some(x), ..) => {
                    Call::Blocks(BlockCall { x, format: *format, packed, out, first_row: 0, outputs })
                }
                (Packed::Blocks(format, packed), _, Some(x), _) => {
                    Call::Bf16(BlockCall { x, format: *format, packed, out, first_row: 0, outputs })
                }
                (Packed::Int16(packed), .., Some(x)) => Call::Int16(Int16Call { x, packed, out, outputs }),
                _ => bail!("a quantised weight without quantised activations (bug)"),
            };
            let finish = finish.map(|(bias, activation)| Finish { out, outputs, bias, activation });
            Ok(((call, finish), outputs.div_ceil(PANEL)))
        })
        .collect::<Result<_>>()?;
    let cut = match (&x.int8, &x.bf16, &x.int16) {
        (Some(_), ..) => Int8::cut(table),
        (_, Some(_), _) => Bf16::cut(table),
        // So few rows stay in L2 while they are multiplied by all panels, and bias and activation find their sums there.
        (.., Some(_)) => Cut { most_rows: INT16_ROWS, ..Cut::default() },
        _ => Cut::default(),
    };
    tasks(&calls, rows, cut).into_par_iter().for_each(|((call, finish), panels, rows)| {
        // SAFETY: the table was chosen by what this machine can run; tasks own disjoint panels and rows.
        #[allow(unsafe_code)]
        unsafe {
            match call {
                Call::Floats(call) => (table.linear)(call, panels.clone(), rows.clone()),
                Call::Blocks(call) => Int8::multiply(table, call, panels.clone(), rows.clone()),
                Call::Bf16(call) => Bf16::multiply(table, call, panels.clone(), rows.clone()),
                Call::Int16(call) => (table.linear_i16)(call, panels.clone(), rows.clone()),
            }
            if let Some(Finish { out, outputs, bias, activation }) = finish {
                let columns = panels.start * PANEL..(panels.end * PANEL).min(*outputs);
                for row in rows {
                    let out = std::slice::from_raw_parts_mut(out.add(row * outputs + columns.start), columns.len());
                    (table.bias_activation)(out, &bias[columns.clone()], *activation);
                }
            }
        }
    });
    drop(calls);
    for (out, layer) in outs.iter_mut().zip(layers) {
        // SAFETY: it has this capacity, and the tasks have written every row's every output.
        #[allow(unsafe_code)]
        unsafe {
            out.set_len(rows * layer.outputs);
        }
    }
    Ok(outs)
}

/// Cuts calls into tasks of some panels and some rows, about four a thread, so that an uneven end costs little.
fn tasks<T>(calls: &[(T, usize)], rows: usize, cut: Cut) -> Vec<(&T, Range<usize>, Range<usize>)> {
    let (threads, panels) = (rayon::current_num_threads(), calls.iter().map(|(_, panels)| panels).sum::<usize>());
    let wanted = threads * cut.most_panels.map_or(4, |most| panels.div_ceil(threads * most));
    let row_parts = wanted.div_ceil(panels.max(1)).min(rows / TASK_ROWS).max(rows.div_ceil(cut.most_rows)).max(1);
    // Whole tiles: a smaller one is slower, and only the last may be one.
    let rows_each = rows.div_ceil(row_parts).next_multiple_of(cut.rows).max(cut.rows);
    let panels_each = (panels * row_parts).div_ceil(wanted.max(1)).max(1);
    let panels_each = if rows < cut.rows { panels_each } else { (panels_each / cut.panels).max(1) * cut.panels };
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
