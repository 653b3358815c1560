//! Lower-casing that a model folder asks for outside its `tokenizer.json`.

use super::files::{read_optional, wrong};
use super::steps::flat_steps;
use crate::error::Result;
use serde_json::{Map, Value, json};
use std::path::Path;

/// Tokenizer classes of transformers whose `tokenizer_config.json` overrides the `BertNormalizer` of `tokenizer.json`.
const BERT: [&str; 5] =
    ["BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer", "MobileBertTokenizer", "MPNetTokenizer"];
/// The class that lower-cases in front of its normaliser.
const DEBERTA: &str = "DebertaV2Tokenizer";
/// Fields of `tokenizer_config.json`, and what a `BertNormalizer` calls them.
const FIELDS: [(&str, &str); 3] = [
    ("do_lower_case", "lowercase"),
    ("strip_accents", "strip_accents"),
    ("tokenize_chinese_chars", "handle_chinese_chars"),
];

/// Changes to the normaliser of a `tokenizer.json` by the files beside it, as in transformers and sentence-transformers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Casing {
    /// Whether text is lower-cased before all other steps: `do_lower_case` of `sentence_bert_config.json`.
    pub lowercase: bool,
    /// Fields of a `BertNormalizer` that replace those of `tokenizer.json`.
    bert: Map<String, Value>,
}

impl Casing {
    /// Settings of `tokenizer_config.json`. Which of its fields count depends on the tokenizer's class there; without one, on
    /// the model type of `config.json`, as transformers chooses a class.
    ///
    /// # Errors
    /// A file that is there and cannot be read or is not JSON; a field that is not true or false.
    pub fn from_dir(dir: &Path) -> Result<Self> {
        let path = dir.join("tokenizer_config.json");
        let Some(config) = read_optional::<Value>(&path)? else { return Ok(Self::default()) };
        let class = match config.get("tokenizer_class").and_then(Value::as_str) {
            Some(class) => class.trim_end_matches("Fast").to_owned(),
            None => default_class(dir)?.to_owned(),
        };
        let is_bert = BERT.contains(&class.as_str());
        if !is_bert && class != DEBERTA {
            return Ok(Self::default());
        }
        let mut fields = Map::new();
        for (field, name) in FIELDS {
            match config.get(field) {
                Some(value @ Value::Bool(_)) => drop(fields.insert(name.to_owned(), value.clone())),
                // `null`: strip accents whenever text is lower-cased.
                Some(Value::Null) if field == "strip_accents" => drop(fields.insert(name.to_owned(), Value::Null)),
                None | Some(Value::Null) => {}
                Some(other) => return Err(wrong(&path, field, "true or false", &other.to_string())),
            }
        }
        if is_bert {
            return Ok(Self { lowercase: false, bert: fields });
        }
        Ok(Self { lowercase: fields.get("lowercase") == Some(&Value::Bool(true)), bert: Map::new() })
    }

    /// The normaliser that replaces `normalizer`.
    pub(super) fn apply(&self, mut normalizer: Option<Value>) -> Option<Value> {
        if let Some(fields) = normalizer.as_mut().filter(|step| step["type"] == "BertNormalizer") {
            for (name, value) in &self.bert {
                fields[name] = value.clone();
            }
        }
        let steps = normalizer.as_ref().map(|step| flat_steps(step, "normalizers")).unwrap_or_default();
        if !self.lowercase || steps.iter().any(|(name, _)| *name == "Lowercase") {
            return normalizer;
        }
        let own = steps.into_iter().map(|(_, step)| step.clone());
        let all: Vec<Value> = std::iter::once(json!({"type": "Lowercase"})).chain(own).collect();
        Some(json!({"type": "Sequence", "normalizers": all}))
    }
}

/// The class that transformers takes where `tokenizer_config.json` names none.
fn default_class(dir: &Path) -> Result<&'static str> {
    let config = read_optional::<Value>(&dir.join("config.json"))?.unwrap_or_default();
    Ok(match config["model_type"].as_str() {
        Some("bert") => BERT[0],
        Some("deberta-v2") => DEBERTA,
        _ => "",
    })
}

#[cfg(test)]
mod tests {
    use super::Casing;
    use serde_json::{Map, Value, json};

    #[test]
    fn a_normalizer_is_changed_where_it_is_berts() {
        let bert = Map::from_iter([("lowercase".to_owned(), Value::Bool(true))]);
        let casing = Casing { lowercase: false, bert };
        let own = |lowercase: bool| json!({"type": "BertNormalizer", "clean_text": true, "lowercase": lowercase});
        assert_eq!(casing.apply(Some(own(false))), Some(own(true)));
        assert_eq!(casing.apply(Some(json!({"type": "NFC"}))), Some(json!({"type": "NFC"})));
        assert_eq!(casing.apply(None), None);
    }

    #[test]
    fn lower_case_comes_first_and_once() {
        let casing = Casing { lowercase: true, ..Casing::default() };
        let (lower, nfc) = (json!({"type": "Lowercase"}), json!({"type": "NFC"}));
        let sequence = |steps: &[&Value]| json!({"type": "Sequence", "normalizers": steps});
        assert_eq!(casing.apply(None), Some(sequence(&[&lower])));
        assert_eq!(casing.apply(Some(nfc.clone())), Some(sequence(&[&lower, &nfc])));
        assert_eq!(casing.apply(Some(sequence(&[&nfc]))), Some(sequence(&[&lower, &nfc])));
        let already = sequence(&[&nfc, &lower]);
        assert_eq!(casing.apply(Some(already.clone())), Some(already));
    }
}
