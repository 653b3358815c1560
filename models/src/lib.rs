//! Weights and text in; logits out. Knows nothing of questions or requests.

pub mod error;
pub mod source;
pub mod weights;

pub use error::{ModelError, Result};
