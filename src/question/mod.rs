//! A question, its documents, the right answers of the dataset, and the conclusion of a method.

mod claims;

pub use claims::{Claim, ClaimRelation, DocumentLabel, JudgedClaim, LabelFault, Quote};

use crate::unicode::into_nfc;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
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
    /// As given; not parsed.
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
    /// Line from 1: of the record in a jsonl, csv or tsv file; the row of a sheet; where the passage begins in a txt, md or html file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// Page of a pdf, or slide of a pptx, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<u32>,
    /// Characters (not bytes), from 0: in the file where its text is the document's (txt, md, html), in the record's
    /// text field (jsonl, csv, tsv), in the page's text (pdf), or in the extracted text (docx, odt, rtf, an epub's chapter, a slide, mail, a notebook, a row of a sheet). Line ends and a byte-order mark count as they stand.
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
    #[serde(untagged)]
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

/// An answer with the documents for and against it; numbers are indices into [`Question::documents`].
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

/// How probable an answer is, and from what (method `moot`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// From 0 to 1.
    pub probability: f64,
    /// What its first document is about, as the reader says.
    pub about: String,
    /// The quantities that the probability was computed from, by name.
    pub features: BTreeMap<String, f64>,
    /// The conflict with the most probable other answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conflict: Option<Conflict>,
}

/// Why an answer and another one stand beside each other.
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
    pub fn told(&self) -> String {
        let with = &self.with;
        match self.kind {
            ConflictKind::Namesake => format!("another subject than that of {with}"),
            ConflictKind::Outdated => format!("outdated: documents that give {with} are newer"),
            ConflictKind::NearCopy => format!("nearly equal documents: one gives {with}"),
            ConflictKind::Disagreement => format!("disagreement with {with}"),
        }
    }
}

/// What the documents lack of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// No document's agent gave it last, and no document mentions it.
    NoSupporter,
    /// A number or most of its words stand in no document's text; a title or a source does not count.
    NotInDocuments,
}

impl Mark {
    /// As shown to readers.
    #[must_use]
    pub fn told(self) -> &'static str {
        match self {
            Self::NoSupporter => "no document supports it",
            Self::NotInDocuments => "its words or numbers stand in no document's text",
        }
    }
}

impl Answer {
    /// An answer for and against which no document stands.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let (supporters, opponents, mentions) = (Vec::new(), Vec::new(), Vec::new());
        Self { text: text.to_owned(), supporters, opponents, mentions, marks: Vec::new(), estimate: None }
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
    /// Concluded answers that were refused: they stand in a worked example of a prompt and in no document.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<String>,
    /// The concluding role's reasons.
    pub explanation: String,
    /// The concluding reply did not keep its format; no answer was read from it, and it scores wrong.
    #[serde(default)]
    pub malformed: bool,
    /// Rounds held.
    pub rounds: usize,
    /// Every agent kept its answer in the last round; false for a single round.
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

impl Conclusion {
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
    /// It agrees with what is known to be true.
    pub truthful: Option<bool>,
    /// It says something definite about what is asked.
    pub informative: Option<bool>,
}
