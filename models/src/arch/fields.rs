//! The fields that all architectures share, from both kinds of file.

use crate::error::{ModelError, Result};
use crate::spec::{Bias, DecoderSpec, Output, QkRows};
use crate::weights::Metadata;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A config.json with typed getters, as [`Metadata`] has.
#[derive(Debug, Clone)]
pub struct Config {
    path: PathBuf,
    value: Value,
}

impl Config {
    /// Reads a config.json of at most 1 MiB.
    ///
    /// # Errors
    /// The file cannot be read, is no JSON object, or is far too large to be a configuration.
    pub fn open(path: &Path) -> Result<Self> {
        const LIMIT: u64 = 1 << 20;
        let io = |action| move |source| ModelError::Io { path: path.to_owned(), action, source };
        let format = |found: String| ModelError::Format {
            path: path.to_owned(),
            format: "config.json",
            place: "the file".into(),
            expected: "a JSON object of at most 1 MiB".into(),
            found,
        };
        let size = std::fs::metadata(path).map_err(io("open"))?.len();
        if size > LIMIT {
            return Err(format(format!("{size} bytes")));
        }
        let bytes = std::fs::read(path).map_err(io("read"))?;
        let value: Value = serde_json::from_slice(&bytes).map_err(|e| format(e.to_string()))?;
        if !value.is_object() {
            return Err(format("another JSON value".into()));
        }
        Ok(Self { path: path.to_owned(), value })
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn get(&self, field: &str) -> Option<&Value> {
        self.value.get(field).filter(|value| !value.is_null())
    }

    fn wrong(&self, field: &str, expected: &str) -> ModelError {
        let found = self.get(field).map_or("nothing".into(), |v| v.to_string().chars().take(60).collect());
        ModelError::Field { path: self.path.clone(), field: field.into(), expected: expected.into(), found }
    }

    /// A text.
    ///
    /// # Errors
    /// [`ModelError::Field`] when absent or of another kind.
    pub fn str(&self, field: &str) -> Result<&str> {
        self.get(field).and_then(Value::as_str).ok_or_else(|| self.wrong(field, "a string"))
    }

    fn usize(&self, field: &str) -> Result<usize> {
        self.optional_usize(field)?.ok_or_else(|| self.wrong(field, "a non-negative integer"))
    }

    fn optional_usize(&self, field: &str) -> Result<Option<usize>> {
        let Some(value) = self.get(field) else { return Ok(None) };
        let number = value.as_u64().and_then(|n| usize::try_from(n).ok());
        number.map(Some).ok_or_else(|| self.wrong(field, "a non-negative integer"))
    }

    fn optional_f64(&self, field: &str) -> Result<Option<f64>> {
        let Some(value) = self.get(field) else { return Ok(None) };
        value.as_f64().map(Some).ok_or_else(|| self.wrong(field, "a number"))
    }

    fn optional_bool(&self, field: &str) -> Result<Option<bool>> {
        let Some(value) = self.get(field) else { return Ok(None) };
        value.as_bool().map(Some).ok_or_else(|| self.wrong(field, "true or false"))
    }

    /// Refuses a field that would change the forward in a way not built yet.
    pub(super) fn refuse(&self, field: &str, unless: impl Fn(&Value) -> bool, expected: &str) -> Result<()> {
        match self.get(field) {
            Some(value) if !unless(value) => Err(self.wrong(field, expected)),
            _ => Ok(()),
        }
    }
}

/// A spec from `<prefix>.*` metadata; no bias, halves, an output tensor of its own.
pub(super) fn from_gguf(metadata: &Metadata, architecture: &'static str) -> Result<DecoderSpec> {
    let field = |name: &str| format!("{architecture}.{name}");
    let heads = metadata.usize(&field("attention.head_count"))?;
    let hidden = metadata.usize(&field("embedding_length"))?;
    let scaling = field("rope.scaling.type");
    if metadata.optional_str(&scaling)?.is_some_and(|kind| kind != "none") {
        return Err(metadata.wrong(&scaling, "no rope scaling (not supported yet)"));
    }
    let eps = metadata.optional_f64(&field("attention.layer_norm_rms_epsilon"))?;
    let head_dim = match metadata.optional_usize(&field("attention.key_length"))? {
        Some(dim) => dim,
        None => hidden.checked_div(heads).unwrap_or(0),
    };
    let rotated = field("rope.dimension_count");
    if metadata.optional_usize(&rotated)?.is_some_and(|dims| dims != head_dim) {
        return Err(metadata.wrong(&rotated, &format!("{head_dim}, the head size (partial rotation is not supported)")));
    }
    Ok(DecoderSpec {
        architecture,
        vocab: 0,
        hidden,
        layers: metadata.usize(&field("block_count"))?,
        heads,
        kv_heads: metadata.optional_usize(&field("attention.head_count_kv"))?.unwrap_or(heads),
        head_dim,
        intermediate: metadata.usize(&field("feed_forward_length"))?,
        context: metadata.usize(&field("context_length"))?,
        norm_eps: eps.ok_or_else(|| metadata.wrong(&field("attention.layer_norm_rms_epsilon"), "a number"))? as f32,
        rope_theta: metadata.optional_f64(&field("rope.freq_base"))?.unwrap_or(10_000.0),
        bias: Bias::None,
        output: Output::Own,
        qk_rows: QkRows::Halves,
    })
}

/// A spec from a config.json; no bias, halves.
pub(super) fn from_config(config: &Config, architecture: &'static str) -> Result<DecoderSpec> {
    let heads = config.usize("num_attention_heads")?;
    let hidden = config.usize("hidden_size")?;
    let plain = |value: &Value| ["rope_type", "type"].iter().any(|k| value.get(k).is_some_and(|v| v == "default"));
    config.refuse("rope_scaling", plain, "no rope scaling (not supported yet)")?;
    config.refuse(
        "partial_rotary_factor",
        |value| value.as_f64() == Some(1.0),
        "1 (partial rotation is not supported)",
    )?;
    config.refuse("hidden_act", |value| value == "silu", "\"silu\"")?;
    let rope = match config.get("rope_parameters") {
        // transformers 5 moved the base into an object of its own.
        Some(Value::Object(_)) => {
            config.refuse("rope_parameters", plain, "no rope scaling (not supported yet)")?;
            config.get("rope_parameters").and_then(|r| r.get("rope_theta")).and_then(Value::as_f64)
        }
        _ => config.optional_f64("rope_theta")?,
    };
    Ok(DecoderSpec {
        architecture,
        vocab: 0,
        hidden,
        layers: config.usize("num_hidden_layers")?,
        heads,
        kv_heads: config.optional_usize("num_key_value_heads")?.unwrap_or(heads),
        head_dim: match config.optional_usize("head_dim")? {
            Some(dim) => dim,
            None => hidden.checked_div(heads).unwrap_or(0),
        },
        intermediate: config.usize("intermediate_size")?,
        context: config.usize("max_position_embeddings")?,
        norm_eps: config.optional_f64("rms_norm_eps")?.ok_or_else(|| config.wrong("rms_norm_eps", "a number"))? as f32,
        rope_theta: rope.unwrap_or(10_000.0),
        bias: Bias::None,
        output: match config.optional_bool("tie_word_embeddings")? {
            Some(true) => Output::Tied,
            _ => Output::Own,
        },
        qk_rows: QkRows::Halves,
    })
}
