//! The vocabulary inside a GGUF file (`tokenizer.ggml.*`,
//! <https://github.com/ggml-org/ggml/blob/master/docs/gguf.md>).

use super::blueprint::Blueprint;
use super::{byte_level, sentencepiece};
use crate::error::Result;
use crate::weights::Metadata;

const MODEL: &str = "tokenizer.ggml.model";

/// Reads the vocabulary of `metadata`.
pub(super) fn read(metadata: &Metadata) -> Result<Blueprint> {
    match metadata.str(MODEL)? {
        "gpt2" => byte_level::read(metadata),
        "llama" => sentencepiece::read(metadata),
        _ => Err(metadata.wrong(MODEL, "\"gpt2\" (byte-level BPE) or \"llama\" (SentencePiece)")),
    }
}
