//! Conflict detection: one claim and its documents in, "Conflict" or "No Conflict" out (ConflictScore, section 4).
//!
//! Questions with exactly one claim that says whether its documents conflict take part. An answer that is neither of the
//! two, a malformed reply and an error count as the wrong one.

use super::answers;
use super::metric::Tally;
use crate::answers::words::Level;
use crate::transcript::QuestionRecord;

/// True positives, false positives, false negatives, true negatives; a conflict is positive.
#[must_use]
pub fn tally(record: &QuestionRecord) -> Option<Tally> {
    let [claim] = record.question.claims.as_slice() else { return None };
    let conflict = claim.conflict?;
    let detected = detected(record).unwrap_or(!conflict);
    Some(match (conflict, detected) {
        (true, true) => [1.0, 0.0, 0.0, 0.0],
        (false, true) => [0.0, 1.0, 0.0, 0.0],
        (true, false) => [0.0, 0.0, 1.0, 0.0],
        (false, false) => [0.0, 0.0, 0.0, 1.0],
    })
}

fn detected(record: &QuestionRecord) -> Option<bool> {
    let [answer] = record.conclusion.as_ref().filter(|c| !c.malformed)?.answers.as_slice() else { return None };
    match Level::Scored.normalised(&answer.text).as_str() {
        "conflict" => Some(true),
        "no conflict" => Some(false),
        _ => None,
    }
}

fn share(part: f64, rest: f64) -> Option<f64> {
    (part + rest > 0.0).then(|| part / (part + rest))
}

/// TP / (TP + FP).
#[must_use]
pub fn precision(tally: &Tally) -> Option<f64> {
    share(tally[0], tally[1])
}

/// TP / (TP + FN), which is also the accuracy on conflicts.
#[must_use]
pub(crate) fn recall(tally: &Tally) -> Option<f64> {
    share(tally[0], tally[2])
}

/// 2 P R / (P + R); undefined without any conflict, expected or detected.
#[must_use]
pub(crate) fn f1(tally: &Tally) -> Option<f64> {
    (tally[0] + tally[1] + tally[2] > 0.0)
        .then(|| answers::harmonic(precision(tally).unwrap_or(0.0), recall(tally).unwrap_or(0.0)))
}

/// (TP + TN) / all.
#[must_use]
pub(crate) fn accuracy(tally: &Tally) -> Option<f64> {
    share(tally[0] + tally[3], tally[1] + tally[2])
}

/// TN / (TN + FP): the accuracy where there is no conflict.
#[must_use]
pub(crate) fn specificity(tally: &Tally) -> Option<f64> {
    share(tally[3], tally[1])
}
