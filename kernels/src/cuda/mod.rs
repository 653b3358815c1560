//! Launchers: from tensors on an NVIDIA GPU to the launches of [`crate::launch`], and to the driver.
//!
//! All work of a device goes to Candle's one stream for the calling thread, so launches follow each other and nothing
//! here waits. Whoever hands tensors to another thread synchronises the device first.

#![allow(unsafe_code)]

mod modules;
mod ops;

pub(crate) use ops::{add_rms_norm, attention, linear, rms_norm, rope, rotate_store, sample, swiglu};

use crate::launch::{Argument, Launch};
use candle_core::cuda_backend::cudarc::driver::{
    CudaSlice, CudaStream, DevicePtr, LaunchConfig, PushKernelArg, SyncOnDrop,
};
use candle_core::cuda_backend::{CudaDType, WrapErr};
use candle_core::{CudaDevice, CudaStorage, DType, Error, Layout, Result, bail};
use half::{bf16, f16};

/// A tensor's storage and where in it the tensor lies.
type At<'a> = (&'a CudaStorage, &'a Layout);

/// Bytes that are free on `device` and bytes that it has.
pub(crate) fn memory(device: &CudaDevice) -> Result<(usize, usize)> {
    device.cuda_stream().context().mem_get_info().w()
}

/// Puts `launch` in the stream.
fn run(device: &CudaDevice, launch: &Launch) -> Result<()> {
    if launch.grid.contains(&0) {
        return Ok(());
    }
    let function = modules::function(device, launch)?;
    let stream = device.cuda_stream();
    let mut builder = stream.launch_builder(&function);
    for argument in &launch.arguments {
        match argument {
            Argument::Pointer(address) => builder.arg(address),
            Argument::U32(count) => builder.arg(count),
            Argument::F32(number) => builder.arg(number),
        };
    }
    let [x, y, z] = launch.grid;
    let config = LaunchConfig { grid_dim: (x, y, z), block_dim: (launch.threads, 1, 1), shared_mem_bytes: 0 };
    // SAFETY: arguments are in the order of the kernel's parameters (the tests launch the same on the host), and the
    // launchers hold every buffer that an address points into, and have checked its length.
    unsafe { builder.launch(config) }.w()?;
    Ok(())
}

/// Keeps addresses valid: each is of a buffer that stays borrowed as long as this lives.
struct Addresses<'a> {
    stream: &'a CudaStream,
    held: Vec<SyncOnDrop<'a>>,
}

impl<'a> Addresses<'a> {
    fn new(stream: &'a CudaStream) -> Self {
        Self { stream, held: Vec::new() }
    }

    /// Where the tensor begins, which must be contiguous.
    fn of(&mut self, op: &'static str, (storage, layout): At<'a>) -> Result<u64> {
        use candle_core::backend::BackendStorage;
        let Some((first, _)) = layout.contiguous_offsets() else {
            return Err(Error::RequiresContiguous { op }.bt());
        };
        match storage.dtype() {
            DType::F32 => self.offset(storage.as_cuda_slice::<f32>()?, first),
            DType::F16 => self.offset(storage.as_cuda_slice::<f16>()?, first),
            DType::BF16 => self.offset(storage.as_cuda_slice::<bf16>()?, first),
            DType::U32 => self.offset(storage.as_cuda_slice::<u32>()?, first),
            other => bail!("{op}: no kernel reads {other:?}"),
        }
    }

    fn offset<T: CudaDType>(&mut self, slice: &'a CudaSlice<T>, first: usize) -> Result<u64> {
        let (address, held) = slice.device_ptr(self.stream);
        self.held.push(held);
        Ok(address + (first * size_of::<T>()) as u64)
    }
}
