//! Architectures that are known and not read, each with the reason, which its refusal gives.

use crate::error::{ModelError, Result};
use crate::weights::Metadata;
use std::path::Path;

/// A row of [`NOT_READ`].
#[derive(Debug)]
pub struct NotRead {
    /// The models.
    pub models: &'static str,
    /// Their `general.architecture` in GGUF files; `llama with experts` is `llama` with an expert count above 0.
    pub gguf: &'static [&'static str],
    /// Their `model_type` in config.json, of the model or of its text.
    pub model_types: &'static [&'static str],
    /// Why they are not read, one phrase.
    pub reason: &'static str,
}

/// Mixtral's architecture in GGUF files, which say `llama`.
const LLAMA_WITH_EXPERTS: &str = "llama with experts";

/// Every architecture that is refused with a reason. docs/limits.md has the same table.
pub const NOT_READ: &[NotRead] = &[
    NotRead {
        models: "Qwen3-Next",
        gguf: &["qwen3next"],
        model_types: &["qwen3_next"],
        reason: "its projections are in other tensors and orders of rows than Qwen3.5's",
    },
    NotRead {
        models: "DeepSeek-V2, V3 and R1, GLM-4.7-Flash, Mistral Small 4",
        gguf: &["deepseek2", "mistral4"],
        model_types: &["deepseek_v2", "deepseek_v3", "glm4_moe_lite", "mistral4"],
        reason: "latent attention, whose keys and values are kept compressed, is not built",
    },
    NotRead {
        models: "Llama 4",
        gguf: &["llama4"],
        model_types: &["llama4", "llama4_text"],
        reason: "attention within chunks, and experts whose input the router scales, are not built",
    },
    NotRead {
        models: "Nemotron-H, Nemotron 3",
        gguf: &["nemotron_h", "nemotron_h_moe"],
        model_types: &["nemotron_h"],
        reason: "Mamba-2 layers, and feed-forwards without a gate, are not built",
    },
    NotRead {
        models: "Mamba, Mamba-2, Falcon Mamba",
        gguf: &["mamba", "mamba2"],
        model_types: &["mamba", "mamba2", "falcon_mamba"],
        reason: "Mamba layers, and models without attention, are not built",
    },
    NotRead {
        models: "Mixtral",
        gguf: &[LLAMA_WITH_EXPERTS],
        model_types: &["mixtral"],
        reason: "fields and tensors of experts in Llama's blocks (llama.expert_count above 0) are not mapped",
    },
    NotRead {
        models: "Phi-3.5-MoE",
        gguf: &["phimoe"],
        model_types: &["phimoe"],
        reason: "norms with a mean and a bias (LayerNorm), and its router (SparseMixer), are not built",
    },
    NotRead {
        models: "Gemma 3n",
        gguf: &["gemma3n"],
        model_types: &["gemma3n", "gemma3n_text"],
        reason: "several residual streams (AltUp), and low-rank layers beside attention (LAuReL), are not built",
    },
];

/// Why the architecture `name` is not read, in either spelling; `None` where that is not known.
pub(super) fn reason(name: &str) -> Option<&'static str> {
    let row = NOT_READ.iter().find(|row| row.gguf.contains(&name) || row.model_types.contains(&name))?;
    Some(row.reason)
}

/// The refusal of the architecture `found` in `path`.
pub(super) fn refusal(path: &Path, found: &str, supported: impl Iterator<Item = &'static str>) -> ModelError {
    ModelError::UnknownArchitecture {
        path: path.to_owned(),
        found: found.chars().take(60).collect(),
        reason: reason(found),
        supported: supported.collect::<Vec<_>>().join(", "),
    }
}

/// The architecture of a GGUF file, in the spelling of [`NOT_READ`].
///
/// # Errors
/// A field that is missing or of another kind.
pub(super) fn of_gguf(metadata: &Metadata) -> Result<&str> {
    let name = metadata.str("general.architecture")?;
    if name == "llama" && metadata.optional_usize("llama.expert_count")?.is_some_and(|count| count > 0) {
        return Ok(LLAMA_WITH_EXPERTS);
    }
    Ok(name)
}
