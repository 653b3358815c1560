//! Estimates put together: the answers of several files and records, each question once.

use crate::error::{MootError, Result};
use crate::sources::{QuestionAnswers, SourceWeights};
use std::collections::{BTreeSet, HashMap};
use std::path::Path;

/// Answers of several files and records, each question once.
#[derive(Debug, Clone, Default)]
pub struct Gathered {
    /// The questions, in the order in which they came first.
    pub questions: Vec<QuestionAnswers>,
    /// File names and hex SHA-256 of the records that they came from, each once.
    pub records: Vec<(String, String)>,
    /// Answers that a later one of the same source to the same question replaced.
    pub replaced: usize,
    indices: HashMap<(String, String), usize>,
}

impl Gathered {
    /// Adds one question. A question is identified by its id and its text; the answer of a source that already answered it
    /// is replaced.
    pub fn add(&mut self, question: QuestionAnswers) {
        if question.answers.is_empty() {
            return;
        }
        let key = (question.id.clone(), question.text.clone());
        match self.indices.get(&key) {
            Some(&index) => {
                let known = &mut self.questions[index].answers;
                let before = known.len() + question.answers.len();
                known.extend(question.answers);
                self.replaced += before - known.len();
            }
            None => {
                self.indices.insert(key, self.questions.len());
                self.questions.push(question);
            }
        }
    }

    /// The sources of all questions.
    #[must_use]
    pub fn sources(&self) -> BTreeSet<&str> {
        self.questions.iter().flat_map(|question| question.answers.keys().map(String::as_str)).collect()
    }

    /// Notes a record, once.
    pub fn note(&mut self, record: (String, String)) {
        if !self.records.contains(&record) {
            self.records.push(record);
        }
    }

    /// Adds all that `weights`, read from `path`, was estimated from.
    ///
    /// # Errors
    /// [`MootError::Input`] for a file that does not hold the answers.
    pub fn add_all(&mut self, weights: SourceWeights, path: &Path) -> Result<()> {
        if weights.answers.is_empty() {
            return Err(MootError::Input {
                path: path.into(),
                line: None,
                expected: "weights together with the answers that they were estimated from".into(),
                found: "weights alone (estimate them again from their records)".into(),
            });
        }
        weights.records.into_iter().for_each(|record| self.note(record));
        weights.answers.into_iter().for_each(|question| self.add(question));
        Ok(())
    }
}
