//! Rotary embeddings and their scalings, from both kinds of file.

use super::bases;
use super::config::Config;
use crate::error::{ModelError, Result};
use crate::spec::{ContextLimit, DecoderSpec, QueryScaling, Rope, RopeScaling};
use crate::weights::{Metadata, Weights};
use candle_core::{DType, Device};
use moot_kernels::math::ln;
use serde_json::Value;

/// llama.cpp's base where a GGUF states none.
const GGUF_THETA: f64 = 10_000.0;

/// Divisors of speeds: beyond this a file is damaged, not scaled.
const FACTORS: std::ops::RangeInclusive<f64> = 1e-3..=1e6;

const TYPES: &str = "\"default\", \"linear\", \"llama3\", \"yarn\", \"proportional\" or \"longrope\" (other scalings are not supported)";

/// From this divisor on a pair does not turn: converters write it for pairs that are not rotated.
const STANDING: f32 = 1e30;

/// YaRN's turns, where a file does not state them.
const FAST: f64 = 32.0;
const SLOW: f64 = 1.0;

/// GGUF's tensor of Llama 3.1's and Gemma 4's divisors, and of `LongRoPE`'s two sets.
pub(super) const DIVISORS: &str = "rope_freqs.weight";
const SHORT_DIVISORS: &str = "rope_factors_short.weight";
const LONG_DIVISORS: &str = "rope_factors_long.weight";

/// Tensors of a GGUF file that only rotations need.
pub(super) const TENSORS: [&str; 3] = [DIVISORS, SHORT_DIVISORS, LONG_DIVISORS];

/// From a config.json: the rotation, and the number of positions for which it is right, where that is less than
/// `context`.
///
/// transformers 5 has all fields in `rope_parameters`; older files have the base beside `rope_scaling`. `usual` is the
/// base where a file states none; without it such a file is refused.
pub(super) fn of_config(
    config: &Config,
    usual: Option<f64>,
    head_dim: usize,
    context: usize,
) -> Result<(Rope, Option<usize>)> {
    let section = match config.section("rope_parameters")? {
        Some(section) => section,
        None => config.section("rope_scaling")?.unwrap_or_else(|| config.clone()),
    };
    of_section(config, &section, usual, head_dim, context)
}

/// As [`of_config`], by the fields of `section`.
pub(super) fn of_section(
    config: &Config,
    section: &Config,
    usual: Option<f64>,
    head_dim: usize,
    context: usize,
) -> Result<(Rope, Option<usize>)> {
    let either = |field: &str| match section.optional_f64(field)? {
        Some(number) => Ok(Some(number)),
        None => config.optional_f64(field),
    };
    let theta = either("rope_theta")?.or(usual).ok_or_else(|| section.wrong("rope_theta", "a number"))?;
    let kind = match section.optional_str("rope_type")? {
        Some(kind) => kind,
        None => section.optional_str("type")?.unwrap_or("default"),
    };
    let turned = match either("partial_rotary_factor")? {
        // As transformers cuts it.
        Some(part) if part > 0.0 && part <= 1.0 => (head_dim as f64 * part) as usize,
        Some(_) => return Err(config.wrong("partial_rotary_factor", "above 0, at most 1")),
        None => head_dim,
    };
    // Else the wavelengths are those of a narrower head.
    let dims = if kind == "proportional" { head_dim } else { turned };
    // A factor without a type of scaling: to ignore it would give wrong positions silently.
    if kind == "default" && section.has("factor") {
        return Err(section.wrong("rope_type", TYPES));
    }
    let mut reach = None;
    let scaling = match kind {
        "default" => RopeScaling::None,
        "linear" => RopeScaling::Linear { factor: factor(section, "factor")? },
        "llama3" => llama3(section)?,
        "yarn" => yarn(section, context)?,
        "proportional" => {
            section.refuse("factor", |value| value.as_f64() == Some(1.0), "1")?;
            RopeScaling::FirstPairs { pairs: turned / 2 }
        }
        "longrope" | "su" => {
            let original = match section.optional_usize("original_max_position_embeddings")? {
                Some(original) => original,
                None => config.usize("original_max_position_embeddings")?,
            };
            reach = Some(original);
            longrope(section, original, context)?
        }
        _ => return Err(section.wrong(if section.has("rope_type") { "rope_type" } else { "type" }, TYPES)),
    };
    Ok((Rope { theta, dims, scaling }, reach))
}

/// The factor of queries by their position, from `rope_parameters`.
pub(super) fn query_scaling(config: &Config) -> Result<Option<QueryScaling>> {
    let Some(section) = config.section("rope_parameters")? else { return Ok(None) };
    let Some(beta) = section.optional_f64("llama_4_scaling_beta")?.filter(|&beta| beta != 0.0) else { return Ok(None) };
    Ok(Some(QueryScaling { beta, original: section.usize("original_max_position_embeddings")? as f64 }))
}

fn factor(section: &Config, field: &str) -> Result<f64> {
    let factor = section.f64(field)?;
    if FACTORS.contains(&factor) { Ok(factor) } else { Err(section.wrong(field, "0.001 to 1000000")) }
}

fn llama3(section: &Config) -> Result<RopeScaling> {
    let (low, high) = (factor(section, "low_freq_factor")?, factor(section, "high_freq_factor")?);
    if low >= high {
        return Err(section.wrong("high_freq_factor", &format!("more than low_freq_factor, {low}")));
    }
    let original = section.usize("original_max_position_embeddings")? as f64;
    Ok(RopeScaling::Llama3 { factor: factor(section, "factor")?, low, high, original })
}

fn yarn(section: &Config, context: usize) -> Result<RopeScaling> {
    section.refuse("truncate", Value::is_boolean, "true or false")?;
    let or = |field: &str, otherwise: f64| if section.has(field) { factor(section, field) } else { Ok(otherwise) };
    let divisor = factor(section, "factor")?;
    let original = section.optional_usize("original_max_position_embeddings")?.unwrap_or(context) as f64;
    // DeepSeek's two multipliers of the logarithm: one alone has no effect in transformers, and no file has it so.
    let magnitude = match (section.optional_f64("mscale")?, section.optional_f64("mscale_all_dim")?) {
        (None, None) => yarn_magnitude(divisor, 1.0),
        (Some(over), Some(under)) => yarn_magnitude(divisor, over) / yarn_magnitude(divisor, under),
        (over, _) => {
            let missing = if over.is_some() { "mscale_all_dim" } else { "mscale" };
            return Err(section.wrong(missing, "a number, as the other of mscale and mscale_all_dim"));
        }
    };
    let magnitude = or("attention_factor", magnitude)? as f32;
    Ok(RopeScaling::Yarn {
        factor: divisor,
        original,
        fast: or("beta_fast", FAST)?,
        slow: or("beta_slow", SLOW)?,
        magnitude,
        whole_pairs: !section.has("truncate") || section.flag("truncate")?,
    })
}

/// The paper's `0.1 ln(factor) + 1`, its logarithm multiplied.
fn yarn_magnitude(factor: f64, multiplier: f64) -> f64 {
    if factor <= 1.0 { 1.0 } else { 0.1 * multiplier * ln(factor) + 1.0 }
}

/// `LongRoPE` with its first set of divisors, which is right for the positions of the first training.
/// Magnitude: Phi-3's `sqrt(1 + ln(context / original) / ln(original))`, unless the file says another.
fn longrope(section: &Config, original: usize, context: usize) -> Result<RopeScaling> {
    let ratio = match section.optional_f64("factor")? {
        Some(_) => factor(section, "factor")?,
        None => context as f64 / original.max(1) as f64,
    };
    let magnitude = match section.optional_f64("attention_factor")? {
        Some(_) => factor(section, "attention_factor")?,
        None if ratio <= 1.0 || original < 2 => 1.0,
        None => (1.0 + ln(ratio) / ln(original as f64)).sqrt(),
    };
    Ok(RopeScaling::Divisors { divisors: section.floats("short_factor")?, magnitude: magnitude as f32 })
}

/// From a GGUF's metadata. Divisors come as tensors: [`divisors`].
pub(super) fn of_gguf(metadata: &Metadata, architecture: &str, head_dim: usize) -> Result<Rope> {
    let field = |name: &str| format!("{architecture}.rope.{name}");
    let (kind, scale) = (field("scaling.type"), field("scaling.factor"));
    let scaling = match metadata.optional_str(&kind)? {
        Some("linear") => linear(metadata, &scale)?,
        Some("none" | "longrope") => RopeScaling::None,
        Some("yarn") => gguf_yarn(metadata, architecture)?,
        Some(_) => return Err(metadata.wrong(&kind, "\"none\", \"linear\", \"yarn\" or \"longrope\"")),
        // The field of files from before there were several types.
        None if metadata.get(&field("scale_linear")).is_some() => linear(metadata, &field("scale_linear"))?,
        None => RopeScaling::None,
    };
    let theta = match metadata.optional_f64(&field("freq_base"))? {
        Some(theta) => theta,
        // llama.cpp takes this base for all; where transformers takes another one, the model was not trained with it.
        None if bases::usual(architecture) == Some(GGUF_THETA) => GGUF_THETA,
        None => return Err(metadata.wrong(&field("freq_base"), "a number")),
    };
    Ok(Rope { theta, dims: metadata.optional_usize(&field("dimension_count"))?.unwrap_or(head_dim), scaling })
}

fn gguf_yarn(metadata: &Metadata, architecture: &str) -> Result<RopeScaling> {
    let number = |name: &str, otherwise: f64| {
        let field = format!("{architecture}.rope.scaling.{name}");
        match metadata.optional_f64(&field)? {
            None => Ok(otherwise),
            Some(number) if FACTORS.contains(&number) => Ok(number),
            Some(_) => Err(metadata.wrong(&field, "0.001 to 1000000")),
        }
    };
    let (factor, context) = (number("factor", 1.0)?, metadata.usize(&format!("{architecture}.context_length"))?);
    let original = metadata.optional_usize(&format!("{architecture}.rope.scaling.original_context_length"))?;
    // llama.cpp multiplies what the file says by the paper's magnitude, which is divided by that of another multiplier
    // where the file has one.
    let multiplier = metadata.optional_f64(&format!("{architecture}.rope.scaling.yarn_log_multiplier"))?.unwrap_or(0.0);
    let paper = yarn_magnitude(factor, 1.0) / yarn_magnitude(factor, multiplier);
    // Converters write the magnitude here that a config.json states instead of the paper's. A 1 is a file without one.
    let stated = number("yarn_attn_factor", 1.0)?;
    let magnitude = (if stated == 1.0 { paper } else { stated } * number("attn_factor", 1.0)?) as f32;
    let (fast, slow) = (number("yarn_beta_fast", FAST)?, number("yarn_beta_slow", SLOW)?);
    let original = original.unwrap_or(context) as f64;
    Ok(RopeScaling::Yarn { factor, original, fast, slow, magnitude, whole_pairs: true })
}

fn linear(metadata: &Metadata, field: &str) -> Result<RopeScaling> {
    match metadata.optional_f64(field)? {
        Some(factor) if FACTORS.contains(&factor) => Ok(RopeScaling::Linear { factor }),
        // Some converters write 0 for "none".
        Some(0.0) => Ok(RopeScaling::None),
        _ => Err(metadata.wrong(field, "0.001 to 1000000")),
    }
}

/// The divisors that a GGUF file keeps as a tensor, put into `spec`.
pub(super) fn read_divisors(metadata: &Metadata, weights: &Weights, spec: &mut DecoderSpec) -> Result<()> {
    let read = |name: &str| {
        let tensor = weights.dense(name, &[spec.rope.dims / 2], DType::F32, &Device::Cpu)?;
        tensor.to_vec1::<f32>().map_err(ModelError::from)
    };
    if weights.contains(DIVISORS) {
        let divisors = read(DIVISORS)?;
        let pairs = divisors.iter().take_while(|&&divisor| divisor == 1.0).count();
        let others_stand = divisors[pairs..].iter().all(|&divisor| divisor >= STANDING);
        spec.rope.scaling = match others_stand && pairs < divisors.len() {
            true => RopeScaling::FirstPairs { pairs },
            false => RopeScaling::Divisors { divisors, magnitude: 1.0 },
        };
    } else if weights.contains(SHORT_DIVISORS) {
        let field = |name: &str| format!("{}.rope.scaling.{name}", spec.architecture);
        let magnitude = metadata.optional_f64(&field("attn_factor"))?.unwrap_or(1.0) as f32;
        let original = metadata.usize(&field("original_context_length"))?;
        spec.rope.scaling = RopeScaling::Divisors { divisors: read(SHORT_DIVISORS)?, magnitude };
        spec.limit_context(Some(original), |claimed| ContextLimit::ShortRope { claimed });
    }
    Ok(())
}

/// The first fault of `rope` in a head of `head_dim`: field, expected, found.
pub(super) fn fault(rope: &Rope, head_dim: usize) -> Option<(&'static str, String, String)> {
    if !(rope.theta.is_finite() && rope.theta >= 1.0) {
        return Some(("rope theta", "at least 1".into(), rope.theta.to_string()));
    }
    if rope.dims == 0 || rope.dims > head_dim || !rope.dims.is_multiple_of(2) {
        return Some(("rotated numbers of a head", format!("even, 2 to {head_dim}"), rope.dims.to_string()));
    }
    if let RopeScaling::Yarn { magnitude, .. } = rope.scaling
        && !FACTORS.contains(&f64::from(magnitude))
    {
        return Some(("magnitude of YaRN", "0.001 to 1000000".into(), magnitude.to_string()));
    }
    let original = match rope.scaling {
        RopeScaling::Yarn { original, .. } | RopeScaling::Llama3 { original, .. } => original,
        _ => 1.0,
    };
    if original < 1.0 {
        return Some(("positions of the first training", "at least 1".into(), original.to_string()));
    }
    if let RopeScaling::FirstPairs { pairs } = rope.scaling
        && !(1..=rope.dims / 2).contains(&pairs)
    {
        return Some(("rotated pairs of a head", format!("1 to {}", rope.dims / 2), pairs.to_string()));
    }
    let RopeScaling::Divisors { divisors, magnitude } = &rope.scaling else { return None };
    if divisors.len() != rope.dims / 2 {
        return Some(("rope divisors", format!("{}, one a pair", rope.dims / 2), divisors.len().to_string()));
    }
    if let Some(bad) = divisors.iter().chain([magnitude]).find(|x| !FACTORS.contains(&f64::from(**x))) {
        return Some(("rope divisors", "0.001 to 1000000".into(), bad.to_string()));
    }
    None
}
