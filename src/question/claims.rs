//! Claims, how documents relate to them, and the words that show it.

use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A statement to be checked against the question's documents.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Claim {
    /// The statement.
    pub text: String,
    /// How each document relates to it, in the order of `Question::documents`; empty where the dataset does not say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub relations: Vec<ClaimRelation>,
    /// Whether some documents support it and others contradict it; `None` where the dataset does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conflict: Option<bool>,
}

/// How a document relates to a claim (ConflictScore, section 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClaimRelation {
    /// It supports the claim, or part of a hedged claim.
    Supports,
    /// It contradicts the claim.
    Contradicts,
    /// Neither.
    Irrelevant,
}

/// A claim with its labels: what ConflictScore concludes (section 3).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct JudgedClaim {
    /// The statement.
    pub text: String,
    /// The document that it was extracted from, where documents are compared with each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<usize>,
    /// One for each document that it was compared with, in the order of their numbers.
    pub labels: Vec<DocumentLabel>,
}

impl JudgedClaim {
    /// Labels of `relation` that count: those with a verified quote.
    pub fn of(&self, relation: ClaimRelation) -> impl Iterator<Item = &DocumentLabel> {
        self.labels.iter().filter(move |label| label.counts() && label.relation == relation)
    }

    /// Some documents support the claim and others contradict it.
    #[must_use]
    pub fn conflicts(&self) -> bool {
        self.of(ClaimRelation::Supports).next().is_some() && self.of(ClaimRelation::Contradicts).next().is_some()
    }

    /// `claims` have labels, and every one of them is malformed or failed: nothing is known about any claim.
    #[must_use]
    pub fn unlabelled(claims: &[Self]) -> bool {
        let mut labels = claims.iter().flat_map(|claim| &claim.labels).peekable();
        // Labels without a quote or of a low probability were read; only these two leave nothing known.
        let is_missing = |fault| matches!(fault, Some(LabelFault::Malformed | LabelFault::Failed));
        // `all` also holds of no label: a text without claims is another case than one whose labels all failed.
        labels.peek().is_some() && labels.all(|label| is_missing(label.fault))
    }
}

/// How one document relates to one claim, and how that is known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DocumentLabel {
    /// The document's number.
    pub document: usize,
    /// As labelled. It does not count where `fault` is set.
    pub relation: ClaimRelation,
    /// Why the label does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<LabelFault>,
    /// The words of the document that show it; none for [`ClaimRelation::Irrelevant`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<Quote>,
    /// The text that was given as a quote and is not in the document.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub misquote: String,
    /// The reasons given; of a failed call its error.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// "labeller", or "classifier" or "entailment" for relations of natural language inference.
    pub by: String,
    /// The probability of the relation: the classifier's, or of the labeller's three words as its model scores them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probability: Option<f32>,
    /// Numbers of the calls that gave the label.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<usize>,
}

impl DocumentLabel {
    /// The label enters the scores.
    #[must_use]
    pub fn counts(&self) -> bool {
        self.fault.is_none()
    }
}

/// Why a label does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LabelFault {
    /// Its quote is not in the document, or it has no quote.
    Unquoted,
    /// The reply did not keep its format.
    Malformed,
    /// The call failed.
    Failed,
    /// Its probability is below the one that was asked for.
    Unsure,
}

/// Words of a document, and their position in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quote {
    /// Exactly as in the document, line ends included.
    pub text: String,
    /// Characters (not bytes) of `Document::text`, from 0.
    pub characters: Range<usize>,
}

impl Quote {
    /// Whether `text` has the quote at its position.
    #[must_use]
    pub fn stands_in(&self, text: &str) -> bool {
        let length = self.characters.end.saturating_sub(self.characters.start);
        length > 0
            && text.chars().skip(self.characters.start).take(length).eq(self.text.chars())
            // The range may reach beyond the end of the text, where `take` gives fewer characters.
            && self.text.chars().count() == length
    }
}
