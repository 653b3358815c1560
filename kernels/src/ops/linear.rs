//! `x · wᵀ`, and the rows of `w` by number: a linear layer and an embedding over one weight.

use super::{cpu_table, f32_slice};
use crate::cpu::{LinearCall, PANEL, zeroed};
use candle_core::{CpuStorage, CustomOp1, CustomOp2, DType, Device, Layout, Result, Shape, Tensor, bail};
use rayon::prelude::*;

/// A weight matrix `[outputs, inputs]`, laid out for the device it lives on: in panels `[outputs / 32, inputs, 32]` on
/// the CPU (one copy serves the embedding and the tied output layer), as it is elsewhere.
#[derive(Debug, Clone)]
pub struct Weight {
    data: Tensor,
    outputs: usize,
    inputs: usize,
}

impl Weight {
    /// Lays out `dense`, `[outputs, inputs]`; f32 on the CPU, any float type elsewhere.
    ///
    /// # Errors
    /// Not two dimensions, or not f32 on the CPU.
    pub fn new(dense: &Tensor) -> Result<Self> {
        let (outputs, inputs) = dense.dims2()?;
        if !dense.device().is_cpu() {
            return Ok(Self { data: dense.clone(), outputs, inputs });
        }
        if dense.dtype() != DType::F32 {
            bail!("a CPU weight must be f32, this one is {:?}", dense.dtype());
        }
        let flat = dense.flatten_all()?;
        let (storage, layout) = flat.storage_and_layout();
        let candle_core::Storage::Cpu(storage) = &*storage else { bail!("a CPU tensor lies elsewhere (bug)") };
        let rows = f32_slice("pack", storage, layout)?;
        Self::from_rows(outputs, inputs, |row, out| out.copy_from_slice(&rows[row * inputs..][..inputs]))
    }

    /// A weight on the CPU whose row `i` is what `read(i, row)` writes: no dense copy is made on the way.
    ///
    /// # Errors
    /// None but Candle's own.
    pub fn from_rows(outputs: usize, inputs: usize, read: impl Fn(usize, &mut [f32]) + Sync) -> Result<Self> {
        let panels = outputs.div_ceil(PANEL);
        let mut packed = zeroed(panels * inputs * PANEL);
        packed.par_chunks_mut((inputs * PANEL).max(1)).enumerate().for_each_init(
            || vec![0.0; inputs],
            |row, (panel, chunk)| {
                for column in 0..PANEL.min(outputs - panel * PANEL) {
                    read(panel * PANEL + column, row);
                    for (place, value) in chunk[column..].iter_mut().step_by(PANEL).zip(&*row) {
                        *place = *value;
                    }
                }
            },
        );
        let data = Tensor::from_vec(packed, (panels, inputs, PANEL), &Device::Cpu)?;
        Ok(Self { data, outputs, inputs })
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

    /// Bytes held.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.data.elem_count() * self.data.dtype().size_in_bytes()
    }

    /// `x · wᵀ`: `[rows, inputs]` to `[rows, outputs]`.
    ///
    /// # Errors
    /// Shapes or types that do not fit.
    pub fn apply(&self, x: &Tensor) -> Result<Tensor> {
        match x.device() {
            Device::Cpu => x.contiguous()?.apply_op2_no_bwd(&self.data, &Linear { outputs: self.outputs }),
            _ => x.matmul(&self.data.t()?),
        }
    }

    /// The rows that `ids` name: `[tokens]` (u32) to `[tokens, inputs]`.
    ///
    /// # Errors
    /// An id that is not below `outputs`.
    pub fn rows(&self, ids: &Tensor) -> Result<Tensor> {
        match ids.device() {
            Device::Cpu => {
                let ids = ids.to_vec1::<u32>()?;
                self.data.apply_op1_no_bwd(&Rows { ids, outputs: self.outputs, inputs: self.inputs })
            }
            _ => self.data.index_select(ids, 0),
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

struct Linear {
    outputs: usize,
}

impl CustomOp2 for Linear {
    fn name(&self) -> &'static str {
        "linear"
    }

    fn cpu_fwd(&self, s1: &CpuStorage, l1: &Layout, s2: &CpuStorage, l2: &Layout) -> Result<(CpuStorage, Shape)> {
        let (rows, inputs) = l1.shape().dims2()?;
        let (panels, weight_inputs, _) = l2.shape().dims3()?;
        if inputs != weight_inputs {
            bail!("linear: x is [{rows}, {inputs}], the weight takes {weight_inputs} inputs");
        }
        let table = cpu_table()?;
        let mut out = vec![0.0_f32; rows * self.outputs];
        let call = LinearCall {
            x: f32_slice("linear", s1, l1)?,
            packed: f32_slice("linear", s2, l2)?,
            out: out.as_mut_ptr(),
            rows,
            inputs,
            outputs: self.outputs,
        };
        // A few tasks a thread, so that an uneven end costs little.
        let each = panels.div_ceil(rayon::current_num_threads() * 4).max(1);
        (0..panels.div_ceil(each)).into_par_iter().for_each(|task| {
            let range = task * each..panels.min((task + 1) * each);
            // SAFETY: the table was chosen by what this machine can run; tasks own disjoint panels.
            #[allow(unsafe_code)]
            unsafe {
                (table.linear)(&call, range);
            }
        });
        Ok((CpuStorage::F32(out), Shape::from((rows, self.outputs))))
    }
}

struct Rows {
    ids: Vec<u32>,
    outputs: usize,
    inputs: usize,
}

impl CustomOp1 for Rows {
    fn name(&self) -> &'static str {
        "rows"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let packed = f32_slice("rows", storage, layout)?;
        let mut out = Vec::with_capacity(self.ids.len() * self.inputs);
        for &id in &self.ids {
            let id = id as usize;
            if id >= self.outputs {
                bail!("rows: id {id} is not below {}", self.outputs);
            }
            let panel = &packed[id / PANEL * self.inputs * PANEL..][..self.inputs * PANEL];
            out.extend(panel.iter().skip(id % PANEL).step_by(PANEL));
        }
        Ok((CpuStorage::F32(out), Shape::from((self.ids.len(), self.inputs))))
    }
}
