//! Right answers of a question, with the documents that support them.

use crate::answers::words::Level;
use crate::question::{Document, Question};
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use std::borrow::Borrow;
use std::collections::HashSet;

/// Right answers that documents support, each with its documents, in random order.
pub(super) struct Supported<'a> {
    pub(super) answer: &'a str,
    pub(super) documents: Vec<&'a Document>,
}

const NO_GOLD: &str = "no list of right answers that are all required";
const FEW_ANSWERS: &str = "fewer than two right answers that a document labelled correct supports";

/// Documents count for the first right answer that their label equals after normalisation. Answers and documents are shuffled.
pub(super) fn supported<'a>(
    question: &'a Question,
    random: &mut ChaCha8Rng,
) -> Result<Vec<Supported<'a>>, &'static str> {
    let gold = question.gold.as_ref().filter(|gold| gold.all_required && !gold.unanswerable).ok_or(NO_GOLD)?;
    let mut answers: Vec<Supported<'a>> = Vec::new();
    for aliases in &gold.answers {
        let of_it = |document: &&Document| {
            let label = document.label.as_ref().filter(|label| label.kind == "correct");
            label.is_some_and(|label| aliases.iter().any(|alias| Level::Scored.equal(alias, &label.answer)))
        };
        let Some(answer) = aliases.first() else { continue };
        let known = answers.iter().any(|other| Level::Scored.equal(other.answer, answer));
        let mut documents: Vec<&Document> = question.documents.iter().filter(of_it).collect();
        without_repeats(&mut documents);
        documents.shuffle(random);
        if !known && !documents.is_empty() {
            answers.push(Supported { answer, documents });
        }
    }
    answers.shuffle(random);
    if answers.len() < 2 { Err(FEW_ANSWERS) } else { Ok(answers) }
}

/// Keeps the first of documents with the same text: a copy would be no further support.
pub(super) fn without_repeats<T: Borrow<Document>>(documents: &mut Vec<T>) {
    let mut texts: HashSet<String> = HashSet::new();
    documents.retain(|document| texts.insert(document.borrow().text.clone()));
}

/// Whether one of the two gives the other, so that no reply could be right (or wrong) about one alone.
pub(super) fn overlap(a: &str, b: &str) -> bool {
    Level::Scored.contains(a, b) || Level::Scored.contains(b, a)
}
