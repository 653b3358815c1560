//! Weights on disk, as named tensors: GGUF and safetensors behind one type.

mod cursor;
mod gguf;
mod mapped;
mod metadata;

pub use gguf::{Gguf, TensorInfo};
pub use metadata::{Metadata, Value};
