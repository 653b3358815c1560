//! Which answers are equal: the one place where methods that count answers decide it (RA-RAG, section 3.1 and appendices H
//! and I).
//!
//! Two rules live here. [`Equality`] is what methods count votes by; the metrics and MADAM-RAG's early stop compare words too
//! ([`normalise`]), as the papers do. [`likeness`] and [`agree`] are the assessment's: which documents stand for and against an
//! answer that a method concluded ([`vote::by_stance`](super::vote::by_stance)), in `ask` and in `run`. They decide no vote and
//! enter no metric.

pub mod dates;
pub mod numbers;
mod precision;

pub use precision::{Likeness, agree, distinct, like, likeness, most_precise, within, words};

use crate::error::{MootError, Result};
use crate::methods::switches::{Kind, Switch, Values};
use crate::methods::{Ctx, clusters, normalise};
use crate::question::Question;
use crate::transcript::{Pair, Relation};

/// The switch of methods that count answers.
pub const SWITCH: Switch = Switch {
    name: "equality",
    about: "answers are equal: by their words, if each entails the other, or if their vectors are near",
    kind: Kind::Choice(&["exact", "entailment", "dbscan"]),
    default: "exact",
};

/// The largest cosine distance of neighbours (appendix H).
pub const DISTANCE: f32 = 0.07;

/// When two answers are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Equality {
    /// They have the same words after normalisation.
    #[default]
    Exact,
    /// Each entails the other, as answers to the question (appendix I; Farquhar et al., 2024).
    Entailment,
    /// DBSCAN puts their vectors into one cluster (appendix H).
    Dbscan,
}

impl Equality {
    /// As the switch says.
    #[must_use]
    pub fn of(values: &Values) -> Self {
        match values.choice(SWITCH.name) {
            "entailment" => Self::Entailment,
            "dbscan" => Self::Dbscan,
            _ => Self::Exact,
        }
    }

    /// The class of each of `answers`, numbered by the order in which classes come first; `None` for an answer without words.
    /// Answers with equal words are in one class always, so at most one of each is compared by meaning.
    ///
    /// # Errors
    /// What the classifier, the calls or the embedder fail with; [`MootError::Usage`] for `dbscan` without an embedder.
    pub fn classes(self, question: &Question, answers: &[&str], ctx: &mut Ctx<'_>) -> Result<Vec<Option<usize>>> {
        let (exact, distinct) = exact(answers);
        if self == Self::Exact || distinct.len() < 2 {
            return Ok(exact);
        }
        let joined = match self {
            Self::Exact => return Ok(exact),
            Self::Entailment => entailment(question, &distinct, ctx)?,
            Self::Dbscan => {
                let Some(vectors) = ctx.embed(&distinct)? else {
                    return Err(MootError::Usage("equality dbscan: expected --embedder NAME, found none".into()));
                };
                // With clusters of one vector and more there is no noise: an answer that one source alone gives is an answer.
                let clusters = clusters::dbscan(&vectors, DISTANCE, 1).into_iter();
                clusters.map(|cluster| cluster.expect("a vector is near itself (bug)")).collect()
            }
        };
        Ok(exact.into_iter().map(|class| class.map(|class| joined[class])).collect())
    }
}

/// The class of each answer by words alone, as [`Equality::classes`] numbers them, and the first answer of each class. Votes
/// and the estimate of weights count by this.
#[must_use]
pub fn exact<'a>(answers: &[&'a str]) -> (Vec<Option<usize>>, Vec<&'a str>) {
    let mut distinct: Vec<&str> = Vec::new();
    let class = |answer: &&'a str| {
        if normalise::words(answer).is_empty() {
            return None;
        }
        let known = distinct.iter().position(|known| normalise::equal(known, answer));
        Some(known.unwrap_or_else(|| {
            distinct.push(answer);
            distinct.len() - 1
        }))
    };
    (answers.iter().map(class).collect(), distinct)
}

/// Classes by entailment in both directions. Every ordered pair is asked about in one stage.
fn entailment(question: &Question, answers: &[&str], ctx: &mut Ctx<'_>) -> Result<Vec<usize>> {
    let statement = |answer: &str| format!("{} {answer}", question.text.trim());
    let ordered: Vec<(usize, usize)> =
        (0..answers.len()).flat_map(|a| (0..answers.len()).map(move |b| (a, b))).filter(|(a, b)| a != b).collect();
    let pairs: Vec<Pair> = ordered
        .iter()
        .map(|&(a, b)| Pair { premise: statement(answers[a]), hypothesis: statement(answers[b]) })
        .collect();
    let relations = ctx.entail(&pairs)?;
    let entails = |a, b| ordered.iter().zip(&relations).any(|(pair, relation)| *pair == (a, b) && holds(relation));
    Ok(greedy(answers.len(), |a, b| entails(a, b) && entails(b, a)))
}

/// Whether entailment is the most probable of the three relations.
fn holds(relation: &Relation) -> bool {
    relation.entailment > relation.neutral && relation.entailment > relation.contradiction
}

/// Each item joins the first class whose first item is equal to it, else it begins a class (Farquhar et al., algorithm 1).
fn greedy(items: usize, equal: impl Fn(usize, usize) -> bool) -> Vec<usize> {
    let mut firsts: Vec<usize> = Vec::new();
    let class = |item| {
        firsts.iter().position(|&first| equal(first, item)).unwrap_or_else(|| {
            firsts.push(item);
            firsts.len() - 1
        })
    };
    (0..items).map(class).collect()
}

/// Replaces each answer by the first of its class, so that counts and stances compare words alone. An answer without words
/// stays.
#[must_use]
pub fn by_first<'a>(answers: &[&'a str], classes: &[Option<usize>]) -> Vec<&'a str> {
    let first = |class: usize| classes.iter().position(|other| *other == Some(class)).unwrap_or_default();
    answers.iter().zip(classes).map(|(answer, class)| class.map_or(*answer, |class| answers[first(class)])).collect()
}

#[cfg(test)]
mod tests {
    use super::{by_first, exact, greedy};

    #[test]
    fn words_make_the_classes_and_an_answer_without_words_has_none() {
        let answers = ["The year 1931", "1932", "...", "year 1931.", "1932"];
        let (classes, distinct) = exact(&answers);
        assert_eq!(classes, [Some(0), Some(1), None, Some(0), Some(1)]);
        assert_eq!(distinct, ["The year 1931", "1932"]);
        assert_eq!(by_first(&answers, &classes), ["The year 1931", "1932", "...", "The year 1931", "1932"]);
    }

    #[test]
    fn an_item_is_compared_with_the_first_of_each_class_alone() {
        // 0 equals 1 and 1 equals 2, but 0 does not equal 2: 2 begins a class.
        let equal = |a: usize, b: usize| a.abs_diff(b) == 1;
        assert_eq!(greedy(4, equal), [0, 0, 1, 1]);
    }
}
