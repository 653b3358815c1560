//! Pools of documents from labelled datasets: RAMDocs, PoisonedRAG over HotpotQA, and any other with such labels.

use super::swap::{Kind, kind, swapped, wrong_answers};
use super::{Lies, Pool};
use crate::answers::words::Level;
use crate::question::{Document, Question};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use std::cmp::Reverse;

/// Pools, and why the other questions have none.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Pools {
    /// One a question that can be used.
    pub pools: Vec<Pool>,
    /// Questions without a document that holds the right answer.
    pub without_answer: usize,
    /// Questions with a single wrong answer, which all liars would share; they are used where lies are shared.
    pub one_lie: usize,
    /// Questions of later files that the first does not have.
    pub unmatched: usize,
}

/// Kinds of documents that hold a right answer, by the datasets' labels.
const FACTUAL: [&str; 2] = ["correct", "supporting"];
/// The kind of documents that hold a wrong answer.
const WRONG: &str = "misinfo";

/// The pools of `files`: questions of the first file; those of the others with the same words add their documents. A question
/// has one right answer, the first that a factual document holds, and documents of its other right answers are left out. Its
/// wrong answers are those that its own documents hold, then swaps of the same type, up to `most`.
#[must_use]
pub fn pools(files: Vec<Vec<Question>>, lies: Lies, most: usize, seed: u64) -> Pools {
    let mut found = Pools::default();
    let questions = joined(files, &mut found.unmatched);
    let first = |question: &Question| Some(question.gold.as_ref()?.aliases().next()?.to_owned());
    let golds: Vec<(String, String)> =
        questions.iter().filter_map(|question| Some((question.text.clone(), first(question)?))).collect();
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    for question in &questions {
        let Some(pool) = pool(question, &golds, most, &mut random) else {
            found.without_answer += 1;
            continue;
        };
        match pool.wrong.len() {
            0 => found.without_answer += 1,
            1 if lies == Lies::Own => found.one_lie += 1,
            _ => found.pools.push(pool),
        }
    }
    found
}

fn joined(files: Vec<Vec<Question>>, unmatched: &mut usize) -> Vec<Question> {
    let mut files = files.into_iter();
    let mut questions = files.next().unwrap_or_default();
    for question in files.flatten() {
        match questions.iter_mut().find(|known| Level::Scored.equal(&known.text, &question.text)) {
            Some(known) => known.documents.extend(question.documents),
            None => *unmatched += 1,
        }
    }
    questions
}

fn pool(question: &Question, golds: &[(String, String)], most: usize, random: &mut ChaCha8Rng) -> Option<Pool> {
    let labelled = |document: &Document, kinds: &[&str]| {
        document.label.as_ref().is_some_and(|label| kinds.contains(&&*label.kind))
    };
    let of = |document: &Document, answer: &str| {
        document
            .label
            .as_ref()
            .is_some_and(|label| label.answer.is_empty() || Level::Scored.equal(&label.answer, answer))
    };
    let gold = question.gold.as_ref()?;
    let (names, mut factual) = gold.answers.iter().find_map(|names| {
        let own = question.documents.iter().filter(|document| labelled(document, &FACTUAL));
        let own: Vec<String> = own
            .filter(|document| names.iter().any(|name| of(document, name)))
            .map(|document| document.text.clone())
            .collect();
        // By `swapped`, since documents of wrong answers are made by replacing this name.
        let name = names.iter().find(|name| own.iter().any(|text| swapped(text, name, "").is_some()))?;
        let others = names.iter().filter(|other| *other != name);
        Some(([name].into_iter().chain(others).cloned().collect::<Vec<_>>(), own))
    })?;
    // Texts that hold the answer come first.
    factual.sort_by_key(|text| swapped(text, &names[0], "").is_none());
    let mut wrong = own_lies(question, &names);
    wrong.truncate(most);
    let taken: Vec<String> = names.iter().cloned().chain(wrong.iter().map(|(answer, _)| answer.clone())).collect();
    let base = wrong.first().cloned().unwrap_or_else(|| (names[0].clone(), factual.clone()));
    let others = alike_first(&question.text, &names[0], golds, random);
    for answer in wrong_answers(&names[0], &taken, &others, most - wrong.len(), random) {
        let mut texts: Vec<String> = base.1.iter().filter_map(|text| swapped(text, &base.0, &answer)).collect();
        if texts.is_empty() {
            texts = factual.iter().filter_map(|text| swapped(text, &names[0], &answer)).collect();
        }
        if !texts.is_empty() && kind(&names[0]) != Kind::YesNo {
            wrong.push((answer, texts));
        }
    }
    Some(Pool { id: question.id.clone(), text: question.text.clone(), gold: names, factual, wrong })
}

/// The right answers of other questions: those of questions that begin with the same words first, of these the answers with as
/// many words as `gold`.
fn alike_first(question: &str, gold: &str, golds: &[(String, String)], random: &mut ChaCha8Rng) -> Vec<String> {
    let begins = |other: &str| {
        let pairs = question.split_whitespace().zip(other.split_whitespace());
        pairs.take_while(|(a, b)| a.eq_ignore_ascii_case(b)).count()
    };
    let length = |answer: &str| answer.split_whitespace().count();
    let mut others: Vec<&(String, String)> = golds.iter().filter(|(other, _)| other != question).collect();
    others.shuffle(random);
    others.sort_by_key(|(other, answer)| (Reverse(begins(other)), length(answer).abs_diff(length(gold))));
    others.into_iter().map(|(_, answer)| answer.clone()).collect()
}

/// The wrong answers that the question's own documents hold, each with these documents.
fn own_lies(question: &Question, gold: &[String]) -> Vec<(String, Vec<String>)> {
    let mut lies: Vec<(String, Vec<String>)> = Vec::new();
    for document in &question.documents {
        let Some(label) = document.label.as_ref().filter(|label| label.kind == WRONG && !label.answer.is_empty())
        else {
            continue;
        };
        if gold.iter().any(|name| Level::Scored.overlap(name, &label.answer)) {
            continue;
        }
        match lies.iter_mut().find(|(answer, _)| Level::Scored.equal(answer, &label.answer)) {
            Some((_, texts)) => texts.push(document.text.clone()),
            None => lies.push((label.answer.clone(), vec![document.text.clone()])),
        }
    }
    lies
}
