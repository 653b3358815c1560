//! An answered question for programs: what HTTP, MCP and Python return. Documents are numbered from 1, as in prompts and pages.

use crate::assess::verdict::{Stand, Verdict, Voice, quoted};
use crate::generation::Usage;
use crate::question::{Concluded, Conflict, Document, Mark};
use crate::transcript::QuestionRecord;
use serde::Serialize;

/// An answered question.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answered {
    /// The question.
    pub question: String,
    /// The method.
    pub method: String,
    /// Whether there are answers; if not, whether the concluding reply kept its format.
    pub outcome: Concluded,
    /// Why there is no answer, one sentence for readers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_answer: Option<&'static str>,
    /// The concluded answers, best first.
    pub answers: Vec<Stood>,
    /// Answers that some document gives and that were not concluded.
    pub rejected: Vec<Stood>,
    /// Concluded answers that are in no document but in a worked example of a prompt.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<String>,
    /// The concluding role's reasons; empty where arithmetic decides.
    pub explanation: String,
    /// The documents that were read.
    pub documents: Vec<Listed>,
    /// Numbers of the documents that give no answer.
    pub without_answer: Vec<usize>,
    /// Numbers of the documents whose agents' last reply does not keep its format; of the conclusion, see `outcome`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub malformed: Vec<usize>,
    /// Rounds held.
    pub rounds: usize,
    /// Calls of models, those that reused an earlier reply included.
    pub calls: usize,
    /// Their tokens.
    pub usage: Usage,
    /// Wall time.
    pub seconds: f64,
}

/// An answer with the documents for and against it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Stood {
    /// The most precise form of it.
    pub text: String,
    /// Other forms of it that were concluded, less precise.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// From 0 to 1; `null` where the method gives none.
    pub probability: Option<f64>,
    /// The subject of its first document; `null` where the method does not say.
    pub about: Option<String>,
    /// The conflict with another answer.
    pub conflict: Option<Told>,
    /// Documents for it.
    #[serde(rename = "for")]
    pub supporters: Vec<Said>,
    /// Documents against it.
    #[serde(rename = "against")]
    pub opponents: Vec<Said>,
    /// Documents that hold its words, where no agent spoke for them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mentioned: Vec<Said>,
    /// Its missing support in the documents.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Mark>,
}

/// A conflict, with the words that readers are shown.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Told {
    /// Its kind and the other answer.
    #[serde(flatten)]
    pub conflict: Conflict,
    /// One line.
    pub text: String,
}

/// A document for or against an answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Said {
    /// Its number, from 1.
    pub document: usize,
    /// Its own answer, if that differs in content or precision.
    pub answer: Option<String>,
    /// The sentence that shows its answer, in its own words.
    pub quote: Option<String>,
}

/// A document that was read.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Listed {
    /// Its number, from 1.
    pub number: usize,
    /// As displayed.
    pub name: String,
    /// Its publisher or author.
    pub source: Option<String>,
    /// As given.
    pub date: Option<String>,
    /// Its address.
    pub url: Option<String>,
    /// Position of a passage of a corpus: `notes/a.md:12 (characters 340-512)`.
    pub origin: Option<String>,
    /// Notes on how its file was read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Answered {
    /// The conclusion of `record`; `method` names the method. `None` without a conclusion.
    #[must_use]
    pub fn of(method: &str, record: &QuestionRecord) -> Option<Self> {
        let (verdict, conclusion) = (Verdict::of(record)?, record.conclusion.as_ref()?);
        let stood = |stands: &[Stand]| stands.iter().map(|stand| Stood::of(stand, record)).collect();
        let from_one = |numbers: &[usize]| numbers.iter().map(|number| number + 1).collect();
        let mut usage = Usage::default();
        record.calls.iter().for_each(|call| usage += call.usage);
        let documents = record.question.documents.iter().chain(&record.retrieved).enumerate();
        Some(Self {
            question: record.question.text.clone(),
            method: method.to_owned(),
            outcome: conclusion.outcome(),
            no_answer: conclusion.without_answer(),
            answers: stood(&verdict.answers),
            rejected: stood(&verdict.rejected),
            refused: verdict.refused.clone(),
            explanation: conclusion.explanation.clone(),
            documents: documents.map(|(index, document)| Listed::of(index + 1, document)).collect(),
            without_answer: from_one(&verdict.silent),
            malformed: from_one(&verdict.malformed),
            rounds: conclusion.rounds,
            calls: record.calls.len(),
            usage,
            seconds: record.seconds,
        })
    }
}

impl Stood {
    fn of(stand: &Stand, record: &QuestionRecord) -> Self {
        let estimate = stand.estimate.as_ref();
        let told = |conflict: &Conflict| Told { conflict: conflict.clone(), text: conflict.description() };
        let said = |voices: &[Voice], own: &str| voices.iter().map(|voice| Said::of(voice, own, record)).collect();
        let mentions: Vec<Voice> = stand.mentions.iter().map(|&document| Voice { document, said: None }).collect();
        Self {
            text: stand.text.clone(),
            also: stand.also.clone(),
            probability: estimate.map(|estimate| estimate.probability),
            about: estimate.map(|estimate| estimate.about.clone()).filter(|about| !about.is_empty()),
            conflict: estimate.and_then(|estimate| estimate.conflict.as_ref()).map(told),
            supporters: said(&stand.supporters, &stand.text),
            // An opponent without an answer of its own gets no quote: this answer's words are not what it says.
            opponents: said(&stand.opponents, ""),
            mentioned: said(&mentions, &stand.text),
            marks: stand.marks.clone(),
        }
    }
}

impl Said {
    /// `own` is the answer of a document that has no other statement.
    fn of(voice: &Voice, own: &str, record: &QuestionRecord) -> Self {
        let answer = voice.said.as_deref().unwrap_or(own);
        let quote = record.document(voice.document).filter(|_| !answer.is_empty());
        let quote = quote.and_then(|document| quoted(document, answer, &record.question.text));
        Self { document: voice.document + 1, answer: voice.said.clone(), quote: quote.map(str::to_owned) }
    }
}

impl Listed {
    fn of(number: usize, document: &Document) -> Self {
        Self {
            number,
            name: document.name.clone(),
            source: document.source.clone(),
            date: document.date.clone(),
            url: document.url.clone(),
            origin: document.origin.as_ref().map(ToString::to_string),
            notes: document.notes.clone(),
        }
    }
}
