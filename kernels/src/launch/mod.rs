//! Launches of CUDA kernels as data: which kernel, how many blocks, which arguments. Nothing here needs a GPU or CUDA,
//! so the tests run the same launches on the host (`kernels/tests/cuda_host`).

mod attention;
mod blocks;
mod capability;
mod encoder;
mod kernel;
mod linear;
mod packing;
mod rows;
mod sample;

pub use attention::{
    AttentionBuffers, AttentionShape, HEAD_DIMS, attention, fits as attention_fits,
    most_partial_bytes as most_attention_partial_bytes, most_positions as most_attention_positions,
    partial_len as attention_partial_len,
};
pub use blocks::{blocks, widen};
pub use capability::{Usable, usable};
pub use encoder::{ENCODER_HEAD_DIMS, add_norm, bidirectional, bidirectional_blocks};
pub use kernel::{Argument, Element, Kernel, Launch, Module};
pub use linear::linear;
pub use packing::{Packing, Part, fits as blocks_fit, outputs_of, pack as pack_blocks};
pub use rows::{Projected, RotateStore, add_rms_norm, rms_norm, rope, rotate_store, swiglu};
pub use sample::{Choice, NO_MASK, sample};
