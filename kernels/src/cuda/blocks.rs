//! Launchers of products with packed matrices.

use super::ops::{filled, on_cuda};
use super::{Addresses, At, run};
use crate::launch::{self, Element};
use candle_core::backend::BackendStorage;
use candle_core::quantized::GgmlDType;
use candle_core::{CudaStorage, DType, Device, Error, Result, Tensor};

/// `x · wᵀ`, where a kernel [fits](launch::blocks_fit).
pub(crate) fn multiply_blocks(
    x: At<'_>,
    words: &Tensor,
    blocks: GgmlDType,
    [outputs, inputs]: [usize; 2],
) -> Result<CudaStorage> {
    const OP: &str = "product of blocks";
    let (dtype, device) = (x.0.dtype(), x.0.device().clone());
    let element = Element::of(dtype).ok_or_else(|| missing(OP, blocks, inputs, dtype))?;
    let rows = x.1.shape().elem_count() / inputs.max(1);
    let stream = device.cuda_stream();
    on_cuda(OP, words, |words| {
        let mut at = Addresses::new(&stream);
        let (from, w) = (at.of(OP, x)?, at.of(OP, words)?);
        filled(&device, element, rows * outputs, |y| {
            let launch = launch::blocks(element, blocks, [from, w, y], rows, [outputs, inputs]);
            run(&device, &launch.ok_or_else(|| missing(OP, blocks, inputs, dtype))?)
        })
    })
}

/// The matrix in `dtype`, where a kernel [fits](launch::blocks_fit).
pub(crate) fn widen_blocks(
    words: &Tensor,
    blocks: GgmlDType,
    [outputs, inputs]: [usize; 2],
    dtype: DType,
) -> Result<CudaStorage> {
    const OP: &str = "widening of blocks";
    let missing = || missing(OP, blocks, inputs, dtype);
    let element = Element::of(dtype).ok_or_else(missing)?;
    let Device::Cuda(device) = words.device() else { return Err(missing()) };
    let stream = device.cuda_stream();
    on_cuda(OP, words, |words| {
        let mut at = Addresses::new(&stream);
        let w = at.of(OP, words)?;
        filled(device, element, outputs * inputs, |y| {
            let launch = launch::widen(element, blocks, [w, y], [outputs, inputs]);
            run(device, &launch.ok_or_else(missing)?)
        })
    })
}

fn missing(op: &str, blocks: GgmlDType, inputs: usize, dtype: DType) -> Error {
    Error::Msg(format!(
        "{op}: no kernel for {blocks:?} with {inputs} inputs and {dtype:?}, or for where they are (bug)"
    ))
}
