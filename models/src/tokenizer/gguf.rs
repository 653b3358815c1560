//! The vocabulary inside a GGUF file (`tokenizer.ggml.*`,
//! <https://github.com/ggml-org/ggml/blob/master/docs/gguf.md>).

use super::blueprint::Blueprint;
use super::{byte_level, pieces, sentencepiece, spaced};
use crate::error::Result;
use crate::weights::Metadata;

const MODEL: &str = "tokenizer.ggml.model";

/// Reads the vocabulary of `metadata`.
pub(super) fn read(metadata: &Metadata) -> Result<Blueprint> {
    match metadata.str(MODEL)? {
        "gpt2" => byte_level::read(metadata),
        "llama" => sentencepiece::read(metadata),
        "gemma4" => spaced::read(metadata),
        "bert" => pieces::word_pieces(metadata),
        "t5" => pieces::unigrams(metadata),
        _ => {
            let expected = "\"gpt2\" (byte-level BPE), \"llama\" (SentencePiece), \"gemma4\", \"bert\" (WordPiece) or \"t5\" (Unigram)";
            Err(metadata.wrong(MODEL, expected))
        }
    }
}
