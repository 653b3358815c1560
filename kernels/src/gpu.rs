//! GPUs: what this build can use, and what they are asked for besides ops.

use crate::cuda;
use candle_core::{Device, DeviceLocation, Result};
use std::sync::atomic::{AtomicBool, Ordering};

/// The CUDA device of this number, set up for the ops here: it has a stream of its own, and freed memory stays reserved by
/// the process.
///
/// # Errors
/// There is no such device, no driver, or the build has no CUDA; the GPU is older than compute capability 8.0.
pub fn open_cuda(ordinal: usize) -> Result<Device> {
    cuda::open(ordinal).map(Device::Cuda)
}

/// The same GPU, opened once more: with a stream, handles of libraries and scratch memory of its own. Models that compute
/// at the same time must not share these. Any other device is returned as it is.
///
/// # Errors
/// As [`open_cuda`].
pub fn opened_again(device: &Device) -> Result<Device> {
    match device.location() {
        DeviceLocation::Cuda { gpu_id } => open_cuda(gpu_id),
        _ => Ok(device.clone()),
    }
}

/// Whether products of blocks on CUDA devices are not to be used, whatever they were compiled for.
static BLOCKS_DISTRUSTED: AtomicBool = AtomicBool::new(false);

/// Makes [`multiplies_blocks`] and [`packs_blocks`] false for CUDA devices from now on, after a self-test found these products wrong.
pub fn distrust_blocks() {
    BLOCKS_DISTRUSTED.store(true, Ordering::Relaxed);
}

/// Whether `device` has our kernels for [packed blocks](crate::PackedBlocks), which are compiled for every CUDA device that
/// is used, and a self-test did not find them wrong.
#[must_use]
pub fn packs_blocks(device: &Device) -> bool {
    device.is_cuda() && !BLOCKS_DISTRUSTED.load(Ordering::Relaxed)
}

/// Whether Candle multiplies matrices on `device` by the blocks of their files. Candle's kernels for this are compiled for
/// one compute capability; on another GPU weights of Q2_K and Q3_K are widened.
#[must_use]
pub fn multiplies_blocks(device: &Device) -> bool {
    match device {
        Device::Cuda(device) => !BLOCKS_DISTRUSTED.load(Ordering::Relaxed) && cuda::multiplies_blocks(device),
        _ => true,
    }
}

/// Stands before tensors of a device in a struct, so that a GPU's memory is freed in its context: fields are dropped in
/// the order of their declaration.
///
/// cudarc frees memory in the context that is current on the thread. After work on another GPU that is the other's, and
/// a thread that has computed nothing has none: the memory is then not freed, and a later operation reports it.
#[derive(Debug)]
pub struct FreedOn(Device);

impl FreedOn {
    /// Before tensors of `device`.
    #[must_use]
    pub fn new(device: &Device) -> Self {
        Self(device.clone())
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.0
    }
}

impl Drop for FreedOn {
    fn drop(&mut self) {
        if let Device::Cuda(device) = &self.0 {
            cuda::make_current(device);
        }
    }
}

/// Drops `held`, whose tensors are on `device`, in its context (see [`FreedOn`]).
pub fn free_on<T>(device: &Device, held: T) {
    drop(FreedOn::new(device));
    drop(held);
}

/// A CUDA device's name, its compute capability and the CUDA version of its driver, in a line; `None` of any other device.
///
/// # Errors
/// The driver's.
pub fn gpu_description(device: &Device) -> Result<Option<String>> {
    match device {
        Device::Cuda(device) => cuda::description(device).map(Some),
        _ => Ok(None),
    }
}

/// Returns memory of a CUDA device to the driver that the process has reserved and does not use, for instance before
/// and after a model is loaded. Waits for the work of all threads on the device.
///
/// # Errors
/// The driver's.
pub fn release_unused(device: &Device) -> Result<()> {
    match device {
        Device::Cuda(device) => cuda::release_unused(device),
        _ => Ok(()),
    }
}

/// Bytes that are free on a CUDA device, and bytes that it has; `None` of any other.
///
/// # Errors
/// The driver's.
pub fn device_memory(device: &Device) -> Result<Option<(usize, usize)>> {
    match device {
        Device::Cuda(device) => cuda::memory(device).map(Some),
        _ => Ok(None),
    }
}
