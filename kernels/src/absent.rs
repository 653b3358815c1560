//! The functions of [`crate::cuda`] in a build without CUDA. No tensor is on a CUDA device then, so none of them is
//! called.

use crate::launch::{AttentionShape, Packing, Part};
use crate::ops::cascade::Cascade;
use crate::ops::rotate_store::RotateStore;
use candle_core::{CudaDevice, CudaStorage, DType, Error, Layout, Result, Tensor};

type At<'a> = (&'a CudaStorage, &'a Layout);

fn absent<T>() -> Result<T> {
    Err(Error::NotCompiledWithCudaSupport)
}

pub(crate) fn rms_norm(_: At<'_>, _: At<'_>, _: f32) -> Result<CudaStorage> {
    absent()
}

pub(crate) fn add_rms_norm(_: At<'_>, _: At<'_>, _: At<'_>, _: f32) -> Result<CudaStorage> {
    absent()
}

pub(crate) fn swiglu(_: At<'_>, _: At<'_>) -> Result<CudaStorage> {
    absent()
}

pub(crate) fn rope(_: At<'_>, _: At<'_>, _: At<'_>) -> Result<CudaStorage> {
    absent()
}

pub(crate) fn rotate_store(_: [At<'_>; 3], _: &RotateStore<'_>, _: &Tensor, _: [usize; 3]) -> Result<CudaStorage> {
    absent()
}

pub(crate) fn attention(
    _: [At<'_>; 3],
    _: Option<&Tensor>,
    _: &AttentionShape,
    _: &Cascade,
    _: [&Tensor; 2],
) -> Result<CudaStorage> {
    absent()
}

pub(crate) fn linear(_: At<'_>, _: At<'_>) -> Result<CudaStorage> {
    absent()
}

pub(crate) fn sample(_: At<'_>, _: &Tensor, _: &Tensor, _: usize) -> Result<CudaStorage> {
    absent()
}

pub(crate) fn multiply_blocks(_: At<'_>, _: &Tensor, _: (&[Part], Packing), _: usize) -> Result<CudaStorage> {
    absent()
}

pub(crate) fn widen_blocks(_: &Tensor, _: (&[Part], Packing), _: usize, _: DType) -> Result<CudaStorage> {
    absent()
}

pub(crate) fn bidirectional(_: [At<'_>; 3], _: &Tensor, _: [usize; 2], _: f32) -> Result<CudaStorage> {
    absent()
}

pub(crate) fn add_norm(_: [At<'_>; 2], _: [&Tensor; 2], _: f32) -> Result<CudaStorage> {
    absent()
}

pub(crate) fn release_unused(_: &CudaDevice) -> Result<()> {
    absent()
}

pub(crate) fn make_current(_: &CudaDevice) {}

pub(crate) fn last_error(_: &CudaDevice) -> Result<()> {
    absent()
}

pub(crate) fn memory(_: &CudaDevice) -> Result<(usize, usize)> {
    absent()
}

pub(crate) fn description(_: &CudaDevice) -> Result<String> {
    absent()
}

pub(crate) fn multiplies_blocks(_: &CudaDevice) -> bool {
    false
}

pub(crate) fn open(_: usize) -> Result<CudaDevice> {
    absent()
}

/// A graph that cannot exist: this build has no CUDA.
pub(crate) enum Graph {}

impl Graph {
    pub(crate) fn capture(_: &CudaDevice, _: impl Fn() -> Result<()>) -> Result<Self> {
        absent()
    }

    pub(crate) fn launch(&self) -> Result<()> {
        absent()
    }
}

/// A copy that cannot be: this build has no CUDA.
pub(crate) enum Written {}

pub(crate) fn overwrite(_: &CudaDevice, _: &Tensor, _: Vec<u32>) -> Result<Written> {
    absent()
}
