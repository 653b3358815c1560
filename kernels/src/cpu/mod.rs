//! CPU kernels: one body per kernel, compiled once for each instruction set, chosen at run time.
//!
//! # The recipe
//! Every reduction runs in an order fixed by the row's own dimensions: a matmul output is the fused multiply-adds over
//! the inputs in ascending order; a softmax visits pages in the order of their positions. Vectors run *across*
//! outputs, keys or head dimensions, never along a reduction, and every table uses fused multiply-add. So all tables
//! give the same bits, alone or in any batch.
//!
//! `MOOT_CPU=amx|avx512|avx-vnni|avx2|neon|portable` forces a table, for tests and for comparison. The portable one is SSE2 on
//! x86-64, and plain Rust elsewhere.

#![allow(unsafe_code)]

mod activations;
// On other processors its tests run it over tiles emulated in plain Rust.
#[cfg(any(test, target_arch = "x86_64"))]
mod amx;
mod attention;
mod bf16;
#[cfg(test)]
mod bf16_tests;
mod bidirectional;
mod block_linear;
mod blocks;
mod cached;
mod conv;
mod delta;
#[cfg(test)]
mod delta_tests;
#[cfg(test)]
mod encoder_tests;
mod exp;
mod gated;
mod int16;
mod lanes;
pub mod limits;
mod linear;
mod memory;
mod norm;
mod pack;
mod quantise;
mod rope;
mod rowwise;
mod scan;
mod storage;
mod table;
#[cfg(test)]
pub(crate) mod tests;
mod unpack;

pub(crate) use attention::{AttentionCall, BLOCK_PAGES, BlockScratch, BlockVisit, Task, Tile, Visit};
pub(crate) use bf16::{Bf16, Bf16Part, SumTile, Sums, TASK_PANELS, TASK_ROWS, TILE_ROWS, TileCall};
pub(crate) use bidirectional::{BiasCall, BidirectionalCall, RelativeCall, Scratch};
pub(crate) use block_linear::BlockCall;
pub(crate) use blocks::Format;
pub use blocks::{BlockType, E2M1_VALUES_DOUBLED, IQ4_VALUES};
pub(crate) use cached::Cached;
pub(crate) use delta::DeltaCall;
pub use exp::exp_all;
pub use gated::Gate;
pub(crate) use int16::{Int16, Int16Call, pack as pack_i16, panel_bytes as i16_panel_bytes, row_of_i16};
pub(crate) use linear::{Elements, LinearCall, PANEL};
pub(crate) use memory::Aligned;
pub use memory::try_zeroed;
pub(crate) use norm::Residual;
pub(crate) use pack::pack_half;
pub(crate) use quantise::{CHUNK, Int8, RowChunk};
pub use rowwise::Activation;
pub(crate) use rowwise::LayerNorm;
pub(crate) use scan::ScanCall;
pub use storage::Storage;
pub(crate) use storage::padded;
pub use table::{Table, has_bf16_tiles, remark, table, tables};
pub(crate) use unpack::row_of_blocks;

/// The number of the recipe: raised with every change of a bit of any result that a reply depends on, as
/// `kernels/tests/recipe.rs` requires. Records hold it: replies of different numbers may differ by arithmetic alone.
pub const RECIPE: u32 = 5;

/// The same for products of bf16 ([`crate::ops::rounded`]) and attention by them
/// ([`Attention::rounded`](crate::ops::attention::Attention::rounded)), which prompts can be computed by.
pub const BF16_RECIPE: u32 = 2;
