//! GPUs: what this build can use, and what they are asked for besides ops.

use crate::cuda;
use candle_core::{Device, DeviceLocation, Result, Tensor};
use std::sync::atomic::{AtomicU8, Ordering};

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

/// Kernels of ours on CUDA devices that one check of the [self-test](crate::self_test) covers. Where it finds one of them
/// wrong, none of the group is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelGroup {
    /// Norms and activations. Without them Candle's operations are composed.
    Rows,
    /// Rotation, which stores keys and values, and attention. Without them Candle's operations are composed, steps are
    /// not captured, and sums in a fixed order are refused.
    Attention,
    /// Products in a fixed order. Without them sums in a fixed order are refused.
    FixedOrder,
    /// Sampling. Without it logits are sampled on the CPU.
    Sampling,
    /// Attention and norms of encoders. Without them Candle's operations are composed.
    Encoders,
    /// Products of blocks, Candle's too. Without them quantised weights are widened.
    Blocks,
}

impl KernelGroup {
    /// All groups.
    pub const ALL: [Self; 6] =
        [Self::Rows, Self::Attention, Self::FixedOrder, Self::Sampling, Self::Encoders, Self::Blocks];

    /// What its kernels compute.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rows => "norms and activations",
            Self::Attention => "rotation and attention",
            Self::FixedOrder => "products in a fixed order",
            Self::Sampling => "sampling",
            Self::Encoders => "encoders",
            Self::Blocks => "products of blocks",
        }
    }

    /// What is done instead of using its kernels.
    #[must_use]
    pub fn replacement(self) -> &'static str {
        match self {
            Self::Rows | Self::Encoders => "computed by Candle's operations instead, which is slower",
            Self::Attention => "computed by Candle's operations instead, which is slower; --exact is refused",
            Self::FixedOrder => "--exact is refused",
            Self::Sampling => "tokens are sampled on the CPU instead",
            Self::Blocks => "quantised weights are widened instead",
        }
    }
}

/// Groups of kernels that are not used any more.
struct Distrusted(AtomicU8);

impl Distrusted {
    const fn none() -> Self {
        Self(AtomicU8::new(0))
    }

    fn add(&self, group: KernelGroup) {
        self.0.fetch_or(1 << group as u8, Ordering::Relaxed);
    }

    fn has(&self, group: KernelGroup) -> bool {
        self.0.load(Ordering::Relaxed) & (1 << group as u8) != 0
    }
}

static DISTRUSTED: Distrusted = Distrusted::none();

/// Stops the use of a group's kernels on all CUDA devices of the process, after a self-test found them wrong.
pub fn distrust(group: KernelGroup) {
    DISTRUSTED.add(group);
}

/// Whether ops of `group` use kernels of ours on `device`: on the CPU always, on a CUDA device unless they are
/// [distrusted](distrust), on Metal never.
#[must_use]
pub fn has_kernels(device: &Device, group: KernelGroup) -> bool {
    match device {
        Device::Cpu => true,
        Device::Cuda(_) => !DISTRUSTED.has(group),
        Device::Metal(_) => false,
    }
}

/// Whether `device` has our kernels for [packed blocks](crate::PackedBlocks), which are compiled for every CUDA device that
/// is used, and a self-test did not find them wrong.
#[must_use]
pub fn packs_blocks(device: &Device) -> bool {
    device.is_cuda() && has_kernels(device, KernelGroup::Blocks)
}

/// Whether Candle multiplies matrices on `device` by the blocks of their files. Candle's kernels for this are compiled for
/// one compute capability; on another GPU weights of Q2_K and Q3_K are widened.
#[must_use]
pub fn multiplies_blocks(device: &Device) -> bool {
    match device {
        Device::Cuda(device) => !DISTRUSTED.has(KernelGroup::Blocks) && cuda::multiplies_blocks(device),
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

/// `x` in the CPU's memory, complete when the call returns. Candle's copy from a CUDA device is asynchronous, and a driver
/// need not wait for it. So results on a device are read by this, and not by Candle's `to_vec1` and its like.
///
/// # Errors
/// The device's.
pub fn read_back(x: &Tensor) -> Result<Tensor> {
    let copied = x.to_device(&Device::Cpu)?;
    x.device().synchronize()?;
    Ok(copied)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_group_is_distrusted_by_itself() {
        for group in KernelGroup::ALL {
            let distrusted = Distrusted::none();
            distrusted.add(group);
            let found: Vec<KernelGroup> = KernelGroup::ALL.into_iter().filter(|&other| distrusted.has(other)).collect();
            assert_eq!(found, [group]);
        }
    }
}
