//! Recorded debates held again without each of their documents, on the open models and tools.

use crate::error::{MootError, Result};
use crate::eval::record::reader::Record;
use crate::eval::why::{self, Why, Whys};
use crate::eval::{fork, queries};
use crate::transcript::QuestionRecord;
use crate::workspace::opened::Workspace;
use crate::workspace::recorded::Recorded;

impl Recorded {
    /// The question that `wanted` names, as [`queries::find`] finds it; without a name, those of the first `limit` questions that
    /// have documents and a conclusion.
    ///
    /// # Errors
    /// A question that the record does not have; none with documents and a conclusion.
    pub fn debates(&self, wanted: Option<&str>, limit: Option<usize>) -> Result<Vec<&QuestionRecord>> {
        let questions = &self.record.questions;
        if let Some(wanted) = wanted {
            let found = queries::find(questions, wanted)?;
            if why::is_open_to(found) {
                return Ok(vec![found]);
            }
            return Err(MootError::Usage(format!(
                "question {}: expected documents and a conclusion, found {} documents{}",
                found.question.id,
                why::documents(found),
                if found.conclusion.is_none() { " and an error" } else { "" }
            )));
        }
        let first = questions.iter().take(limit.unwrap_or(usize::MAX));
        let olds: Vec<&QuestionRecord> = first.filter(|old| why::is_open_to(old)).collect();
        if olds.is_empty() {
            let count = questions.len();
            return Err(MootError::Usage(format!("none of {count} questions has documents and a conclusion")));
        }
        Ok(olds)
    }
}

impl Workspace {
    /// Holds the debates `olds` of `record` again without each of their documents, `in_flight` debates at once, at least 1.
    /// `known` receives each question, in order.
    ///
    /// # Errors
    /// As [`Whys::hold`] and [`fork::method_of`].
    pub fn why(
        &self,
        record: &Record,
        olds: &[&QuestionRecord],
        in_flight: usize,
        known: &mut dyn FnMut(Why) -> Result<()>,
    ) -> Result<()> {
        let method = || fork::method_of(record);
        Whys { header: &record.header, method: &method, tools: self.tools(), in_flight }.hold(olds, known)
    }
}
