//! Claims to be checked, as they are given: a text and documents, or the answers of a record.

use super::answers::{by_hand, of_answer};
use crate::error::{MootError, Result};
use crate::eval::queries;
use crate::eval::record::reader::Record;
use crate::question::{Document, Question};
use crate::retrieval::given;
use crate::transcript::QuestionRecord;
use crate::workspace::control::Control;
use crate::workspace::plan::Plan;
use std::path::{Path, PathBuf};

/// Claims to be checked, as given. A corpus, if one is searched, is the plan's.
#[derive(Debug, Clone, Default)]
pub struct ConflictOptions {
    /// The text. Without one, the claims are those of the documents.
    pub response: Option<String>,
    /// The documents: files, folders and globs. Of a record, instead of its own.
    pub documents: Vec<String>,
    /// A record, whose answers are the texts.
    pub record: Option<PathBuf>,
    /// One of its questions: its number, its id, or part of its text.
    pub question: Option<String>,
    /// Of a record of several questions, none of which is named, all are taken.
    pub all: bool,
}

/// Questions whose responses or claims are judged.
#[derive(Debug)]
pub enum ConflictInput {
    /// One, for [`Workspace::conflict`](crate::Workspace::conflict).
    One(Question),
    /// All of a record, for [`Workspace::record_all`](crate::Workspace::record_all).
    All(Vec<Question>),
}

impl ConflictOptions {
    /// Reads the documents and the record, for a workspace of `plan`.
    ///
    /// # Errors
    /// A file or a record that cannot be read; a text beside a record; an empty text; nothing to compare with.
    pub fn read(&self, plan: &Plan, control: &Control) -> Result<ConflictInput> {
        let searched = plan.options().corpus.is_given();
        if self.record.is_some() && self.response.is_some() {
            return Err(MootError::Usage("expected a text or --record, found both".into()));
        }
        if self.response.as_ref().is_some_and(|text| text.trim().is_empty()) {
            return Err(MootError::Usage("expected a text to check, found an empty one".into()));
        }
        if let Some(path) = &self.record {
            return self.of_record(path, searched, control);
        }
        let documents = self.documents(control)?;
        let missing = match (searched, documents.len(), &self.response) {
            (false, 0, _) => "nothing to compare with: expected --docs PATH or --against PATH",
            (false, 1, None) => {
                "one document has no other to be compared with: expected a text, moot conflict RESPONSE --docs PATH, or \
                 more documents"
            }
            (true, _, None) => "a corpus has no claims of its own: expected moot conflict RESPONSE --against PATH",
            _ => {
                let question = by_hand(self.response.clone().into_iter().collect());
                return Ok(ConflictInput::One(Question { documents, ..question }));
            }
        };
        Err(MootError::Usage(missing.into()))
    }

    fn documents(&self, control: &Control) -> Result<Vec<Document>> {
        if self.documents.is_empty() {
            return Ok(Vec::new());
        }
        let given = given::load(&self.documents)?;
        given.skipped.iter().for_each(|skipped| control.note(&format!("skipped {skipped}")));
        // Copies would each count as a supporter or a contradictor.
        let (documents, copies) = given::folded(given.documents);
        given.notes.iter().chain(&copies).for_each(|note| control.note(&format!("note {note}")));
        Ok(documents)
    }

    /// The answers of a record, each with the question's documents, or with others that were given.
    fn of_record(&self, path: &Path, searched: bool, control: &Control) -> Result<ConflictInput> {
        let wrong = |expected: &str, found: String| MootError::Input {
            path: path.into(),
            line: None,
            expected: expected.into(),
            found,
        };
        let record = Record::read(path)?;
        let others = self.documents(control)?;
        let others = (!others.is_empty() || searched).then_some(others);
        let one = match (&self.question, record.questions.as_slice()) {
            (Some(wanted), questions) => Some(queries::find(questions, wanted)?),
            (None, [only]) => Some(only),
            (None, []) => return Err(wrong("recorded questions", "none".into())),
            (None, _) => None,
        };
        let question = |record: &QuestionRecord| of_answer(record, others.as_deref());
        match one {
            Some(one) => question(one).map(ConflictInput::One).ok_or_else(|| {
                let found = format!("question {:?} without one of them", one.question.id);
                wrong("an answer and documents to compare it with", found)
            }),
            None if !self.all => Err(MootError::Usage(format!(
                "{}: {} questions: expected which one (--record RECORD QUESTION), or -o FILE for all of them",
                path.display(),
                record.questions.len()
            ))),
            None => {
                let questions: Vec<Question> = record.questions.iter().filter_map(question).collect();
                let without = record.questions.len() - questions.len();
                if without > 0 {
                    control.note(&format!("{without} questions without an answer or documents are left out"));
                }
                Ok(ConflictInput::All(questions))
            }
        }
    }
}
