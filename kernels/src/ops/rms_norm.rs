//! RMS norm on a GPU, alone or after the sum of the residual stream. On the CPU [`super::pointwise`] has it.

use super::pointwise;
use candle_core::{CpuStorage, CudaStorage, CustomOp2, CustomOp3, Layout, Result, Shape, Tensor, bail};

/// `x / rms(x) * weight` over the last dimension of a CUDA tensor.
///
/// # Errors
/// Shapes or types that do not fit.
pub fn on_cuda(x: &Tensor, weight: &Tensor, eps: f32) -> Result<Tensor> {
    x.contiguous()?.apply_op2_no_bwd(weight, &RmsNorm { eps })
}

/// `sum = x + delta` and its norm: the end of one sublayer and the beginning of the next. `[rows, hidden]` both; on a
/// GPU they are read and written once.
///
/// # Errors
/// Shapes or types that do not fit.
pub fn add_rms_norm(x: &Tensor, delta: &Tensor, weight: &Tensor, eps: f32) -> Result<(Tensor, Tensor)> {
    if x.device().is_cuda() {
        let both = x.contiguous()?.apply_op3_no_bwd(&delta.contiguous()?, weight, &AddRmsNorm { eps })?;
        return Ok((both.get(0)?, both.get(1)?));
    }
    reference(x, delta, weight, eps)
}

/// The reference, by what the ops are made of.
///
/// # Errors
/// Shapes that do not fit.
pub fn reference(x: &Tensor, delta: &Tensor, weight: &Tensor, eps: f32) -> Result<(Tensor, Tensor)> {
    let sum = (x + delta)?;
    let normed = pointwise::rms_norm(&sum, weight, eps)?;
    Ok((sum, normed))
}

struct RmsNorm {
    eps: f32,
}

impl CustomOp2 for RmsNorm {
    fn name(&self) -> &'static str {
        "rms_norm"
    }

    fn cpu_fwd(&self, _: &CpuStorage, _: &Layout, _: &CpuStorage, _: &Layout) -> Result<(CpuStorage, Shape)> {
        bail!("rms norm: the CPU has another way (bug)")
    }

    fn cuda_fwd(&self, x: &CudaStorage, xl: &Layout, w: &CudaStorage, wl: &Layout) -> Result<(CudaStorage, Shape)> {
        check("rms norm", xl, wl)?;
        Ok((crate::cuda::rms_norm((x, xl), (w, wl), self.eps)?, xl.shape().clone()))
    }
}

struct AddRmsNorm {
    eps: f32,
}

impl CustomOp3 for AddRmsNorm {
    fn name(&self) -> &'static str {
        "add_rms_norm"
    }

    fn cpu_fwd(
        &self,
        _: &CpuStorage,
        _: &Layout,
        _: &CpuStorage,
        _: &Layout,
        _: &CpuStorage,
        _: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        bail!("add and norm: the CPU has another way (bug)")
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
        check("add and norm", xl, wl)?;
        if xl.shape() != dl.shape() {
            bail!("add and norm: x is {:?}, what is added {:?}", xl.shape(), dl.shape());
        }
        let out = crate::cuda::add_rms_norm((x, xl), (delta, dl), (w, wl), self.eps)?;
        Ok((out, Shape::from([&[2], xl.dims()].concat())))
    }
}

fn check(op: &str, x: &Layout, weight: &Layout) -> Result<()> {
    if x.dims().last().copied() != Some(weight.shape().elem_count()) {
        bail!("{op}: x is {:?}, the weight {:?}", x.shape(), weight.shape());
    }
    Ok(())
}
