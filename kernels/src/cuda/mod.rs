//! Launchers: from tensors on an NVIDIA GPU to the launches of [`crate::launch`], and to the driver.
//!
//! All work of a device goes to Candle's one stream for the calling thread, so launches follow each other and nothing
//! here waits. Whoever hands tensors to another thread synchronises the device first.

#![allow(unsafe_code)]

mod encoder;
mod modules;
mod ops;

pub(crate) use encoder::{add_norm, bidirectional};
pub(crate) use ops::{add_rms_norm, attention, linear, rms_norm, rope, rotate_store, sample, swiglu};

use crate::launch::{Argument, Launch};
use candle_core::backend::BackendDevice;
use candle_core::cuda_backend::cudarc::driver::{
    CudaSlice, CudaStream, DevicePtr, DriverError, LaunchConfig, PushKernelArg, SyncOnDrop, result, sys,
};
use candle_core::cuda_backend::{CudaDType, WrapErr};
use candle_core::{CudaDevice, CudaStorage, DType, Error, Layout, Result, bail};
use half::{bf16, f16};

/// A tensor's storage and where in it the tensor lies.
type At<'a> = (&'a CudaStorage, &'a Layout);

/// The device `ordinal`. Candle's own way to it would create two events with every tensor, which nothing waits for where
/// there is one stream, and would give all free memory back to the driver whenever anything waits for the device: every
/// step of decoding would ask for its activations' memory anew.
pub(crate) fn open(ordinal: usize) -> Result<CudaDevice> {
    let refused = |e| {
        let e = crate::without_backtrace(e);
        Error::Msg(format!("CUDA gives no device {ordinal}: {e}; nvidia-smi says what the driver has"))
    };
    let device = CudaDevice::new(ordinal).map_err(refused)?;
    // SAFETY: all of Candle's work on this device and ours is in one stream, the calling thread's; whoever hands tensors
    // to another thread waits for the device first.
    unsafe { device.disable_event_tracking() };
    // A device without pools allocates in another way; it is slower there, and that is all.
    let _ = pool(&device).and_then(|pool| set_threshold(pool, u64::MAX));
    Ok(device)
}

fn pool(device: &CudaDevice) -> std::result::Result<sys::CUmemoryPool, DriverError> {
    // SAFETY: the context's device is one that the driver gave.
    unsafe { result::device::get_mem_pool(device.cuda_stream().context().cu_device()) }
}

/// Bytes that `pool` keeps where nothing uses them.
fn set_threshold(pool: sys::CUmemoryPool, mut bytes: u64) -> std::result::Result<(), DriverError> {
    let attribute = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
    // SAFETY: the pool is the driver's, and the attribute is 64 bits that the call only reads.
    unsafe { result::mem_pool::set_attribute(pool, attribute, std::ptr::from_mut(&mut bytes).cast()) }
}

/// Bytes that `pool` has from the driver and nothing uses.
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

/// Gives back what the process keeps of `device` and does not use.
pub(crate) fn release_unused(device: &CudaDevice) -> Result<()> {
    // What is freed is freed in the stream.
    device.synchronize()?;
    // SAFETY: the pool is the driver's. Where there is none, nothing was kept.
    let _ = pool(device).and_then(|pool| unsafe { result::mem_pool::trim_to(pool, 0) });
    Ok(())
}

/// Bytes that are free on `device`, those included that this process keeps and does not use, and bytes that it has.
pub(crate) fn memory(device: &CudaDevice) -> Result<(usize, usize)> {
    let (free, total) = device.cuda_stream().context().mem_get_info().w()?;
    Ok(((free + pool(device).and_then(unused).unwrap_or(0)).min(total), total))
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

/// A matrix whose rows need not lie one right behind the other.
struct Rows {
    address: u64,
    rows: usize,
    width: usize,
    stride: usize,
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

    /// Where the tensor begins, `[rows, width]`, and how many numbers its rows are apart. More dimensions are rows of the
    /// last one, and must be contiguous; those of two need not be.
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
