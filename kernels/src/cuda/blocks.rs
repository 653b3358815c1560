//! Launchers of products with packed matrices.

use super::ops::{filled, on_cuda};
use super::{Addresses, At, run};
use crate::launch::{self, Element, Packing, Part};
use candle_core::backend::BackendStorage;
use candle_core::{CudaStorage, DType, Device, Error, Result, Tensor};

/// `x · wᵀ`, where a kernel [fits](launch::blocks_fit) all parts.
pub(crate) fn multiply_blocks(
    x: At<'_>,
    words: &Tensor,
    packed @ (parts, packing): (&[Part], Packing),
    inputs: usize,
) -> Result<CudaStorage> {
    const OP: &str = "product of blocks";
    let (dtype, device) = (x.0.dtype(), x.0.device().clone());
    let missing = || missing(OP, parts, inputs, dtype);
    let element = Element::of(dtype).ok_or_else(missing)?;
    let rows = x.1.shape().elem_count() / inputs.max(1);
    let stream = device.cuda_stream();
    on_cuda(OP, words, |words| {
        let mut at = Addresses::new(&stream);
        let (from, w) = (at.of(OP, x)?, at.of(OP, words)?);
        filled(&device, element, rows * packing.width(parts), |y| {
            let launches = launch::blocks(element, packed, [from, w, y], rows, inputs).ok_or_else(missing)?;
            launches.iter().try_for_each(|launch| run(&device, launch))
        })
    })
}

/// The matrix in `dtype`, where a kernel [fits](launch::blocks_fit) all parts.
pub(crate) fn widen_blocks(
    words: &Tensor,
    packed @ (parts, _): (&[Part], Packing),
    inputs: usize,
    dtype: DType,
) -> Result<CudaStorage> {
    const OP: &str = "widening of blocks";
    let missing = || missing(OP, parts, inputs, dtype);
    let element = Element::of(dtype).ok_or_else(missing)?;
    let Device::Cuda(device) = words.device() else { return Err(missing()) };
    let stream = device.cuda_stream();
    on_cuda(OP, words, |words| {
        let mut at = Addresses::new(&stream);
        let w = at.of(OP, words)?;
        filled(device, element, launch::outputs_of(parts) * inputs, |y| {
            let launches = launch::widen(element, packed, [w, y], inputs).ok_or_else(missing)?;
            launches.iter().try_for_each(|launch| run(device, launch))
        })
    })
}

fn missing(op: &str, parts: &[Part], inputs: usize, dtype: DType) -> Error {
    Error::Msg(format!("{op}: no kernel for {parts:?} with {inputs} inputs and {dtype:?}, or for where they are (bug)"))
}
