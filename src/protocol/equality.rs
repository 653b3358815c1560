//! How methods compare answers: the switch `equality`, and the classes of answers that are equal by it.

use crate::answers::align::Compared;
use crate::answers::clusters;
use crate::answers::equality::{by_value, exact, greedy};
use crate::error::{MootError, Result};
use crate::protocol::Ctx;
use crate::protocol::switches::{Kind, Switch, Values};
use crate::question::Question;
use crate::transcript::{Pair, Relation};

/// The switch of methods that count answers.
pub(crate) const SWITCH: Switch = Switch {
    name: "equality",
    about: "answers are equal: by their words, by their numbers and dates too, if each entails the other, or if their vectors are near",
    kind: Kind::Choice(&["exact", "values", "entailment", "dbscan"]),
    default: "exact",
};

/// The largest cosine distance of neighbours (appendix H).
const DISTANCE: f32 = 0.07;

/// When two answers are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Equality {
    /// They have the same words after normalisation.
    #[default]
    Exact,
    /// They are the same number or date, or have the same words.
    Values,
    /// Each entails the other, as answers to the question (appendix I; Farquhar et al., 2024).
    Entailment,
    /// DBSCAN puts their vectors into one cluster (appendix H).
    Dbscan,
}

impl Equality {
    /// As the switch says.
    #[must_use]
    pub(crate) fn of(values: &Values) -> Self {
        Self::named(values.choice(SWITCH.name))
    }

    /// By the switch's value.
    #[must_use]
    pub(crate) fn named(value: &str) -> Self {
        match value {
            "values" => Self::Values,
            "entailment" => Self::Entailment,
            "dbscan" => Self::Dbscan,
            _ => Self::Exact,
        }
    }

    /// How `f_align` compares an answer with its documents.
    #[must_use]
    pub(crate) fn compared(self) -> Compared {
        if self == Self::Values { Compared::Values } else { Compared::Words }
    }

    /// The class of each of `answers`, numbered by the order in which classes come first; `None` for an answer without words.
    /// Answers with equal words are in one class always, so at most one of each is compared by meaning.
    ///
    /// # Errors
    /// Errors of the classifier, of calls and of the embedder; [`MootError::Usage`] for `dbscan` without an embedder.
    pub(crate) fn classes(
        self,
        question: &Question,
        answers: &[&str],
        ctx: &mut Ctx<'_>,
    ) -> Result<Vec<Option<usize>>> {
        if self == Self::Values {
            return Ok(by_value(answers));
        }
        let (exact, distinct) = exact(answers);
        if self == Self::Exact || distinct.len() < 2 {
            return Ok(exact);
        }
        let joined = match self {
            Self::Exact | Self::Values => return Ok(exact),
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
