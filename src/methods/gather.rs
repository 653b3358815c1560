//! The documents that a method reads: those of the question, or passages found for its text.

use super::Built;
use crate::error::{MootError, Result};
use crate::methods::ctx::Tools;
use crate::question::{Hit, Question};
use crate::retrieval::{Retriever, Wanted, merged_documents};
use crate::transcript::Event;
use std::time::Instant;

impl Built {
    /// The question with the documents that the method reads. Where there is something to search, a method that needs
    /// documents keeps those that came with the question, and where none did, the passages found for the question's text
    /// become its documents; a method that retrieves for its own queries is given none. Returns what happened on the way.
    ///
    /// # Errors
    /// [`MootError::Question`] where the method needs documents and there are none; [`MootError::NothingFound`]; what the
    /// retriever fails with.
    pub fn gather(&self, question: &Question, tools: Tools<'_>) -> Result<(Question, Vec<Event>)> {
        self.gather_from(question, tools.retriever, tools.wanted)
    }

    /// As [`Built::gather`], before a model is loaded.
    ///
    /// # Errors
    /// As [`Built::gather`].
    pub fn gather_from(
        &self,
        question: &Question,
        retriever: Option<&dyn Retriever>,
        wanted: &Wanted,
    ) -> Result<(Question, Vec<Event>)> {
        let (name, needs) = (self.row.name, self.row.needs);
        if retriever.is_some() && needs.prefers_corpus() {
            return Ok((Question { documents: Vec::new(), ..question.clone() }, Vec::new()));
        }
        if !question.documents.is_empty() || !(needs.documents || needs.passages && retriever.is_none()) {
            return Ok((question.clone(), Vec::new()));
        }
        let Some(retriever) = retriever else {
            let id = &question.id;
            return Err(MootError::Question(format!(
                "{name} needs at least 1 document, question {id:?} has none (the method closed-book answers without)"
            )));
        };
        let (mut hits, event) = search(retriever, &[&question.text], wanted, 0)?;
        let hits = hits.pop().unwrap_or_default();
        if hits.is_empty() {
            return Err(nothing_found(name, retriever, wanted));
        }
        Ok((Question { documents: merged_documents(hits), ..question.clone() }, vec![event]))
    }
}

/// The error of a method that needs a passage, for a search that returned none.
pub(super) fn nothing_found(method: &str, retriever: &dyn Retriever, wanted: &Wanted) -> MootError {
    MootError::NothingFound {
        method: method.to_owned(),
        filtered: !wanted.filter.is_empty(),
        cut_off: retriever.identity().mode.contains("cut off"),
    }
}

/// Passages for each of `queries`, one list a query, and the event of stage `stage` that says so.
///
/// # Errors
/// Errors of the retriever.
pub(super) fn search(
    retriever: &dyn Retriever,
    queries: &[&str],
    wanted: &Wanted,
    stage: usize,
) -> Result<(Vec<Vec<Hit>>, Event)> {
    let started = Instant::now();
    let hits = retriever.retrieve_all(queries, wanted)?;
    let event = Event::Retrieval {
        stage,
        queries: queries.iter().map(|&query| query.to_owned()).collect(),
        top: wanted.top,
        by_source: wanted.by_source,
        hits: hits.clone(),
        seconds: started.elapsed().as_secs_f64(),
    };
    Ok((hits, event))
}
