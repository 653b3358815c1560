//! Weights on disk, as named tensors: GGUF and safetensors behind one type.

mod metadata;

pub use metadata::{Metadata, Value};
