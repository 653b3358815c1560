//! A decoder's feed-forward layers over quantised weights on the CPU.
//!
//! With many rows the inner activations are larger than the caches: written as floats by two products, read and written
//! by the gate, read again to be quantised. Here a task makes some columns of them for some rows, which stay in L2, and
//! leaves them quantised.

use super::form::{Blocks, Form};
use super::multiply::{Affine, Inputs, Layer, multiply};
use super::weight::{Data, Packed, Weight};
use crate::cpu::{Bf16, CHUNK, Gate, Int8, Table};
use crate::ops::cpu_table;
use candle_core::{CpuStorage, Device, Layout, Result, Storage, Tensor, bail};
use rayon::prelude::*;

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
    let x = x.contiguous()?;
    let (storage, layout) = x.storage_and_layout();
    let Storage::Cpu(storage) = &*storage else { bail!("a CPU tensor lies elsewhere (bug)") };
    let held = down.bias.map(|bias| bias.storage_and_layout());
    let bias = down.bias(&held)?;
    let finish = bias.as_deref().map(|bias| (bias, down.activation));
    let layer = Layer { packed, outputs, inputs: inner, finish };
    let out = match storage {
        CpuStorage::BF16(_) => pass::<Bf16>(table, (gate, up, activation), layer, (storage, layout), rows),
        _ => pass::<Int8>(table, (gate, up, activation), layer, (storage, layout), rows),
    };
    out?.map(|out| Tensor::from_vec(out, (rows, outputs), &Device::Cpu)).transpose()
}

/// [`in_one_pass`] with activations in one form.
fn pass<F: Form>(
    table: &'static Table,
    (gate, up, activation): (Blocks<'_>, Blocks<'_>, Gate),
    down: Layer<'_>,
    x: (&CpuStorage, &Layout),
    rows: usize,
) -> Result<Option<Vec<f32>>> {
    let inner = down.inputs;
    // Equal shares of the rows, rather than full tasks and a small last one.
    let cut = F::cut(table);
    let rows_each = rows.div_ceil(rows.div_ceil(cut.hidden_rows).max(1)).next_multiple_of(cut.rows).max(1);
    if rows.div_ceil(rows_each) * inner.div_ceil(CHUNK) < TASKS_OF_THREAD * rayon::current_num_threads() {
        return Ok(None);
    }
    let x = F::of(table, x, (rows, gate.inputs))?;
    let mut hidden = F::empty(rows, inner);
    let mut parts = hidden.parts(rows_each);
    // Rows first: those of a task stay in the cache for the next columns.
    parts.sort_by_key(|(row, ..)| *row);
    parts.into_par_iter().for_each_init(F::Room::default, |room, (row, from, part)| {
        let place = (from..inner.min(from + CHUNK), row..rows.min(row + rows_each));
        F::write_hidden(table, (gate, up, activation), &x, place, room, part);
    });
    let Some(out) = multiply(&[down], &Inputs::ready(hidden.ready()))?.pop() else {
        bail!("one weight gave no result (bug)")
    };
    Ok(Some(out))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::ops::gated;
    use crate::ops::rounded::rounded;
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
        for (rows, in_bf16) in [1, 3, 17, 128, 130, 300].into_iter().flat_map(|rows| [(rows, false), (rows, true)]) {
            let x = Tensor::randn(0_f32, 1.0, (rows, 96), &Device::Cpu).unwrap();
            let form = |x: Tensor| if in_bf16 { rounded(&x).unwrap() } else { x };
            let x = form(x);
            let apart = Weight::apply_all(&[gate.affine(None), up.affine(None)], &x).unwrap();
            for (bias, activation) in [(None, Gate::Silu), (Some(&bias), Gate::Silu), (None, Gate::GeluTanh)] {
                let inner = form(gated::gated(&apart[0], &apart[1], activation).unwrap());
                let want = Weight::apply_all(&[down.affine(bias)], &inner).unwrap().remove(0);
                on_two_threads(|| {
                    let layers = (&gate, &up, activation);
                    let got = in_one_pass(layers, &down.affine(bias), &x).unwrap().expect("enough tasks");
                    assert_eq!(bits(&got), bits(&want), "{rows} rows, {activation:?}, in bf16: {in_bf16}");
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
