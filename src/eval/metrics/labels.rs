//! Labelled claims: ConflictScore of a run, and labels against a dataset's.

use super::metric::Tally;
use crate::assess::score::{Neither, Scores, scores};
use crate::question::{ClaimRelation, JudgedClaim};
use crate::transcript::QuestionRecord;

fn judged(record: &QuestionRecord) -> Option<&[JudgedClaim]> {
    record.conclusion.as_ref()?.claims.as_deref()
}

/// The scores of a question's claims, claims with neither supporters nor contradictors left out of CS-R; `None` where none
/// were labelled.
#[must_use]
pub fn of(record: &QuestionRecord) -> Option<Scores> {
    judged(record).map(|claims| scores(claims, Neither::LeftOut))
}

/// CS-R with a ratio of 0 for claims with neither.
#[must_use]
pub(crate) fn ratio_with_zeros(record: &QuestionRecord) -> Option<f64> {
    scores(judged(record)?, Neither::Zero).cs_r
}

/// Each pair of a claim and a document that the dataset labels, with the dataset's relation and the one that was found. A
/// label that does not count is irrelevant: nothing was shown for or against the claim.
fn pairs(record: &QuestionRecord) -> Option<Vec<(ClaimRelation, ClaimRelation)>> {
    let judged = judged(record)?;
    let mut pairs = Vec::new();
    for (claim, judged) in record.question.claims.iter().zip(judged) {
        for (document, &gold) in claim.relations.iter().enumerate() {
            let label = judged.labels.iter().find(|label| label.document == document && label.counts());
            pairs.push((gold, label.map_or(ClaimRelation::Irrelevant, |label| label.relation)));
        }
    }
    (!pairs.is_empty()).then_some(pairs)
}

/// Labels that are the dataset's, and all.
#[must_use]
pub fn agreement(record: &QuestionRecord) -> Option<Tally> {
    let pairs = pairs(record)?;
    let right = pairs.iter().filter(|(gold, found)| gold == found).count();
    Some([right as f64, pairs.len() as f64, 0.0, 0.0])
}

/// Right labels of `relation`, and those found.
#[must_use]
pub fn found(record: &QuestionRecord, relation: ClaimRelation) -> Option<Tally> {
    counted(record, relation, |(_, found)| *found == relation)
}

/// Right labels of `relation`, and those of the dataset.
#[must_use]
pub fn expected(record: &QuestionRecord, relation: ClaimRelation) -> Option<Tally> {
    counted(record, relation, |(gold, _)| *gold == relation)
}

fn counted(
    record: &QuestionRecord,
    relation: ClaimRelation,
    of: impl Fn(&(ClaimRelation, ClaimRelation)) -> bool,
) -> Option<Tally> {
    let pairs = pairs(record)?;
    let right = pairs.iter().filter(|pair| **pair == (relation, relation)).count();
    Some([right as f64, pairs.iter().filter(|pair| of(pair)).count() as f64, 0.0, 0.0])
}
