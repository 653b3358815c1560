//! A decoder's feed-forward layers over quantised weights on the CPU.
//!
//! With many rows the inner activations are larger than the caches: written as floats by two products, read and written
//! by the gate, read again to be quantised. Here a task makes some columns of them for some rows, which stay in L2, and
//! leaves them quantised.

use super::multiply::{Affine, Inputs, Layer, multiply};
use super::weight::{Data, Packed, Weight};
use crate::cpu::{BlockCall, CHUNK, Format, Gate, Int8, PANEL, RowChunk, Table};
use crate::ops::{cpu_table, f32_slice};
use candle_core::{Device, Result, Storage, Tensor, bail};
use rayon::prelude::*;
use std::ops::Range;

/// Rows of a task at most, before they are made whole tiles: `2 x 128 x 256` floats are 256 KiB.
const TASK_ROWS: usize = 128;

/// Tasks of a thread at least: with fewer, the separate operations divide the work more evenly.
const TASKS_OF_THREAD: usize = 4;

impl Weight {
    /// A decoder's feed-forward layers, `down(activation(gate(x)) * up(x))`, in one pass: inner activations are quantised
    /// while they are in the cache. The bits are those of the separate operations. `None` where weights are not
    /// quantised and on the CPU, or there is too little to do for all threads: the caller then applies them separately.
    ///
    /// # Errors
    /// Shapes that do not fit.
    pub fn feed_forward(
        (gate, up, activation): (&Self, &Self, Gate),
        down: &Affine<'_>,
        x: &Tensor,
    ) -> Result<Option<Tensor>> {
        in_one_pass((gate, up, activation), down, x)
    }
}

/// `None` where weights are not quantised and on the CPU, or there is too little to do for all threads.
fn in_one_pass(
    (gate, up, activation): (&Weight, &Weight, Gate),
    down: &Affine<'_>,
    x: &Tensor,
) -> Result<Option<Tensor>> {
    let (Some(gate), Some(up), Data::Packed(packed)) = (Blocks::of(gate), Blocks::of(up), &down.weight.data) else {
        return Ok(None);
    };
    if !matches!(**packed, Packed::Blocks(..)) || !x.device().is_cpu() {
        return Ok(None);
    }
    let (rows, width) = x.dims2()?;
    let (inner, outputs) = (down.weight.inputs, down.weight.outputs);
    if [gate.inputs, up.inputs] != [width; 2] || [gate.outputs, up.outputs] != [inner; 2] {
        bail!(
            "feed_forward: x is [{rows}, {width}], gate is [{}, {}], up is [{}, {}], down takes {inner}",
            gate.outputs,
            gate.inputs,
            up.outputs,
            up.inputs
        );
    }
    let table = cpu_table()?;
    // Equal shares of the rows, rather than full tasks and a small last one.
    let rows_each = rows.div_ceil(rows.div_ceil(TASK_ROWS).max(1)).next_multiple_of(table.tile_rows).max(1);
    if rows.div_ceil(rows_each) * inner.div_ceil(CHUNK) < TASKS_OF_THREAD * rayon::current_num_threads() {
        return Ok(None);
    }
    let quantised = {
        let x = x.contiguous()?;
        let (storage, layout) = x.storage_and_layout();
        let Storage::Cpu(storage) = &*storage else { bail!("a CPU tensor lies elsewhere (bug)") };
        let mut quantised = Int8::new(rows, width);
        quantised.fill(table, f32_slice("feed_forward", storage, layout)?);
        quantised
    };
    let mut hidden = Int8::new(rows, inner);
    let mut parts = hidden.parts(rows_each);
    // Rows first: those of a task stay in the cache for the next columns.
    parts.sort_by_key(|(row, ..)| *row);
    parts.into_par_iter().for_each_init(
        || [const { Vec::new() }; 2],
        |buffers, (row, from, part)| {
            let columns = CHUNK.min(inner - from);
            let rows = row..rows.min(row + rows_each);
            for (weight, buffer) in [gate, up].into_iter().zip(&mut *buffers) {
                weight.multiply(table, &quantised, from..from + columns, rows.clone(), buffer);
            }
            gated(table, activation, buffers, columns, part);
        },
    );
    let held = down.bias.map(|bias| bias.storage_and_layout());
    let bias = down.bias(&held)?;
    let finish = bias.as_deref().map(|bias| (bias, down.activation));
    let layer = Layer { packed, outputs, inputs: inner, finish };
    let x = Inputs { floats: &[], int8: Some(hidden), int16: None, rows, inputs: inner };
    let Some(out) = multiply(&[layer], &x)?.pop() else { bail!("one weight gave no result (bug)") };
    Ok(Some(Tensor::from_vec(out, (rows, outputs), &Device::Cpu)?))
}

/// A quantised weight.
#[derive(Clone, Copy)]
struct Blocks<'a> {
    format: Format,
    packed: &'a [u8],
    inputs: usize,
    outputs: usize,
}

impl<'a> Blocks<'a> {
    fn of(weight: &'a Weight) -> Option<Self> {
        let Data::Packed(packed) = &weight.data else { return None };
        let Packed::Blocks(format, packed) = &**packed else { return None };
        Some(Self { format: *format, packed, inputs: weight.inputs, outputs: weight.outputs })
    }

    /// Some columns of the product for some rows of `x`, `[rows, columns]`, into `out`, which becomes as long.
    fn multiply(self, table: &Table, x: &Int8, columns: Range<usize>, rows: Range<usize>, out: &mut Vec<f32>) {
        let bytes = self.format.panel_bytes(self.inputs);
        let panels = columns.start / PANEL..columns.end.div_ceil(PANEL);
        let packed = &self.packed[panels.start * bytes..panels.end * bytes];
        let (count, len) = (panels.len(), rows.len() * columns.len());
        out.clear();
        out.reserve(len);
        let (first_row, outputs, out_at) = (rows.start, columns.len(), out.as_mut_ptr());
        let call = BlockCall { x, format: self.format, packed, out: out_at, first_row, outputs };
        // SAFETY: the table was chosen by what this machine can run; the call is of these panels and rows, this task has
        // all of them, there is room for the results, and all of them are written.
        #[allow(unsafe_code)]
        unsafe {
            (table.block_linear)(&call, 0..count, rows);
            out.set_len(len);
        }
    }
}

/// Quantises `activation(gate) * up`, of `columns` each row.
fn gated(table: &Table, activation: Gate, [gate, up]: &[Vec<f32>; 2], columns: usize, part: RowChunk<'_>) {
    let (kernel, mut row) = (table.gated(activation), [0.0; CHUNK]);
    for ((gate, up), out) in gate.chunks_exact(columns).zip(up.chunks_exact(columns)).zip(part.rows()) {
        // SAFETY: the table was chosen by what this machine can run; a row has at most a chunk's columns.
        #[allow(unsafe_code)]
        unsafe {
            kernel(gate, up, row.as_mut_ptr());
            (table.quantise_i8)(&row[..columns], out);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::ops::gated;
    use candle_core::quantized::{GgmlDType, QTensor};

    fn weight(dtype: GgmlDType, outputs: usize, inputs: usize) -> Weight {
        let dense = Tensor::randn(0_f32, 0.2, (outputs, inputs), &Device::Cpu).unwrap();
        let stored = QTensor::quantize(&dense, dtype).unwrap();
        let bytes = stored.data().unwrap();
        let row = bytes.len() / outputs;
        Weight::from_blocks(dtype, outputs, inputs, |i| &bytes[i * row..][..row]).unwrap()
    }

    fn bits(x: &Tensor) -> Vec<u32> {
        x.flatten_all().unwrap().to_vec1::<f32>().unwrap().into_iter().map(f32::to_bits).collect()
    }

    fn on_two_threads(test: impl FnOnce() + Send) {
        rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap().install(test);
    }

    #[test]
    fn one_pass_has_the_bits_of_separate_operations() {
        // The last chunk of 256 is narrow, and the last panel too; rows fill tasks or do not.
        let inner = 7 * 256 + 32;
        let (gate, up) = (weight(GgmlDType::Q5_0, inner, 96), weight(GgmlDType::Q4_1, inner, 96));
        let down = weight(GgmlDType::Q8_0, 70, inner);
        let bias = Tensor::randn(0_f32, 1.0, 70, &Device::Cpu).unwrap();
        for rows in [1, 3, 17, 128, 130, 300] {
            let x = Tensor::randn(0_f32, 1.0, (rows, 96), &Device::Cpu).unwrap();
            let apart = Weight::apply_all(&[gate.affine(None), up.affine(None)], &x).unwrap();
            for (bias, activation) in [(None, Gate::Silu), (Some(&bias), Gate::Silu), (None, Gate::GeluTanh)] {
                let inner = gated::gated(&apart[0], &apart[1], activation).unwrap();
                let want = Weight::apply_all(&[down.affine(bias)], &inner).unwrap().remove(0);
                on_two_threads(|| {
                    let layers = (&gate, &up, activation);
                    let got = in_one_pass(layers, &down.affine(bias), &x).unwrap().expect("enough tasks");
                    assert_eq!(bits(&got), bits(&want), "{rows} rows, {activation:?}");
                });
            }
        }
    }

    #[test]
    fn inputs_that_do_not_fit_one_pass_take_several() {
        let x = Tensor::randn(0_f32, 1.0, (4, 64), &Device::Cpu).unwrap();
        let (wide, narrow) = (weight(GgmlDType::Q8_0, 2048, 64), weight(GgmlDType::Q8_0, 512, 64));
        let (down, small) = (weight(GgmlDType::Q8_0, 33, 2048), weight(GgmlDType::Q8_0, 33, 512));
        let dense = Weight::new(&Tensor::randn(0_f32, 0.2, (2048, 64), &Device::Cpu).unwrap()).unwrap();
        on_two_threads(|| {
            assert!(in_one_pass((&wide, &wide, Gate::Silu), &down.affine(None), &x).unwrap().is_some());
            assert!(
                in_one_pass((&narrow, &narrow, Gate::Silu), &small.affine(None), &x).unwrap().is_none(),
                "two tasks"
            );
            assert!(in_one_pass((&dense, &wide, Gate::Silu), &down.affine(None), &x).unwrap().is_none(), "floats");
            let error = in_one_pass((&wide, &narrow, Gate::Silu), &down.affine(None), &x)
                .expect_err("other outputs")
                .to_string();
            assert!(error.contains("gate is [2048, 64], up is [512, 64]"), "{error}");
        });
    }
}
