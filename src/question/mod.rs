//! A question, its documents, the right answers of the dataset, and the conclusion of a method.

mod claims;
mod conclusion;

pub use claims::{Claim, ClaimRelation, DocumentLabel, JudgedClaim, LabelFault, Quote};
pub use conclusion::{Answer, Concluded, Conclusion, Conflict, ConflictKind, Estimate, Judged, Mark};

use crate::dates::Date;
use crate::unicode::into_nfc;
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use std::ops::Range;

/// A question and its documents. Methods read the text, the documents and the options; everything else is for metrics, also for
/// those that need a model (`truthful-judge`).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Question {
    /// Unique within a run; names the question in records and seeds its calls.
    pub id: String,
    /// The question's text.
    pub text: String,
    /// In the order given; an agent's number is its document's index here, from 0.
    pub documents: Vec<Document>,
    /// The right answers, where the dataset gives them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gold: Option<Gold>,
    /// The options of a multiple-choice question, in the order shown; empty for a free answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// Claims to be checked against the documents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<Claim>,
    /// Responses to be judged, as texts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub responses: Vec<String>,
    /// Names of the parts of the dataset that this question belongs to; `moot score --slice` selects by them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slices: Vec<String>,
}

/// One source's text.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Document {
    /// The displayed name: a title, a file name, a URL's host, "document 3".
    pub name: String,
    /// All of it.
    pub text: String,
    /// Its own title, where the input gives one; no prompt shows it beside the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The publisher or author: a field of the input, a folder, a host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// As given; [`Document::read_date`] reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// Its address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Notes on how its file was read, one line each: what is missing from the text, and what was assumed. No prompt shows them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Position in the corpus, for a retrieved passage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// Positions of further passages of the same document that its text holds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Origin>,
    /// Near-duplicate passages that were folded into this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub copies: Vec<Passage>,
    /// The dataset's judgement of it; never shown to a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<Label>,
}

impl Question {
    /// The question with all its texts in Normalization Form C, as models and readers are shown them. Its id stays.
    #[must_use]
    pub fn composed(self) -> Self {
        let all = |texts: Vec<String>| texts.into_iter().map(into_nfc).collect::<Vec<_>>();
        let gold = self.gold.map(|gold| Gold {
            answers: gold.answers.into_iter().map(all).collect(),
            wrong: all(gold.wrong),
            ..gold
        });
        // The id is kept as given: it seeds the calls, and records and predictions name questions by it.
        Self {
            text: into_nfc(self.text),
            documents: self.documents.into_iter().map(Document::composed).collect(),
            gold,
            options: all(self.options),
            claims: self.claims.into_iter().map(|claim| Claim { text: into_nfc(claim.text), ..claim }).collect(),
            responses: all(self.responses),
            ..self
        }
    }
}

impl Document {
    /// Its date, where it has one that can be read.
    #[must_use]
    pub fn read_date(&self) -> Option<Date> {
        self.date.as_deref().and_then(Date::of_document)
    }

    /// The text after the title, where it begins with the title as whole words: "Arthur was king" does not begin with
    /// "Art". Letters without case, of which some scripts write words without spaces between, may follow.
    #[must_use]
    pub fn after_title(&self) -> Option<&str> {
        let title = self.title.as_deref().filter(|title| !title.trim().is_empty())?;
        self.text
            .strip_prefix(title)
            .filter(|rest| !rest.starts_with(|c: char| c.is_lowercase() || c.is_uppercase() || c.is_numeric()))
    }

    /// The document with `between` after its title, and both before its text, unless the text begins with the title.
    #[must_use]
    pub fn titled(self, between: char) -> Self {
        match self.title.as_deref().filter(|title| !title.trim().is_empty() && self.after_title().is_none()) {
            Some(title) => Self { text: format!("{title}{between}{}", self.text), ..self },
            None => self,
        }
    }

    /// The document with its texts in Normalization Form C.
    #[must_use]
    pub fn composed(self) -> Self {
        Self {
            name: into_nfc(self.name),
            text: into_nfc(self.text),
            title: self.title.map(into_nfc),
            source: self.source.map(into_nfc),
            label: self.label.map(|label| Label { answer: into_nfc(label.answer), ..label }),
            ..self
        }
    }
}

/// A piece of a document, small enough to embed and to show: the unit that is indexed and found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passage {
    /// The text shown to a reader, and embedded after the title.
    pub text: String,
    /// The document's title, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The publisher or author: a field of the input, a folder, a URL's host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// As given; ISO 8601 where filters by date are to work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// The document's address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Notes on how the document's file was read, one line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Its position in the corpus.
    pub origin: Origin,
}

/// The position of a passage in its corpus, precise enough to open the file there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// Path of the file, as the corpus was named.
    pub file: String,
    /// The document's own id where the file holds several: `_id` of BEIR, `id` of FlashRAG and DPR.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Line from 1: of the record in a jsonl, csv or tsv file; the row of a sheet; where the passage begins in a txt, md or html
    /// file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// Page of a pdf, or slide of a pptx, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<u32>,
    /// Characters (not bytes), from 0: in the file where its text is the document's (txt, md, html), in the record's
    /// text field (jsonl, csv, tsv), in the page's text (pdf), or in the extracted text (docx, odt, rtf, an epub's chapter, a
    /// slide, mail, a notebook, a row of a sheet). Line ends and a byte-order mark count as stored.
    pub characters: Range<u64>,
}

impl fmt::Display for Origin {
    /// As an editor takes it where there is a line: `notes/a.md:12 (characters 340-512)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(page) = self.page {
            write!(f, ", page {page}")?;
        }
        if let Some(id) = &self.id {
            write!(f, ", id {id}")?;
        }
        write!(f, " (characters {}-{})", self.characters.start, self.characters.end)
    }
}

/// A passage that a query found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hit {
    /// The passage.
    pub passage: Passage,
    /// Higher is better; its scale is the retriever's own.
    pub score: f32,
    /// Near-duplicates folded into this one, best first: other sources that say the same in the same words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub copies: Vec<Passage>,
}

/// A dataset's judgement of one document.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Label {
    /// The document's label for the question: "correct", "misinfo", "noise" (RAMDocs), "supporting", "distractor"
    /// (multi-hop sets), "other"; `docs/data.md` lists the kinds of each dataset.
    pub kind: String,
    /// The answer that the document supports; "unknown" for noise, empty where the dataset does not say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub answer: String,
}

/// The right and the wrong answers of a question.
///
/// Records of version 1 hold `answers` as a list of strings, all of them required; they are read as such.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Gold {
    /// The right answers; each is a list of aliases, any of which gives it.
    #[serde(deserialize_with = "alias_lists")]
    pub answers: Vec<Vec<String>>,
    /// Every entry of `answers` must be given; otherwise any one of them is enough.
    #[serde(default = "yes")]
    pub all_required: bool,
    /// Answers that are wrong.
    #[serde(default)]
    pub wrong: Vec<String>,
    /// The question has no answer in its documents; the right reply gives none.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unanswerable: bool,
}

impl Gold {
    /// Every one of `answers` is required, and none of `wrong` may be given; no answer has an alias.
    #[must_use]
    pub fn all_of(answers: impl IntoIterator<Item = String>, wrong: Vec<String>) -> Self {
        let answers = answers.into_iter().map(|answer| vec![answer]).collect();
        Self { answers, all_required: true, wrong, unanswerable: false }
    }

    /// One right answer, known under several names.
    #[must_use]
    pub fn any_of(aliases: impl IntoIterator<Item = String>) -> Self {
        let aliases: Vec<String> = aliases.into_iter().collect();
        // One answer without aliases would be required, and no reply could give it.
        Self { answers: if aliases.is_empty() { Vec::new() } else { vec![aliases] }, ..Self::default() }
    }

    /// No answer is right.
    #[must_use]
    pub fn none() -> Self {
        Self { unanswerable: true, ..Self::default() }
    }

    /// All aliases of all answers, in order.
    pub fn aliases(&self) -> impl Iterator<Item = &str> {
        self.answers.iter().flatten().map(String::as_str)
    }

    /// Answers that must be given for a full score: all, or one of several.
    #[must_use]
    pub fn required(&self) -> usize {
        if self.all_required { self.answers.len() } else { self.answers.len().min(1) }
    }
}

fn yes() -> bool {
    true
}

/// Lists of aliases; a plain string is an answer without aliases.
fn alias_lists<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Vec<String>>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "an answer that is neither a string nor a list of strings")]
    enum Answer {
        One(String),
        Aliases(Vec<String>),
    }
    let answers = Vec::<Answer>::deserialize(deserializer)?;
    let listed = answers.into_iter().map(|answer| match answer {
        Answer::One(text) => vec![text],
        Answer::Aliases(aliases) => aliases,
    });
    Ok(listed.collect())
}
