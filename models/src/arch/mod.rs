//! Architectures: one short file and one row each, from a file's fields to a [`DecoderSpec`].

mod bases;
mod check;
mod config;
mod gemma3;
mod gemma4;
mod gguf;
mod glm4;
mod gpt_oss;
mod granite;
mod hugging_face;
mod lfm2;
mod lfm2moe;
mod llama;
mod ministral3;
mod mistral;
pub mod names;
mod not_read;
mod olmo2;
mod olmo3;
mod phi3;
mod qwen2;
mod qwen3;
mod qwen35;
mod qwen35moe;
mod qwen3moe;
mod rope;
mod row;
mod smollm3;
pub mod tensors;

use check::check;
pub use config::Config;
pub use not_read::{NOT_READ, NotRead};
pub use row::Arch;

use crate::error::{ModelError, Result};
use crate::spec::{Bias, DecoderSpec, ExpertTensors, Output, RopeScaling, Values};
use crate::weights::{Gguf, Weights};
use names::{BlockTensor, Folder, Inner, Name, Naming, Text};
use std::collections::BTreeSet;
use std::path::Path;

/// Every architecture there is.
pub const ARCHS: &[Arch] = &[
    llama::ARCH,
    mistral::ARCH,
    ministral3::ARCH,
    qwen2::ARCH,
    qwen3::ARCH,
    qwen3moe::ARCH,
    phi3::ARCH,
    gemma3::ARCH,
    gemma4::ARCH,
    smollm3::ARCH,
    qwen35::ARCH,
    qwen35moe::ARCH,
    gpt_oss::ARCH,
    olmo2::ARCH,
    olmo3::ARCH,
    granite::ARCH,
    glm4::ARCH,
    lfm2::ARCH,
    lfm2moe::ARCH,
];

/// The spec of the model that `weights` hold; afterwards every tensor it needs is known to be there, in its shape, and
/// no other is.
///
/// # Errors
/// An unknown architecture, a missing or unusable field, shapes that contradict the fields, a missing tensor, or one
/// that the architecture would leave unused: its file means another forward than this.
pub fn spec(weights: &Weights) -> Result<DecoderSpec> {
    read(weights, |config, spec| {
        let expected = "false in a model that generates text; one that attends in both directions is an --embedder";
        if spec.bidirectional { Err(config.wrong("use_bidirectional_attention", expected)) } else { Ok(()) }
    })
}

/// As [`spec`], also of a decoder that attends in both directions.
///
/// # Errors
/// As [`spec`].
pub(crate) fn spec_of_embedder(weights: &Weights) -> Result<DecoderSpec> {
    read(weights, |_, _| Ok(()))
}

fn read(weights: &Weights, fits: impl Fn(&Config, &DecoderSpec) -> Result<()>) -> Result<DecoderSpec> {
    let (origin, mut spec) = match weights {
        Weights::Gguf(gguf) => (weights.path().to_owned(), of_gguf(gguf, weights)?),
        Weights::Safetensors(_) => {
            let config = Config::open(&weights.path().join("config.json"))?;
            let spec = of_config(&config)?;
            fits(&config, &spec)?;
            (config.path().to_owned(), spec)
        }
        Weights::Random(random) => return Ok(random.spec().clone()),
    };
    let naming = weights.naming();
    spec.vocab = *weights.shape(&naming.name(Name::Embedding))?.first().unwrap_or(&0);
    // A GGUF says so by leaving the tensor out; some folders carry both the switch and a copy.
    if !weights.contains(&naming.name(Name::Output)) {
        spec.output = Output::Tied;
    }
    spec.layout.experts = stored_experts(weights, naming, &spec);
    check_experts(weights, naming, &spec)?;
    check(&origin, &spec)?;
    check_tensors(weights, &spec, naming)?;
    Ok(spec)
}

/// The first block with experts.
fn first_with_experts(spec: &DecoderSpec) -> usize {
    spec.experts.and_then(|experts| experts.dense).map_or(0, |dense| dense.layers)
}

/// How experts are stored, by the tensors of the first block with experts.
fn stored_experts(weights: &Weights, naming: Naming, spec: &DecoderSpec) -> ExpertTensors {
    let has = |tensor| weights.contains(&naming.name(Name::Block(first_with_experts(spec), tensor)));
    match (has(BlockTensor::ExpertsGateUp), has(BlockTensor::Experts(Inner::Gate))) {
        (true, _) if !naming.is_gguf() && spec.experts.is_some_and(|experts| experts.biased) => {
            ExpertTensors::StackedInTurns
        }
        (true, _) => ExpertTensors::StackedFused,
        (false, true) => ExpertTensors::Stacked,
        (false, false) => ExpertTensors::Separate,
    }
}

/// Refuses experts whose gate and up take turns in another type than MXFP4: floats are stored the other way round,
/// inputs by outputs.
fn check_experts(weights: &Weights, naming: Naming, spec: &DecoderSpec) -> Result<()> {
    let tensor = naming.name(Name::Block(first_with_experts(spec), BlockTensor::ExpertsGateUp));
    if spec.layout.experts != ExpertTensors::StackedInTurns || weights.stored_type(&tensor)? == "MXFP4" {
        return Ok(());
    }
    Err(ModelError::ElementType {
        path: weights.path().to_owned(),
        found: weights.stored_type(&tensor)?,
        tensor,
        supported: "MXFP4 (tensors that end in _blocks and _scales; a GGUF file may have other types)",
    })
}

/// The spec that a config.json describes by itself, and a row of the catalog in the same words. The vocabulary is its
/// `vocab_size`, which a file's embedding may exceed.
///
/// # Errors
/// An unknown `model_type`, or a missing or unusable field.
pub fn spec_of_config(config: &Config) -> Result<DecoderSpec> {
    let spec = of_config(config)?;
    check(config.path(), &spec)?;
    Ok(spec)
}

/// What a `text_config` may be: its `model_type`, and that of the row that reads it.
type Texts = &'static [(&'static str, &'static str)];

/// Models that take images too: their `model_type`, and their texts, the first of which is meant where the section does
/// not say its `model_type`.
const WITH_IMAGES: &[(&str, Texts)] = &[
    ("qwen3_5", &[("qwen3_5_text", "qwen3_5_text")]),
    ("qwen3_5_moe", &[("qwen3_5_moe_text", "qwen3_5_moe_text")]),
    ("gemma3", &[("gemma3_text", "gemma3_text")]),
    ("gemma4", &[("gemma4_text", "gemma4_text")]),
    ("gemma4_unified", &[("gemma4_unified_text", "gemma4_text")]),
    ("mistral3", &[("mistral", "mistral"), ("ministral3", "ministral3")]),
];

/// Beginnings of the names of tensors that only images and sounds need.
const OF_IMAGES: [&str; 9] = [
    "vision_tower.",
    "multi_modal_projector.",
    "model.multi_modal_projector.",
    "model.visual.",
    "model.vision_tower.",
    "model.vision_embedder.",
    "model.embed_vision.",
    "model.audio_tower.",
    "model.embed_audio.",
];

fn of_config(config: &Config) -> Result<DecoderSpec> {
    const NONE: Texts = &[];
    let row = |name: &str| ARCHS.iter().find(|arch| arch.model_type == name);
    let with_images = WITH_IMAGES.iter().map(|(name, texts)| (*name, (None, *texts)));
    let rows = ARCHS.iter().map(|arch| (arch.model_type, (Some(arch), NONE))).chain(with_images);
    let (arch, texts): (Option<&Arch>, Texts) = find(config.path(), config.str("model_type")?, rows.clone())?;
    if let Some(arch) = arch {
        return (arch.from_config)(config);
    }
    let text = config.section("text_config")?.ok_or_else(|| config.wrong("text_config", "a JSON object"))?;
    let said = text.optional_str("model_type")?;
    let of = texts.iter().find(|(name, _)| said.is_none_or(|said| said == *name));
    let Some(arch) = of.and_then(|(_, of)| row(of)) else {
        if let Some(said) = said.filter(|said| not_read::reason(said).is_some()) {
            return Err(not_read::refusal(config.path(), said, rows.map(|(name, _)| name)));
        }
        let expected = texts.iter().map(|(name, _)| format!("\"{name}\"")).collect::<Vec<_>>().join(" or ");
        return Err(text.wrong("model_type", &expected));
    };
    hugging_face::refuse_quantised(config)?;
    let mut spec = (arch.from_config)(&text)?;
    if config.has("tie_word_embeddings") {
        spec.output = if config.flag("tie_word_embeddings")? { Output::Tied } else { Output::Own };
    }
    Ok(spec)
}

fn of_gguf(gguf: &Gguf, weights: &Weights) -> Result<DecoderSpec> {
    let metadata = gguf.metadata();
    let rows = ARCHS.iter().filter_map(|arch| Some((arch.name, arch.from_gguf?)));
    let mut spec = find(metadata.path(), not_read::of_gguf(metadata)?, rows)?(metadata)?;
    let has = |tensor| weights.contains(&Naming::Gguf.name(Name::Block(0, tensor)));
    // Elsewhere a bias is a tensor that nothing uses.
    if spec.values == Values::Projected && has(BlockTensor::QueryBias) {
        spec.bias = if has(BlockTensor::AttentionOutputBias) { Bias::Attention } else { Bias::Qkv };
    }
    let full = (0..spec.layers.min(DecoderSpec::MOST_LAYERS)).find(|&layer| !spec.kind(layer).windowed);
    let projected = |layer| weights.contains(&Naming::Gguf.name(Name::Block(layer, BlockTensor::Value)));
    if spec.values == Values::Normed && full.is_some_and(|layer| !projected(layer)) {
        spec.values = Values::NormedKeysInFullLayers;
    }
    rope::read_divisors(metadata, weights, &mut spec)?;
    if spec.window_heads.is_some() && spec.rope.scaling == RopeScaling::None {
        return Err(metadata.wrong(rope::DIVISORS, "the tensor of this name, which says what part of a head turns"));
    }
    Ok(spec)
}

fn find<T>(path: &Path, found: &str, rows: impl Iterator<Item = (&'static str, T)> + Clone) -> Result<T> {
    let known = rows.clone().map(|(name, _)| name);
    let mut rows = rows;
    rows.find(|(name, _)| *name == found).map(|(_, row)| row).ok_or_else(|| not_read::refusal(path, found, known))
}

/// Every tensor of `spec` is there in its shape, and no other is there: one that is left over (a bias, another norm,
/// more layers) means that the file's forward is not the one that would be computed.
fn check_tensors(weights: &Weights, spec: &DecoderSpec, naming: Naming) -> Result<()> {
    let mut known = BTreeSet::new();
    // The first that is missing ends this, so the work is bounded by the file and not by the number of layers it names.
    for (name, expected) in tensors::tensors(spec) {
        let (name, expected) = (naming.name(name), naming.shape(name, expected));
        let found = weights.shape(&name)?;
        if found != expected {
            return Err(ModelError::Shape { path: weights.path().to_owned(), tensor: name, expected, found });
        }
        known.insert(name);
    }
    let idle = |name: &str| {
        let tied = spec.output == Output::Tied && name == naming.name(Name::Output);
        tied || match naming {
            Naming::Gguf | Naming::GgufLfm2 => rope::TENSORS.contains(&name),
            // Frequencies that old checkpoints store although they follow from the configuration.
            Naming::HuggingFace(Folder { text: Text::Within | Text::Older, .. }) => {
                OF_IMAGES.iter().any(|of| name.starts_with(of))
            }
            Naming::HuggingFace(_) | Naming::HuggingFaceLfm2 => name.ends_with(".rotary_emb.inv_freq"),
        }
    };
    // Files keep what these layers would have without sharing.
    let shared: BTreeSet<String> = ((0..spec.layers).filter(|&layer| spec.kv_layer(layer) != layer))
        .flat_map(|layer| [BlockTensor::Key, BlockTensor::Value, BlockTensor::KeyNorm].map(|of| Name::Block(layer, of)))
        .map(|name| naming.name(name))
        .collect();
    let predicts = |name: &str| match naming.is_gguf() {
        true => behind_last(name, spec),
        false => spec.prediction_blocks > 0 && name.starts_with("mtp."),
    };
    let idle = |name: &str| idle(name) || predicts(name) || shared.contains(name);
    match weights.names().find(|name| !known.contains(*name) && !idle(name)) {
        None => Ok(()),
        Some(name) => Err(ModelError::UnusedTensor {
            path: weights.path().to_owned(),
            tensor: name.to_owned(),
            architecture: spec.architecture,
        }),
    }
}

/// Whether a GGUF's tensor is of a block that predicts more than the next token.
fn behind_last(name: &str, spec: &DecoderSpec) -> bool {
    let block = name.strip_prefix("blk.").and_then(|rest| rest.split('.').next()?.parse::<usize>().ok());
    block.is_some_and(|block| (spec.layers..spec.layers + spec.prediction_blocks).contains(&block))
}
