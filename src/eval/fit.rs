//! Whether a run's requests fit into the key-value memory, found before the run instead of by an error for each question.

use crate::error::{MootError, Result};
use crate::llm::layer::Layer;
use crate::llm::{Call, Llm, OnFailure, OnReply, Reply};
use crate::protocol::Built;
use crate::protocol::ctx::{Settings, Silent, Tools};
use crate::question::Question;
use std::cmp::Reverse;
use std::sync::{Mutex, PoisonError};

/// Number of questions whose calls are checked: those with the most text.
const LOOKED_AT: usize = 64;

/// Renders the calls of the longest of `questions` and compares them with the memory of the models that are loaded. Nothing
/// is computed and nothing retrieved: every reply is taken as empty, so a later stage may need more than is known here. Models
/// that take turns are not known either.
///
/// # Errors
/// [`MootError::TooLong`] for the longest call that could never run in the key-value memory, with the numbers. A call that is
/// longer than the model's context is an error of its question alone.
pub(crate) fn check(questions: &[&Question], method: &Built, tools: Tools<'_>, settings: &Settings) -> Result<()> {
    if !method.method.may_be_rehearsed() {
        return Ok(());
    }
    let length = |question: &Question| {
        question.documents.iter().map(|document| document.text.len()).sum::<usize>() + question.text.len()
    };
    let mut longest: Vec<&Question> = questions.to_vec();
    longest.sort_by_key(|question| Reverse(length(question)));
    longest.truncate(LOOKED_AT);
    let measuring = Measuring { llm: tools.llm, refused: Mutex::new(None) };
    for question in longest {
        let tools = Tools { llm: &measuring, retriever: None, classifier: None, embedder: None, ..tools };
        // Its conclusion from empty replies, or its error, does not matter.
        let _ = method.record(question, tools, settings, &Silent);
        measuring.name(&question.id);
    }
    let refused = measuring.refused.into_inner().unwrap_or_else(PoisonError::into_inner);
    refused.map_or(Ok(()), |(_, error)| Err(error))
}

/// A model with empty replies that records the longest call for which the memory is too small.
struct Measuring<'a> {
    llm: &'a dyn Llm,
    /// Whether its question is named already, and the error.
    refused: Mutex<Option<(bool, MootError)>>,
}

impl Measuring<'_> {
    fn keep(&self, error: MootError) {
        let MootError::TooLong { needed, limit_name, .. } = &error else { return };
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let most = match &*refused {
            Some((_, MootError::TooLong { needed, .. })) => *needed,
            _ => 0,
        };
        // A call beyond the model's context fails alone; the name tells the two limits apart.
        if limit_name.contains("memory") && *needed > most {
            *refused = Some((false, error));
        }
    }

    /// Adds the question's id to the kept error, if it has none.
    fn name(&self, id: &str) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((named @ false, MootError::TooLong { what, .. })) = refused.as_mut() {
            *what = format!("question {id}, {what}");
            *named = true;
        }
    }
}

impl Layer for Measuring<'_> {
    fn inner(&self) -> &dyn Llm {
        self.llm
    }

    /// Calls for scores or probabilities are not answered: no method can go on without those.
    fn answer_stage(&self, calls: &[Call], _: OnFailure, on_reply: &mut OnReply<'_>) -> Vec<Result<Reply>> {
        calls.iter().filter_map(|call| self.llm.fits(call).err()).for_each(|error| self.keep(error));
        if calls.iter().any(|call| call.score || call.logprobs.is_some()) {
            return calls.iter().map(|_| Err(MootError::Interrupted)).collect();
        }
        (0..calls.len()).for_each(|index| on_reply(index, &Reply::default()));
        calls.iter().map(|_| Ok(Reply::default())).collect()
    }
}
