//! How claims are labelled: the switches, and what they mean.

use super::weights::LabelWeights;
use crate::error::{MootError, Result};
use crate::protocol::presets::Preset;
use crate::protocol::switches::{Kind, Switch, Values};
use crate::question::{DocumentLabel, LabelFault};
use serde_json::Value;

/// The switch `labels`: how a claim is labelled against a document.
pub(crate) const LABELS: Switch = Switch {
    name: "labels",
    about: "source of labels: labeller (replies), scored (token scores), entailment, both (classifier if certain, else replies), auto (scored if weights exist for this model, else replies, label first)",
    kind: Kind::Choice(&["auto", "labeller", "scored", "entailment", "both"]),
    default: "labeller",
};

/// The switch `order`: whether a label precedes its quote and reason.
pub(crate) const ORDER: Switch = Switch {
    name: "order",
    about: "order of a reply: quote-first (the paper; more tokens) or label-first (the default with together, without reasons, or if labels is not labeller)",
    kind: Kind::Choice(&["label-first", "quote-first"]),
    default: "quote-first",
};

/// The preset of methods with the switch `labels`.
pub(crate) const TUNED: Preset = Preset {
    name: "tuned",
    about: "scored labels for the model that the program's weights were fitted to, else the label first, and a sentence of the document as its quote",
    switches: &[("labels", "auto")],
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
    /// The form of a quote.
    pub quotes: Quotes,
    /// All documents of a claim in one call.
    pub together: bool,
    /// Replies have a reason after the label; it can be left out only if the label comes first.
    pub reasons: bool,
}

impl Labelling {
    /// As the switches [`LABELS`] and [`LABEL_WEIGHTS`](super::weights::LABEL_WEIGHTS) say, a pair at a time. Replies by themselves are
    /// the paper's, quote and reason before the label; otherwise the label stands before a quote of sentences.
    ///
    /// # Errors
    /// As [`LabelWeights::of`].
    pub(crate) fn of(values: &Values) -> Result<Self> {
        let weights = LabelWeights::of(values)?;
        let by = match values.choice(LABELS.name) {
            "scored" => By::Scored(Box::new(weights)),
            "entailment" => By::Entailment,
            "both" => By::Both,
            "labeller" => By::Labeller,
            _ => By::Auto,
        };
        let as_paper = by == By::Labeller;
        let quotes = if as_paper { Quotes::Any } else { Quotes::Sentences };
        Ok(Self { by, certain: 0.9, label_first: !as_paper, quotes, together: false, reasons: true })
    }

    /// The same in the order that the switch [`ORDER`] says, where it was typed; else the switch is set.
    ///
    /// # Errors
    /// As [`Self::of`], and scored labels after their quotes.
    pub(crate) fn in_order(values: &mut Values) -> Result<Self> {
        let labelling = Self::of(values)?;
        if !values.is_typed(ORDER.name) {
            values.set(ORDER.name, if labelling.label_first { "label-first" } else { "quote-first" });
            return Ok(labelling);
        }
        let label_first = values.choice(ORDER.name) == "label-first";
        if !label_first && matches!(labelling.by, By::Scored(_)) {
            return Err(values.wrong("labels scored score each pair first: expected no switch order"));
        }
        Ok(Self { label_first, ..labelling })
    }
}

impl Labelling {
    /// No switch of replies is set that has no meaning for scores.
    pub(super) fn can_be_scored(&self) -> bool {
        self.label_first && !self.together && self.quotes != Quotes::Any
    }

    /// `label` of a reply. With [`Quotes::Any`] it counts although the document does not have its quote.
    pub(super) fn counted(&self, label: DocumentLabel) -> DocumentLabel {
        match label.fault {
            Some(LabelFault::Unquoted) if self.quotes == Quotes::Any => DocumentLabel { fault: None, ..label },
            _ => label,
        }
    }
}

/// The form of a quote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quotes {
    /// One or two sentences of the document.
    Sentences,
    /// A run of its words.
    Words,
    /// Any text: it is looked up in the document, and a label counts also if it is not there.
    Any,
    /// No quote is requested, and a label counts without one.
    None,
}

/// How pairs are labelled.
#[derive(Debug, Clone, PartialEq)]
pub enum By {
    /// The labeller's replies.
    Labeller,
    /// The labeller's scores, weighed by the program's weights, for the model and the prompt that these were fitted to; replies for
    /// others.
    Auto,
    /// The labeller's scores, weighed.
    Scored(Box<LabelWeights>),
    /// The most probable relation of entailment.
    Entailment,
    /// Relations of entailment that are certain; the labeller decides the others.
    Both,
}

/// Refuses switches of a method that need probabilities of entailment, where no classifier gives them: the role `entailment`
/// chooses a relation, and a choice has none.
///
/// # Errors
/// [`MootError::Usage`] for labels by both.
pub fn without_classifier(switches: &Value) -> Result<()> {
    if switches[LABELS.name] != "both" {
        return Ok(());
    }
    let text = "labels both needs probabilities of entailment: expected --classifier NAME, found none";
    Err(MootError::Usage(text.into()))
}
