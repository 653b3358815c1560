//! Weights and text in; logits out. Knows nothing of questions or requests.

pub mod arch;
mod batch;
mod decoder;
pub mod encoder;
pub mod error;
mod kv;
mod layers;
pub mod memory;
mod model;
pub mod source;
mod spec;
mod stand_in;
pub mod tokenizer;
pub mod weights;

pub use batch::Batch;
pub use candle_core::{DType, Device};
pub use decoder::{Decoder, LinearWeights, LoadOptions, Residency};
pub use error::{ModelError, Result};
pub use kv::KvCache;
pub use layers::FeedForwards;
pub use model::Model;
pub use moot_kernels as kernels;
pub use moot_kernels::{PAGE, SequenceRows};
pub use spec::{Bias, ContextLimit, DecoderSpec, Layout, Output, Projections, QkNorm, QkRows, Rope, RopeScaling};
