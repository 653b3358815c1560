//! Pools of documents from a record of the method `source-pools` (RA-RAG, appendix F).

use super::Pool;
use crate::answers::words::Level;
use crate::eval::record::reader::Record;
use crate::methods::source_pools::{MISINFORMATION, PARAPHRASE};
use crate::question::Gold;
use crate::transcript::{CallRecord, Parsed, QuestionRecord};

/// Pools, and why the other questions have none.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Recorded {
    /// One a question that can be used.
    pub pools: Vec<Pool>,
    /// Questions of which the method made nothing, or ended in an error.
    pub nothing: usize,
    /// Questions without a factual document, or with fewer than two wrong answers that have documents.
    pub unusable: usize,
    /// Texts that lack their answer, or of a wrong answer that hold a right one.
    pub left_out: usize,
}

/// The pools of `record`, with at most `most` wrong answers each.
#[must_use]
pub fn recorded(record: &Record, most: usize) -> Recorded {
    let mut found = Recorded::default();
    for question in &record.questions {
        let made = question.conclusion.as_ref().is_some_and(|conclusion| !conclusion.answers.is_empty());
        if !made {
            found.nothing += 1;
            continue;
        }
        let pool = pool(question, most, &mut found.left_out);
        if pool.factual.is_empty() || pool.wrong.len() < 2 {
            found.unusable += 1;
        } else {
            found.pools.push(pool);
        }
    }
    found
}

fn pool(record: &QuestionRecord, most: usize, left_out: &mut usize) -> Pool {
    let question = &record.question;
    let gold: Vec<String> = question.gold.iter().flat_map(Gold::aliases).map(str::to_owned).collect();
    // Whether a document holds a gold answer, as RA-RAG's filter of generated documents asks; not whether an answer is right.
    let right = |text: &str| gold.iter().any(|right| Level::Scored.contains(text, right));
    let mut pool = Pool { id: question.id.clone(), text: question.text.clone(), ..Pool::default() };
    for call in &record.calls {
        let Some(text) = text(call) else { continue };
        let wrong = call.about.as_deref().filter(|_| call.prompt == MISINFORMATION.name);
        let fits = match wrong {
            Some(wrong) => Level::Scored.contains(&text, wrong) && !right(&text),
            None if call.prompt == PARAPHRASE.name => right(&text),
            None => continue,
        };
        if !fits {
            *left_out += 1;
            continue;
        }
        let Some(wrong) = wrong else {
            add(&mut pool.factual, text);
            continue;
        };
        match pool.wrong.iter_mut().find(|(answer, _)| answer == wrong) {
            Some((_, documents)) => add(documents, text),
            None => pool.wrong.push((wrong.to_owned(), vec![text])),
        }
    }
    pool.wrong.truncate(most);
    Pool { gold, ..pool }
}

/// The text that a call wrote.
fn text(call: &CallRecord) -> Option<String> {
    match &call.parsed {
        Parsed::Text(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
        _ => None,
    }
}

/// Adds a document that is not there already.
fn add(documents: &mut Vec<String>, text: String) {
    if !documents.contains(&text) {
        documents.push(text);
    }
}
