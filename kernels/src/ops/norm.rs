//! Root-mean-square norm, alone and after a residual is added.

use super::{cpu_table, f32_slice, filled};
use crate::cpu::Residual;
use crate::gpu::{KernelGroup, has_kernels};
use candle_core::{CpuStorage, CudaStorage, CustomOp2, CustomOp3, D, Layout, Result, Shape, Tensor, bail};
use rayon::prelude::*;
use std::mem::MaybeUninit;

/// Numbers from which several threads share the rows: a few microseconds' work.
const PARALLEL_FROM: usize = 8192;

/// `x / rms(x) * weight` over the last dimension: `[.., hidden]`, weight `[hidden]`.
///
/// # Errors
/// Shapes or types that do not fit.
pub fn rms_norm(x: &Tensor, weight: &Tensor, eps: f32) -> Result<Tensor> {
    if has_kernels(x.device(), KernelGroup::Rows) {
        return x.contiguous()?.apply_op2_no_bwd(weight, &RmsNorm { eps });
    }
    candle_nn::ops::rms_norm(&x.contiguous()?, weight, eps)
}

/// `x + y` and its norm, as between the two halves of a decoder's block. All `[.., hidden]`.
///
/// # Errors
/// Shapes or types that do not fit.
pub fn add_rms_norm(x: &Tensor, y: &Tensor, weight: &Tensor, eps: f32) -> Result<(Tensor, Tensor)> {
    if has_kernels(x.device(), KernelGroup::Rows) {
        let both = x.contiguous()?.apply_op3_no_bwd(&y.contiguous()?, weight, &AddRmsNorm { eps })?;
        return Ok((both.get(0)?, both.get(1)?));
    }
    let sum = (x + y)?;
    let normed = candle_nn::ops::rms_norm(&sum, weight, eps)?;
    Ok((sum, normed))
}

/// The reference, by Candle's own operations.
///
/// # Errors
/// Shapes that do not fit.
pub fn reference(x: &Tensor, weight: &Tensor, eps: f32) -> Result<Tensor> {
    let mean = x.sqr()?.mean_keepdim(D::Minus1)?;
    x.broadcast_div(&(mean + f64::from(eps))?.sqrt()?)?.broadcast_mul(weight)
}

struct RmsNorm {
    eps: f32,
}

impl CustomOp2 for RmsNorm {
    fn name(&self) -> &'static str {
        "rms_norm"
    }

    fn cpu_fwd(&self, x: &CpuStorage, xl: &Layout, w: &CpuStorage, wl: &Layout) -> Result<(CpuStorage, Shape)> {
        check("rms norm", xl, wl)?;
        let (x, weight) = (f32_slice("rms norm", x, xl)?, f32_slice("rms norm", w, wl)?);
        let (table, hidden) = (cpu_table()?, weight.len());
        let row = |(x, out): (&[f32], &mut [MaybeUninit<f32>])| {
            // SAFETY: the table was chosen by what this machine can run; all are `hidden` long.
            #[allow(unsafe_code)]
            unsafe {
                (table.norm)(x, None, weight, self.eps, out.as_mut_ptr().cast());
            }
        };
        // SAFETY: every row is written.
        #[allow(unsafe_code)]
        let out = unsafe {
            filled(x.len(), |out| {
                if x.len() < PARALLEL_FROM {
                    return x.chunks(hidden).zip(out.chunks_mut(hidden)).for_each(row);
                }
                let rows = x.par_chunks(hidden).zip(out.par_chunks_mut(hidden));
                rows.with_min_len(rows_of_a_task(hidden)).for_each(row);
            })
        };
        Ok((CpuStorage::F32(out), xl.shape().clone()))
    }

    fn cuda_fwd(&self, x: &CudaStorage, xl: &Layout, w: &CudaStorage, wl: &Layout) -> Result<(CudaStorage, Shape)> {
        check("rms norm", xl, wl)?;
        Ok((crate::cuda::rms_norm((x, xl), (w, wl), self.eps)?, xl.shape().clone()))
    }
}

/// Gives the sums and, behind them, their norms: `[2, .., hidden]`.
struct AddRmsNorm {
    eps: f32,
}

/// A row of x, the row of y, and where their sum and its norm are stored.
type Row<'a> = (((&'a [f32], &'a [f32]), &'a mut [MaybeUninit<f32>]), &'a mut [MaybeUninit<f32>]);

impl AddRmsNorm {
    fn check(&self, x: &Layout, y: &Layout, weight: &Layout) -> Result<()> {
        if x.shape() != y.shape() {
            bail!("add and norm: x is {:?}, y {:?}", x.shape(), y.shape());
        }
        check("add and norm", x, weight)
    }
}

impl CustomOp3 for AddRmsNorm {
    fn name(&self) -> &'static str {
        "add_rms_norm"
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        xl: &Layout,
        delta: &CpuStorage,
        dl: &Layout,
        w: &CpuStorage,
        wl: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let op = "add and norm";
        self.check(xl, dl, wl)?;
        let (x, y, weight) = (f32_slice(op, x, xl)?, f32_slice(op, delta, dl)?, f32_slice(op, w, wl)?);
        let (table, hidden) = (cpu_table()?, weight.len());
        let row = |(((x, y), sum), out): Row<'_>| {
            let added = Residual { y, sum: sum.as_mut_ptr().cast() };
            // SAFETY: the table was chosen by what this machine can run; all are `hidden` long.
            #[allow(unsafe_code)]
            unsafe {
                (table.norm)(x, Some(added), weight, self.eps, out.as_mut_ptr().cast());
            }
        };
        // SAFETY: every row of both halves is written.
        #[allow(unsafe_code)]
        let both = unsafe {
            filled(2 * x.len(), |both| {
                let (sums, out) = both.split_at_mut(x.len());
                if x.len() < PARALLEL_FROM {
                    let rows = x.chunks(hidden).zip(y.chunks(hidden)).zip(sums.chunks_mut(hidden));
                    return rows.zip(out.chunks_mut(hidden)).for_each(row);
                }
                let rows = x.par_chunks(hidden).zip(y.par_chunks(hidden)).zip(sums.par_chunks_mut(hidden));
                rows.zip(out.par_chunks_mut(hidden)).with_min_len(rows_of_a_task(hidden)).for_each(row);
            })
        };
        Ok((CpuStorage::F32(both), Shape::from([&[2], xl.dims()].concat())))
    }

    fn cuda_fwd(
        &self,
        x: &CudaStorage,
        xl: &Layout,
        delta: &CudaStorage,
        dl: &Layout,
        w: &CudaStorage,
        wl: &Layout,
    ) -> Result<(CudaStorage, Shape)> {
        self.check(xl, dl, wl)?;
        let out = crate::cuda::add_rms_norm((x, xl), (delta, dl), (w, wl), self.eps)?;
        Ok((out, Shape::from([&[2], xl.dims()].concat())))
    }
}

/// Rows of a task at least.
fn rows_of_a_task(hidden: usize) -> usize {
    (PARALLEL_FROM / hidden / 2).max(1)
}

fn check(op: &str, x: &Layout, weight: &Layout) -> Result<()> {
    let hidden = weight.shape().elem_count();
    if hidden == 0 || x.dims().last() != Some(&hidden) {
        bail!("{op}: x is {:?}, the weight {:?}", x.shape(), weight.shape());
    }
    Ok(())
}
