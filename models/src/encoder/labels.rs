//! What the classes of a classifier mean, by their names.

use crate::arch::Config;
use crate::error::{ModelError, Result};
use std::path::Path;

/// The label of each class of natural language inference. A grounding classifier knows whether a premise supports a
/// hypothesis, and nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NliLabels {
    /// The premise entails the hypothesis.
    pub entailment: usize,
    /// It neither entails nor contradicts it, and it contradicts it; `None` for a grounding classifier.
    pub others: Option<Unsupported>,
}

/// The labels of premises that do not support a hypothesis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unsupported {
    /// The premise says neither that the hypothesis holds nor that it does not.
    pub neutral: usize,
    /// The premise contradicts the hypothesis.
    pub contradiction: usize,
}

/// Names in lower case, with underscores for spaces and hyphens.
const ENTAILMENT: &[&str] =
    &["entailment", "entail", "entails", "e", "support", "supports", "supported", "consistent", "grounded"];
const NEUTRAL: &[&str] = &["neutral", "n", "nei", "not_enough_info", "not_enough_information"];
const CONTRADICTION: &[&str] = &["contradiction", "contradict", "contradicts", "c", "refute", "refutes", "refuted"];
const UNSUPPORTED: &[&str] =
    &["not_entailment", "unsupported", "not_supported", "inconsistent", "ungrounded", "hallucination", "hallucinated"];

impl NliLabels {
    /// Their indices in `labels`: three classes; two, of which one is support and the other the lack of it; or support alone.
    pub(super) fn of(labels: &[String]) -> Option<Self> {
        let named = |names: &[&str]| {
            labels.iter().position(|label| names.contains(&&*label.to_lowercase().replace([' ', '-'], "_")))
        };
        let (entailment, neutral) = (named(ENTAILMENT)?, named(NEUTRAL));
        let others = match (labels.len(), neutral, named(CONTRADICTION), named(UNSUPPORTED)) {
            (3, Some(neutral), Some(contradiction), _) => Some(Unsupported { neutral, contradiction }),
            (2, None, None, Some(_)) | (1, None, None, None) => None,
            _ => return None,
        };
        Some(Self { entailment, others })
    }

    /// The error for labels that are no such classes.
    pub(super) fn wrong(folder: &Path, labels: &[String]) -> ModelError {
        ModelError::Field {
            path: folder.join("config.json"),
            field: "id2label".into(),
            expected:
                "three labels, called entailment, neutral and contradiction (or support, nei and refute), or two, \
                       called supported and unsupported, or one, called supported"
                    .into(),
            found: labels.join(", "),
        }
    }
}

/// The model's own names of its classes, as many as the head has rows.
pub(super) fn labels(config: &Config, rows: usize) -> Result<Vec<String>> {
    let labels = match config.numbered_texts("id2label")? {
        Some(labels) => labels,
        None => (0..rows).map(|i| format!("LABEL_{i}")).collect(),
    };
    if labels.len() != rows || rows == 0 {
        return Err(config.wrong("id2label", &format!("a label for each of the {rows} rows of the head")));
    }
    Ok(labels)
}

#[cfg(test)]
mod tests {
    use super::{NliLabels, Unsupported};

    #[test]
    fn classes_are_known_by_their_names() {
        let of = |labels: &[&str]| NliLabels::of(&labels.iter().map(|&label| label.to_owned()).collect::<Vec<_>>());
        let three = |entailment, neutral, contradiction| {
            Some(NliLabels { entailment, others: Some(Unsupported { neutral, contradiction }) })
        };
        let support = |entailment| Some(NliLabels { entailment, others: None });
        assert_eq!(of(&["NEUTRAL", "Contradiction", "entailment"]), three(2, 0, 1));
        assert_eq!(of(&["SUPPORTS", "REFUTES", "NOT ENOUGH INFO"]), three(0, 2, 1));
        assert_eq!(of(&["SUPPORT", "NEI", "REFUTE"]), three(0, 1, 2));
        assert_eq!(of(&["unsupported", "supported"]), support(1));
        assert_eq!(of(&["entailment", "not_entailment"]), support(0));
        assert_eq!(of(&["Supported"]), support(0));
        for unknown in [
            &["LABEL_0", "LABEL_1"][..],
            &["LABEL_0"],
            &[],
            &["supports", "refutes"],
            &["entailment", "neutral"],
            &["entailment", "entailment"],
            &["entailment", "entailment", "neutral"],
            &["entailment", "not_entailment", "neutral"],
            &["entailment", "neutral", "contradiction", "other"],
        ] {
            assert_eq!(of(unknown), None, "{unknown:?}");
        }
    }
}
