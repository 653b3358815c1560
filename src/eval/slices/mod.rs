//! Datasets of controlled conflicts, built from labelled documents: how evidence is spread over right answers (MADAM-RAG,
//! section 6.2, Figure 4a), how much misinformation there is (section 6.3, Figure 4b), and both with noise as in RAMDocs
//! (section 3).
//!
//! For a figure, one question of the source gives one item for each level, with the same documents as far as the levels allow, so levels
//! differ in nothing else. Each item names its level as a slice: `moot score --slice` prints the figure.

pub mod binary;
mod built;
mod detection;
mod evidence;
mod ramdocs;

use crate::answers::words::Level;
use crate::error::{MootError, Result};
use crate::question::{Document, Gold, Label, Question};
pub use built::Slices;
use built::{item, random};
use evidence::{Supported, overlap, supported, without_repeats};
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A row of [`KINDS`].
pub struct Kind {
    /// As typed after `--kind`; the names of its slices begin with it.
    pub name: &'static str,
    /// One line for people.
    pub about: &'static str,
    /// Section and figure.
    pub source: &'static str,
    build: Build,
}

/// How items are made.
#[derive(Clone, Copy)]
enum Build {
    /// Items of a question, one a level, or why it does not qualify.
    Each(fn(&Question, &mut ChaCha8Rng) -> std::result::Result<Vec<Question>, &'static str>),
    /// Items of all questions of a set, by the set's name: an item may hold documents of other questions.
    All(fn(&str, &[Question], u64) -> Slices),
}

/// Every kind.
pub static KINDS: &[Kind] = &[
    Kind {
        name: "imbalance",
        about: "two right answers, one with 1 document, the other with 1 to 3; no misinformation, no noise",
        source: "MADAM-RAG, section 6.2, Figure 4a",
        build: Build::Each(imbalance),
    },
    Kind {
        name: "misinfo",
        about: "two right answers with 1 document each, and 0 to 3 documents for one wrong answer",
        source: "MADAM-RAG, section 6.3, Figure 4b",
        build: Build::Each(misinfo),
    },
    Kind {
        name: ramdocs::NAME,
        about: "1 to 3 right answers with 1 to 3 documents each, 0 to 2 documents of misinformation and 0 to 2 of noise",
        source: "MADAM-RAG, section 3 and Figure 5 (RAMDocs)",
        build: Build::All(ramdocs::build),
    },
    Kind {
        name: detection::NAME,
        about: "claims with and without a conflict between documents",
        source: "ConflictScore, section 4.2 and appendix A (ConflictBench)",
        build: Build::All(detection::build),
    },
    Kind {
        name: "binary",
        about: "two options: the best answer and the best incorrect one, which the dataset lists first",
        source: "ConflictScore, section 6 (TruthfulQA, multiple choice)",
        build: Build::Each(binary::build),
    },
    Kind {
        name: "as-is",
        about: "the questions that have documents, unchanged",
        source: "ConflictScore, section 6 (TruthfulQA, free form)",
        build: Build::Each(binary::as_it_is),
    },
];

impl Kind {
    /// The kind called `name`.
    ///
    /// # Errors
    /// [`MootError::UnknownName`] with all known names.
    pub fn named(name: &str) -> Result<&'static Self> {
        KINDS.iter().find(|kind| kind.name == name).ok_or_else(|| MootError::UnknownName {
            kind: "kind of slices",
            name: name.to_owned(),
            known: KINDS.iter().map(|kind| kind.name).collect::<Vec<_>>().join(", "),
        })
    }

    /// Builds the items of `questions`, which are the set `part`. Answers, documents and their order are drawn by `seed` and the
    /// question's id; only `detection` and `ramdocs` take documents of other questions.
    #[must_use]
    pub fn build(&self, part: &str, questions: &[Question], seed: u64) -> Slices {
        let build = match self.build {
            Build::Each(build) => build,
            Build::All(build) => return build(part, questions, seed),
        };
        let mut slices = Slices { items: Vec::new(), qualified: 0, left_out: BTreeMap::new() };
        for question in questions {
            match build(question, &mut random(self.name, seed, &question.id)) {
                Ok(items) => {
                    slices.qualified += 1;
                    slices.items.extend(items);
                }
                Err(reason) => *slices.left_out.entry(reason).or_default() += 1,
            }
        }
        slices
    }
}

/// Section 6.2: 1 document against 1, 2 and 3.
fn imbalance(question: &Question, random: &mut ChaCha8Rng) -> std::result::Result<Vec<Question>, &'static str> {
    const MOST: usize = 3;
    let answers = supported(question, random)?;
    let well_supported = || answers.iter().filter(|answer| answer.documents.len() >= MOST);
    well_supported().next().ok_or("no right answer with three documents")?;
    let apart =
        |many: &Supported<'_>, one: &Supported<'_>| one.answer != many.answer && !overlap(one.answer, many.answer);
    let pair = well_supported().find_map(|many| Some((many, answers.iter().find(|one| apart(many, one))?)));
    let (many, one) = pair.ok_or("no second right answer that neither contains the first nor is contained in it")?;
    let chosen: Vec<Document> =
        [one.documents[0]].into_iter().chain(many.documents[..MOST].iter().copied()).cloned().collect();
    let order = shuffled(chosen.len(), random);
    let level = |count: usize| {
        // The lone document, and the first `count` of the others.
        let documents = order.iter().filter(|&&index| index <= count).map(|&index| chosen[index].clone());
        item(question, &format!("imbalance-1v{count}"), documents, &[one.answer, many.answer], &[])
    };
    Ok((1..=MOST).map(level).collect())
}

/// Section 6.3: 0 to 3 documents for a wrong answer. The question's own ones come first; RAMDocs has at most two a question, so
/// the rest are correct documents in which the right answer is exchanged for the wrong one (as RAMDocs makes them: section 3).
fn misinfo(question: &Question, random: &mut ChaCha8Rng) -> std::result::Result<Vec<Question>, &'static str> {
    const MOST: usize = 3;
    let answers = supported(question, random)?;
    let mut wrong: Vec<&String> = question.gold.iter().flat_map(|gold| &gold.wrong).collect();
    wrong.shuffle(random);
    let pairs = answers.iter().enumerate().flat_map(|(at, a)| answers[at + 1..].iter().map(move |b| (a, b)));
    let (a, b) = pairs
        .into_iter()
        .find(|(a, b)| !overlap(a.answer, b.answer))
        .ok_or("no second right answer that neither contains the first nor is contained in it")?;
    let right: Vec<&str> = question.gold.iter().flat_map(Gold::aliases).collect();
    let fits = |wrong: &&&String| right.iter().all(|right| !overlap(wrong, right));
    let wrong = match wrong.is_empty() {
        true => return Err("no wrong answer"),
        false => wrong.iter().find(fits).ok_or("no wrong answer apart from the right ones")?.as_str(),
    };
    let own = question.documents.iter().filter(|document| {
        let label = document.label.as_ref().filter(|label| label.kind == "misinfo");
        label.is_some_and(|label| Level::Scored.equal(&label.answer, wrong))
    });
    let clean = |document: &Document| answers.iter().all(|right| !Level::Scored.contains(&document.text, right.answer));
    let mut against: Vec<Document> = own.filter(|document| clean(document)).cloned().collect();
    against.shuffle(random);
    // Documents that are not in the item unchanged come first.
    let later = [a, b]
        .into_iter()
        .flat_map(|right| right.documents[1..].iter().chain(&right.documents[..1]).map(move |d| (right, *d)));
    let others = answers.iter().filter(|right| right.answer != a.answer && right.answer != b.answer);
    let others = others.flat_map(|right| right.documents.iter().map(move |d| (right, *d)));
    let swapped = others.chain(later).filter_map(|(right, document)| exchanged(document, right.answer, wrong));
    against.extend(swapped.filter(clean));
    // The document with the exchanged answer may equal a document of misinformation of the dataset.
    without_repeats(&mut against);
    if against.len() < MOST {
        return Err("fewer than three documents that could support a wrong answer");
    }
    let chosen: Vec<Document> =
        [a.documents[0], b.documents[0]].into_iter().cloned().chain(against.into_iter().take(MOST)).collect();
    let order = shuffled(chosen.len(), random);
    let level = |count: usize| {
        let documents = order.iter().filter(|&&index| index < 2 + count).map(|&index| chosen[index].clone());
        item(question, &format!("misinfo-{count}"), documents, &[a.answer, b.answer], &[wrong])
    };
    Ok((0..=MOST).map(level).collect())
}

fn shuffled(count: usize, random: &mut ChaCha8Rng) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    order.shuffle(random);
    order
}

/// The document with every `right` exchanged for `wrong`, where whole words are; `None` where it does not hold `right` as it
/// is written.
fn exchanged(document: &Document, right: &str, wrong: &str) -> Option<Document> {
    let whole = |at: usize| {
        let before = document.text[..at].chars().next_back();
        let after = document.text[at + right.len()..].chars().next();
        !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
    };
    let (mut text, mut from) = (String::new(), 0);
    for (at, _) in document.text.match_indices(right).filter(|(at, _)| whole(*at)) {
        text.push_str(&document.text[from..at]);
        text.push_str(wrong);
        from = at + right.len();
    }
    text.push_str(&document.text[from..]);
    let label = Some(Label { kind: "misinfo".into(), answer: wrong.to_owned() });
    (from > 0).then(|| Document { text, label, ..document.clone() })
}

/// An item in the form of `docs/data.md`, which every command reads.
#[must_use]
pub fn line(item: &Question) -> Value {
    let documents = item.documents.iter().map(|document| {
        let label = document.label.as_ref().map(|label| json!({ "kind": label.kind, "answer": label.answer }));
        let mut value = json!({ "text": document.text, "label": label });
        // A default name, "document 3", is not a title.
        let known = [
            ("title", &document.title),
            ("source", &document.source),
            ("date", &document.date),
            ("url", &document.url),
        ];
        for (field, given) in known {
            if let Some(given) = given {
                value[field] = given.as_str().into();
            }
        }
        value
    });
    let mut line = json!({
        "id": item.id,
        "question": item.text,
        "documents": documents.collect::<Vec<_>>(),
        "slices": item.slices,
    });
    if let Some(gold) = &item.gold {
        line["answers"] = json!(gold.answers);
        line["all_required"] = gold.all_required.into();
        line["wrong_answers"] = json!(gold.wrong);
    }
    if !item.options.is_empty() {
        line["options"] = json!(item.options);
    }
    if !item.claims.is_empty() {
        line["claims"] = json!(item.claims);
    }
    line
}
