//! The answers of a record with their citations, as rows: for users who want answers and no scores.

use crate::error::{MootError, Result};
use crate::escape;
use crate::question::{Answer, Concluded, Conclusion, Document, Question};
use crate::transcript::QuestionRecord;
use serde::Serialize;
use std::collections::HashMap;
use std::path::Path;

/// The outcome of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It has an answer.
    Answered,
    /// The method concluded that no answer is right.
    Unknown,
    /// The concluding reply did not keep its format.
    Malformed,
    /// A call failed, or documents are missing.
    Error,
    /// It has not been asked yet.
    Missing,
}

/// The answers to one question.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answered {
    /// The question's id.
    pub id: String,
    /// Its text.
    pub question: String,
    /// Its outcome.
    pub outcome: Outcome,
    /// The concluded answers; empty unless `outcome` is [`Outcome::Answered`].
    pub answers: Vec<Cited>,
    /// The concluding role's reasons.
    pub explanation: String,
    /// Why there is no conclusion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// An answer with the documents for and against it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cited {
    /// The answer.
    pub text: String,
    /// Documents whose agents gave this answer last.
    pub supported_by: Vec<Citation>,
    /// Documents whose agents gave another answer last.
    pub opposed_by: Vec<Citation>,
    /// Documents that hold the answer's words, for methods without an agent for each document.
    pub mentioned_in: Vec<Citation>,
}

/// A document, and its location.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Citation {
    /// Its number, from 1, as `moot record show` prints it.
    pub document: usize,
    /// Its name.
    pub name: String,
    /// Publisher or author.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// As given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// Its address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// File, line or page, and characters, of a passage from a corpus.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<String>,
}

impl Citation {
    fn of(number: usize, document: &Document) -> Self {
        let Document { name, source, date, url, origin, .. } = document;
        let (name, source, date, url) = (name.clone(), source.clone(), date.clone(), url.clone());
        Self { document: number + 1, name, source, date, url, position: origin.as_ref().map(ToString::to_string) }
    }

    /// One line: "name (source, date), position or address".
    #[must_use]
    pub fn line(&self) -> String {
        let of: Vec<&str> = [&self.source, &self.date].into_iter().flatten().map(String::as_str).collect();
        let of = if of.is_empty() { String::new() } else { format!(" ({})", of.join(", ")) };
        let location =
            self.position.as_ref().or(self.url.as_ref()).map(|location| format!(", {location}")).unwrap_or_default();
        format!("{}{of}{location}", self.name)
    }
}

/// The answers to `questions`, in their order, as `records` has them.
#[must_use]
pub fn answers(questions: &[Question], records: &[QuestionRecord]) -> Vec<Answered> {
    let by_id: HashMap<&str, &QuestionRecord> = records.iter().map(|r| (r.question.id.as_str(), r)).collect();
    let one = |question: &Question| match by_id.get(question.id.as_str()) {
        Some(record) => answered(record),
        None => Answered {
            id: question.id.clone(),
            question: question.text.clone(),
            outcome: Outcome::Missing,
            answers: Vec::new(),
            explanation: String::new(),
            error: None,
        },
    };
    questions.iter().map(one).collect()
}

fn answered(record: &QuestionRecord) -> Answered {
    let cite = |numbers: &[usize]| -> Vec<Citation> {
        numbers.iter().filter_map(|&number| Some(Citation::of(number, record.document(number)?))).collect()
    };
    let cited = |answer: &Answer| Cited {
        text: answer.text.clone(),
        supported_by: cite(&answer.supporters),
        opposed_by: cite(&answer.opponents),
        mentioned_in: cite(&answer.mentions),
    };
    let conclusion = record.conclusion.as_ref();
    let outcome = match conclusion.map(Conclusion::outcome) {
        None => Outcome::Error,
        Some(Concluded::Malformed) => Outcome::Malformed,
        Some(Concluded::Unknown) => Outcome::Unknown,
        Some(Concluded::Answered) => Outcome::Answered,
    };
    let told = conclusion.filter(|_| outcome == Outcome::Answered);
    Answered {
        id: record.question.id.clone(),
        question: record.question.text.clone(),
        outcome,
        answers: told.into_iter().flat_map(|conclusion| &conclusion.answers).map(cited).collect(),
        explanation: conclusion.map(|conclusion| conclusion.explanation.clone()).unwrap_or_default(),
        error: record.error.clone(),
    }
}

/// The columns of [`csv()`].
pub const COLUMNS: [&str; 9] =
    ["id", "question", "outcome", "answer", "supported_by", "opposed_by", "mentioned_in", "explanation", "error"];

/// CSV (RFC 4180): a row an answer; a question without an answer has one row. Citations are joined by " | ". A cell that a
/// spreadsheet would take for a formula is marked as text.
///
/// # Errors
/// [`MootError::Io`] where the rows cannot be written (a bug).
pub fn csv(all: &[Answered]) -> Result<Vec<u8>> {
    let wrong = |e: csv::Error| MootError::io(Path::new("answers"), "write", std::io::Error::other(e));
    let list = |citations: &[Citation]| citations.iter().map(Citation::line).collect::<Vec<_>>().join(" | ");
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(COLUMNS).map_err(wrong)?;
    for one in all {
        let outcome = serde_json::to_value(one.outcome).unwrap_or_default();
        let outcome = outcome.as_str().unwrap_or_default();
        let none = Cited { text: String::new(), supported_by: vec![], opposed_by: vec![], mentioned_in: vec![] };
        let rows = if one.answers.is_empty() { std::slice::from_ref(&none) } else { &one.answers[..] };
        for answer in rows {
            let (supported, opposed) = (list(&answer.supported_by), list(&answer.opposed_by));
            let mentioned = list(&answer.mentioned_in);
            let error = one.error.as_deref().unwrap_or_default();
            let row = [&one.id, &one.question, outcome, &answer.text, &supported, &opposed, &mentioned];
            let row = row.into_iter().chain([one.explanation.as_str(), error]).map(cell);
            writer.write_record(row).map_err(wrong)?;
        }
    }
    writer.into_inner().map_err(|e| wrong(e.into_error().into()))
}

/// A cell. What a spreadsheet would compute is marked as text; numbers stay numbers.
fn cell(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@']) && text.parse::<f64>().is_err();
    format!("{}{}", if formula { "'" } else { "" }, escape::cell(text))
}

/// JSON lines: an object a question.
///
/// # Errors
/// [`MootError::Io`] where they cannot be written (a bug).
pub fn jsonl(all: &[Answered]) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for one in all {
        let line = serde_json::to_vec(one);
        let line = line.map_err(|e| MootError::io(Path::new("answers"), "write", std::io::Error::other(e)))?;
        bytes.extend(line);
        bytes.push(b'\n');
    }
    Ok(bytes)
}
