//! Root-mean-square norm, alone and after a residual is added.

use super::{cpu_table, f32_slice};
use candle_core::{
    CpuStorage, CudaStorage, CustomOp2, CustomOp3, D, Device, Layout, Result, Shape, Storage, Tensor, bail,
};
use rayon::prelude::*;

/// Values from which rows are worth several threads: a few microseconds' work.
const TOGETHER: usize = 8192;

/// `x / rms(x) * weight` over the last dimension: `[.., hidden]`, weight `[hidden]`.
///
/// # Errors
/// Shapes or types that do not fit.
pub fn rms_norm(x: &Tensor, weight: &Tensor, eps: f32) -> Result<Tensor> {
    match x.device() {
        Device::Cpu => Ok(normed(x, None, weight, eps)?.1),
        Device::Cuda(_) => x.contiguous()?.apply_op2_no_bwd(weight, &RmsNorm { eps }),
        _ => candle_nn::ops::rms_norm(&x.contiguous()?, weight, eps),
    }
}

/// `x + y`, and the norm of it: what stands between two parts of a decoder's block. All `[.., hidden]`.
///
/// # Errors
/// Shapes or types that do not fit.
pub fn add_rms_norm(x: &Tensor, y: &Tensor, weight: &Tensor, eps: f32) -> Result<(Tensor, Tensor)> {
    match x.device() {
        Device::Cpu => normed(x, Some(y), weight, eps),
        Device::Cuda(_) => {
            let both = x.contiguous()?.apply_op3_no_bwd(&y.contiguous()?, weight, &AddRmsNorm { eps })?;
            Ok((both.get(0)?, both.get(1)?))
        }
        _ => {
            let sum = (x + y)?;
            let normed = candle_nn::ops::rms_norm(&sum, weight, eps)?;
            Ok((sum, normed))
        }
    }
}

/// The reference, by Candle's own operations.
///
/// # Errors
/// Shapes that do not fit.
pub fn reference(x: &Tensor, weight: &Tensor, eps: f32) -> Result<Tensor> {
    let mean = x.sqr()?.mean_keepdim(D::Minus1)?;
    x.broadcast_div(&(mean + f64::from(eps))?.sqrt()?)?.broadcast_mul(weight)
}

fn normed(x: &Tensor, y: Option<&Tensor>, weight: &Tensor, eps: f32) -> Result<(Tensor, Tensor)> {
    let hidden = x.dim(D::Minus1)?;
    if weight.dims() != [hidden] || y.is_some_and(|y| y.shape() != x.shape()) {
        bail!("norm: x is {:?}, the weight {:?}, what is added {:?}", x.shape(), weight.shape(), y.map(Tensor::shape));
    }
    let table = cpu_table()?;
    let mut sums = values(x)?;
    let (weight, added) = (values(weight)?, y.map(Tensor::contiguous).transpose()?);
    let held = added.as_ref().map(Tensor::storage_and_layout);
    let added = match &held {
        Some((storage, layout)) => match &**storage {
            Storage::Cpu(storage) => Some(f32_slice("norm", storage, layout)?),
            _ => bail!("norm: what is added is on another device"),
        },
        None => None,
    };
    let mut out = vec![0.0_f32; sums.len()];
    let row = |(i, (sum, out)): (usize, (&mut [f32], &mut [f32]))| {
        let added = added.map(|added| &added[i * hidden..][..hidden]);
        // SAFETY: the table was chosen by what this machine can run; all are `hidden` long.
        #[allow(unsafe_code)]
        unsafe {
            (table.norm)(sum, added, &weight, eps, out);
        }
    };
    if sums.len() < TOGETHER {
        sums.chunks_mut(hidden).zip(out.chunks_mut(hidden)).enumerate().for_each(row);
    } else {
        let rows = sums.par_chunks_mut(hidden).zip(out.par_chunks_mut(hidden)).enumerate();
        rows.with_min_len((TOGETHER / hidden / 2).max(1)).for_each(row);
    }
    Ok((Tensor::from_vec(sums, x.shape(), &Device::Cpu)?, Tensor::from_vec(out, x.shape(), &Device::Cpu)?))
}

/// A copy of all values of a CPU tensor, in order.
fn values(x: &Tensor) -> Result<Vec<f32>> {
    x.flatten_all()?.to_vec1()
}

/// On a GPU. On the CPU [`normed`] gives the sum as well, which no custom op could.
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
