//! candle-transformers' decoders of GGUF files, one sequence at a time.

use candle_core::quantized::gguf_file::Content;
use candle_core::{Device, Result, Tensor, bail};
use candle_transformers::models::{quantized_llama, quantized_qwen2};
use std::fs::File;
use std::path::Path;

/// A decoder, with the keys and values of one sequence.
pub enum Peer {
    /// Of architecture `llama`.
    Llama(quantized_llama::ModelWeights),
    /// Of architecture `qwen2`.
    Qwen2(quantized_qwen2::ModelWeights),
}

impl Peer {
    /// Opens a GGUF file.
    ///
    /// # Errors
    /// The file cannot be read, or is of another architecture.
    pub fn open(path: &Path) -> Result<Self> {
        let mut file = File::open(path)?;
        let content = Content::read(&mut file)?;
        let architecture = content.metadata.get("general.architecture").and_then(|name| name.to_string().ok().cloned());
        match architecture.as_deref() {
            Some("llama") => {
                Ok(Self::Llama(quantized_llama::ModelWeights::from_gguf(content, &mut file, &Device::Cpu)?))
            }
            Some("qwen2") => {
                Ok(Self::Qwen2(quantized_qwen2::ModelWeights::from_gguf(content, &mut file, &Device::Cpu)?))
            }
            other => bail!("expected a model of architecture llama or qwen2, found {other:?}"),
        }
    }

    /// The logits `[vocab]` after the last of `ids`, which stand from `position` on; position 0 begins a new sequence.
    ///
    /// # Errors
    /// An id beyond the vocabulary.
    pub fn forward(&mut self, ids: &[u32], position: usize) -> Result<Vec<f32>> {
        let ids = Tensor::new(ids, &Device::Cpu)?.unsqueeze(0)?;
        let logits = match self {
            Self::Llama(model) => model.forward(&ids, position),
            Self::Qwen2(model) => model.forward(&ids, position),
        };
        logits?.flatten_all()?.to_vec1()
    }
}

/// The first of the largest.
#[must_use]
pub fn argmax(row: &[f32]) -> usize {
    (1..row.len()).fold(0, |best, next| if row[next] > row[best] { next } else { best })
}
