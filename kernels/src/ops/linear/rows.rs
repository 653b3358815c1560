//! Rows by id: an embedding.

use super::weight::{Data, Packed, Weight, elements};
use crate::cpu::{Elements, PANEL, i16_panel_bytes, row_of_blocks, row_of_i16};
use candle_core::{CpuStorage, CustomOp1, Layout, Result, Shape, Tensor, bail};
use half::{bf16, f16};
use rayon::prelude::*;

impl Weight {
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

/// `[tokens]` (u32) to `[tokens, inputs]`.
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
            Packed::Int16(data) => {
                let bytes = i16_panel_bytes(self.inputs);
                row_of_i16(&data[panel * bytes..][..bytes], column, out);
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
