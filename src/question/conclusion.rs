//! The conclusion of a method: answers, rejected answers, and the reasons.

use super::claims::JudgedClaim;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// An answer with the documents for and against it; numbers are indices into [`Question::documents`](super::Question::documents).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// As concluded.
    pub text: String,
    /// Documents whose agent gave this answer last.
    pub supporters: Vec<usize>,
    /// Documents whose agent gave another answer last; an agent that gave none is in neither list.
    pub opponents: Vec<usize>,
    /// Documents that hold the answer's words, where no agent spoke for them: a mention, for or against.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mentions: Vec<usize>,
    /// Marks of a concluded answer: what the documents lack of it; empty where they hold it. Records before this field
    /// have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Mark>,
    /// How probable it is, where the method says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Estimate>,
}

impl Answer {
    /// An answer without documents for or against it.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let (supporters, opponents, mentions) = (Vec::new(), Vec::new(), Vec::new());
        Self { text: text.to_owned(), supporters, opponents, mentions, marks: Vec::new(), estimate: None }
    }
}

/// How probable an answer is, and from what (method `moot`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// From 0 to 1.
    pub probability: f64,
    /// The subject of its first document, as the reader says.
    pub about: String,
    /// The quantities that the probability was computed from, by name.
    pub features: BTreeMap<String, f64>,
    /// The conflict with the most probable other answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conflict: Option<Conflict>,
}

impl Estimate {
    /// The probability in percent, rounded.
    #[must_use]
    pub fn percent(&self) -> u8 {
        (self.probability * 100.0).round() as u8
    }
}

/// The conflict of an answer with another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conflict {
    /// Its kind.
    pub kind: ConflictKind,
    /// The other answer.
    pub with: String,
}

/// A kind of conflict, as the documents' subjects, dates and texts show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConflictKind {
    /// The documents are about different persons or things.
    Namesake,
    /// The other answer's documents are newer, and a document of another answer was preferred.
    Outdated,
    /// A document of the other answer is nearly equal in its text.
    NearCopy,
    /// None of these.
    Disagreement,
}

impl Conflict {
    /// As shown to readers.
    #[must_use]
    pub fn description(&self) -> String {
        let with = &self.with;
        match self.kind {
            ConflictKind::Namesake => format!("another subject than that of {with}"),
            ConflictKind::Outdated => format!("outdated: documents that give {with} are newer"),
            ConflictKind::NearCopy => format!("nearly equal documents: one gives {with}"),
            ConflictKind::Disagreement => format!("disagreement with {with}"),
        }
    }
}

/// Missing support of an answer in the documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// No document's agent gave it last, and no document mentions it.
    NoSupporter,
    /// A number or most of its words occur in no document's text; a title or a source does not count.
    NotInDocuments,
}

impl Mark {
    /// As shown to readers.
    #[must_use]
    pub fn description(self) -> &'static str {
        match self {
            Self::NoSupporter => "no document supports it",
            Self::NotInDocuments => "its words or numbers are in no document's text",
        }
    }
}

/// The conclusion of a method.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Conclusion {
    /// The concluded answers; empty means "unknown".
    pub answers: Vec<Answer>,
    /// Answers that some agent gave last and that were not concluded.
    #[serde(default)]
    pub rejected: Vec<Answer>,
    /// Concluded answers that were refused: they occur in a worked example of a prompt and in no document.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<String>,
    /// The concluding role's reasons.
    pub explanation: String,
    /// The concluding reply did not keep its format; no answer was read from it, and it scores wrong.
    #[serde(default)]
    pub malformed: bool,
    /// Rounds held.
    pub rounds: usize,
    /// Every agent kept its answer in the last round; of a single round, the documents agree (`moot`).
    #[serde(default)]
    pub converged: bool,
    /// Numbers of the calls whose replies were the conclusion; empty in version-1 records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<usize>,
    /// The weight of each document's source, by the document's number, where the run had weights of sources; else empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weights: Vec<f64>,
    /// Claims with a label for each document, where the method labels claims.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claims: Option<Vec<JudgedClaim>>,
    /// A judge's verdicts on the answer, where one judged it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged: Option<Judged>,
    /// A judge's verdicts on the first answer, where another one replaced it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged_first: Option<Judged>,
}

/// The kind of a conclusion, right or wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Concluded {
    /// Answers, or labelled claims.
    Answered,
    /// No answer: none was judged right, or all were refused.
    Unknown,
    /// A concluding reply that did not keep its format.
    Malformed,
}

impl Conclusion {
    /// Its kind.
    #[must_use]
    pub fn outcome(&self) -> Concluded {
        match () {
            // First: a malformed conclusion has no answers either, and would read as unknown.
            () if self.malformed => Concluded::Malformed,
            () if self.answers.is_empty() && self.claims.is_none() => Concluded::Unknown,
            () => Concluded::Answered,
        }
    }

    /// Why it has no answer, one sentence for readers; `None` where it has one.
    #[must_use]
    pub fn without_answer(&self) -> Option<&'static str> {
        match self.outcome() {
            Concluded::Answered => None,
            Concluded::Malformed => Some("No answer: the concluding reply does not keep its format."),
            Concluded::Unknown if self.refused.is_empty() => Some("Unknown: no answer was judged right."),
            Concluded::Unknown => Some("Unknown: every answer was refused."),
        }
    }

    /// The conclusion without the marks of its answers, which older records lack.
    #[must_use]
    pub fn unmarked(mut self) -> Self {
        self.answers.iter_mut().for_each(|answer| answer.marks.clear());
        self
    }
}

/// A judge's verdicts on a free answer; `None` for a malformed one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Judged {
    /// It agrees with the known truth.
    pub truthful: Option<bool>,
    /// It says something definite about the question.
    pub informative: Option<bool>,
}
