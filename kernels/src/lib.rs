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
mod gpu;
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

pub use backtrace::without_backtrace;
pub use cpu::{Activation, BlockType, Gate, Storage};
pub use gpu::{
    FreedOn, KernelGroup, device_memory, distrust, free_on, gpu_description, has_kernels, multiplies_blocks, open_cuda,
    opened_again, packs_blocks, read_back, release_unused,
};
pub use graph::{Graph, Written, overwrite};
pub use launch::{Packing, Part};
pub use ops::attention::AttentionPlan;
pub use ops::best::Best;
pub use ops::bidirectional::{DistanceBias, Distances, Relative, Texts};
pub use ops::blocks::PackedBlocks;
pub use ops::linear::{Affine, Weight};
pub use ops::scan::{Queries, Vectors};
pub use pages::{NO_PAGE, PAGE, SequenceRows, StateRows};
pub use self_test::{BLOCKS, Failure, self_test};

/// Whether this build can use an NVIDIA GPU.
pub const CUDA: bool = cfg!(feature = "cuda");
/// Whether this build can use an Apple GPU.
pub const METAL: bool = cfg!(feature = "metal");
