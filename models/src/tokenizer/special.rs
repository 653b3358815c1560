//! Special tokens from the files beside a `tokenizer.json`.

use super::files::{read_optional, wrong};
use crate::error::Result;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// The special tokens that a model folder names outside its `tokenizer.json`.
#[derive(Debug, Clone, Default)]
pub struct SpecialTokens {
    /// The text of the beginning-of-sequence token.
    pub bos: Option<String>,
    /// The text of the end-of-sequence token.
    pub eos: Option<String>,
    /// Ids that end generation.
    pub eos_ids: Vec<u32>,
    /// Whether BOS is to be added; where not said, the post-processor of `tokenizer.json` decides.
    pub add_bos: Option<bool>,
    /// By id, whether an added token is matched in the normalised text: `added_tokens_decoder` of `tokenizer_config.json`,
    /// which replaces what `tokenizer.json` says.
    pub normalized: BTreeMap<u32, bool>,
}

impl SpecialTokens {
    /// Reads `tokenizer_config.json`, else `special_tokens_map.json` (bos, eos, whether BOS is added) and
    /// `generation_config.json`, `config.json` (all ids that end generation); each may be absent.
    ///
    /// # Errors
    /// `ModelError::Io` when one is there and unreadable, `ModelError::Format` when it is not JSON,
    /// `ModelError::Field` when a field has a form that Hugging Face does not write.
    pub fn from_dir(dir: &Path) -> Result<Self> {
        let mut special = Self::default();
        for name in ["tokenizer_config.json", "special_tokens_map.json"] {
            let path = dir.join(name);
            let Some(config) = read_optional(&path)? else { continue };
            special.bos = special.bos.or(token_text(&path, &config, "bos_token")?);
            special.eos = special.eos.or(token_text(&path, &config, "eos_token")?);
            special.normalized.extend(normalized(&config));
            special.add_bos = special.add_bos.or_else(|| config.get("add_bos_token").and_then(Value::as_bool));
        }
        for name in ["generation_config.json", "config.json"] {
            let path = dir.join(name);
            let Some(config) = read_optional(&path)? else { continue };
            special.eos_ids.extend(ids(&path, &config, "eos_token_id")?);
        }
        Ok(special)
    }
}

fn normalized(config: &Value) -> impl Iterator<Item = (u32, bool)> + '_ {
    let tokens = config.get("added_tokens_decoder").and_then(Value::as_object).into_iter().flatten();
    tokens.filter_map(|(id, token)| Some((id.parse().ok()?, token.get("normalized")?.as_bool()?)))
}

fn token_text(path: &Path, config: &Value, field: &str) -> Result<Option<String>> {
    let text = match config.get(field) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Object(token)) => token.get("content").and_then(Value::as_str),
        Some(other) => other.as_str(),
    };
    let text =
        text.ok_or_else(|| wrong(path, field, "a text, or an object with one in \"content\"", "another value"))?;
    Ok(Some(text.to_owned()))
}

fn ids(path: &Path, config: &Value, field: &str) -> Result<Vec<u32>> {
    let values = match config.get(field) {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(values)) => values.clone(),
        Some(value) => vec![value.clone()],
    };
    let id = |value: &Value| value.as_u64().and_then(|id| u32::try_from(id).ok());
    let ids: Option<Vec<u32>> = values.iter().map(id).collect();
    ids.ok_or_else(|| wrong(path, field, "a token id or a list of them", &Value::from(values).to_string()))
}
