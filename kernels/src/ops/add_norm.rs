//! Layer norm of a sum, which ends both halves of an encoder's block.

use super::{cpu_table, f32_slice, filled};
use crate::cpu::LayerNorm;
use crate::gpu::{KernelGroup, has_kernels};
use candle_core::{CpuStorage, CudaStorage, CustomOp2, D, DType, Layout, Result, Shape, Storage, Tensor, bail};
use rayon::prelude::*;

/// `(s - mean(s)) / √(variance(s) + eps) * weight + bias` over the last dimension, with `s = x + residual`, both
/// `[rows, hidden]`; `weight` and `bias` are `[hidden]`.
///
/// # Errors
/// Shapes that do not fit.
pub fn add_norm(x: &Tensor, residual: &Tensor, weight: &Tensor, bias: &Tensor, eps: f32) -> Result<Tensor> {
    let floats = || [x, residual, weight, bias].iter().all(|tensor| tensor.dtype() == DType::F32);
    // The CPU's kernel refuses other types; a CUDA device computes them by Candle's operations.
    if has_kernels(x.device(), KernelGroup::Encoders) && (x.device().is_cpu() || floats()) {
        return x.contiguous()?.apply_op2_no_bwd(&residual.contiguous()?, &AddNorm { weight, bias, eps });
    }
    reference(x, residual, weight, bias, eps)
}

/// The reference by Candle's own operations; devices without a kernel of ours use it.
///
/// # Errors
/// Shapes that do not fit.
pub fn reference(x: &Tensor, residual: &Tensor, weight: &Tensor, bias: &Tensor, eps: f32) -> Result<Tensor> {
    let sum = (x + residual)?;
    let apart = sum.broadcast_sub(&sum.mean_keepdim(D::Minus1)?)?;
    let variance = apart.sqr()?.mean_keepdim(D::Minus1)?;
    let normed = apart.broadcast_div(&(variance + f64::from(eps))?.sqrt()?)?;
    normed.broadcast_mul(weight)?.broadcast_add(bias)
}

struct AddNorm<'a> {
    weight: &'a Tensor,
    bias: &'a Tensor,
    eps: f32,
}

impl AddNorm<'_> {
    /// Rows and their width.
    fn shape(&self, x: &Layout, residual: &Layout) -> Result<(usize, usize)> {
        let (rows, hidden) = x.shape().dims2()?;
        let (weight, bias) = (self.weight.dims(), self.bias.dims());
        if x.shape() != residual.shape() || weight != [hidden] || bias != [hidden] || hidden == 0 {
            bail!("add_norm: x is {:?}, residual {:?}, weight {weight:?}, bias {bias:?}", x.shape(), residual.shape());
        }
        Ok((rows, hidden))
    }
}

impl CustomOp2 for AddNorm<'_> {
    fn name(&self) -> &'static str {
        "add_norm"
    }

    fn cpu_fwd(&self, s1: &CpuStorage, l1: &Layout, s2: &CpuStorage, l2: &Layout) -> Result<(CpuStorage, Shape)> {
        /// Rows of a task at least: some microseconds' work.
        const ROWS: usize = 16;
        let (rows, hidden) = self.shape(l1, l2)?;
        let (x, residual) = (f32_slice("add_norm", s1, l1)?, f32_slice("add_norm", s2, l2)?);
        let ((weight, weight_at), (bias, bias_at)) = (self.weight.storage_and_layout(), self.bias.storage_and_layout());
        let (Storage::Cpu(weight), Storage::Cpu(bias)) = (&*weight, &*bias) else {
            bail!("add_norm: weight and bias are on another device than x")
        };
        let (weight, bias) = (f32_slice("add_norm", weight, weight_at)?, f32_slice("add_norm", bias, bias_at)?);
        let (table, norm) = (cpu_table()?, LayerNorm { weight, bias, eps: self.eps });
        // SAFETY: the table was chosen by what this machine can run; all slices are of `hidden` values, all are
        // written.
        #[allow(unsafe_code)]
        let out = unsafe {
            filled(rows * hidden, |out| {
                let lines = x.par_chunks(hidden).zip(residual.par_chunks(hidden)).zip(out.par_chunks_mut(hidden));
                lines.with_min_len(ROWS).for_each(|((x, residual), out)| {
                    (table.add_norm)(x, residual, norm, out.as_mut_ptr().cast());
                });
            })
        };
        Ok((CpuStorage::F32(out), Shape::from((rows, hidden))))
    }

    fn cuda_fwd(&self, s1: &CudaStorage, l1: &Layout, s2: &CudaStorage, l2: &Layout) -> Result<(CudaStorage, Shape)> {
        let shape = self.shape(l1, l2)?;
        let out = crate::cuda::add_norm([(s1, l1), (s2, l2)], [self.weight, self.bias], self.eps)?;
        Ok((out, Shape::from(shape)))
    }
}
