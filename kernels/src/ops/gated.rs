//! `activation(gate) * up`, between a decoder's feed-forward layers.

use super::{cpu_table, f32_slice, filled};
use crate::cpu::Gate;
use crate::gpu::{KernelGroup, has_kernels};
use candle_core::{CpuStorage, CudaStorage, CustomOp2, Device, Layout, Result, Shape, Tensor, bail};
use rayon::prelude::*;

/// `activation(gate) * up`, all of one shape. On a CUDA device the two may be columns of one tensor.
///
/// # Errors
/// Shapes that do not fit.
pub fn gated(gate: &Tensor, up: &Tensor, activation: Gate) -> Result<Tensor> {
    match (gate.device(), activation) {
        (Device::Cpu, _) => gate.contiguous()?.apply_op2_no_bwd(&up.contiguous()?, &Gated(activation)),
        (device @ Device::Cuda(_), Gate::Silu) if has_kernels(device, KernelGroup::Rows) => {
            gate.apply_op2_no_bwd(up, &Gated(activation))
        }
        _ => reference(gate, up, activation),
    }
}

/// The reference by Candle's own operations; devices without a kernel of ours use it.
///
/// # Errors
/// Shapes that do not fit.
pub fn reference(gate: &Tensor, up: &Tensor, activation: Gate) -> Result<Tensor> {
    match activation {
        Gate::Silu => gate.silu()? * up,
        Gate::GeluTanh => gate.gelu()? * up,
        Gate::Sigmoid => candle_nn::ops::sigmoid(gate)? * up,
        Gate::ClampedSilu => {
            let limit = f64::from(Gate::LIMIT);
            let gate = gate.minimum(limit)?;
            let activated = (&gate * candle_nn::ops::sigmoid(&(&gate * f64::from(Gate::ALPHA))?)?)?;
            activated * (up.clamp(-limit, limit)? + 1.0)?
        }
    }
}

struct Gated(Gate);

impl CustomOp2 for Gated {
    fn name(&self) -> &'static str {
        "gated"
    }

    fn cpu_fwd(&self, s1: &CpuStorage, l1: &Layout, s2: &CpuStorage, l2: &Layout) -> Result<(CpuStorage, Shape)> {
        /// Values of a task: a few microseconds' work.
        const CHUNK: usize = 8192;
        let (gate, up) = (f32_slice("gated", s1, l1)?, f32_slice("gated", s2, l2)?);
        if l1.shape() != l2.shape() {
            bail!("gated: gate is {:?}, up is {:?}", l1.shape(), l2.shape());
        }
        let kernel = cpu_table()?.gated(self.0);
        // SAFETY: the table was chosen by what this machine can run, and writes as many values as it is given.
        #[allow(unsafe_code)]
        let out = unsafe {
            filled(gate.len(), |out| {
                let parts = gate.par_chunks(CHUNK).zip(up.par_chunks(CHUNK)).zip(out.par_chunks_mut(CHUNK));
                parts.for_each(|((gate, up), out)| kernel(gate, up, out.as_mut_ptr().cast()));
            })
        };
        Ok((CpuStorage::F32(out), l1.shape().clone()))
    }

    fn cuda_fwd(&self, s1: &CudaStorage, l1: &Layout, s2: &CudaStorage, l2: &Layout) -> Result<(CudaStorage, Shape)> {
        if l1.shape() != l2.shape() {
            bail!("gated: gate is {:?}, up is {:?}", l1.shape(), l2.shape());
        }
        Ok((crate::cuda::swiglu((s1, l1), (s2, l2))?, l1.shape().clone()))
    }
}
