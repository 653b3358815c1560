//! Steps of a `tokenizer.json` before the subwords: normalisers and pre-tokenizers.
//!
//! Each is allowed by its name, and none makes a text much longer: [`super::pipeline`] bounds what all of them make of a
//! text, this file bounds one step.

use super::charsmap::check_charsmap;
use super::files::wrong;
use super::normalizer::NormalizerStep;
use crate::error::Result;
use serde_json::Value;
use std::path::Path;
use tokenizers::PreTokenizerWrapper;

/// Normalisers known to take any text without failing or panicking.
const NORMALIZERS: [&str; 12] = [
    "BertNormalizer",
    "NFC",
    "NFD",
    "NFKC",
    "NFKD",
    "Nmt",
    "Lowercase",
    // After `check_charsmap`.
    "Precompiled",
    "Prepend",
    "Replace",
    "Strip",
    "StripAccents",
];
/// Pre-tokenizers known to take any text without failing or panicking.
const SPLITTERS: [&str; 8] =
    ["BertPreTokenizer", "ByteLevel", "Digits", "Metaspace", "Punctuation", "Split", "Whitespace", "WhitespaceSplit"];

/// Steps of one kind at most; published tokenizers have up to six.
const MOST_STEPS: usize = 16;
/// Bytes of a text that a step puts into a text; published ones have three.
const LONGEST_CONTENT: usize = 32;

/// A component's steps, each with its name: itself, or those of its sequence, nested ones included.
pub(super) fn flat_steps<'a>(step: &'a Value, list: &str) -> Vec<(&'a str, &'a Value)> {
    match step.get("type").and_then(Value::as_str) {
        Some("Sequence") => {
            let inner = step.get(list).and_then(Value::as_array).into_iter().flatten();
            inner.flat_map(|inner| flat_steps(inner, list)).collect()
        }
        name => vec![(name.unwrap_or("no type"), step)],
    }
}

pub(super) fn step_names<'a>(step: &'a Value, list: &str) -> Vec<&'a str> {
    flat_steps(step, list).into_iter().map(|(name, _)| name).collect()
}

/// The steps of a normaliser.
///
/// # Errors
/// [`crate::ModelError::Field`]: an unknown step, too many steps, a step with an unsound field.
pub(super) fn normalizers(path: &Path, step: Option<&Value>) -> Result<Vec<NormalizerStep>> {
    steps(path, ("normalizer", "normalizers"), &NORMALIZERS, step, NormalizerStep::read)
}

/// The steps of a pre-tokenizer.
///
/// # Errors
/// As [`normalizers`].
pub(super) fn splitters(path: &Path, step: Option<&Value>) -> Result<Vec<PreTokenizerWrapper>> {
    steps(path, ("pre_tokenizer", "pretokenizers"), &SPLITTERS, step, |step| Ok(serde_json::from_value(step.clone())?))
}

/// The steps in `field`, whose sequences have a list of that name.
fn steps<T>(
    path: &Path,
    (field, list): (&str, &str),
    known: &[&str],
    step: Option<&Value>,
    read: impl Fn(&Value) -> tokenizers::Result<T>,
) -> Result<Vec<T>> {
    let all = step.map(|step| flat_steps(step, list)).unwrap_or_default();
    if all.len() > MOST_STEPS {
        return Err(wrong(path, field, &format!("at most {MOST_STEPS} steps"), &all.len().to_string()));
    }
    let checked = |(name, step): (&str, &Value)| {
        if !known.contains(&name) {
            return Err(wrong(path, field, &format!("steps among {}", known.join(", ")), name));
        }
        check(path, field, name, step)?;
        read(step).map_err(|reason| wrong(path, field, &format!("a sound {name} step"), &reason.to_string()))
    };
    all.into_iter().map(checked).collect()
}

/// Checks fields that decide how much longer a step makes a text.
fn check(path: &Path, field: &str, name: &str, step: &Value) -> Result<()> {
    let content = match name {
        "Precompiled" => return check_charsmap(path, step),
        "Prepend" => &step["prepend"],
        "Replace" => &step["content"],
        _ => return Ok(()),
    };
    let length = content.as_str().map_or(0, str::len);
    if length > LONGEST_CONTENT {
        let expected = format!("at most {LONGEST_CONTENT} bytes that a {name} step puts into a text");
        return Err(wrong(path, field, &expected, &length.to_string()));
    }
    Ok(())
}
