//! Launchers: from tensors on an NVIDIA GPU to the launches of [`crate::launch`], and to the driver.
//!
//! All work of a device goes to its one stream, from whichever thread, so launches follow each other and nothing here
//! waits. Two opened devices of one GPU have a stream each: tensors of one are not used by the other.

#![allow(unsafe_code)]

mod blocks;
mod capability;
mod context;
mod encoder;
mod graph;
mod modules;
mod opened;
mod ops;

pub(crate) use blocks::{multiply_blocks, widen_blocks};
pub(crate) use capability::{description, multiplies_blocks};
pub(crate) use context::make_current;
pub(crate) use encoder::{add_norm, bidirectional};
pub(crate) use graph::{Graph, Written, overwrite};
pub(crate) use ops::{add_rms_norm, attention, linear, rms_norm, rope, rotate_store, sample, swiglu};

use crate::launch::{Argument, Launch};
use candle_core::cuda_backend::cudarc::driver::{
    CudaSlice, CudaStream, DevicePtr, DriverError, LaunchConfig, PushKernelArg, SyncOnDrop, result, sys,
};
use candle_core::cuda_backend::{CudaDType, WrapErr};
use candle_core::{CudaDevice, CudaStorage, DType, Error, Layout, Result, bail};
use half::{bf16, f16};
use std::sync::{PoisonError, RwLock, RwLockWriteGuard};

/// A tensor's storage and layout.
type At<'a> = (&'a CudaStorage, &'a Layout);

/// The GPU `ordinal` with a stream, library handles and scratch memory of its own, opened with two settings that Candle
/// does not make. Candle would create two events with every tensor, which nothing waits for where there is one stream.
/// And the driver would take all free memory back at every synchronisation, so that every decoding step would allocate
/// its activations anew.
pub(crate) fn open(ordinal: usize) -> Result<CudaDevice> {
    let refused = |e| {
        let e = crate::without_backtrace(e);
        Error::Msg(format!("CUDA gives no device {ordinal}: {e}; nvidia-smi says what the driver has"))
    };
    // cudarc waits for the whole context before it makes the first stream of a device.
    let no_capture = without_captures();
    let device = CudaDevice::new_with_stream(ordinal).map_err(refused)?;
    opened::keep(&device);
    opened::drop_unused(&no_capture);
    drop(no_capture);
    capability::check(&device, ordinal)?;
    // SAFETY: all of Candle's work on this device and ours is in its one stream, and both devices are synchronised when
    // a tensor is copied to another device.
    unsafe { device.disable_event_tracking() };
    // A device without pools allocates more slowly; nothing else changes.
    let _ = pool(&device).and_then(|pool| set_threshold(pool, u64::MAX));
    Ok(device)
}

fn pool(device: &CudaDevice) -> std::result::Result<sys::CUmemoryPool, DriverError> {
    // SAFETY: the context's device is one that the driver gave.
    unsafe { result::device::get_mem_pool(device.cuda_stream().context().cu_device()) }
}

/// Has `pool` keep up to `bytes` of freed memory.
fn set_threshold(pool: sys::CUmemoryPool, mut bytes: u64) -> std::result::Result<(), DriverError> {
    let attribute = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
    // SAFETY: the pool is the driver's, and the attribute is 64 bits that the call only reads.
    unsafe { result::mem_pool::set_attribute(pool, attribute, std::ptr::from_mut(&mut bytes).cast()) }
}

/// Bytes that `pool` has reserved and nothing uses.
fn unused(pool: sys::CUmemoryPool) -> std::result::Result<usize, DriverError> {
    use sys::CUmemPool_attribute::{CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, CU_MEMPOOL_ATTR_USED_MEM_CURRENT};
    let [reserved, used] = [CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, CU_MEMPOOL_ATTR_USED_MEM_CURRENT].map(|attribute| {
        let mut bytes = 0_u64;
        // SAFETY: the pool is the driver's, and these attributes are 64 bits.
        unsafe { result::mem_pool::get_attribute(pool, attribute, std::ptr::from_mut(&mut bytes).cast()) }?;
        Ok(bytes)
    });
    Ok(reserved?.saturating_sub(used?) as usize)
}

/// Held for reading while a stream is captured, and for writing while the whole context is waited for, which would break a
/// capture.
static CAPTURING: RwLock<()> = RwLock::new(());

/// Waits until no stream is captured; none is while the guard lives.
fn without_captures() -> RwLockWriteGuard<'static, ()> {
    CAPTURING.write().unwrap_or_else(PoisonError::into_inner)
}

/// Returns memory to the driver that the process has reserved on `device` and does not use.
pub(crate) fn release_unused(device: &CudaDevice) -> Result<()> {
    // Other opened devices of this GPU free memory into the same pool, so all streams are waited for.
    let no_capture = without_captures();
    opened::drop_unused(&no_capture);
    let context = device.cuda_stream().context().clone();
    // An error that was left before would keep the next call from waiting.
    let left = context.check_err();
    let waited = context.synchronize();
    // SAFETY: the context's device is one that the driver gave. Memory of captured steps is kept apart from the pool.
    let _ = unsafe { sys::cuDeviceGraphMemTrim(context.cu_device()) };
    // SAFETY: the pool is the driver's. Where there is none, nothing was kept.
    let _ = pool(device).and_then(|pool| unsafe { result::mem_pool::trim_to(pool, 0) });
    left.and(waited).w()
}

// Of the library that launches Candle's products of blocks, which is linked with them.
unsafe extern "C" {
    fn cudaGetLastError() -> std::ffi::c_int;
}

/// An error that calls left behind and did not return, as cudarc where it frees memory and Candle where it launches
/// products of blocks. The call clears it.
pub(crate) fn last_error(device: &CudaDevice) -> Result<()> {
    let of_driver = device.cuda_stream().context().check_err();
    // SAFETY: the call reads and clears a number of this thread.
    let of_runtime = unsafe { cudaGetLastError() };
    of_driver.w()?;
    if of_runtime != 0 {
        bail!("a launch left error {of_runtime} of CUDA's runtime behind");
    }
    Ok(())
}

/// Bytes that are free on `device`, including those that this process has reserved and does not use, and its total.
pub(crate) fn memory(device: &CudaDevice) -> Result<(usize, usize)> {
    let (free, total) = device.cuda_stream().context().mem_get_info().w()?;
    Ok(((free + pool(device).and_then(unused).unwrap_or(0)).min(total), total))
}

/// Puts `launch` in the stream.
fn run(device: &CudaDevice, launch: &Launch) -> Result<()> {
    if launch.grid.contains(&0) {
        return Ok(());
    }
    let function = modules::function(device, launch.kernel)?;
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

/// A matrix whose rows may have gaps between them.
struct Rows {
    address: u64,
    rows: usize,
    width: usize,
    stride: usize,
}

/// Keeps addresses valid: their buffers stay borrowed as long as this lives.
struct Addresses<'a> {
    stream: &'a CudaStream,
    held: Vec<SyncOnDrop<'a>>,
}

impl<'a> Addresses<'a> {
    fn new(stream: &'a CudaStream) -> Self {
        Self { stream, held: Vec::new() }
    }

    /// The address of a tensor, which must be contiguous.
    fn of(&mut self, op: &'static str, (storage, layout): (&'a CudaStorage, &Layout)) -> Result<u64> {
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

    /// The address of a tensor `[rows, width]` and the distance of its rows in numbers. A tensor of more dimensions
    /// counts as rows of the last one, and must be contiguous.
    fn rows(&mut self, op: &'static str, (storage, layout): At<'a>) -> Result<Rows> {
        let width = layout.dims().last().copied().unwrap_or(0);
        let rows = layout.shape().elem_count() / width.max(1);
        match (layout.dims(), layout.stride()) {
            (&[_, _], &[stride, 1]) if stride >= width => {
                let first = Layout::contiguous_with_offset((), layout.start_offset());
                Ok(Rows { address: self.of(op, (storage, &first))?, rows, width, stride })
            }
            _ => Ok(Rows { address: self.of(op, (storage, layout))?, rows, width, stride: width }),
        }
    }

    fn offset<T: CudaDType>(&mut self, slice: &'a CudaSlice<T>, first: usize) -> Result<u64> {
        let (address, held) = slice.device_ptr(self.stream);
        self.held.push(held);
        Ok(address + (first * size_of::<T>()) as u64)
    }
}
