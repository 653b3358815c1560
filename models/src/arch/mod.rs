//! Architectures: one short file and one row each, from a file's fields to a [`DecoderSpec`].

mod fields;
mod llama;
pub mod names;
mod qwen2;

use crate::error::{ModelError, Result};
use crate::spec::{DecoderSpec, Output};
use crate::weights::{Metadata, Weights};
pub use fields::Config;
use names::{Name, Naming};
use std::path::Path;

/// A row of [`ARCHS`].
pub struct Arch {
    /// GGUF's `general.architecture`, and how the program calls it.
    pub name: &'static str,
    /// `model_type` in config.json.
    pub model_type: &'static str,
    /// What it is, one line.
    pub about: &'static str,
    /// Reads a GGUF's metadata.
    pub from_gguf: fn(&Metadata) -> Result<DecoderSpec>,
    /// Reads a config.json.
    pub from_config: fn(&Config) -> Result<DecoderSpec>,
}

/// Every architecture there is.
pub const ARCHS: &[Arch] = &[llama::ARCH, qwen2::ARCH];

/// The spec of the model that `weights` hold.
///
/// # Errors
/// An unknown architecture, a missing or unusable field, or shapes that contradict the fields.
pub fn spec(weights: &Weights) -> Result<DecoderSpec> {
    let mut spec = match weights {
        Weights::Gguf(gguf) => {
            let metadata = gguf.metadata();
            let found = metadata.str("general.architecture")?;
            (find(metadata.path(), found, |arch| arch.name)?.from_gguf)(metadata)?
        }
        Weights::Safetensors(_) => {
            let config = Config::open(&weights.path().join("config.json"))?;
            (find(config.path(), config.str("model_type")?, |arch| arch.model_type)?.from_config)(&config)?
        }
    };
    let naming = Naming::of(weights);
    let embedding = weights.shape(&naming.name(Name::Embedding))?;
    spec.vocab = *embedding.first().unwrap_or(&0);
    // Llama 3.1 and later put their scaling into a tensor and say nothing of it in the fields.
    let factors = "rope_freqs.weight";
    if weights.contains(factors) {
        return Err(ModelError::Field {
            path: weights.path().to_owned(),
            field: factors.into(),
            expected: "no rope scaling (not supported yet)".into(),
            found: "a tensor of factors".into(),
        });
    }
    // A GGUF says so by leaving the tensor out; some folders carry both the switch and a copy.
    if !weights.contains(&naming.name(Name::Output)) {
        spec.output = Output::Tied;
    }
    let origin = match weights {
        Weights::Gguf(_) => weights.path().to_owned(),
        Weights::Safetensors(_) => weights.path().join("config.json"),
    };
    check(&origin, &spec)?;
    Ok(spec)
}

fn find(path: &Path, found: &str, key: fn(&Arch) -> &'static str) -> Result<&'static Arch> {
    ARCHS.iter().find(|arch| key(arch) == found).ok_or_else(|| ModelError::UnknownArchitecture {
        path: path.to_owned(),
        found: found.chars().take(60).collect(),
        supported: ARCHS.iter().map(key).collect::<Vec<_>>().join(", "),
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
        ("layers", spec.layers, 1 << 12),
        ("heads", spec.heads, 1 << 12),
        ("key-value heads", spec.kv_heads, 1 << 12),
        ("head size", spec.head_dim, 1 << 12),
        ("feed-forward size", spec.intermediate, 1 << 22),
        ("context", spec.context, 1 << 31),
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
    if !(spec.norm_eps > 0.0 && spec.norm_eps < 1.0) {
        return wrong("norm epsilon", "between 0 and 1", spec.norm_eps.to_string());
    }
    if spec.rope_theta.is_nan() || spec.rope_theta < 1.0 {
        return wrong("rope theta", "at least 1", spec.rope_theta.to_string());
    }
    Ok(())
}
