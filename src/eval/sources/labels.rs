//! Labels of retrieved documents: an index keeps none, so they are looked up in the corpus of a built benchmark.

use crate::error::{MootError, Result};
use crate::jsonl::{self, Lines, json_fault};
use crate::question::{Document, Label};
use crate::transcript::QuestionRecord;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::Path;

/// The kind of a document that is not about a question.
const NOISE: &str = "noise";

/// One document of a built corpus, a line of `corpus.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CorpusLine {
    /// Unique; passages of the document have it in their origin.
    pub id: String,
    /// Its text.
    pub text: String,
    /// Its source.
    pub source: String,
    /// The id of the question that it was dealt for.
    pub question: String,
    /// Its label on that question.
    pub label: Label,
}

/// The labels of a corpus.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Labels {
    /// The text of each document, by its id.
    texts: HashMap<String, String>,
    /// By the question's id and the document's text.
    labels: HashMap<(String, String), Label>,
}

impl Labels {
    /// Reads a corpus that `moot sources build` wrote.
    ///
    /// # Errors
    /// [`MootError::Io`] where it cannot be read; [`MootError::Input`] for a line of another format.
    pub fn read(path: &Path) -> Result<Self> {
        let mut labels = Self::default();
        for line in Lines::open(path)? {
            let (number, line) = line?;
            let known: CorpusLine = jsonl::parse(line.as_bytes()).map_err(|e| MootError::Input {
                path: path.into(),
                line: Some(number),
                expected: "a document of a built corpus: id, text, source, question and label (moot sources build)"
                    .into(),
                found: json_fault(&e),
            })?;
            labels.add(known);
        }
        Ok(labels)
    }

    /// Adds a document. The same text may be dealt for one question to several sources.
    pub fn add(&mut self, line: CorpusLine) {
        self.labels.insert((line.question, line.text.clone()), line.label);
        self.texts.insert(line.id, line.text);
    }

    /// Labels the retrieved documents of `record` that come from the corpus: as their document was labelled for this question,
    /// or as irrelevant where it was dealt for other questions alone.
    pub fn apply(&self, record: &mut QuestionRecord) {
        let question = &record.question.id;
        for document in &mut record.retrieved {
            document.label = self.of(question, document).or(document.label.take());
        }
    }

    fn of(&self, question: &str, document: &Document) -> Option<Label> {
        let text = self.texts.get(document.origin.as_ref()?.id.as_ref()?)?;
        let known = self.labels.get(&(question.to_owned(), text.clone())).cloned();
        Some(known.unwrap_or_else(|| Label { kind: NOISE.to_owned(), answer: "unknown".to_owned() }))
    }
}
