//! Questions like those of RAMDocs (MADAM-RAG, section 3): right answers, documents for each of them, misinformation and noise
//! in drawn numbers. Departures: documents come from the dataset, not from a search, and noise from its other questions.

use super::built::{Slices, item, random};
use super::evidence::{overlap, supported, without_repeats};
use crate::answers::words::Level;
use crate::eval::sources::bench::swap::{swapped, wrong_answers};
use crate::question::{Document, Gold, Label, Question};
use crate::retrieval::chunk::Chunking;
use rand::RngExt;
use rand::seq::{IndexedRandom, SliceRandom};
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;

/// The kind's name.
pub(super) const NAME: &str = "ramdocs";

const PIECES: &str = "no right answer is in a piece of 100 words of a document that supports it";

/// Number of answers of other questions among which one of the right type is looked for.
const OTHER_ANSWERS: usize = 100;
/// Documents of other questions that are tried for one document of noise.
const TRIES: usize = 40;

/// Three consecutive numbers, and how often each is drawn. Section 3 has the ranges and no shares; these have the means of
/// Figure 5.
struct Numbers {
    least: usize,
    shares: [f64; 3],
}

/// Right answers: 2.20 in the mean.
const ANSWERS: Numbers = Numbers { least: 1, shares: [0.20, 0.40, 0.40] };
/// Documents of a right answer: 1.77 in the mean.
const SUPPORTERS: Numbers = Numbers { least: 1, shares: [0.45, 0.33, 0.22] };
/// Documents of misinformation, each with a wrong answer of its own: 0.61 in the mean.
const MISINFORMATION: Numbers = Numbers { least: 0, shares: [0.51, 0.37, 0.12] };
/// Documents of noise: 1.08 in the mean.
const NOISE: Numbers = Numbers { least: 0, shares: [0.28, 0.36, 0.36] };

impl Numbers {
    fn draw(&self, random: &mut ChaCha8Rng) -> usize {
        let drawn = random.random::<f64>();
        let [first, second, _] = self.shares;
        self.least + usize::from(drawn >= first) + usize::from(drawn >= first + second)
    }
}

/// Documents and answers of all questions of the dataset, from which a question draws those of others.
struct Others<'a> {
    /// Documents labelled correct or noise, each with its question.
    documents: Vec<(&'a Question, &'a Document)>,
    /// Right answers.
    answers: Vec<&'a str>,
}

/// An item of each question of a set that has several right answers with documents.
pub(super) fn build(_: &str, questions: &[Question], seed: u64) -> Slices {
    let of = |question| move |document| (question, document);
    let documents = questions.iter().flat_map(|question| question.documents.iter().map(of(question)));
    let others = Others {
        documents: documents.filter(|(_, document)| is(document, "correct") || is(document, "noise")).collect(),
        answers: questions.iter().flat_map(|question| &question.gold).flat_map(Gold::aliases).collect(),
    };
    let mut slices = Slices { items: Vec::new(), qualified: 0, left_out: BTreeMap::new() };
    for question in questions {
        match one(question, &others, &mut random(NAME, seed, &question.id)) {
            Ok(item) => {
                slices.qualified += 1;
                slices.items.push(item);
            }
            Err(reason) => *slices.left_out.entry(reason).or_default() += 1,
        }
    }
    slices
}

fn is(document: &Document, kind: &str) -> bool {
    document.label.as_ref().is_some_and(|label| label.kind == kind)
}

/// A right answer that was drawn.
struct Chosen<'a> {
    answer: &'a str,
    /// Its documents in the item.
    documents: Vec<Document>,
    /// Further ones, of which misinformation is made.
    rest: Vec<Document>,
}

fn one(question: &Question, others: &Others<'_>, random: &mut ChaCha8Rng) -> Result<Question, &'static str> {
    let chosen = chosen(question, random)?;
    let mut documents: Vec<Document> = chosen.iter().flat_map(|right| &right.documents).cloned().collect();
    let false_ones = misinformation(question, &chosen, others, random);
    let wrong: Vec<String> =
        false_ones.iter().filter_map(|document| Some(document.label.as_ref()?.answer.clone())).collect();
    let right: Vec<&str> = chosen.iter().map(|right| right.answer).collect();
    let wrong: Vec<&str> = wrong.iter().map(String::as_str).collect();
    documents.extend(false_ones.iter().cloned());
    let silent = noise(question, &[&right[..], &wrong].concat(), others, random);
    let counts = [("answers", right.len()), ("misinfo", wrong.len()), ("noise", silent.len())];
    documents.extend(silent);
    without_repeats(&mut documents);
    documents.shuffle(random);
    let slices = counts.map(|(what, count)| format!("{NAME}-{what}-{count}")).to_vec();
    Ok(Question { slices, ..item(question, NAME, documents.into_iter(), &right, &wrong) })
}

/// The right answers, none of which overlaps with another one, and their documents.
fn chosen<'a>(question: &'a Question, random: &mut ChaCha8Rng) -> Result<Vec<Chosen<'a>>, &'static str> {
    let all = supported(question, random)?;
    let most = ANSWERS.draw(random);
    let mut chosen: Vec<Chosen<'a>> = Vec::new();
    for right in all {
        let of_it = right.documents.iter().flat_map(|document| pieces(document));
        let mut documents: Vec<Document> =
            of_it.filter(|piece| Level::Scored.contains(&piece.text, right.answer)).collect();
        without_repeats(&mut documents);
        documents.shuffle(random);
        if chosen.len() == most
            || documents.is_empty()
            || chosen.iter().any(|other| overlap(other.answer, right.answer))
        {
            continue;
        }
        let rest = documents.split_off(SUPPORTERS.draw(random).min(documents.len()));
        chosen.push(Chosen { answer: right.answer, documents, rest });
    }
    if chosen.is_empty() { Err(PIECES) } else { Ok(chosen) }
}

/// The document in pieces of at most 100 words, each behind the document's title.
fn pieces(document: &Document) -> Vec<Document> {
    let body = document.after_title().unwrap_or(&document.text);
    let title = &document.text[..document.text.len() - body.len()];
    let ranges = Chunking::default().cut(body);
    if ranges.len() <= 1 {
        return vec![document.clone()];
    }
    let text = |range| format!("{title} {}", &body[range]).trim_start().to_owned();
    ranges.into_iter().map(|range| Document { text: text(range), ..document.clone() }).collect()
}

/// Documents of misinformation: the question's own, then documents in which a right answer is replaced by a wrong one of its type.
/// Documents that support no answer of the item are replaced first. None of them holds a right answer.
fn misinformation(
    question: &Question,
    chosen: &[Chosen<'_>],
    others: &Others<'_>,
    random: &mut ChaCha8Rng,
) -> Vec<Document> {
    let most = MISINFORMATION.draw(random);
    let right: Vec<&str> = question.gold.iter().flat_map(Gold::aliases).collect();
    let clean = |text: &str| !right.iter().any(|right| Level::Scored.contains(text, right));
    let mut own: Vec<Document> =
        question.documents.iter().filter(|document| is(document, "misinfo")).flat_map(pieces).collect();
    own.shuffle(random);
    let mut found: Vec<Document> = Vec::new();
    let mut taken: Vec<String> = right.iter().map(|&right| right.to_owned()).collect();
    for document in own {
        let answer = document.label.as_ref().map(|label| label.answer.clone()).unwrap_or_default();
        let known = taken.iter().any(|known| overlap(known, &answer));
        let holds = Level::Scored.contains(&document.text, &answer);
        if found.len() < most && !known && holds && clean(&document.text) {
            taken.push(answer);
            found.push(document);
        }
    }
    for (answer, document) in bases(chosen, random) {
        if found.len() == most {
            break;
        }
        let pool: Vec<String> = others.answers.sample(random, OTHER_ANSWERS).map(|&answer| answer.to_owned()).collect();
        let Some(wrong) = wrong_answers(answer, &taken, &pool, 1, random).pop() else { continue };
        let Some(text) = swapped(&document.text, answer, &wrong).filter(|text| clean(text)) else { continue };
        let label = Some(Label { kind: "misinfo".to_owned(), answer: wrong.clone() });
        taken.push(wrong);
        found.push(Document { text, label, ..document.clone() });
    }
    found
}

/// Documents with the right answer that is to be replaced: those that are not in the item, then those that are.
fn bases<'a>(chosen: &'a [Chosen<'a>], random: &mut ChaCha8Rng) -> Vec<(&'a str, &'a Document)> {
    let with = |answer: &'a str| move |document: &'a Document| (answer, document);
    let mut rest: Vec<_> = chosen.iter().flat_map(|right| right.rest.iter().map(with(right.answer))).collect();
    let mut used: Vec<_> = chosen.iter().flat_map(|right| right.documents.iter().map(with(right.answer))).collect();
    rest.shuffle(random);
    used.shuffle(random);
    rest.into_iter().chain(used).collect()
}

/// Documents without any of `answers`: the question's own noise, then documents of other questions.
fn noise(question: &Question, answers: &[&str], others: &Others<'_>, random: &mut ChaCha8Rng) -> Vec<Document> {
    let most = NOISE.draw(random);
    let mut own: Vec<Document> =
        question.documents.iter().filter(|document| is(document, "noise")).flat_map(pieces).collect();
    own.shuffle(random);
    let mut found: Vec<Document> = Vec::new();
    let add = |document: Document, found: &mut Vec<Document>| {
        let known = found.iter().any(|known| known.text == document.text);
        if found.len() < most && !known && !answers.iter().any(|answer| Level::Scored.contains(&document.text, answer))
        {
            let label = Some(Label { kind: "noise".to_owned(), answer: "unknown".to_owned() });
            found.push(Document { label, ..document });
        }
    };
    own.into_iter().for_each(|document| add(document, &mut found));
    for _ in 0..TRIES * most {
        let Some((other, document)) = others.documents.choose(random) else { break };
        if other.id != question.id && other.text != question.text {
            pieces(document).choose(random).cloned().into_iter().for_each(|piece| add(piece, &mut found));
        }
    }
    found
}
