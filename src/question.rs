//! The vocabulary: what is asked, of which documents, and what was concluded.

use crate::retrieval::{Origin, Passage};
use serde::{Deserialize, Serialize};

/// A question and the documents that are to argue about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// Unique within a run; names the question in records and seeds its calls.
    pub id: String,
    /// What is asked.
    pub text: String,
    /// In the order given; an agent's number is its document's place here, from 0.
    pub documents: Vec<Document>,
    /// What a dataset says is right, where one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gold: Option<Gold>,
}

/// One source's text.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Document {
    /// How people see it named: a file name, a URL's host, "document 3".
    pub name: String,
    /// All of it.
    pub text: String,
    /// Who says so: a field of the input, a folder, a host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// As given; not parsed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// Where it was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Where it stands, of a passage that was found in a corpus.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// Passages that say the same in the same words, and were folded into this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub copies: Vec<Passage>,
    /// What a dataset says of it; never shown to a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<Label>,
}

/// A dataset's judgement of one document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Label {
    /// RAMDocs: "correct", "misinfo" or "noise".
    pub kind: String,
    /// The answer that the document supports ("unknown" for noise).
    pub answer: String,
}

/// What a dataset says is right and wrong.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Gold {
    /// All of these are right.
    pub answers: Vec<String>,
    /// Each of these is wrong.
    #[serde(default)]
    pub wrong: Vec<String>,
}

/// An answer and who stands where on it; numbers are places in [`Question::documents`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// As concluded.
    pub text: String,
    /// Documents whose agent gave this answer last.
    pub supporters: Vec<usize>,
    /// Documents whose agent gave another answer last; an agent that knew none stands nowhere.
    pub opponents: Vec<usize>,
}

/// What a method concluded.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Conclusion {
    /// The answers held to be right; empty means "unknown".
    pub answers: Vec<Answer>,
    /// Answers some agent gave last that were not taken up.
    #[serde(default)]
    pub rejected: Vec<Answer>,
    /// The concluding role's reasons.
    pub explanation: String,
    /// The concluding reply did not keep its format: no answer was read from it, and it scores wrong.
    #[serde(default)]
    pub malformed: bool,
    /// Rounds held.
    pub rounds: usize,
    /// Every agent kept its answer in the last round (only a debate of two rounds or more can say so).
    #[serde(default)]
    pub converged: bool,
}
