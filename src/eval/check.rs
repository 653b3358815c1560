//! `moot lab check`: counts of a dataset, and its items that no method can answer as they are scored.

use crate::answers::words::Level;
use crate::eval::datasets::Dataset;
use crate::question::{Document, Gold, Question};
use crate::units::plural;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// A count for each question, or for each answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Distribution {
    /// Name of the counted items.
    pub name: String,
    /// The mean.
    pub mean: f64,
    /// Frequency of each number.
    pub counts: BTreeMap<usize, usize>,
}

/// Items with one fault, by their ids.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Problem {
    /// The fault, and what follows from it.
    pub what: &'static str,
    /// Ids of the questions.
    pub questions: Vec<String>,
}

/// The dataset's counts and problems.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Check {
    /// Its form.
    pub format: &'static str,
    /// Its questions.
    pub questions: usize,
    /// Questions of each slice.
    pub slices: BTreeMap<String, usize>,
    /// Documents, answers and documents an answer (MADAM-RAG, Figure 5).
    pub distributions: Vec<Distribution>,
    /// Faults.
    pub problems: Vec<Problem>,
}

/// A fault that a question may have.
struct Fault {
    what: &'static str,
    has: fn(&Question) -> bool,
}

const FAULTS: &[Fault] = &[
    Fault { what: "a wrong answer equals a right one: no reply can have exact match 1", has: contradictory },
    Fault {
        what: "a wrong answer is within a right one: the right answer counts as wrong too (em; em-equal does not)",
        has: |q| {
            pairs(q).any(|(right, wrong)| !Level::Scored.equal(right, wrong) && Level::Scored.contains(right, wrong))
        },
    },
    Fault {
        what: "a right answer is within a wrong one: the wrong answer counts as right too (em; em-equal does not)",
        has: |q| {
            pairs(q).any(|(right, wrong)| !Level::Scored.equal(right, wrong) && Level::Scored.contains(wrong, right))
        },
    },
    Fault { what: "a right answer is in no document", has: |q| gold(q).any(|answer| !stands(q, answer)) },
    Fault {
        what: "a wrong answer is in no document",
        has: |q| wrong(q).any(|answer| !stands(q, std::slice::from_ref(answer))),
    },
    Fault {
        what: "the answer of a document's label is not in the document",
        has: |q| q.documents.iter().any(lacks_its_answer),
    },
    Fault { what: "a document is given twice", has: |q| repeats(q.documents.iter().map(|d| d.text.trim())) },
    Fault { what: "a document is empty", has: |q| q.documents.iter().any(|d| d.text.trim().is_empty()) },
    Fault {
        what: "a right answer is listed twice",
        has: |q| repeats(gold(q).filter_map(|aliases| Some(Level::Scored.normalised(aliases.first()?)))),
    },
    Fault {
        what: "an answer has no words: it is never given",
        has: |q| gold(q).flatten().chain(wrong(q)).any(|answer| Level::Scored.words(answer).is_empty()),
    },
    Fault { what: "no right answer is known: not scored", has: |q| q.gold.is_none() && q.claims.is_empty() },
    Fault {
        what: "documents contradict each other and no wrong answer is known: a reply with both answers is right",
        has: lacks_wrong_answer,
    },
];

impl Check {
    /// Counts a dataset and looks for faults.
    #[must_use]
    pub fn of(dataset: &Dataset) -> Self {
        let questions = &dataset.questions;
        let mut slices: BTreeMap<String, usize> = BTreeMap::new();
        questions.iter().flat_map(|q| &q.slices).for_each(|slice| *slices.entry(slice.clone()).or_default() += 1);
        let found = FAULTS.iter().map(|fault| Problem {
            what: fault.what,
            questions: questions.iter().filter(|&q| (fault.has)(q)).map(|q| q.id.clone()).collect(),
        });
        let twice = Problem { what: "the question is asked twice", questions: asked_twice(questions) };
        Self {
            format: dataset.format,
            questions: questions.len(),
            slices,
            distributions: distributions(questions),
            problems: found.chain([twice]).filter(|problem| !problem.questions.is_empty()).collect(),
        }
    }
}

/// Lines on questions whose scores mislead: a right answer is also a wrong one, or a wrong one is not known.
#[must_use]
pub(crate) fn misleading_lines<'a>(questions: impl IntoIterator<Item = &'a Question>) -> Vec<String> {
    let (mut both, mut unknown) = (0, 0);
    for question in questions {
        both += usize::from(contradictory(question));
        unknown += usize::from(lacks_wrong_answer(question));
    }
    let line = |count: usize, one: &str, many: &str, what: &str| {
        (count > 0).then(|| format!("{} {what} (moot lab check says which)", plural(count, one, many)))
    };
    let both = line(both, "question lists", "questions list", "a right answer among the wrong ones too");
    let what = "documents that contradict each other and no known wrong answer: a reply with both answers is right";
    both.into_iter().chain(line(unknown, "question has", "questions have", what)).collect()
}

/// Its documents contradict each other, and the answer of the false ones is not known.
fn lacks_wrong_answer(question: &Question) -> bool {
    question.slices.iter().any(|slice| slice == "inconsistent") && wrong(question).next().is_none()
}

/// A right answer is also a wrong one.
fn contradictory(question: &Question) -> bool {
    pairs(question).any(|(right, wrong)| Level::Scored.equal(right, wrong))
}

/// Right answers of a question, each with its aliases.
fn gold(question: &Question) -> impl Iterator<Item = &Vec<String>> {
    question.gold.iter().flat_map(|gold| &gold.answers)
}

fn wrong(question: &Question) -> impl Iterator<Item = &String> {
    question.gold.iter().flat_map(|gold| &gold.wrong)
}

/// Each right answer by each of its names, with each wrong one.
fn pairs(question: &Question) -> impl Iterator<Item = (&str, &str)> {
    let all = question.gold.iter().flat_map(Gold::aliases);
    all.flat_map(|right| wrong(question).map(move |wrong| (right, wrong.as_str())))
}

/// Whether a document holds one of the aliases; true without documents.
fn stands(question: &Question, aliases: &[String]) -> bool {
    let holds = |document: &Document| aliases.iter().any(|alias| Level::Scored.contains(&document.text, alias));
    question.documents.is_empty() || question.documents.iter().any(holds)
}

fn lacks_its_answer(document: &Document) -> bool {
    let label = document.label.as_ref().filter(|label| matches!(&*label.kind, "correct" | "misinfo"));
    label.is_some_and(|label| !label.answer.is_empty() && !Level::Scored.contains(&document.text, &label.answer))
}

fn repeats<T: Eq + std::hash::Hash>(items: impl Iterator<Item = T>) -> bool {
    let mut seen = std::collections::HashSet::new();
    items.into_iter().any(|item| !seen.insert(item))
}

fn asked_twice(questions: &[Question]) -> Vec<String> {
    let mut known: HashMap<String, &Question> = HashMap::new();
    let text = |question: &Question| question.text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    questions.iter().filter(|q| known.insert(text(q), q).is_some()).map(|q| q.id.clone()).collect()
}

/// Figure 5's eight numbers where documents have labels with answers; documents alone, and answers, elsewhere.
fn distributions(questions: &[Question]) -> Vec<Distribution> {
    let mut all = Vec::new();
    let mut add = |name: String, numbers: Vec<usize>| {
        if numbers.iter().any(|&number| number > 0) {
            let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
            numbers.iter().for_each(|&number| *counts.entry(number).or_default() += 1);
            let mean = numbers.iter().sum::<usize>() as f64 / numbers.len() as f64;
            all.push(Distribution { name, mean, counts });
        }
    };
    add("documents".into(), questions.iter().map(|q| q.documents.len()).collect());
    let labels = questions.iter().flat_map(|q| &q.documents).filter_map(|document| document.label.as_ref());
    let mut kinds: Vec<&str> = Vec::new();
    for label in labels {
        if !kinds.contains(&label.kind.as_str()) {
            kinds.push(&label.kind);
        }
    }
    for kind in kinds {
        let of = |q: &Question| q.documents.iter().flat_map(|d| &d.label).filter(|label| label.kind == kind).count();
        add(format!("documents, {kind}"), questions.iter().map(of).collect());
    }
    add("right answers".into(), questions.iter().map(|q| gold(q).count()).collect());
    add("wrong answers".into(), questions.iter().map(|q| wrong(q).count()).collect());
    add("documents a right answer".into(), questions.iter().flat_map(|q| gold(q).map(|a| given_by(q, a))).collect());
    let of_wrong = |q: &Question| wrong(q).map(|a| given_by(q, std::slice::from_ref(a))).collect::<Vec<_>>();
    add("documents a wrong answer".into(), questions.iter().flat_map(of_wrong).collect());
    all
}

/// Documents whose label has the answer.
fn given_by(question: &Question, aliases: &[String]) -> usize {
    let labels = question.documents.iter().filter_map(|document| document.label.as_ref());
    labels.filter(|label| aliases.iter().any(|alias| Level::Scored.equal(alias, &label.answer))).count()
}
