//! Architectures: one short file and one row each, from a file's fields to a [`DecoderSpec`].

mod config;
mod gemma3;
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

pub use config::Config;
pub use row::Arch;

use crate::error::{ModelError, Result};
use crate::spec::{Bias, DecoderSpec, ExpertTensors, Experts, Output, QueryScaling, Recurrence};
use crate::weights::{Gguf, Weights};
use moot_kernels::ops::delta_net::DeltaShape;
use moot_kernels::ops::short_conv::ConvShape;
use names::{BlockTensor, Inner, Name, Naming};
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

/// `model_type` of models that take images too, and that of their text, whose fields are in `text_config`.
const WITH_IMAGES: &[(&str, &str)] = &[("qwen3_5", "qwen3_5_text"), ("qwen3_5_moe", "qwen3_5_moe_text")];

fn of_config(config: &Config) -> Result<DecoderSpec> {
    let row = |name: &str| ARCHS.iter().find(|arch| arch.model_type == name);
    let with_images = WITH_IMAGES.iter().filter_map(|(name, text)| Some((*name, (row(text)?, true))));
    let rows = ARCHS.iter().map(|arch| (arch.model_type, (arch, false))).chain(with_images);
    let (arch, nested) = find(config.path(), config.str("model_type")?, rows)?;
    if !nested {
        return (arch.from_config)(config);
    }
    let text = config.section("text_config")?.ok_or_else(|| config.wrong("text_config", "a JSON object"))?;
    text.refuse("model_type", |value| value == arch.model_type, &format!("\"{}\"", arch.model_type))?;
    let mut spec = (arch.from_config)(&text)?;
    if config.has("tie_word_embeddings") {
        spec.output = if config.flag("tie_word_embeddings")? { Output::Tied } else { Output::Own };
    }
    Ok(spec)
}

fn of_gguf(gguf: &Gguf, weights: &Weights) -> Result<DecoderSpec> {
    let metadata = gguf.metadata();
    let rows = ARCHS.iter().filter_map(|arch| Some((arch.name, arch.from_gguf?)));
    let mut spec = find(metadata.path(), metadata.str("general.architecture")?, rows)?(metadata)?;
    // Checked before a tensor's shape is asked for by these numbers, and again when they are complete.
    let has = |tensor| weights.contains(&Naming::Gguf.name(Name::Block(0, tensor)));
    if has(BlockTensor::QueryBias) {
        spec.bias = if has(BlockTensor::AttentionOutputBias) { Bias::Attention } else { Bias::Qkv };
    }
    rope::read_divisors(metadata, weights, &mut spec)?;
    Ok(spec)
}

fn find<T>(path: &Path, found: &str, rows: impl Iterator<Item = (&'static str, T)> + Clone) -> Result<T> {
    let known = rows.clone().map(|(name, _)| name);
    let supported = || known.collect::<Vec<_>>().join(", ");
    let mut rows = rows;
    rows.find(|(name, _)| *name == found).map(|(_, row)| row).ok_or_else(|| ModelError::UnknownArchitecture {
        path: path.to_owned(),
        found: found.chars().take(60).collect(),
        supported: supported(),
    })
}

/// Refuses numbers that no kernel could work with, before anything is allocated by them.
fn check(path: &Path, spec: &DecoderSpec) -> Result<()> {
    let wrong = |field: &str, expected: &str, found: String| {
        Err(ModelError::Field { path: path.to_owned(), field: field.into(), expected: expected.into(), found })
    };
    let sizes = [
        ("vocabulary", spec.vocab, 1 << 24),
        ("hidden size", spec.hidden, 1 << 20),
        ("layers", spec.layers, DecoderSpec::MOST_LAYERS),
        ("heads", spec.heads, 1 << 12),
        ("key-value heads", spec.kv_heads, 1 << 12),
        ("head size", spec.head_dim, 1 << 12),
        ("feed-forward size", spec.intermediate, 1 << 22),
        ("context", spec.context, 1 << 31),
        ("attention window", spec.window, usize::MAX),
    ];
    for (field, found, limit) in sizes {
        if found == 0 || found > limit {
            return wrong(field, &format!("1 to {limit}"), found.to_string());
        }
    }
    if !spec.heads.is_multiple_of(spec.kv_heads) {
        let found = format!("{} and {}", spec.heads, spec.kv_heads);
        return wrong("heads and key-value heads", "the second to divide the first", found);
    }
    if !spec.head_dim.is_multiple_of(16) {
        return wrong("head size", "a multiple of 16", spec.head_dim.to_string());
    }
    if let Some((field, expected, found)) = spec.experts.and_then(|experts| experts_fault(experts, spec)) {
        return wrong(field, &expected, found);
    }
    if !(spec.norm_eps > 0.0 && spec.norm_eps < 1.0) {
        return wrong("norm epsilon", "between 0 and 1", spec.norm_eps.to_string());
    }
    if let Some((field, expected, found)) = spec.recurrence.and_then(|recurrence| recurrence_fault(recurrence, spec)) {
        return wrong(field, &expected, found);
    }
    for rope in [Some(&spec.rope), spec.window_rope.as_ref()].into_iter().flatten() {
        if let Some((field, expected, found)) = rope::fault(rope, spec.head_dim) {
            return wrong(field, &expected, found);
        }
    }
    if spec.window_rope.as_ref().is_some_and(|rope| rope.dims != spec.rope.dims) {
        return wrong("rotated numbers of a head", "the same in all layers", format!("{:?}", spec.window_rope));
    }
    if let Some(QueryScaling { beta, original }) = spec.query_scaling {
        if !(0.0..=100.0).contains(&beta) {
            return wrong("scaling of queries", "0 to 100", beta.to_string());
        }
        if original.is_nan() || original < 1.0 {
            return wrong("positions of the first training", "at least 1", original.to_string());
        }
    }
    let scales = [
        ("attention scale", spec.attention_scale),
        ("embedding scale", spec.embedding_scale),
        ("residual scale", spec.residual_scale),
        ("logit scale", spec.logit_scale),
    ];
    for (field, scale) in scales {
        if !(scale.is_finite() && scale > 0.0) {
            return wrong(field, "a number above 0", scale.to_string());
        }
    }
    Ok(())
}

/// A field, what is expected of it, and what was found.
type Fault = (&'static str, String, String);

/// The first fault of a mixture of experts.
fn experts_fault(experts: Experts, spec: &DecoderSpec) -> Option<Fault> {
    /// Experts of a layer, and width of a feed-forward: far beyond any model.
    const MOST: usize = 1 << 12;
    const WIDEST: usize = 1 << 22;
    let Experts { count, used, shared, dense, .. } = experts;
    let widths =
        [("width of the shared expert", shared), ("width of layers without experts", dense.map(|dense| dense.width))];
    let too_wide = |(field, width): (&'static str, Option<usize>)| {
        let width = width.filter(|width| !(1..=WIDEST).contains(width))?;
        Some((field, format!("1 to {WIDEST}"), width.to_string()))
    };
    if let Some(fault) = widths.into_iter().find_map(too_wide) {
        return Some(fault);
    }
    if let Some(dense) = dense.filter(|dense| !(1..spec.layers).contains(&dense.layers)) {
        let expected = format!("fewer than {}", spec.layers);
        return Some(("layers without experts", expected, dense.layers.to_string()));
    }
    if count > MOST || used == 0 || used > count {
        let expected = format!("at most {MOST}, of which a token uses 1 to all");
        return Some(("experts", expected, format!("{used} of {count}")));
    }
    None
}

/// The first fault of recurrent layers.
fn recurrence_fault(recurrence: Recurrence, spec: &DecoderSpec) -> Option<Fault> {
    let taps = match recurrence {
        Recurrence::Delta(delta) => delta.taps,
        Recurrence::ShortConv(ConvShape { channels, .. }) if !channels.is_multiple_of(16) => {
            return Some(("channels of short convolutions", "a multiple of 16".into(), channels.to_string()));
        }
        Recurrence::ShortConv(conv) => conv.taps,
    };
    if let Some(fault) = recurrence.delta().and_then(delta_fault) {
        return Some(fault);
    }
    if !(2..=16).contains(&taps) {
        return Some(("convolution of recurrent layers", "2 to 16 tokens".into(), taps.to_string()));
    }
    if spec.attention_layers() == 0 {
        return Some(("layers with attention", "at least one".into(), "none".into()));
    }
    None
}

/// The first fault of a gated delta net.
fn delta_fault(delta: DeltaShape) -> Option<Fault> {
    const MOST: usize = 1 << 12;
    let DeltaShape { key_heads, value_heads, key_dim, value_dim, .. } = delta;
    let heads = |heads: usize| (1..=MOST).contains(&heads);
    if !heads(key_heads) || !heads(value_heads) || !value_heads.is_multiple_of(key_heads) {
        let expected = format!("1 to {MOST}, the number of keys' heads to divide that of values'");
        return Some(("heads of recurrent layers", expected, format!("{key_heads} and {value_heads}")));
    }
    if ![key_dim, value_dim].iter().all(|&dim| heads(dim) && dim.is_multiple_of(16)) {
        let expected = format!("multiples of 16 up to {MOST}");
        return Some(("head sizes of recurrent layers", expected, format!("{key_dim} and {value_dim}")));
    }
    None
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
            Naming::HuggingFace | Naming::HuggingFaceLfm2 => name.ends_with(".rotary_emb.inv_freq"),
            Naming::HuggingFaceText => name.starts_with("model.visual."),
        }
    };
    let predicts = |name: &str| match naming.is_gguf() {
        true => behind_last(name, spec),
        false => spec.prediction_blocks > 0 && name.starts_with("mtp."),
    };
    let idle = |name: &str| idle(name) || predicts(name);
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
