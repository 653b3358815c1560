//! Operations on tensors that Candle lacks or does slowly. This package knows nothing of models.
//!
//! An op is one file in [`ops`]: its shapes, the slow reference that it is tested against, and its `CustomOp`. The
//! kernel is chosen by the tensor's device. On the CPU every op follows one numeric recipe on every instruction set
//! (see [`cpu`]), and elementary functions are our own ([`math`]), so a row's bits depend neither on its neighbours nor
//! on the machine's vector width nor on its C library.
//!
//! A weight is packed once, and serves a linear layer and an embedding:
//!
//! ```
//! use candle_core::{Device, Tensor};
//! use moot_kernels::Weight;
//!
//! let matrix = Tensor::new(&[[1_f32, 2.0], [3.0, 4.0], [5.0, 6.0]], &Device::Cpu)?;
//! let weight = Weight::new(&matrix)?;
//! let x = Tensor::new(&[[1_f32, 1.0], [0.0, 2.0]], &Device::Cpu)?;
//! assert_eq!(weight.apply(&x)?.to_vec2::<f32>()?, [[3.0, 7.0, 11.0], [4.0, 8.0, 12.0]]);
//! let ids = Tensor::new(&[2_u32], &Device::Cpu)?;
//! assert_eq!(weight.rows(&ids)?.to_vec2::<f32>()?, [[5.0, 6.0]]);
//! # Ok::<(), candle_core::Error>(())
//! ```

mod backtrace;
pub mod cpu;
mod graph;
pub mod launch;
pub mod math;
pub mod ops;
mod pages;
mod self_test;

#[cfg(feature = "cuda")]
mod cuda;
#[cfg(not(feature = "cuda"))]
#[path = "absent.rs"]
mod cuda;

use std::sync::atomic::{AtomicBool, Ordering};

pub use backtrace::without_backtrace;
pub use cpu::{Activation, Storage};
pub use graph::{Graph, overwrite};
pub use ops::attention::AttentionPlan;
pub use ops::best::Best;
pub use ops::bidirectional::{Relative, Texts};
pub use ops::linear::{Affine, Weight};
pub use ops::scan::{Queries, Vectors};
pub use pages::{PAGE, SequenceRows};
pub use self_test::{Failure, self_test};

/// Whether this build can use an NVIDIA GPU.
pub const CUDA: bool = cfg!(feature = "cuda");
/// Whether this build can use an Apple GPU.
pub const METAL: bool = cfg!(feature = "metal");

/// The CUDA device of this number, set up for the ops here: it has a stream of its own, and freed memory stays reserved by
/// the process.
///
/// # Errors
/// There is no such device, no driver, or the build has no CUDA; the GPU is older than compute capability 8.0.
pub fn open_cuda(ordinal: usize) -> candle_core::Result<candle_core::Device> {
    cuda::open(ordinal).map(candle_core::Device::Cuda)
}

/// The same GPU, opened once more: with a stream, handles of libraries and scratch memory of its own. Models that compute
/// at the same time must not share these. Any other device is returned as it is.
///
/// # Errors
/// As [`open_cuda`].
pub fn opened_again(device: &candle_core::Device) -> candle_core::Result<candle_core::Device> {
    match device.location() {
        candle_core::DeviceLocation::Cuda { gpu_id } => open_cuda(gpu_id),
        _ => Ok(device.clone()),
    }
}

/// Whether products of blocks on CUDA devices are not to be used, whatever they were compiled for.
static BLOCKS_DISTRUSTED: AtomicBool = AtomicBool::new(false);

/// Makes [`multiplies_blocks`] false for CUDA devices from now on, after a self-test found these products wrong.
pub fn distrust_blocks() {
    BLOCKS_DISTRUSTED.store(true, Ordering::Relaxed);
}

/// Whether matrices can be multiplied on `device` by the blocks of their files. Candle's kernels for this are compiled for
/// one compute capability; on another GPU quantised weights are widened.
#[must_use]
pub fn multiplies_blocks(device: &candle_core::Device) -> bool {
    match device {
        candle_core::Device::Cuda(device) => {
            !BLOCKS_DISTRUSTED.load(Ordering::Relaxed) && cuda::multiplies_blocks(device)
        }
        _ => true,
    }
}

/// A CUDA device's name, its compute capability and the CUDA version of its driver, in a line; `None` of any other device.
///
/// # Errors
/// The driver's.
pub fn gpu_description(device: &candle_core::Device) -> candle_core::Result<Option<String>> {
    match device {
        candle_core::Device::Cuda(device) => cuda::description(device).map(Some),
        _ => Ok(None),
    }
}

/// Returns memory of a CUDA device to the driver that the process has reserved and does not use, for instance before
/// and after a model is loaded. Waits for the work of all threads on the device.
///
/// # Errors
/// The driver's.
pub fn release_unused(device: &candle_core::Device) -> candle_core::Result<()> {
    match device {
        candle_core::Device::Cuda(device) => cuda::release_unused(device),
        _ => Ok(()),
    }
}

/// Bytes that are free on a CUDA device, and bytes that it has; `None` of any other.
///
/// # Errors
/// The driver's.
pub fn device_memory(device: &candle_core::Device) -> candle_core::Result<Option<(usize, usize)>> {
    match device {
        candle_core::Device::Cuda(device) => cuda::memory(device).map(Some),
        _ => Ok(None),
    }
}
