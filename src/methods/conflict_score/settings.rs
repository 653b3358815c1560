//! How claims are labelled: the switches, and what they mean.

use crate::error::{MootError, Result};
use crate::protocol::switches::{Kind, Switch, Values};
use serde_json::Value;

/// The switch `labels`: how a claim is labelled against a document.
pub(crate) const LABELS: Switch = Switch {
    name: "labels",
    about: "how pairs are labelled: by the labeller, by entailment, or by a classifier where it is certain, else by the labeller",
    kind: Kind::Choice(&["labeller", "entailment", "both"]),
    default: "labeller",
};

/// The probability from which on a label counts.
pub(crate) const SURE: Switch = Switch {
    name: "sure",
    about: "probability from which on a label for or against counts, a classifier's or by scoring the three words; 0 asks for none",
    kind: Kind::Number(0.0, 1.0),
    default: "0",
};

/// The role that labels.
pub(crate) const ROLE: &str = "labeller";

/// How pairs are labelled.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Labelling {
    /// By the labeller, by entailment, or by both.
    pub by: By,
    /// A relation of entailment is certain from this probability on.
    pub certain: f32,
    /// The label precedes quote and reason.
    pub label_first: bool,
    /// Quotes begin and end at words; otherwise they are one or two sentences.
    pub words: bool,
    /// All documents of a claim in one call.
    pub together: bool,
    /// Replies go on with a reason; only where the label stands first can it be left out.
    pub reasons: bool,
    /// Labels for or against count from this probability on; 0 asks for no probabilities.
    pub sure: f32,
}

impl Labelling {
    /// As the switches [`LABELS`] and [`SURE`] say, a call a pair, the label before a quote of sentences.
    #[must_use]
    pub(crate) fn of(values: &Values) -> Self {
        let by = match values.choice(LABELS.name) {
            "entailment" => By::Entailment,
            "both" => By::Both,
            _ => By::Labeller,
        };
        let (certain, label_first, words, together, reasons) = (0.9, true, false, false, true);
        Self { by, certain, label_first, words, together, reasons, sure: values.number(SURE.name) as f32 }
    }
}

/// How pairs are labelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// The labeller's replies.
    Labeller,
    /// The most probable relation of entailment.
    Entailment,
    /// Relations of entailment that are certain; the labeller decides the others.
    Both,
}

/// Refuses switches of a method that need probabilities of entailment, where no classifier gives them: the role `entailment`
/// chooses a relation, and a choice has none.
///
/// # Errors
/// [`MootError::Usage`] for labels by both, and for labels by entailment that must be sure.
pub fn without_classifier(switches: &Value) -> Result<()> {
    let sure = switches[SURE.name].as_f64().is_some_and(|sure| sure > 0.0);
    let what = match switches[LABELS.name].as_str() {
        Some("both") => "labels both",
        Some("entailment") if sure => "sure with labels entailment",
        _ => return Ok(()),
    };
    Err(MootError::Usage(format!("{what} needs probabilities of entailment: expected --classifier NAME, found none")))
}
