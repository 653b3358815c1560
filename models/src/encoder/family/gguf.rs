//! Encoders as llama.cpp's converter writes them: the architecture `bert`, which is BERT and XLM-R.

use super::{FAMILIES, Family, Gate, Names, OuterNorm, Projections};
use crate::encoder::Pooling;
use crate::encoder::spec::{EncoderSpec, PositionTable};
use crate::error::{ModelError, Result};
use crate::weights::{Metadata, Weights};
use moot_kernels::Activation;

const ARCHITECTURE: &str = "bert";

/// llama.cpp's names of a BERT's tensors.
const NAMES: Names = Names {
    words: "token_embd",
    positions: "position_embd.weight",
    segments: "token_types.weight",
    norm: "token_embd_norm",
    block: "blk.",
    projections: Projections::Apart(["attn_q", "attn_k", "attn_v"]),
    attention_output: "attn_output",
    attention_norm: "attn_output_norm",
    inner: "ffn_up",
    gate: Gate::None,
    outer: "ffn_down",
    outer_norm: OuterNorm::Own("layer_output_norm"),
    bias: "",
};

/// The family of a GGUF's tensors.
pub(in crate::encoder) static FAMILY: Family = Family { prefix: "", names: NAMES, unused: &["cls."], ..FAMILIES[0] };

/// The shape of an encoder, from the metadata and the tensors of its file.
///
/// # Errors
/// Another architecture, attention in one direction; a field or tensor that is missing or malformed.
pub(in crate::encoder) fn spec(weights: &Weights, metadata: &Metadata) -> Result<EncoderSpec> {
    let found = metadata.str("general.architecture")?;
    if found != ARCHITECTURE {
        return Err(ModelError::UnknownArchitecture {
            path: metadata.path().to_owned(),
            found: found.to_owned(),
            reason: None,
            supported: "bert as a GGUF file; others as the folder of safetensors".into(),
        });
    }
    let field = |name: &str| format!("{ARCHITECTURE}.{name}");
    let causal = field("attention.causal");
    if metadata.optional_bool(&causal)? != Some(false) {
        return Err(metadata.wrong(&causal, "false (attention in both directions)"));
    }
    let size = |name: &str| -> Result<usize> {
        let field = field(name);
        let found = metadata.usize(&field)?;
        let most = super::MOST;
        if (1..=most).contains(&found) {
            Ok(found)
        } else {
            Err(metadata.wrong(&field, &format!("a number from 1 to {most}")))
        }
    };
    let (hidden, heads) = (size("embedding_length")?, size("attention.head_count")?);
    if !hidden.is_multiple_of(16 * heads) {
        return Err(metadata.wrong(&field("attention.head_count"), "heads whose width is a multiple of 16"));
    }
    let rows = |name: &str| -> Result<usize> {
        let shape = weights.shape(name)?;
        match shape[..] {
            [rows, columns] if columns == hidden && rows > 0 => Ok(rows),
            _ => Err(metadata.wrong(name, &format!("a tensor of rows of {hidden} numbers"))),
        }
    };
    let epsilon = field("attention.layer_norm_epsilon");
    let norm_eps = metadata.optional_f64(&epsilon)?.ok_or_else(|| metadata.wrong(&epsilon, "a number"))?;
    let positions = rows(NAMES.positions)?;
    let head_dim = hidden / heads;
    Ok(EncoderSpec {
        family: FAMILY.name,
        vocab: rows("token_embd.weight")?,
        hidden,
        layers: size("block_count")?,
        heads,
        head_dim,
        scale: 1.0 / (head_dim as f32).sqrt(),
        intermediate: size("feed_forward_length")?,
        context: size("context_length")?.min(positions),
        norm_eps: norm_eps as f32,
        root_mean_square: false,
        // No field names another one, and the published models have this.
        activation: Activation::Gelu,
        // The converter leaves out the rows before the first token's.
        positions: Some(PositionTable { rows: positions, first: 0 }),
        segments: if weights.contains(NAMES.segments) { rows(NAMES.segments)? } else { 0 },
        relative: None,
        distances: None,
        rotary: None,
        norm_first: false,
        biases: true,
    })
}

/// How tokens become one vector.
///
/// # Errors
/// A pooling that is absent or not supported.
pub(in crate::encoder) fn pooling(metadata: &Metadata) -> Result<Pooling> {
    let field = format!("{ARCHITECTURE}.pooling_type");
    // llama_pooling_type.
    match metadata.optional_usize(&field)? {
        Some(1) => Ok(Pooling::Mean),
        Some(2) => Ok(Pooling::Cls),
        _ => Err(metadata.wrong(&field, "1 (mean) or 2 (first token)")),
    }
}
