//! The questions that two records have in common, paired by id and content.

use crate::eval::record::reader::Record;
use crate::question::{Document, Question};
use crate::transcript::QuestionRecord;
use sha2::{Digest, Sha256};
use std::collections::{HashMap, HashSet};

/// The questions that two records have in common.
pub struct Pairs<'a> {
    /// Each question of both, as the first record has it and as the other one has it; sorted by id.
    pub both: Vec<(&'a QuestionRecord, &'a QuestionRecord)>,
    /// Questions of the two records that are in no pair.
    pub unpaired: usize,
    /// Questions of the other record that have the id of a question of the first one, and other content. They are in no
    /// pair.
    pub other_content: usize,
}

impl<'a> Pairs<'a> {
    /// Pairs the questions of two records. A fork reads other documents than the debate that it comes from, so its
    /// questions are paired by id alone.
    #[must_use]
    pub fn of(first: &'a Record, other: &'a Record) -> Self {
        let forked = first.header.forked.is_some() || other.header.forked.is_some();
        let key = |question: &Question| if forked { Sha256::digest(&question.id).into() } else { content(question) };
        let others: HashMap<[u8; 32], &QuestionRecord> =
            other.questions.iter().map(|q| (key(&q.question), q)).collect();
        let mut both: Vec<_> =
            first.questions.iter().filter_map(|q| Some((q, *others.get(&key(&q.question))?))).collect();
        both.sort_by(|a, b| a.0.question.id.cmp(&b.0.question.id));
        let ids: HashSet<&str> = first.questions.iter().map(|q| q.question.id.as_str()).collect();
        let same_id = other.questions.iter().filter(|q| ids.contains(q.question.id.as_str())).count();
        let unpaired = first.questions.len() + other.questions.len() - 2 * both.len();
        let other_content = same_id.saturating_sub(both.len());
        Self { both, unpaired, other_content }
    }

    /// Questions of one record alone: the other one has no question of that id.
    #[must_use]
    pub fn alone(&self) -> usize {
        self.unpaired.saturating_sub(2 * self.other_content)
    }
}

/// The content of a question, as the SHA-256 of all its fields in the dataset. Retrieved documents are no part of it:
/// two methods may be given different ones.
#[must_use]
pub fn content(question: &Question) -> [u8; 32] {
    // All fields are named here. A new field does not compile until this function handles it.
    let Question { id, text, documents, gold, options, claims, responses, slices: _ } = question;
    let given: Vec<&Document> = documents.iter().filter(|document| document.origin.is_none()).collect();
    let text = serde_json::json!([id, text, given, gold, options, claims, responses]).to_string();
    Sha256::digest(text.as_bytes()).into()
}
